// SPDX-License-Identifier: Apache-2.0
// model_hash.h: the same SHA-256 as hash.h's, for a model file, which is large and public. No
// private data: texts go through hash.h.
//
// What libsodium has for every processor takes 4.3 ns a byte. libcrypto (OpenSSL) uses the
// instructions that a processor has for SHA-256, and takes 0.7 ns. So it is loaded when there is a
// large file, and when it is not there, libsodium does it.
//
//     model_hash_begin(&hash);
//     model_hash_add(&hash, bytes, 4 << 20);
//     model_hash_end(&hash, text);
#ifndef CUTTLE_IO_DISK_MODEL_HASH_H
#define CUTTLE_IO_DISK_MODEL_HASH_H

#include "io/disk/hash.h"

enum {
	/* Bytes of a first piece that libcrypto is loaded for. To load it takes as long as
	 * libsodium takes for 0.8 MiB. */
	MODEL_HASH_LARGE = 2 << 20,
	MODEL_HASH_STATE = 256 /* bytes of a SHA256_CTX, of which libcrypto uses 112 */
};

struct model_hash {
	struct hash plain;
	bool begun;        /* by the first piece, which chooses the library */
	bool by_libcrypto; /* it is in the state below, and not in `plain` */
	_Alignas(16) unsigned char state[MODEL_HASH_STATE];
};

void model_hash_begin(struct model_hash *hash);
void model_hash_add(struct model_hash *hash, const void *bytes, size_t size);
void model_hash_end(struct model_hash *hash, char text[HASH_TEXT]);
/* Hashes a file's content and sets *size to its bytes. A model in parts is hashed as if they were
 * one file, in their order, when the first is given (base/parts.h). INPUT: it cannot be read, or is
 * no regular file. NOMEM. */
enum cuttle_status model_hash_file(const char *path, char text[HASH_TEXT], uint64_t *size,
                                   struct cuttle_error *error);

#endif
