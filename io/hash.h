// SPDX-License-Identifier: Apache-2.0
// SHA-256 of what streams by, as 64 lower-case hex digits.
#ifndef CUTTLE_IO_HASH_H
#define CUTTLE_IO_HASH_H

#include "engine/cuttle.h"
#include <sodium.h>

enum { HASH_TEXT = 65 }; /* 64 digits and the NUL */

struct hash {
	crypto_hash_sha256_state state;
};

void hash_begin(struct hash *hash);
void hash_add(struct hash *hash, const void *bytes, size_t size);
void hash_end(struct hash *hash, char text[HASH_TEXT]);
/* All at once. */
void hash_of(const void *bytes, size_t size, char text[HASH_TEXT]);
/* Of a file's content. INPUT: cannot be read. NOMEM. */
enum cuttle_status hash_file(const char *path, char text[HASH_TEXT], struct cuttle_error *error);

#endif
