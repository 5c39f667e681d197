// SPDX-License-Identifier: Apache-2.0
// Writes a GGUF v3 file: metadata and tensor table are gathered, the tensors' data streams behind them.
//
//	struct gguf_out *out = gguf_out_new();
//	gguf_out_text(out, "general.architecture", "llama", 5);
//	gguf_out_tensor(out, name, type, dimensions, shape);            one after another, in file order
//	gguf_out_begin(out, sink, error);                               the header
//	gguf_out_data(out, bytes, size, error); gguf_out_pad(out, error);   for each tensor: all of its bytes, then the padding
#ifndef CUTTLE_CONVERT_GGUF_OUT_H
#define CUTTLE_CONVERT_GGUF_OUT_H

#include "convert/weight_type.h"
#include "engine/gguf.h"
#include "io/file.h"

struct gguf_out;

struct gguf_out *gguf_out_new(void); /* NULL: out of memory */
void gguf_out_free(struct gguf_out **out);

/* What gathers never fails: a lack of memory is remembered and reported by gguf_out_begin. Keys are not checked for standing twice. */
void gguf_out_text(struct gguf_out *out, const char *key, const char *text, size_t size);
void gguf_out_u32(struct gguf_out *out, const char *key, uint32_t value);
void gguf_out_f32(struct gguf_out *out, const char *key, float value);
void gguf_out_bool(struct gguf_out *out, const char *key, bool value);
/* values[count] of 4 bytes each: F32, U32, I32. */
void gguf_out_array(struct gguf_out *out, const char *key, enum gguf_type type, const void *values, size_t count);
void gguf_out_strings(struct gguf_out *out, const char *key, const struct gguf_string *strings, size_t count);
/* A whole metadata entry as it stands in another file. */
void gguf_out_entry(struct gguf_out *out, const void *bytes, size_t size);
/* shape[0] is the row, whole blocks of the type. */
void gguf_out_tensor(struct gguf_out *out, struct gguf_string name, const struct weight_type *type, uint32_t dimensions,
                     const uint64_t *shape);

/* NOMEM, or as sink_write. */
enum cuttle_status gguf_out_begin(struct gguf_out *out, struct sink *sink, struct cuttle_error *error);
enum cuttle_status gguf_out_data(struct gguf_out *out, const void *bytes, size_t size, struct cuttle_error *error);
enum cuttle_status gguf_out_pad(struct gguf_out *out, struct cuttle_error *error);

#endif
