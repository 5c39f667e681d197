// SPDX-License-Identifier: Apache-2.0
// gguf_out.h: writes a GGUF v3 file. Metadata and tensor table wait in memory, data streams behind.
// No private data passes here.
//
//	struct gguf_out *out = gguf_out_new();
//	gguf_out_text(out, "general.architecture", "llama", 5);    metadata
//	gguf_out_tensor(out, name, type, dimensions, shape);       each tensor, in file order
//	gguf_out_begin(out, sink, error);                          writes header and table
//	gguf_out_data(out, bytes, size, error);                    a tensor's bytes, in parts
//	gguf_out_pad(out, error);                                  after each tensor's last part
//	gguf_out_free(&out);
#ifndef CUTTLE_CONVERT_GGUF_OUT_H
#define CUTTLE_CONVERT_GGUF_OUT_H

#include "convert/weight_type.h"
#include "engine/gguf.h"
#include "io/disk/file.h"

struct gguf_out;

struct gguf_out *gguf_out_new(void); /* NULL: out of memory */
void gguf_out_free(struct gguf_out **out);

/* The functions down to gguf_out_tensor report no failure: gguf_out_begin reports a lack of memory
 * for all of them. They copy what they are given. They let a key be written twice. */
void gguf_out_text(struct gguf_out *out, const char *key, const char *text, size_t size);
void gguf_out_u32(struct gguf_out *out, const char *key, uint32_t value);
void gguf_out_f32(struct gguf_out *out, const char *key, float value);
void gguf_out_bool(struct gguf_out *out, const char *key, bool value);
/* values[count] of 4 bytes each: F32, U32, I32. */
void gguf_out_array(struct gguf_out *out, const char *key, enum gguf_type type, const void *values,
                    size_t count);
void gguf_out_strings(struct gguf_out *out, const char *key, const struct gguf_string *strings,
                      size_t count);
/* Copies a whole metadata entry of another file: its key, type and value as bytes[size]. */
void gguf_out_entry(struct gguf_out *out, const void *bytes, size_t size);
/* shape[dimensions], row length first. shape[0] must be whole blocks of the type. */
void gguf_out_tensor(struct gguf_out *out, struct gguf_string name, const struct weight_type *type,
                     uint32_t dimensions, const uint64_t *shape);

/* NOMEM: a function above ran out of memory. Other errors as sink_write. */
enum cuttle_status gguf_out_begin(struct gguf_out *out, struct sink *sink,
                                  struct cuttle_error *error);
enum cuttle_status gguf_out_data(struct gguf_out *out, const void *bytes, size_t size,
                                 struct cuttle_error *error);
enum cuttle_status gguf_out_pad(struct gguf_out *out, struct cuttle_error *error);

#endif
