// SPDX-License-Identifier: Apache-2.0
// gguf_in.h: opens a GGUF file to rewrite or list it, even one larger than memory.
// It reads public model files only; no private data passes here.
// The metadata is in memory. gguf_in_read fetches tensor data from the file, part by part:
//
//	struct gguf_in in;
//	if (!(status = gguf_in_open(&in, path, error))) {
//		status = gguf_in_read(&in, gguf_tensor_at(in.gguf, 0), 0, bytes, size, error);
//		gguf_in_close(&in);
//	}
#ifndef CUTTLE_CONVERT_GGUF_IN_H
#define CUTTLE_CONVERT_GGUF_IN_H

#include "base/parts.h"
#include "engine/gguf.h"

struct gguf_in {
	struct parts parts; /* open files */
	uint8_t *bytes;     /* address space as long as all; only their beginnings have content */
	size_t size;        /* bytes of all parts */
	struct gguf *gguf;  /* the metadata; do not read its tensors' data, use gguf_in_read */
};

/* MODEL: the file is unreadable or malformed. NOMEM: out of memory. After a failure there is
 * nothing to close. */
enum cuttle_status gguf_in_open(struct gguf_in *in, const char *path, struct cuttle_error *error);
void gguf_in_close(struct gguf_in *in);

/* Reads bytes first..first+size-1 of the tensor. MODEL: they are unreadable, or the file shrank. */
enum cuttle_status gguf_in_read(const struct gguf_in *in, const struct gguf_tensor *tensor,
                                uint64_t first, void *bytes, size_t size,
                                struct cuttle_error *error);

/* Opens the file at `path` and calls `line` for each tensor, in the file's order. `type` is the
 * name of the tensor's type. Errors as gguf_in_open. */
enum cuttle_status gguf_in_list(const char *path,
                                void (*line)(void *user, const struct gguf_tensor *tensor,
                                             const char *type),
                                void *user, struct cuttle_error *error);

#endif
