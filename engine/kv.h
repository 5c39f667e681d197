// SPDX-License-Identifier: Apache-2.0
// The KV cache: keys and values in fp16, in the layout of kernels/attention.h. A context is a prefix shared with other contexts, read only,
// followed by a tail of its own.
#ifndef CUTTLE_ENGINE_KV_H
#define CUTTLE_ENGINE_KV_H

#include "engine/model.h"

enum { KV_PAGE = 64 }; /* tokens whose keys and values of all layers lie together: memory is touched as a context grows, not before */

/* Keys and values of `capacity` tokens (a multiple of KV_PAGE): [page][layer][kv head]{K: 4 tiles, V: 64 rows}. */
struct kv_block {
	uint16_t *data;
	size_t capacity;
};

/* `tokens` rounded up to whole pages. */
size_t kv_capacity(size_t tokens);

/* Most segments a context of `tokens` tokens has. */
size_t kv_most_segments(size_t tokens);

/* Bytes of a block, false on overflow. */
bool kv_bytes(const struct model *model, size_t capacity, size_t *bytes);

struct context {
	const struct kv_block *shared; /* NULL when shared_tokens is 0 */
	size_t shared_tokens;          /* a multiple of 16 */
	struct kv_block own;
};

/* Stores the key and value (head_size floats each, the key already rotated) of the token at `position`, which lies in the context's own
 * part. */
void kv_store(const struct model *model, struct context *context, size_t layer, size_t kv_head, size_t position, const float *key,
              const float *value);

/* The first `tokens` tokens as segments, at most kv_most_segments(tokens); returns their number. */
size_t kv_segments(const struct model *model, const struct context *context, size_t layer, size_t kv_head, size_t tokens,
                   struct attention_segment *segments);

#endif
