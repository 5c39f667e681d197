// SPDX-License-Identifier: Apache-2.0
// hash.h: SHA-256 of bytes or of a file, as 64 lower-case hex digits.
//
// Private texts may pass through. Do not publish the hash of one: whoever has it can test a guess
// of the text. io/output/binding.h has a digest with a key for that. Bytes may come in pieces, and
// how they are cut makes no difference:
//
//     hash_begin(&hash); hash_add(&hash, "ab", 2); hash_add(&hash, "c", 1); hash_end(&hash, text);
//
// gives the same digits as hash_of("abc", 3, text).
#ifndef CUTTLE_IO_DISK_HASH_H
#define CUTTLE_IO_DISK_HASH_H

#include "engine/cuttle/status.h"
#include <sodium.h>

enum { HASH_TEXT = 65 }; /* bytes of a hash as text: 64 digits and a NUL */

struct hash {
	crypto_hash_sha256_state state;
};

void hash_begin(struct hash *hash);
void hash_add(struct hash *hash, const void *bytes, size_t size);
void hash_end(struct hash *hash, char text[HASH_TEXT]);
/* All three in one call. */
void hash_of(const void *bytes, size_t size, char text[HASH_TEXT]);
/* A file may end with the hash of all bytes before, HASH_TEXT - 1 digits. Whether bytes[size] do,
 * of which there are at least so many; then text gets the hash of all of them. */
bool hash_sealed(const char *bytes, size_t size, char text[HASH_TEXT]);
/* Hashes a file's content. INPUT: the file cannot be read. */
enum cuttle_status hash_file(const char *path, char text[HASH_TEXT], struct cuttle_error *error);

#endif
