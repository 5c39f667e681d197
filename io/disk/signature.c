// SPDX-License-Identifier: Apache-2.0
// The key files of signature.h, and Ed25519 over libsodium. A secret key stays in memory of
// sodium_malloc from the first byte read to signature_close.
#include "io/disk/signature.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char PREFIX[] = "cuttle-secret-key ";
enum {
	BEFORE = sizeof PREFIX - 1,         /* bytes before the digits */
	DIGITS = 2 * crypto_sign_SEEDBYTES, /* hex digits of the seed */
	LINE = BEFORE + DIGITS + 1          /* bytes of the file, with its newline */
};

struct signature_key {
	char line[LINE + 1]; /* the file, and room to notice one byte too many */
	unsigned char seed[crypto_sign_SEEDBYTES], secret[crypto_sign_SECRETKEYBYTES];
	char public_key[SIGNATURE_PUBLIC]; /* hex digits and the NUL */
};

static struct signature_key *make_blank_key(void) {
	struct signature_key *key = sodium_init() < 0 ? NULL : sodium_malloc(sizeof *key);
	if (key) sodium_memzero(key, sizeof *key);
	return key;
}

/* Computes secret and public key from the seed. */
static void derive_key(struct signature_key *key) {
	unsigned char public_key[crypto_sign_PUBLICKEYBYTES];
	(void)crypto_sign_seed_keypair(public_key, key->secret, key->seed);
	(void)sodium_bin2hex(key->public_key, sizeof key->public_key, public_key,
	                     sizeof public_key);
}

void signature_close(struct signature_key **key) {
	sodium_free(*key);
	*key = NULL;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Makes a new file. Where it cannot be written, none is left. */
static enum cuttle_status write_key_file(const char *path, mode_t mode, const char *bytes,
                                         size_t size, struct cuttle_error *error) {
	int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (file < 0 && errno == EEXIST)
		return io_fail(error, CUTTLE_USAGE, "%s exists; a key is never replaced", path);
	if (file < 0)
		return io_fail(error, CUTTLE_USAGE, "cannot create %s: %s", path, strerror(errno));
	int problem = file_write(file, bytes, size);
	if (!problem && fsync(file) != 0) problem = errno;
	if (close(file) != 0 && !problem) problem = errno;
	if (!problem) problem = file_sync_folder(path);
	if (!problem) return CUTTLE_OK;
	(void)unlink(path);
	return io_fail(error, CUTTLE_INTERNAL, "cannot write %s: %s", path, strerror(problem));
}

enum cuttle_status signature_make(const char *path, char public_key[SIGNATURE_PUBLIC],
                                  struct cuttle_error *error) {
	struct signature_key *key = make_blank_key();
	if (!key) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	randombytes_buf(key->seed, sizeof key->seed);
	derive_key(key);
	memcpy(public_key, key->public_key, SIGNATURE_PUBLIC);
	memcpy(key->line, PREFIX, BEFORE);
	(void)sodium_bin2hex(key->line + BEFORE, DIGITS + 1, key->seed, sizeof key->seed);
	key->line[LINE - 1] = '\n';
	// The file has a newline where the text has its NUL.
	key->public_key[SIGNATURE_PUBLIC - 1] = '\n';
	char *beside = file_name(path, SIGNATURE_BESIDE);
	enum cuttle_status status = beside ? write_key_file(path, 0600, key->line, LINE, error)
	                                   : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status &&
	    (status = write_key_file(beside, 0666, key->public_key, SIGNATURE_PUBLIC, error)))
		(void)unlink(path);
	free(beside);
	signature_close(&key);
	return status;
}

/* Whether the file is one line of a key and nothing else; reads it into line and seed. */
static bool read_key_line(int file, struct signature_key *key) {
	size_t used = 0;
	ssize_t got = 1;
	while (got > 0 && used < sizeof key->line) {
		got = read(file, key->line + used, sizeof key->line - used);
		if (got > 0) used += (size_t)got;
	}
	size_t bytes = 0;
	return got == 0 && used == LINE && key->line[LINE - 1] == '\n' &&
	       !memcmp(key->line, PREFIX, BEFORE) &&
	       !sodium_hex2bin(key->seed, sizeof key->seed, key->line + BEFORE, DIGITS, NULL,
	                       &bytes, NULL) &&
	       bytes == sizeof key->seed;
}

enum cuttle_status signature_open(const char *path, struct signature_key **key,
                                  struct cuttle_error *error) {
	int file;
	*key = NULL;
	enum cuttle_status status = file_open_secret(path, &file, error);
	if (status) return status;
	if (!(*key = make_blank_key())) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status && !read_key_line(file, *key)) {
		status =
		    io_fail(error, CUTTLE_INPUT, "%s is no secret key of cuttle ledger key", path);
		signature_close(key);
	}
	(void)close(file);
	if (!status) derive_key(*key);
	return status;
}

static bool is_hex(const char *text, size_t digits) {
	return strspn(text, "0123456789abcdef") == digits;
}

enum cuttle_status signature_read_public(const char *given, char public_key[SIGNATURE_PUBLIC],
                                         struct cuttle_error *error) {
	enum { MOST = 4096 };
	char *text;
	size_t size;
	if (strlen(given) == SIGNATURE_PUBLIC - 1 && is_hex(given, SIGNATURE_PUBLIC - 1)) {
		memcpy(public_key, given, SIGNATURE_PUBLIC);
		return CUTTLE_OK;
	}
	enum cuttle_status status = file_read(given, MOST, &text, &size, error);
	if (status) return status;
	if (is_hex(text, SIGNATURE_PUBLIC - 1) && strchr("\r\n", text[SIGNATURE_PUBLIC - 1])) {
		memcpy(public_key, text, SIGNATURE_PUBLIC - 1);
		public_key[SIGNATURE_PUBLIC - 1] = 0;
	} else {
		status = io_fail(error, CUTTLE_INPUT, "%s is no public key: 64 hex digits are",
		                 file_shown(given));
	}
	free(text);
	return status;
}

/* ---- signing --------------------------------------------------------------------------------- */

const char *signature_public(const struct signature_key *key) {
	return key->public_key;
}

void signature_sign(const struct signature_key *key, const void *bytes, size_t size,
                    char signature[SIGNATURE_TEXT]) {
	unsigned char raw[crypto_sign_BYTES];
	(void)crypto_sign_detached(raw, NULL, bytes, size, key->secret);
	(void)sodium_bin2hex(signature, SIGNATURE_TEXT, raw, sizeof raw);
}

bool signature_right(const char *public_key, const char *signature, const void *bytes,
                     size_t size) {
	unsigned char raw[crypto_sign_BYTES], key[crypto_sign_PUBLICKEYBYTES];
	if (strlen(public_key) != 2 * sizeof key || !is_hex(public_key, 2 * sizeof key))
		return false;
	if (strlen(signature) != 2 * sizeof raw || !is_hex(signature, 2 * sizeof raw)) return false;
	(void)sodium_hex2bin(key, sizeof key, public_key, 2 * sizeof key, NULL, NULL, NULL);
	(void)sodium_hex2bin(raw, sizeof raw, signature, 2 * sizeof raw, NULL, NULL, NULL);
	return crypto_sign_verify_detached(raw, bytes, size, key) == 0;
}
