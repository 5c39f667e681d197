// SPDX-License-Identifier: Apache-2.0
// Lines of the trail, made and checked as bytes: a line is what its hash was taken of, so nothing
// is read as JSON here. serve/jobs/trail.h has the form.
#include "serve/jobs/trail.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/jsonout.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char HASH_MEMBER[] = ",\"hash\":\"", SIGNATURE_MEMBER[] = "\",\"signature\":\"",
                  LINE_END[] = "\"}\n";

enum {
	HASH_DIGITS = HASH_TEXT - 1,
	SIGNATURE_DIGITS = SIGNATURE_TEXT - 1,
	/* Bytes of a line from `,"hash"` on, without a signature and with one. */
	BARE_TAIL = sizeof HASH_MEMBER - 1 + HASH_DIGITS + sizeof LINE_END - 1,
	SIGNED_TAIL = BARE_TAIL + sizeof SIGNATURE_MEMBER - 1 + SIGNATURE_DIGITS,
	START = 128 /* bytes of a line's first two members, at most */
};

struct trail {
	char *path; /* owned */
	int file;
	off_t size; /* bytes that are on the disk */
};

struct trail_head trail_none(void) {
	struct trail_head head = {0};
	memset(head.hash, '0', HASH_DIGITS);
	return head;
}

/* What is signed of an entry. */
static void print_signed(const char *hash, char text[HASH_TEXT + 16]) {
	(void)snprintf(text, HASH_TEXT + 16, "cuttle-trail %s", hash);
}

/* The hash of a line whose first `size` bytes stand before `,"hash"`. */
static void hash_trail_entry(const char *line, size_t size, char text[HASH_TEXT]) {
	struct hash hash;
	hash_begin(&hash);
	hash_add(&hash, line, size);
	hash_add(&hash, "}", 1);
	hash_end(&hash, text);
}

/* How a line begins that follows `head`: all but its own members. */
static size_t print_start(const struct trail_head *head, char start[START]) {
	return (size_t)snprintf(start, START, "{\"number\":%" PRIu64 ",\"previous\":\"%s\",",
	                        head->number + 1, head->hash);
}

