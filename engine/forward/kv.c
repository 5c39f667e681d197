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

/* Lists the tokens from `from` to `end` - 1 of a block, a segment per page. Returns the number of
 * segments. */
static size_t list_block_segments(const struct model *model, const struct kv_block *block,
                                  size_t layer, size_t kv_head, size_t from, size_t end,
                                  struct attention_segment *segments) {
	const size_t size = model->head_size;
	size_t count = 0;
	for (size_t at = from, next; at < end; at = next) {
		// A tile of 16 keys takes 16 * size numbers, so token 32 of a page is 32 * size on.
		const uint16_t *k =
		    page_keys_of(model, block, layer, kv_head, at) + at % KV_PAGE * size;
		next = (at / KV_PAGE + 1) * KV_PAGE;
		if (next > end) next = end;
		segments[count++] = (struct attention_segment){k, k + KV_PAGE * size, next - at};
	}
	return count;
}

size_t kv_segments(const struct model *model, const struct context *context, size_t layer,
                   size_t kv_head, size_t from, size_t end, struct attention_segment *segments) {
	REQUIRE(from % ATTENTION_TILE == 0);
	const size_t shared = context->shared_tokens;
	size_t count = 0;
	if (from < shared)
		count = kv_segments(model, context->prefix, layer, kv_head, from,
		                    end < shared ? end : shared, segments);
	if (end <= shared) return count;
	return count + list_block_segments(model, &context->own, layer, kv_head,
	                                   from > shared ? from - shared : 0, end - shared,
	                                   segments + count);
}

/* What two contexts have in common is in a prefix of one of them, or they are the same. */
size_t kv_common(const struct context *a, size_t a_tokens, const struct context *b,
                 size_t b_tokens) {
	if (a == b) return a_tokens < b_tokens ? a_tokens : b_tokens;
	const size_t a_shared = a_tokens < a->shared_tokens ? a_tokens : a->shared_tokens,
	             b_shared = b_tokens < b->shared_tokens ? b_tokens : b->shared_tokens;
	const size_t by_a = a_shared ? kv_common(a->prefix, a_shared, b, b_tokens) : 0,
	             by_b = b_shared ? kv_common(a, a_tokens, b->prefix, b_shared) : 0;
	return by_a > by_b ? by_a : by_b;
}
