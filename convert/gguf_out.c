// SPDX-License-Identifier: Apache-2.0
// How a GGUF file is written: two growing buffers gather metadata and tensor table. They are
// written once both are complete, since the header begins with their counts. Tensor data then goes
// straight to the file. `written` counts the file's bytes, for the padding.
#include "convert/gguf_out.h"

#include "io/disk/fail.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 32 }; /* bytes; the format's default */

struct buffer {
	uint8_t *bytes;
	size_t size, capacity;
	bool failed;
};

struct gguf_out {
	struct buffer metadata, table;
	uint64_t entries; /* in `metadata` */
	uint64_t tensors; /* in `table` */
	uint64_t offset;  /* of the next tensor, in bytes from the start of the data */
	uint64_t written; /* bytes, from the start of the file */
	struct sink *sink;
};

static void gather_bytes(struct buffer *buffer, const void *bytes, size_t size) {
	if (!size || buffer->failed) return;
	if (size > buffer->capacity - buffer->size) {
		const size_t capacity =
		    size > SIZE_MAX / 4 - buffer->size ? 0 : (buffer->size + size) * 2;
		uint8_t *grown = capacity ? realloc(buffer->bytes, capacity) : NULL;
		buffer->failed = !grown;
		if (!grown) return;
		buffer->bytes = grown;
		buffer->capacity = capacity;
	}
	memcpy(buffer->bytes + buffer->size, bytes, size);
	buffer->size += size;
}

static void gather_string(struct buffer *buffer, const char *text, size_t size) {
	gather_bytes(buffer, &(uint64_t){size}, sizeof(uint64_t));
	gather_bytes(buffer, text, size);
}

static struct buffer *begin_entry(struct gguf_out *out, const char *key, enum gguf_type type) {
	out->entries++;
	gather_string(&out->metadata, key, strlen(key));
	gather_bytes(&out->metadata, &(uint32_t){type}, sizeof(uint32_t));
	return &out->metadata;
}

struct gguf_out *gguf_out_new(void) {
	return calloc(1, sizeof(struct gguf_out));
}

void gguf_out_free(struct gguf_out **out) {
	if (!*out) return;
	free((*out)->metadata.bytes);
	free((*out)->table.bytes);
	free(*out);
	*out = NULL;
}

void gguf_out_text(struct gguf_out *out, const char *key, const char *text, size_t size) {
	gather_string(begin_entry(out, key, GGUF_STRING), text, size);
}

void gguf_out_u32(struct gguf_out *out, const char *key, uint32_t value) {
	gather_bytes(begin_entry(out, key, GGUF_U32), &value, sizeof value);
}

void gguf_out_f32(struct gguf_out *out, const char *key, float value) {
	gather_bytes(begin_entry(out, key, GGUF_F32), &value, sizeof value);
}

void gguf_out_bool(struct gguf_out *out, const char *key, bool value) {
	gather_bytes(begin_entry(out, key, GGUF_BOOL), &(uint8_t){value}, 1);
}

static struct buffer *begin_array(struct gguf_out *out, const char *key, enum gguf_type type,
                                  size_t count) {
	struct buffer *buffer = begin_entry(out, key, GGUF_ARRAY);
	gather_bytes(buffer, &(uint32_t){type}, sizeof(uint32_t));
	gather_bytes(buffer, &(uint64_t){count}, sizeof(uint64_t));
	return buffer;
}

void gguf_out_array(struct gguf_out *out, const char *key, enum gguf_type type, const void *values,
                    size_t count) {
	gather_bytes(begin_array(out, key, type, count), values, count * 4);
}

void gguf_out_strings(struct gguf_out *out, const char *key, const struct gguf_string *strings,
                      size_t count) {
	struct buffer *buffer = begin_array(out, key, GGUF_STRING, count);
	for (size_t i = 0; i < count; i++) gather_string(buffer, strings[i].text, strings[i].size);
}

void gguf_out_entry(struct gguf_out *out, const void *bytes, size_t size) {
	out->entries++;
	gather_bytes(&out->metadata, bytes, size);
}

void gguf_out_tensor(struct gguf_out *out, struct gguf_string name, const struct weight_type *type,
                     uint32_t dimensions, const uint64_t *shape) {
	uint64_t bytes = type->block_bytes;
	for (uint32_t i = 0; i < dimensions; i++) bytes *= i ? shape[i] : shape[i] / type->block;
	out->tensors++;
	gather_string(&out->table, name.text, name.size);
	gather_bytes(&out->table, &dimensions, sizeof dimensions);
	gather_bytes(&out->table, shape, dimensions * sizeof *shape);
	gather_bytes(&out->table, &type->id, sizeof type->id);
	gather_bytes(&out->table, &out->offset, sizeof out->offset);
	out->offset += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

enum cuttle_status gguf_out_begin(struct gguf_out *out, struct sink *sink,
                                  struct cuttle_error *error) {
	struct buffer header = {0};
	gather_bytes(&header, "GGUF", 4);
	gather_bytes(&header, &(uint32_t){3}, sizeof(uint32_t));
	gather_bytes(&header, &out->tensors, sizeof out->tensors);
	gather_bytes(&header, &out->entries, sizeof out->entries);
	const bool failed = header.failed || out->metadata.failed || out->table.failed;
	out->sink = sink;
	enum cuttle_status status = failed ? io_fail(error, CUTTLE_NOMEM, "out of memory")
	                                   : gguf_out_data(out, header.bytes, header.size, error);
	free(header.bytes);
	if (!status) status = gguf_out_data(out, out->metadata.bytes, out->metadata.size, error);
	if (!status) status = gguf_out_data(out, out->table.bytes, out->table.size, error);
	return status ? status : gguf_out_pad(out, error);
}

enum cuttle_status gguf_out_data(struct gguf_out *out, const void *bytes, size_t size,
                                 struct cuttle_error *error) {
	out->written += size;
	return sink_write(out->sink, bytes, size, error);
}

enum cuttle_status gguf_out_pad(struct gguf_out *out, struct cuttle_error *error) {
	static const uint8_t zeros[ALIGNMENT];
	return gguf_out_data(out, zeros,
	                     (size_t)((ALIGNMENT - out->written % ALIGNMENT) % ALIGNMENT), error);
}
