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

/* Bytes of one token's key, or value, of one layer and KV head. */
static size_t head_bytes_of(const struct model *model) {
	return model->info.kv_type == CUTTLE_KV_Q8 ? model->head_size + sizeof(float)
	                                           : model->head_size * sizeof(uint16_t);
}

/* Bytes of a token's keys and values of all layers that attend. */
static size_t attended_bytes_of(const struct model *model) {
	return 2 * model->attending * model->kv_heads * head_bytes_of(model);
}

/* Bytes of a token in all layers. */
static size_t token_bytes_of(const struct model *model) {
	return attended_bytes_of(model) +
	       (model->layers - model->attending) * model->width * sizeof(float);
}

bool kv_bytes(const struct model *model, size_t capacity, size_t *bytes) {
	return !__builtin_mul_overflow(capacity, token_bytes_of(model), bytes);
}

/* The page that holds token `at`. */
static uint8_t *page_of(const struct model *model, const struct kv_block *block, size_t at) {
	return block->data + at / KV_PAGE * KV_PAGE * token_bytes_of(model);
}

/* The keys of the page that holds token `at`. The page's values are KV_PAGE * head_bytes_of bytes
 * behind them. Example: 3 KV heads: of the second layer that attends, head 2 is piece 1*3 + 2 = 5.
 */
static uint8_t *page_keys_of(const struct model *model, const struct kv_block *block, size_t layer,
                             size_t kv_head, size_t at) {
	return page_of(model, block, at) + (model->places[layer] * model->kv_heads + kv_head) * 2 *
	                                       KV_PAGE * head_bytes_of(model);
}

float *kv_state(const struct model *model, const struct context *context, size_t layer,
                size_t position) {
	while (position < context->shared_tokens) context = context->prefix;
	const size_t at = position - context->shared_tokens;
	uint8_t *states = page_of(model, &context->own, at) + KV_PAGE * attended_bytes_of(model);
	return (float *)(void *)states +
	       ((size_t)model->places[layer] * KV_PAGE + at % KV_PAGE) * model->width;
}

/* Where the scales of a page's keys, or values, are. */
static float *page_scales_of(const struct model *model, uint8_t *page) {
	return (float *)(void *)(page + KV_PAGE * model->head_size);
}

/* Keys lie in tiles [head_size/2][16 tokens][2], values as [token/2][head_size][2]. Example: token
 * 21 of a page: its key is column 5 of tile 1, its value the second half of pair 10. */
static void store_q8(const struct model *model, uint8_t *page, size_t in_page, const float *key,
                     const float *value) {
	const size_t size = model->head_size;
	uint8_t *values = page + KV_PAGE * head_bytes_of(model);
	int8_t narrow[MAX_HEAD_SIZE],
	    *k = (int8_t *)page + in_page / ATTENTION_TILE * ATTENTION_TILE * size +
	         2 * (in_page % ATTENTION_TILE),
	    *v = (int8_t *)values + in_page / 2 * 2 * size + in_page % 2;
	page_scales_of(model, page)[in_page] = kernels_get()->narrow_q8(key, size, narrow);
	for (size_t d = 0; d < size; d++) k[d / 2 * 2 * ATTENTION_TILE + d % 2] = narrow[d];
	page_scales_of(model, values)[in_page] = kernels_get()->narrow_q8(value, size, narrow);
	for (size_t d = 0; d < size; d++) v[2 * d] = narrow[d];
}

void kv_store(const struct model *model, struct context *context, size_t layer, size_t kv_head,
              size_t position, const float *key, const float *value) {
	REQUIRE(position >= context->shared_tokens &&
	        position - context->shared_tokens < context->own.capacity);
	const size_t at = position - context->shared_tokens, size = model->head_size,
	             in_page = at % KV_PAGE;
	uint8_t *k = page_keys_of(model, &context->own, layer, kv_head, at),
	        *v = k + KV_PAGE * head_bytes_of(model);
	REQUIRE(size <= MAX_HEAD_SIZE);
	if (model->info.kv_type == CUTTLE_KV_Q8) {
		store_q8(model, k, in_page, key, value);
		return;
	}
	// Keys lie in tiles [head_size][16 tokens]: number d of the token goes to d * 16 of its
	// column. Example: token 21 of a page is column 5 of tile 1.
	uint16_t narrow[MAX_HEAD_SIZE], *to = (uint16_t *)(void *)k +
	                                      in_page / ATTENTION_TILE * ATTENTION_TILE * size +
	                                      in_page % ATTENTION_TILE;
	kernels_get()->narrow(value, size, (uint16_t *)(void *)v + in_page * size);
	kernels_get()->narrow(key, size, narrow);
	for (size_t d = 0; d < size; d++) to[d * ATTENTION_TILE] = narrow[d];
}

/* Lists the tokens from `from` to `end` - 1 of a block, a segment per page. Returns the number of
 * segments. */
static size_t list_block_segments(const struct model *model, const struct kv_block *block,
                                  size_t layer, size_t kv_head, size_t from, size_t end,
                                  struct attention_segment *segments) {
	const bool q8 = model->info.kv_type == CUTTLE_KV_Q8;
	const size_t number = q8 ? sizeof(int8_t) : sizeof(uint16_t);
	size_t count = 0;
	for (size_t at = from, next; at < end; at = next) {
		uint8_t *k = page_keys_of(model, block, layer, kv_head, at),
		        *v = k + KV_PAGE * head_bytes_of(model);
		next = (at / KV_PAGE + 1) * KV_PAGE;
		if (next > end) next = end;
		// A tile of 16 keys takes 16 * head_size numbers, so token 32 of a page is 32 *
		// head_size on.
		const size_t in_page = at % KV_PAGE, on = in_page * model->head_size * number;
		segments[count++] = (struct attention_segment){
		    k + on, v + on, next - at, q8 ? page_scales_of(model, k) + in_page : NULL,
		    q8 ? page_scales_of(model, v) + in_page : NULL};
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
