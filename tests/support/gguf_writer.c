// SPDX-License-Identifier: Apache-2.0
// How a test's GGUF file is made in memory: metadata, tensor table and data grow in three buffers.
// gguf_writer_finish joins them.
#include "tests/support/gguf_writer.h"

#include "base/misuse.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 32 }; /* bytes */

struct buffer {
	uint8_t *bytes;
	size_t size, capacity;
};

struct gguf_writer {
	struct buffer metadata, table, data;
	uint64_t keys, tensors;
};

static void append_bytes(struct buffer *buffer, const void *bytes, size_t size) {
	if (size > buffer->capacity - buffer->size) {
		buffer->capacity = (buffer->size + size) * 2;
		buffer->bytes = realloc(buffer->bytes, buffer->capacity);
		if (!buffer->bytes) abort();
	}
	if (size) memcpy(buffer->bytes + buffer->size, bytes, size);
	buffer->size += size;
}

static void append_u32(struct buffer *buffer, uint32_t value) {
	append_bytes(buffer, &value, sizeof value);
}
static void append_u64(struct buffer *buffer, uint64_t value) {
	append_bytes(buffer, &value, sizeof value);
}

static void append_string(struct buffer *buffer, struct gguf_string string) {
	append_u64(buffer, string.size);
	append_bytes(buffer, string.text, string.size);
}

static void pad_buffer(struct buffer *buffer) {
	static const uint8_t zeros[ALIGNMENT];
	append_bytes(buffer, zeros, (ALIGNMENT - buffer->size % ALIGNMENT) % ALIGNMENT);
}

static struct gguf_string wrap_text(const char *text) {
	return (struct gguf_string){text, strlen(text)};
}

static size_t get_value_size(enum gguf_type type) {
	static const uint8_t sizes[] = {
	    [GGUF_U8] = 1,  [GGUF_I8] = 1,  [GGUF_BOOL] = 1, [GGUF_U16] = 2,
	    [GGUF_I16] = 2, [GGUF_U32] = 4, [GGUF_I32] = 4,  [GGUF_F32] = 4,
	    [GGUF_U64] = 8, [GGUF_I64] = 8, [GGUF_F64] = 8,
	};
	return sizes[type];
}

static struct buffer *begin_key(struct gguf_writer *writer, const char *key, uint32_t type) {
	writer->keys++;
	append_string(&writer->metadata, wrap_text(key));
	append_u32(&writer->metadata, type);
	return &writer->metadata;
}

struct gguf_writer *gguf_writer_new(void) {
	struct gguf_writer *writer = calloc(1, sizeof *writer);
	if (!writer) abort();
	return writer;
}

void gguf_write_value(struct gguf_writer *writer, const char *key, enum gguf_type type,
                      const void *value) {
	append_bytes(begin_key(writer, key, type), value, get_value_size(type));
}

void gguf_write_u32(struct gguf_writer *writer, const char *key, uint32_t value) {
	gguf_write_value(writer, key, GGUF_U32, &value);
}
void gguf_write_f32(struct gguf_writer *writer, const char *key, float value) {
	gguf_write_value(writer, key, GGUF_F32, &value);
}

void gguf_write_bool(struct gguf_writer *writer, const char *key, bool value) {
	gguf_write_value(writer, key, GGUF_BOOL, &(uint8_t){value});
}

void gguf_write_string(struct gguf_writer *writer, const char *key, struct gguf_string string) {
	append_string(begin_key(writer, key, GGUF_STRING), string);
}

void gguf_write_text(struct gguf_writer *writer, const char *key, const char *text) {
	gguf_write_string(writer, key, wrap_text(text));
}

void gguf_write_array(struct gguf_writer *writer, const char *key, enum gguf_type type,
                      const void *values, size_t count) {
	struct buffer *metadata = begin_key(writer, key, GGUF_ARRAY);
	append_u32(metadata, type);
	append_u64(metadata, count);
	append_bytes(metadata, values, count * get_value_size(type));
}

void gguf_write_strings(struct gguf_writer *writer, const char *key,
                        const struct gguf_string *strings, size_t count) {
	struct buffer *metadata = begin_key(writer, key, GGUF_ARRAY);
	append_u32(metadata, GGUF_STRING);
	append_u64(metadata, count);
	for (size_t i = 0; i < count; i++) append_string(metadata, strings[i]);
}

void gguf_write_tensor(struct gguf_writer *writer, const char *name, uint32_t type,
                       uint32_t dimensions, const uint64_t *shape, const void *data, size_t bytes) {
	writer->tensors++;
	pad_buffer(&writer->data);
	append_string(&writer->table, wrap_text(name));
	append_u32(&writer->table, dimensions);
	append_bytes(&writer->table, shape, dimensions * sizeof *shape);
	append_u32(&writer->table, type);
	append_u64(&writer->table, writer->data.size);
	append_bytes(&writer->data, data, bytes);
}

uint8_t *gguf_writer_finish(struct gguf_writer **writer, size_t *size) {
	struct gguf_writer *done = *writer;
	struct buffer file = {0};
	append_bytes(&file, "GGUF", 4);
	append_u32(&file, 3);
	append_u64(&file, done->tensors);
	append_u64(&file, done->keys);
	append_bytes(&file, done->metadata.bytes, done->metadata.size);
	append_bytes(&file, done->table.bytes, done->table.size);
	if (done->tensors) pad_buffer(&file);
	append_bytes(&file, done->data.bytes, done->data.size);
	free(done->metadata.bytes);
	free(done->table.bytes);
	free(done->data.bytes);
	free(done);
	*writer = NULL;
	*size = file.size;
	return file.bytes;
}

size_t gguf_data_start(const uint8_t *bytes, size_t size) {
	struct gguf *file;
	REQUIRE(gguf_parse(bytes, size, &file, NULL) == CUTTLE_OK);
	const size_t start = (size_t)(gguf_tensor_at(file, 0)->data - bytes);
	gguf_free(&file);
	return start;
}
