// SPDX-License-Identifier: Apache-2.0
// Writes GGUF v3 files in memory, for tests: keys of every type, arrays, tensors with data. Running out of memory ends the test by abort.
// Nothing is checked, so that wrong files can be written too (wrong types and sizes, the same key twice).
//
//	struct gguf_writer *writer = gguf_writer_new();
//	gguf_write_text(writer, "general.architecture", "llama");
//	gguf_write_u32(writer, "llama.block_count", 2);
//	gguf_write_tensor(writer, "output_norm.weight", GGUF_TENSOR_F32, 1, (const uint64_t[]){64}, weights, sizeof weights);
//	size_t size;
//	uint8_t *bytes = gguf_writer_finish(&writer, &size); /* caller frees */
#ifndef CUTTLE_TESTS_GGUF_WRITER_H
#define CUTTLE_TESTS_GGUF_WRITER_H

#include "engine/gguf.h"

struct gguf_writer;

struct gguf_writer *gguf_writer_new(void);

/* One value of any type but STRING and ARRAY; *value is of the C type of that name (uint8_t for BOOL). */
void gguf_write_value(struct gguf_writer *writer, const char *key, enum gguf_type type, const void *value);
void gguf_write_u32(struct gguf_writer *writer, const char *key, uint32_t value);
void gguf_write_f32(struct gguf_writer *writer, const char *key, float value);
void gguf_write_bool(struct gguf_writer *writer, const char *key, bool value);
void gguf_write_text(struct gguf_writer *writer, const char *key, const char *text);
void gguf_write_string(struct gguf_writer *writer, const char *key, struct gguf_string string); /* may hold NULs */

/* Arrays: values[count] of the C type of that name; strings apart. */
void gguf_write_array(struct gguf_writer *writer, const char *key, enum gguf_type type, const void *values, size_t count);
void gguf_write_strings(struct gguf_writer *writer, const char *key, const struct gguf_string *strings, size_t count);

/* Copies data[bytes]; `type` and `bytes` are written as given. Tensors lie one after another, each aligned to 32 bytes, in call order. */
void gguf_write_tensor(struct gguf_writer *writer, const char *name, uint32_t type, uint32_t dimensions, const uint64_t *shape,
                       const void *data, size_t bytes);

/* The file; frees and nulls the writer. The bytes end where the last tensor ends, or with the metadata if there is none. */
uint8_t *gguf_writer_finish(struct gguf_writer **writer, size_t *size);

#endif
