// SPDX-License-Identifier: Apache-2.0
// The key's file is one line: "cuttle-key ", 64 hex digits, a newline.
//
// A run writes its key before anything else. So where half a line stands, nothing has been drawn:
// the file may be replaced by one with a new key.
#include "io/output/binding.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PREFIX[] = "cuttle-key ";
enum {
	DIGITS = 2 * BINDING_KEY,             /* hex digits of the key: 64 */
	LINE = sizeof PREFIX - 1 + DIGITS + 1 /* bytes of the whole line: 11 + 64 + 1 = 76 */
};

static bool parse_key_line(const char *line, size_t size, unsigned char key[BINDING_KEY]) {
	size_t bytes;
	return size == LINE && !memcmp(line, PREFIX, sizeof PREFIX - 1) && line[LINE - 1] == '\n' &&
	       sodium_hex2bin(key, BINDING_KEY, line + sizeof PREFIX - 1, DIGITS, NULL, &bytes,
	                      NULL) == 0 &&
	       bytes == BINDING_KEY;
}

/* Whether a kill may have left this: the beginning of a key's line, and nothing else. */
static bool is_torn_line(const char *line, size_t size) {
	const size_t prefix = sizeof PREFIX - 1;
	if (size >= LINE || memcmp(line, PREFIX, size < prefix ? size : prefix) != 0) return false;
	return size <= prefix || strspn(line + prefix, "0123456789abcdef") == size - prefix;
}

enum cuttle_status binding_open(const char *path, struct binding *binding,
                                struct cuttle_error *error) {
	char *line = NULL;
	size_t size;
	*binding = (struct binding){.path = strdup(path)};
	if (!binding->path) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (sodium_init() < 0) return io_fail(error, CUTTLE_INTERNAL, "libsodium cannot begin");
	randombytes_buf(binding->key, sizeof binding->key);
	if (access(path, F_OK) != 0 && errno == ENOENT) return CUTTLE_OK;
	enum cuttle_status status = file_regular(path, error);
	if (status) return status;
	if (!file_read(path, LINE, &line, &size, NULL)) {
		binding->stands = parse_key_line(line, size, binding->key);
		binding->torn = !binding->stands && is_torn_line(line, size);
		sodium_memzero(line, size);
	}
	free(line);
	if (binding->stands || binding->torn) return CUTTLE_OK;
	return io_fail(error, CUTTLE_USAGE,
	               "%s is in the way: it is not a key of an unfinished output. Move it, or "
	               "choose another output name",
	               path);
}

int binding_keep(struct binding *binding) {
	char line[LINE + 1];
	if (binding->stands) return file_sync(binding->path);
	memcpy(line, PREFIX, sizeof PREFIX - 1);
	(void)sodium_bin2hex(line + sizeof PREFIX - 1, DIGITS + 1, binding->key, BINDING_KEY);
	line[LINE - 1] = '\n';
	if (binding->torn) (void)unlink(binding->path);
	const int file = open(binding->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int problem = file < 0 ? errno : file_write(file, line, LINE);
	sodium_memzero(line, sizeof line);
	if (!problem && fsync(file) != 0) problem = errno;
	if (file >= 0 && close(file) != 0 && !problem) problem = errno;
	if (problem && file >= 0) (void)unlink(binding->path);
	if (!problem) problem = file_sync_folder(binding->path);
	binding->stands = !problem;
	return problem;
}

void binding_remove(struct binding *binding) {
	if (binding->stands || binding->torn) (void)unlink(binding->path);
	binding->stands = binding->torn = false;
}

void binding_close(struct binding *binding) {
	free(binding->path);
	sodium_memzero(binding, sizeof *binding);
}

void binding_digest_begin(struct binding_digest *digest, const unsigned char key[BINDING_KEY]) {
	(void)crypto_generichash_init(&digest->state, key, BINDING_KEY, crypto_generichash_BYTES);
}

void binding_digest_add(struct binding_digest *digest, const void *bytes, size_t size) {
	// 0 stands for NULL, 1 for an empty piece, 4 for a piece of three bytes.
	const uint64_t length = bytes ? (uint64_t)size + 1 : 0;
	(void)crypto_generichash_update(&digest->state, (const unsigned char *)&length,
	                                sizeof length);
	if (bytes && size) (void)crypto_generichash_update(&digest->state, bytes, size);
}

void binding_digest_end(struct binding_digest *digest, char text[HASH_TEXT]) {
	unsigned char bytes[crypto_generichash_BYTES];
	(void)crypto_generichash_final(&digest->state, bytes, sizeof bytes);
	(void)sodium_bin2hex(text, HASH_TEXT, bytes, sizeof bytes);
	sodium_memzero(digest, sizeof *digest);
}
