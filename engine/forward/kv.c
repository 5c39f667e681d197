// SPDX-License-Identifier: Apache-2.0
// kv.c: where the keys and values of a token lie, see kv.h for the layout.
#include "engine/forward/kv.h"

#include "base/misuse.h"

size_t kv_capacity(size_t tokens) {
	return (tokens + KV_PAGE - 1) / KV_PAGE * KV_PAGE;
}

/* One more than the pages for each prefix: it may end inside a page, and the next part then begins
 * a page of its own. Example: 100 tokens, 80 of them shared: segments of 64, 16 and 20. */
size_t kv_most_segments(size_t tokens) {
	return kv_capacity(tokens) / KV_PAGE + KV_CHAIN - 1;
}

bool kv_bytes(const struct model *model, size_t capacity, size_t *bytes) {
	const size_t per_token =
	    2 * model->layers * model->kv_heads * model->head_size * sizeof(uint16_t);
	return !__builtin_mul_overflow(capacity, per_token, bytes);
}

/* The keys of the page that holds token `at`. The page's values begin KV_PAGE * head_size numbers
 * later. Example: 2 layers, 3 KV heads: page 1, layer 0, head 2 is piece (1*2 + 0)*3 + 2 = 8. */
static uint16_t *page_keys_of(const struct model *model, const struct kv_block *block, size_t layer,
                              size_t kv_head, size_t at) {
	return block->data + ((at / KV_PAGE * model->layers + layer) * model->kv_heads + kv_head) *
	                         2 * KV_PAGE * model->head_size;
}

void kv_store(const struct model *model, struct context *context, size_t layer, size_t kv_head,
              size_t position, const float *key, const float *value) {
	REQUIRE(position >= context->shared_tokens &&
	        position - context->shared_tokens < context->own.capacity);
	const size_t at = position - context->shared_tokens, size = model->head_size,
	             in_page = at % KV_PAGE;
	uint16_t *k = page_keys_of(model, &context->own, layer, kv_head, at),
	         *v = k + (KV_PAGE + in_page) * size;
	k += in_page / ATTENTION_TILE * ATTENTION_TILE * size + in_page % ATTENTION_TILE;
	// Keys lie in tiles [head_size][16 tokens]: number d of the token goes to d * 16 of its
	// column. Example: token 21 of a page is column 5 of tile 1.
	uint16_t narrow[256];
	REQUIRE(size <= sizeof narrow / sizeof *narrow);
	kernels_get()->narrow(value, size, v);
	kernels_get()->narrow(key, size, narrow);
	for (size_t d = 0; d < size; d++) k[d * ATTENTION_TILE] = narrow[d];
}

/* Lists the first `tokens` tokens of a block, a segment per page. Returns the number of segments.
 */
static size_t list_block_segments(const struct model *model, const struct kv_block *block,
                                  size_t layer, size_t kv_head, size_t tokens,
                                  struct attention_segment *segments) {
	size_t count = 0;
	for (size_t at = 0; at < tokens; at += KV_PAGE) {
		const uint16_t *k = page_keys_of(model, block, layer, kv_head, at);
		segments[count++] =
		    (struct attention_segment){k, k + KV_PAGE * model->head_size,
		                               tokens - at < KV_PAGE ? tokens - at : KV_PAGE};
	}
	return count;
}

size_t kv_segments(const struct model *model, const struct context *context, size_t layer,
                   size_t kv_head, size_t tokens, struct attention_segment *segments) {
	const size_t shared = tokens < context->shared_tokens ? tokens : context->shared_tokens;
	const size_t count =
	    shared ? kv_segments(model, context->prefix, layer, kv_head, shared, segments) : 0;
	return count + list_block_segments(model, &context->own, layer, kv_head, tokens - shared,
	                                   segments + count);
}