char *trail_line(struct trail_head *head, json_t *members, const struct signature_key *signer,
                 size_t *size) {
	char start[START], hash[HASH_TEXT], said[HASH_TEXT + 16], signature[SIGNATURE_TEXT] = "";
	size_t own = 0;
	char *text = jsonout_dump(members, JSON_COMPACT, &own), *line = NULL;
	const size_t before = print_start(head, start);
	// The members without their brackets and newline: {"a":1} is "a":1.
	if (text) line = malloc(before + own + SIGNED_TAIL);
	if (line) {
		memcpy(line, start, before);
		memcpy(line + before, text + 1, own - 3);
		own += before - 3;
		hash_trail_entry(line, own, hash);
		print_signed(hash, said);
		if (signer) signature_sign(signer, said, strlen(said), signature);
		*size = own + (size_t)sprintf(line + own, "%s%s%s%s%s", HASH_MEMBER, hash,
		                              signer ? SIGNATURE_MEMBER : "", signature, LINE_END);
		head->number++;
		memcpy(head->hash, hash, sizeof hash);
	}
	free(text);
	return line;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* Where `,"hash"` stands in a line that ends as lines do; 0: it does not end so. */
static size_t find_hash(const char *line, size_t size, char signature[SIGNATURE_TEXT]) {
	const size_t head = sizeof HASH_MEMBER - 1, middle = sizeof SIGNATURE_MEMBER - 1;
	*signature = 0;
	if (size > BARE_TAIL && !memcmp(line + size - BARE_TAIL, HASH_MEMBER, head))
		return size - BARE_TAIL;
	if (size <= SIGNED_TAIL || memcmp(line + size - SIGNED_TAIL, HASH_MEMBER, head) != 0)
		return 0;
	const char *const at = line + size - SIGNED_TAIL + head + HASH_DIGITS;
	if (memcmp(at, SIGNATURE_MEMBER, middle) != 0) return 0;
	memcpy(signature, at + middle, SIGNATURE_DIGITS);
	signature[SIGNATURE_DIGITS] = 0;
	return size - SIGNED_TAIL;
}

bool trail_hash(const char *line, size_t size, char hash[HASH_TEXT]) {
	char signature[SIGNATURE_TEXT];
	const size_t at = find_hash(line, size, signature);
	if (at) memcpy(hash, line + at + sizeof HASH_MEMBER - 1, HASH_DIGITS);
	hash[at ? HASH_DIGITS : 0] = 0;
	return at != 0;
}

enum cuttle_status trail_take(struct trail_end *end, const char *path, const char *line,
                              size_t size, struct cuttle_error *error) {
	char start[START], number[32], hash[HASH_TEXT] = "";
	const uint64_t wanted = end->head.number + 1;
	const size_t before = print_start(&end->head, start);
	const int digits = snprintf(number, sizeof number, "{\"number\":%" PRIu64 ",", wanted);
	const size_t at = find_hash(line, size, end->signature);
	if (strncmp(line, number, (size_t)digits) != 0)
		return io_fail(error, CUTTLE_LEDGER,
		               "%s, line %" PRIu64 ": this is not entry %" PRIu64
		               ": entries were taken out or put in another order",
		               path, wanted, wanted);
	if (strncmp(line, start, before) != 0)
		return io_fail(error, CUTTLE_LEDGER,
		               "%s: entry %" PRIu64 " does not follow the one before it: one of "
		               "them was changed",
		               path, wanted);
	if (at > before) hash_trail_entry(line, at, hash);
	if (at <= before || memcmp(line + at + sizeof HASH_MEMBER - 1, hash, HASH_DIGITS) != 0 ||
	    memcmp(line + size - (sizeof LINE_END - 1), LINE_END, sizeof LINE_END - 1) != 0)
		return io_fail(error, CUTTLE_LEDGER, "%s: entry %" PRIu64 " was changed", path,
		               wanted);
	end->head.number = wanted;
	memcpy(end->head.hash, hash, sizeof hash);
	end->size += (off_t)size;
	return CUTTLE_OK;
}

enum cuttle_status trail_walk(const char *path,
                              enum cuttle_status (*each)(void *user, const struct trail_head *head,
                                                         struct cuttle_error *error),
                              void *user, struct trail_end *end, struct cuttle_error *error) {
	*end = (struct trail_end){.head = trail_none()};
	FILE *file = fopen(path, "re");
	if (!file && errno == ENOENT) return CUTTLE_OK;
	if (!file)
		return io_fail(error, CUTTLE_INTERNAL, "cannot open %s: %s", path, strerror(errno));
	char *line = NULL;
	size_t room = 0;
	ssize_t got;
	enum cuttle_status status = CUTTLE_OK;
	while (!status && (got = getline(&line, &room, file)) > 0) {
		// A NUL would hide what stands behind it.
		const bool whole = line[got - 1] == '\n';
		if (!whole) {
			end->torn = line;
			end->torn_size = (size_t)got;
			line = NULL;
			break;
		}
		status = memchr(line, 0, (size_t)got)
		             ? io_fail(error, CUTTLE_LEDGER, "%s: entry %" PRIu64 " was changed",
		                       path, end->head.number + 1)
		             : trail_take(end, path, line, (size_t)got, error);
		if (!status && each) status = each(user, &end->head, error);
	}
	if (!status && ferror(file))
		status = io_fail(error, CUTTLE_INTERNAL, "cannot read %s", path);
	free(line);
	(void)fclose(file);
	if (status) free(end->torn);
	if (status) end->torn = NULL;
	return status;
}

bool trail_signed(const struct trail_end *end, const char *public_key) {
	char said[HASH_TEXT + 16];
	print_signed(end->head.hash, said);
	return signature_right(public_key, end->signature, said, strlen(said));
}

/* ---- writing --------------------------------------------------------------------------------- */

enum cuttle_status trail_open(const char *path, off_t size, struct trail **trail,
                              struct cuttle_error *error) {
	struct trail *made = calloc(1, sizeof *made);
	char *name = strdup(path);
	*trail = NULL;
	if (!made || !name) {
		free(made);
		free(name);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	*made = (struct trail){name, -1, size};
	const bool fresh = access(path, F_OK) != 0;
	made->file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int problem = made->file < 0 || ftruncate(made->file, size) != 0 ? errno : 0;
	if (!problem && fresh) problem = file_sync_folder(path);
	*trail = made;
	if (!problem) return CUTTLE_OK;
	trail_close(trail);
	return io_fail(error, CUTTLE_INTERNAL, "cannot open %s: %s", path, strerror(problem));
}

void trail_close(struct trail **trail) {
	struct trail *old = *trail;
	if (!old) return;
	if (old->file >= 0) (void)close(old->file);
	free(old->path);
	free(old);
	*trail = NULL;
}

/* Whether the file is where it was, and has as many bytes as were written. */
static bool is_as_left(const struct trail *trail) {
	struct stat here, named;
	return fstat(trail->file, &here) == 0 && stat(trail->path, &named) == 0 &&
	       here.st_ino == named.st_ino && here.st_dev == named.st_dev &&
	       here.st_size == trail->size;
}

enum cuttle_status trail_append(struct trail *trail, const char *lines, size_t size,
                                struct cuttle_error *error) {
	if (!is_as_left(trail))
		return io_fail(error, CUTTLE_INTERNAL,
		               "%s was moved or changed while the server runs", trail->path);
	int problem = file_write(trail->file, lines, size);
	if (!problem && fsync(trail->file) != 0) problem = errno;
	if (!problem) {
		trail->size += (off_t)size;
		return CUTTLE_OK;
	}
	// Half a line may not stay: what is appended next would be part of it.
	(void)!ftruncate(trail->file, trail->size);
	return io_fail(error,
	               problem == ENOSPC || problem == EDQUOT || problem == EFBIG ? CUTTLE_PARTIAL
	                                                                          : CUTTLE_INTERNAL,
	               "cannot write %s: %s", trail->path, strerror(problem));
}
