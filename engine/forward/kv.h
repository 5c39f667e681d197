// SPDX-License-Identifier: Apache-2.0
// kv.h: the KV cache, the keys and values of every token of a context: in fp16, or in int8 where
// the model's kv_type says so.
// Private data: keys and values of private contexts. The owner maps the memory as secret.
// How: a context is a prefix, then a part of its own. The prefix is the beginning of another
// context, which may have a prefix too. It is read only.
// Example: a run's first 32 tokens; a document's context, 32 shared and 400 of its own; a private
// one, whose first 240 tokens are the document's.
// Attention reads all parts as segments (kernels/attention.h), each of one page.
#ifndef CUTTLE_ENGINE_KV_H
#define CUTTLE_ENGINE_KV_H

#include "engine/model/model.h"

/* Tokens of a page. A page holds their keys and values of all layers side by side. So memory is
 * touched only as a context grows. */
enum { KV_PAGE = 64 };

/* Keys and values of `capacity` tokens. Layout: [page][layer that attends][kv head]. In each place
 * come first the keys, 4 tiles of [head_size][16 tokens], then the values, [64 tokens][head_size].
 * int8 ones lie in pairs (kernels/attention.h), and behind the 64 keys come their scales, [64]
 * floats; likewise behind the values. A page ends with [layer that convolves][64 tokens][width]
 * floats: what later tokens still see of each. */
struct kv_block {
	uint8_t *data;   /* aligned to 64 bytes */
	size_t capacity; /* tokens, a multiple of KV_PAGE */
};

/* `tokens` rounded up to whole pages. Example: 65 gives 128. */
size_t kv_capacity(size_t tokens);

/* The most segments that a context of `tokens` tokens has. */
size_t kv_most_segments(size_t tokens);

/* Sets *bytes to the size of a block of `capacity` tokens. False on overflow. */
bool kv_bytes(const struct model *model, size_t capacity, size_t *bytes);

/* Most contexts in a chain of prefixes: as in the example above. */
enum { KV_CHAIN = 3 };

struct context {
	const struct context *prefix; /* NULL when shared_tokens is 0 */
	size_t shared_tokens;         /* tokens of the prefix, a multiple of 16 */
	struct kv_block own;          /* the tokens after the prefix */
};

/* Stores the key and value of the token at `position`, head_size floats each, for one layer and one
 * KV head. The key is rotated already. The position must lie in the context's own part. */
void kv_store(const struct model *model, struct context *context, size_t layer, size_t kv_head,
              size_t position, const float *key, const float *value);

/* Writes the context's tokens from `from`, a multiple of 16, to `end` - 1 as segments, and returns
 * how many there are: at most kv_most_segments(end). */
size_t kv_segments(const struct model *model, const struct context *context, size_t layer,
                   size_t kv_head, size_t from, size_t end, struct attention_segment *segments);

/* Where the layer, which convolves, keeps its state of the token at `position`: [width] floats.
 * Only in the context's own part may they be written. */
float *kv_state(const struct model *model, const struct context *context, size_t layer,
                size_t position);

/* How many tokens the first a_tokens of one context and the first b_tokens of another have in the
 * same memory. Example: both share 48 tokens of a third, so 48. */
size_t kv_common(const struct context *a, size_t a_tokens, const struct context *b,
                 size_t b_tokens);

#endif
