// SPDX-License-Identifier: Apache-2.0
// What converting and quantising have in common: which type each tensor gets, and the pouring of all of them into a new file.
#ifndef CUTTLE_CONVERT_REWRITE_H
#define CUTTLE_CONVERT_REWRITE_H

#include "convert/gguf_out.h"

struct rewrite_tensor {
	struct gguf_string name;
	uint32_t dimensions;
	uint64_t shape[4];              /* shape[0] is the row; unused ones are 1 */
	const struct weight_type *type; /* as it is written */
};

/* Both may be NULL. */
struct rewrite_report {
	void *user;
	void (*note)(void *user, const char *line);                              /* of a decision: one line */
	void (*progress)(void *user, size_t tensors_done, size_t tensors_count); /* after each tensor */
};

/* The type for a tensor when `wanted` was asked for: vectors are F32; the head of a Q4 file (and an embedding, which may be the head) is
 * Q8_0, of a Q4_K file Q6_K, as is usual. Rows that are not whole blocks take the type of smaller blocks that is nearest, which is noted:
 * Q4_1 for Q4_K, Q8_0 for Q6_K, F16 for all others. */
const struct weight_type *rewrite_type(const struct weight_type *wanted, const struct rewrite_tensor *tensor,
                                       const struct rewrite_report *report);

/* Fills values with elements first .. first+count-1 (whole rows) of tensors[index]. */
typedef enum cuttle_status (*rewrite_reader)(void *user, size_t index, uint64_t first, size_t count, float *values,
                                             struct cuttle_error *error);

/* Whether the output may be written: USAGE when something stands at path and `overwrite` is false. */
enum cuttle_status rewrite_allowed(const char *path, bool overwrite, struct cuttle_error *error);

/* Adds the tensors to `out`, whose metadata is complete, and writes the file: PATH.part, then renamed. MODEL: a value that its type cannot
 * hold. INTERNAL: no space. NOMEM, or what the reader says. */
enum cuttle_status rewrite_pour(struct gguf_out *out, const char *path, const struct rewrite_tensor *tensors, size_t count,
                                rewrite_reader reader, void *user, const struct rewrite_report *report, struct cuttle_error *error);

#endif
