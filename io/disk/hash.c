// SPDX-License-Identifier: Apache-2.0
// SHA-256 by libsodium: see hash.h.
#include "io/disk/hash.h"

#include "io/disk/fail.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void hash_begin(struct hash *hash) {
	(void)crypto_hash_sha256_init(&hash->state);
}

void hash_add(struct hash *hash, const void *bytes, size_t size) {
	(void)crypto_hash_sha256_update(&hash->state, bytes, size);
}

void hash_end(struct hash *hash, char text[HASH_TEXT]) {
	unsigned char digest[crypto_hash_sha256_BYTES];
	(void)crypto_hash_sha256_final(&hash->state, digest);
	(void)sodium_bin2hex(text, HASH_TEXT, digest, sizeof digest);
}

void hash_of(const void *bytes, size_t size, char text[HASH_TEXT]) {
	struct hash hash;
	hash_begin(&hash);
	hash_add(&hash, bytes, size);
	hash_end(&hash, text);
}

bool hash_sealed(const char *bytes, size_t size, char text[HASH_TEXT]) {
	const size_t digest = HASH_TEXT - 1, content = size - digest;
	struct hash hash;
	hash_begin(&hash);
	hash_add(&hash, bytes, content);
	struct hash so_far = hash;
	hash_end(&so_far, text);
	if (memcmp(text, bytes + content, digest) != 0) return false;
	hash_add(&hash, bytes + content, digest);
	hash_end(&hash, text);
	return true;
}

enum cuttle_status hash_file(const char *path, char text[HASH_TEXT], struct cuttle_error *error) {
	unsigned char chunk[1 << 14];
	struct hash hash;
	ssize_t got = -1;
	hash_begin(&hash);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file >= 0)
		while ((got = read(file, chunk, sizeof chunk)) > 0 || (got < 0 && errno == EINTR))
			if (got > 0) hash_add(&hash, chunk, (size_t)got);
	int problem = errno;
	if (file >= 0) (void)close(file);
	if (got < 0)
		return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", path, strerror(problem));
	hash_end(&hash, text);
	return CUTTLE_OK;
}
