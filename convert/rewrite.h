// SPDX-License-Identifier: Apache-2.0
// rewrite.h: chooses the type of each tensor and pours all tensors into a new GGUF file.
// No private data passes here.
// The caller gives a list of tensors and a function that reads their values as floats.
#ifndef CUTTLE_CONVERT_REWRITE_H
#define CUTTLE_CONVERT_REWRITE_H

#include "convert/gguf_out.h"

struct rewrite_tensor {
	struct gguf_string name;
	uint32_t dimensions;
	uint64_t shape[4];              /* shape[0] is the row length; unused ones are 1 */
	const struct weight_type *type; /* in the new file */
};

/* Either function may be NULL. `user` is handed to both. */
struct rewrite_report {
	void *user;
	/* Told when a tensor does not get the type that was asked for: one line of text. */
	void (*note)(void *user, const char *line);
	/* Told after each tensor. */
	void (*progress)(void *user, size_t tensors_done, size_t tensors_count);
};

/* The type of a tensor in a file where `wanted` was asked for:
 *  - A vector is F32.
 *  - Head and embedding are Q8_0 in a file of Q4_0 or Q4_1, and Q6_K in one of Q4_K, as is usual.
 *    The embedding counts because it may be the head.
 *  - Where rows are not whole blocks, the nearest type with smaller blocks is taken, and noted:
 *    Q4_1 for Q4_K, Q8_0 for Q6_K, F16 for all others. */
const struct weight_type *rewrite_type(const struct weight_type *wanted,
                                       const struct rewrite_tensor *tensor,
                                       const struct rewrite_report *report);

/* Fills values[count] with elements first .. first+count-1 of tensors[index]. Always whole rows. */
typedef enum cuttle_status (*rewrite_reader)(void *user, size_t index, uint64_t first, size_t count,
                                             float *values, struct cuttle_error *error);

/* Whether the output may be written. USAGE: `path` exists and `overwrite` is false. */
enum cuttle_status rewrite_allowed(const char *path, bool overwrite, struct cuttle_error *error);

/* Adds tensors[count] to `out` and writes the file at `path`. The metadata of `out` must be
 * complete. `user` is handed to the reader. MODEL: a value is not finite, or too large for its
 * type. INTERNAL: the file cannot be written. NOMEM: out of memory. Or the reader's error. */
enum cuttle_status rewrite_pour(struct gguf_out *out, const char *path,
                                const struct rewrite_tensor *tensors, size_t count,
                                rewrite_reader reader, void *user,
                                const struct rewrite_report *report, struct cuttle_error *error);

#endif
