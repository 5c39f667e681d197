// SPDX-License-Identifier: Apache-2.0
// SHA-256 by libcrypto's own functions for it. They are older than EVP, which reads a configuration
// file when it begins, and would be what libcurl finds of it in the same process. They keep
// everything in the state that they are given: they allocate nothing and begin nothing.
#include "io/disk/model_hash.h"

#include "base/library.h"
#include "base/parts.h"
#include "io/disk/fail.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined(CUTTLE_LIBCRYPTO)
/* What is called of it; each returns 1 for success. */
static struct {
	int (*begin)(void *state);
	int (*add)(void *state, const void *bytes, size_t size);
	int (*end)(unsigned char *digest, void *state);
	bool found;
} libcrypto;

static void load_libcrypto(void) {
	static const char *const names[] = {"libcrypto.so.3", "libcrypto.so.1.1"};
	const struct library_function functions[] = {{"SHA256_Init", &libcrypto.begin},
	                                             {"SHA256_Update", &libcrypto.add},
	                                             {"SHA256_Final", &libcrypto.end}};
	for (size_t i = 0; i < sizeof names / sizeof *names && !libcrypto.found; i++)
		libcrypto.found =
		    library_load(names[i], functions, sizeof functions / sizeof *functions);
}

/* A server opens a model in one thread while it may verify one in another. */
static bool find_libcrypto(void) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	return !pthread_once(&once, load_libcrypto) && libcrypto.found;
}

static bool begin_by_libcrypto(struct model_hash *hash, size_t size) {
	return size >= MODEL_HASH_LARGE && find_libcrypto() && libcrypto.begin(hash->state) == 1;
}

static void add_by_libcrypto(struct model_hash *hash, const void *bytes, size_t size) {
	(void)libcrypto.add(hash->state, bytes, size);
}

static void end_by_libcrypto(struct model_hash *hash, unsigned char *digest) {
	(void)libcrypto.end(digest, hash->state);
}
#else
static bool begin_by_libcrypto(struct model_hash *hash, size_t size) {
	(void)hash, (void)size;
	return false;
}

static void add_by_libcrypto(struct model_hash *hash, const void *bytes, size_t size) {
	(void)hash, (void)bytes, (void)size;
}

static void end_by_libcrypto(struct model_hash *hash, unsigned char *digest) {
	(void)hash, (void)digest;
}
#endif

void model_hash_begin(struct model_hash *hash) {
	hash_begin(&hash->plain);
	hash->begun = hash->by_libcrypto = false;
}

void model_hash_add(struct model_hash *hash, const void *bytes, size_t size) {
	if (!hash->begun) hash->by_libcrypto = begin_by_libcrypto(hash, size);
	hash->begun = true;
	if (hash->by_libcrypto) add_by_libcrypto(hash, bytes, size);
	else hash_add(&hash->plain, bytes, size);
}

void model_hash_end(struct model_hash *hash, char text[HASH_TEXT]) {
	unsigned char digest[crypto_hash_sha256_BYTES] = {0};
	if (!hash->by_libcrypto) {
		hash_end(&hash->plain, text);
		return;
	}
	end_by_libcrypto(hash, digest);
	(void)sodium_bin2hex(text, HASH_TEXT, digest, sizeof digest);
}

enum cuttle_status model_hash_file(const char *path, char text[HASH_TEXT], uint64_t *size,
                                   struct cuttle_error *error) {
	struct model_hash hash;
	struct parts parts;
	char reason[PARTS_REASON];
	*size = 0;
	if (!parts_open(&parts, path, reason))
		return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", path, reason);
	unsigned char *const piece = malloc(MODEL_HASH_LARGE);
	ssize_t got = 0;
	model_hash_begin(&hash);
	while (piece && (got = parts_read(&parts, *size, piece, MODEL_HASH_LARGE)) > 0) {
		model_hash_add(&hash, piece, (size_t)got);
		*size += (uint64_t)got;
	}
	const int problem = errno;
	const bool whole = *size == parts_size(&parts);
	parts_close(&parts);
	free(piece);
	if (!piece) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (got < 0)
		return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", path, strerror(problem));
	if (!whole) return io_fail(error, CUTTLE_INPUT, "%s shrank while being read", path);
	model_hash_end(&hash, text);
	return CUTTLE_OK;
}
