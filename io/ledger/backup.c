// SPDX-License-Identifier: Apache-2.0
// The copy is made under a scratch name and checked there, then it gets its own. See backup.h.
#include "io/ledger/backup.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/ledger/chain.h"
#include "io/ledger/ledger.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Copies to an empty file, and checks it. */
static enum cuttle_status copy_checked(const char *path, const char *part, uint64_t *entries,
                                       char head[HASH_TEXT], struct cuttle_error *error) {
	struct chain *chain;
	struct ledger *ledger;
	enum cuttle_status status = chain_open(path, &chain, error);
	if (status) return status;
	status = chain_copy(chain, part, error);
	chain_close(&chain);
	if (!status) status = ledger_open(part, &ledger, error);
	if (status) return status;
	status = ledger_verify(ledger, NULL, entries, head, error);
	ledger_close(&ledger);
	return status;
}

/* Makes a file durable, and gives it a name that nobody has. Returns 0 or the errno. */
static int place_copy(const char *part, const char *copy) {
	const int file = open(part, O_RDONLY | O_CLOEXEC);
	int problem = file < 0 || fsync(file) != 0 ? errno : 0;
	if (file >= 0) (void)close(file);
	if (!problem && link(part, copy) != 0) problem = errno;
	if (!problem && unlink(part) != 0) problem = errno;
	return problem ? problem : file_sync_folder(copy);
}

enum cuttle_status backup_ledger(const char *path, const char *copy, uint64_t *entries,
                                 char head[HASH_TEXT], struct cuttle_error *error) {
	static const char *const beside[] = {LEDGER_BESIDE};
	char *part;
	if (access(copy, F_OK) == 0)
		return io_fail(error, CUTTLE_USAGE,
		               "%s is there already: give the copy another name", copy);
	const int file = file_scratch(copy, FILE_PART, 0600, &part);
	if (file < 0)
		return io_fail(error, CUTTLE_USAGE, "cannot make %s: %s", copy, strerror(errno));
	(void)close(file);
	enum cuttle_status status = copy_checked(path, part, entries, head, error);
	const int problem = status ? 0 : place_copy(part, copy);
	if (problem)
		status =
		    io_fail(error, CUTTLE_INTERNAL, "cannot write %s: %s", copy, strerror(problem));
	if (status) (void)unlink(part);
	for (size_t i = 0; status && i < sizeof beside / sizeof *beside; i++) {
		char *name = file_name(part, beside[i]);
		if (name) (void)unlink(name);
		free(name);
	}
	free(part);
	return status;
}
