// SPDX-License-Identifier: Apache-2.0
// gguf.h: reads a model file in the format GGUF, version 2 or 3: its keys and its table of tensors.
// No private data.
//     gguf_parse(bytes, size, &file, error);
//     uint64_t layers = 0;
//     gguf_unsigned(file, "llama.block_count", true, &layers, error);
//     gguf_free(&file);
// It takes bytes in memory and gives views into them; it reads no file. The bytes are hostile, so
// everything is checked. Source: the GGUF specification (ggml docs/gguf.md).
#ifndef CUTTLE_ENGINE_GGUF_H
#define CUTTLE_ENGINE_GGUF_H

#include "engine/cuttle/status.h"

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
	uint64_t shape[4];   /* elements; shape[0] is the row length; unused ones are 1 */
	const uint8_t *data; /* all of it lies inside the file's bytes */
	size_t bytes;        /* of data */
};

/* Most tokens of a vocabulary. There is a bound because a vocabulary takes many times more bytes in
 * memory than in the file. The largest published one has 262,144. */
enum { GGUF_TOKENS_MOST = 300000 };

struct gguf;

/* Parses bytes[size]. The bytes must outlive *file, for all strings and tensor data point into
 * them. The caller frees *file; it is NULL on failure. MODEL: anything wrong, in one line. NOMEM.
 */
enum cuttle_status gguf_parse(const uint8_t *bytes, size_t size, struct gguf **file,
                              struct cuttle_error *error);

/* The same for a file of `size` bytes when only the first `held` are there. All of bytes[size] must
 * be mapped. The tensors' data may be missing: their pointers are right, but must not be read.
 * MODEL: also when the keys or the table of tensors go on after the first `held` bytes. */
enum cuttle_status gguf_parse_beginning(const uint8_t *bytes, size_t held, size_t size,
                                        struct gguf **file, struct cuttle_error *error);

/* One file of a model in parts: split.count of them. */
struct gguf_part {
	size_t size; /* bytes of the file */
	size_t held; /* bytes of its beginning that are there */
};

/* The same for the parts of one model, each behind the one before in `bytes`: the keys of the first
 * and the tensors of all. Example: parts of 100 and 60 bytes are bytes 0 to 99 and 100 to 159.
 * MODEL: also when they are not all the parts of one model, in their order. */
enum cuttle_status gguf_parse_parts(const uint8_t *bytes, const struct gguf_part *parts,
                                    size_t count, struct gguf **file, struct cuttle_error *error);

/* The same for the keys alone, of a whole file or of a first part. The table of tensors is not
 * looked at; gguf_tensor_count is 0. */
enum cuttle_status gguf_parse_keys(const uint8_t *bytes, size_t held, size_t size,
                                   struct gguf **file, struct cuttle_error *error);
void gguf_free(struct gguf **file);

/* Whether a file that begins with these four bytes may be GGUF. */
bool gguf_begins(const char magic[4]);

/* How many tensors the header says there are, or of a part its split.tensors.count. */
size_t gguf_tensors_announced(const struct gguf *file);

/* The name of a tensor type, such as "Q4_0", also where cuttle does not read the type. NULL when
 * the type does not exist. */
const char *gguf_type_name(uint32_t tensor_type);

/* The tensors by index, 0 .. count-1, in file order, or by name (NULL when absent). They belong to
 * the file. */
size_t gguf_tensor_count(const struct gguf *file);
const struct gguf_tensor *gguf_tensor_at(const struct gguf *file, size_t index);
const struct gguf_tensor *gguf_tensor_find(const struct gguf *file, const char *name);

/* Elements and bytes of one block of this type: 32 and 18 for Q4_0. False when cuttle does not read
 * the type. */
bool gguf_tensor_block(uint32_t type, uint64_t *elements, uint64_t *bytes);

/* Whether the key is there, of whatever type. */
bool gguf_has(const struct gguf *file, const char *key);

/* The metadata entries by index, 0 .. count-1, in file order. *key is the entry's key (printable).
 * Returned are all its bytes (key, type, value) as they stand in the file. */
size_t gguf_entry_count(const struct gguf *file);
struct gguf_string gguf_entry_at(const struct gguf *file, size_t index, struct gguf_string *key);

/* Each reads one key. An absent key: MODEL if `required`, else OK, and *value stays as it is. A key
 * of another type than asked for: MODEL.
 * gguf_unsigned accepts every integer type when the value is in 0..2^64-1. It also accepts an array
 * of integers, one per layer, when all are equal.
 * gguf_float accepts F32 and F64, NaN and infinities included: the caller checks. */
enum cuttle_status gguf_unsigned(const struct gguf *file, const char *key, bool required,
                                 uint64_t *value, struct cuttle_error *error);
enum cuttle_status gguf_float(const struct gguf *file, const char *key, bool required,
                              double *value, struct cuttle_error *error);
enum cuttle_status gguf_bool(const struct gguf *file, const char *key, bool required, bool *value,
                             struct cuttle_error *error);
enum cuttle_status gguf_text(const struct gguf *file, const char *key, bool required,
                             struct gguf_string *value, struct cuttle_error *error);

/* Reads an array of strings into a new array of views, which the caller frees. Errors as above, and
 * NOMEM. */
enum cuttle_status gguf_strings(const struct gguf *file, const char *key, bool required,
                                struct gguf_string **values, size_t *count,
                                struct cuttle_error *error);

/* Reads an array of F32, or of 32-bit integers up to 2^31-1, into a new array, which the caller
 * frees. It is a copy because numbers are unaligned in the file. On OK it is not NULL when the key
 * is there, even if it is empty. Errors as above, and NOMEM. */
enum cuttle_status gguf_floats(const struct gguf *file, const char *key, bool required,
                               float **values, size_t *count, struct cuttle_error *error);
enum cuttle_status gguf_ints(const struct gguf *file, const char *key, bool required,
                             int32_t **values, size_t *count, struct cuttle_error *error);

#endif
