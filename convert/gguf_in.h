// SPDX-License-Identifier: Apache-2.0
// A GGUF file opened to be rewritten or listed: metadata in memory, tensor data read where it lies, so that a file may be larger than
// memory.
#ifndef CUTTLE_CONVERT_GGUF_IN_H
#define CUTTLE_CONVERT_GGUF_IN_H

#include "engine/gguf.h"

struct gguf_in {
	int file;
	uint8_t *bytes; /* address space as large as the file; only its beginning has content */
	size_t size;
	struct gguf *gguf;
};

/* MODEL: unreadable or malformed. NOMEM. On failure there is nothing to close. */
enum cuttle_status gguf_in_open(struct gguf_in *in, const char *path, struct cuttle_error *error);
void gguf_in_close(struct gguf_in *in);

/* Bytes first..first+size-1 of the tensor. MODEL: unreadable, or the file shrank. */
enum cuttle_status gguf_in_read(const struct gguf_in *in, const struct gguf_tensor *tensor, uint64_t first, void *bytes, size_t size,
                                struct cuttle_error *error);

/* Calls `line` for each tensor, in the file's order. MODEL, NOMEM. */
enum cuttle_status gguf_in_list(const char *path, void (*line)(void *user, const struct gguf_tensor *tensor, const char *type), void *user,
                                struct cuttle_error *error);

#endif
