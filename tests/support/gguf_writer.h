// SPDX-License-Identifier: Apache-2.0
// gguf_writer.h: writes GGUF v3 files in memory, for tests. It knows keys of every type, arrays,
// and tensors with data. It checks nothing, so a test can write wrong files: wrong types and sizes,
// or the same key twice. When memory runs out, it aborts the test.
//
//	struct gguf_writer *writer = gguf_writer_new();
//	gguf_write_text(writer, "general.architecture", "llama");
//	gguf_write_u32(writer, "llama.block_count", 2);
//	gguf_write_tensor(writer, "output_norm.weight", GGUF_TENSOR_F32, 1,
//	                  (const uint64_t[]){64}, weights, sizeof weights);
//	size_t size;
//	uint8_t *bytes = gguf_writer_finish(&writer, &size);    free(bytes) after use
#ifndef CUTTLE_TESTS_GGUF_WRITER_H
#define CUTTLE_TESTS_GGUF_WRITER_H

#include "engine/gguf.h"

struct gguf_writer;

struct gguf_writer *gguf_writer_new(void);

/* Writes one value of any type but STRING and ARRAY. *value has the C type of that name, as
 * uint32_t for U32; for BOOL it is an uint8_t. */
void gguf_write_value(struct gguf_writer *writer, const char *key, enum gguf_type type,
                      const void *value);
void gguf_write_u32(struct gguf_writer *writer, const char *key, uint32_t value);
void gguf_write_f32(struct gguf_writer *writer, const char *key, float value);
void gguf_write_bool(struct gguf_writer *writer, const char *key, bool value);
void gguf_write_text(struct gguf_writer *writer, const char *key, const char *text);
/* The string may hold NULs. */
void gguf_write_string(struct gguf_writer *writer, const char *key, struct gguf_string string);

/* Writes an array of any type but STRING: values[count] of the C type of that name. */
void gguf_write_array(struct gguf_writer *writer, const char *key, enum gguf_type type,
                      const void *values, size_t count);
void gguf_write_strings(struct gguf_writer *writer, const char *key,
                        const struct gguf_string *strings, size_t count);

/* Writes a tensor and copies its data[bytes]. `type` and `bytes` need not fit each other. Tensors
 * lie one after another in call order, each aligned to 32 bytes: after one of 40 bytes the next
 * begins at byte 64. */
void gguf_write_tensor(struct gguf_writer *writer, const char *name, uint32_t type,
                       uint32_t dimensions, const uint64_t *shape, const void *data, size_t bytes);

/* Returns the file in *size bytes, which the caller frees. Frees the writer and sets it to NULL.
 * The file ends with the last tensor's data, or with the metadata if there is no tensor. */
uint8_t *gguf_writer_finish(struct gguf_writer **writer, size_t *size);

/* Where the first tensor's data begins in a file, in bytes. The file must be a right one. */
size_t gguf_data_start(const uint8_t *bytes, size_t size);

#endif
