// SPDX-License-Identifier: Apache-2.0
// GGUF v2/v3: bytes -> metadata and tensor table. Pure: (bytes, size) in, views into those bytes out; no I/O. The file is hostile.
// Source: the GGUF specification (ggml docs/gguf.md).
#ifndef CUTTLE_ENGINE_GGUF_H
#define CUTTLE_ENGINE_GGUF_H

#include "engine/cuttle.h"

#include <stddef.h>
#include <stdint.h>

enum gguf_type { /* of a metadata value */
	         GGUF_U8,
	         GGUF_I8,
	         GGUF_U16,
	         GGUF_I16,
	         GGUF_U32,
	         GGUF_I32,
	         GGUF_F32,
	         GGUF_BOOL,
	         GGUF_STRING,
	         GGUF_ARRAY,
	         GGUF_U64,
	         GGUF_I64,
	         GGUF_F64
};

enum gguf_tensor_type { /* those cuttle reads, by their number in the file */
	                GGUF_TENSOR_F32 = 0,
	                GGUF_TENSOR_F16 = 1,
	                GGUF_TENSOR_Q4_0 = 2,
	                GGUF_TENSOR_Q4_1 = 3,
	                GGUF_TENSOR_Q5_0 = 6,
	                GGUF_TENSOR_Q5_1 = 7,
	                GGUF_TENSOR_Q8_0 = 8,
	                GGUF_TENSOR_Q2_K = 10,
	                GGUF_TENSOR_Q3_K = 11,
	                GGUF_TENSOR_Q4_K = 12,
	                GGUF_TENSOR_Q5_K = 13,
	                GGUF_TENSOR_Q6_K = 14,
	                GGUF_TENSOR_IQ4_NL = 20,
	                GGUF_TENSOR_IQ4_XS = 23,
	                GGUF_TENSOR_BF16 = 30
};
enum { GGUF_TENSOR_TYPES = GGUF_TENSOR_BF16 + 1 };

struct gguf_string {
	const char *text; /* not NUL-terminated, may hold NULs */
	size_t size;
};

struct gguf_tensor {
	struct gguf_string name;
	uint32_t type;       /* always one of enum gguf_tensor_type */
	uint32_t dimensions; /* 1..4 */
	uint64_t shape[4];   /* shape[0] is the row length; unused ones are 1 */
	const uint8_t *data; /* inside the file's bytes, wholly */
	size_t bytes;
};

/* Of a vocabulary: in memory it takes many times what it takes in the file. The largest published one has 262,144. */
enum { GGUF_TOKENS_MOST = 300000 };

struct gguf;

/* Parses bytes[size], which must outlive *file (all strings and tensor data point into it). MODEL: anything wrong, one line. NOMEM. */
enum cuttle_status gguf_parse(const uint8_t *bytes, size_t size, struct gguf **file, struct cuttle_error *error);
void gguf_free(struct gguf **file);

const char *gguf_type_name(uint32_t tensor_type); /* "Q4_0", also of types cuttle does not read; NULL when it does not exist */
size_t gguf_tensor_count(const struct gguf *file);
const struct gguf_tensor *gguf_tensor_at(const struct gguf *file, size_t index);
const struct gguf_tensor *gguf_tensor_find(const struct gguf *file, const char *name); /* NULL when absent */

/* Elements and bytes of one block; false when cuttle does not read the type. */
bool gguf_tensor_block(uint32_t type, uint64_t *elements, uint64_t *bytes);

bool gguf_has(const struct gguf *file, const char *key);

/* Metadata entry number `index` of gguf_entry_count, in file order: its key (printable), and all its bytes (key, type, value) as they stand
 * in the file. */
size_t gguf_entry_count(const struct gguf *file);
struct gguf_string gguf_entry_at(const struct gguf *file, size_t index, struct gguf_string *key);

/* Each reads one key. When the key is absent: *value is left alone and OK is returned if `required` is false, else MODEL.
 * A key of another type than asked for is MODEL. Unsigned accepts every integer type whose value is in 0..2^64-1; per-layer arrays of
 * integers are accepted where all entries are equal. Float accepts F32 and F64, NaN and infinities included: the caller checks. */
enum cuttle_status gguf_unsigned(const struct gguf *file, const char *key, bool required, uint64_t *value, struct cuttle_error *error);
enum cuttle_status gguf_float(const struct gguf *file, const char *key, bool required, double *value, struct cuttle_error *error);
enum cuttle_status gguf_bool(const struct gguf *file, const char *key, bool required, bool *value, struct cuttle_error *error);
enum cuttle_status gguf_text(const struct gguf *file, const char *key, bool required, struct gguf_string *value,
                             struct cuttle_error *error);

/* Array of strings: a newly allocated array the caller frees (views of the texts). */
enum cuttle_status gguf_strings(const struct gguf *file, const char *key, bool required, struct gguf_string **values, size_t *count,
                                struct cuttle_error *error);
/* Array of F32, or of 32-bit integers up to 2^31-1, copied out (unaligned in the file); the caller frees. Never NULL on OK when the key is
 * there, even if it is empty. */
enum cuttle_status gguf_floats(const struct gguf *file, const char *key, bool required, float **values, size_t *count,
                               struct cuttle_error *error);
enum cuttle_status gguf_ints(const struct gguf *file, const char *key, bool required, int32_t **values, size_t *count,
                             struct cuttle_error *error);

#endif
