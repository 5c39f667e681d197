// SPDX-License-Identifier: Apache-2.0
// topk.c: see topk.h. A min-heap of the k largest values gives l at its root. One more pass over
// the vocabulary then collects the candidates.
#include "dp/topk.h"

#include "base/misuse.h"

#include <stdbool.h>

/* Restores the min-heap heap[size] where only heap[at] may be larger than its children. The
 * children of heap[i] are heap[2 i + 1] and heap[2 i + 2]; neither is smaller than heap[i]. */
static void sift_down(int32_t *heap, size_t size, size_t at) {
	int32_t value = heap[at];
	for (;;) {
		size_t child = 2 * at + 1;
		if (child >= size) break;
		if (child + 1 < size && heap[child + 1] < heap[child]) child++;
		if (heap[child] >= value) break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = value;
}

/* The k-th largest allowed value: the root of a min-heap of the k largest. INT32_MIN, which is
 * below every L, when at most k tokens are allowed. */
static int64_t kth_largest(const int32_t *fixed, const uint8_t *allowed, size_t vocab, size_t k,
                           int32_t *heap) {
	size_t y = 0, held = 0, count = 0;
	for (; y < vocab && held < k; y++)
		if (!allowed || allowed[y]) heap[held++] = fixed[y];
	if (held < k) return INT32_MIN;
	for (size_t at = k / 2; at-- > 0;) sift_down(heap, k, at);
	for (; y < vocab; y++) {
		if (allowed && !allowed[y]) continue;
		count++;
		if (fixed[y] <= heap[0]) continue;
		heap[0] = fixed[y];
		sift_down(heap, k, 0);
	}
	return count > 0 ? heap[0] : INT32_MIN;
}

size_t dp_topk(const int32_t *fixed, const uint8_t *allowed, size_t vocab, uint32_t k,
               uint32_t batch, int32_t clip_fixed, int32_t *heap, uint32_t *candidates) {
	REQUIRE(vocab >= 1 && vocab <= (size_t)1 << 24);
	REQUIRE(batch >= 1 && clip_fixed >= 0);
	const int64_t least =
	    k == 0 || k >= vocab ? INT32_MIN : kth_largest(fixed, allowed, vocab, k, heap);
	const bool whole = least == INT32_MIN;
	size_t count = 0;
	for (size_t y = 0; y < vocab; y++) {
		bool in =
		    (whole || (int64_t)batch * (fixed[y] - least) >= -2 * (int64_t)clip_fixed) &&
		    (!allowed || allowed[y]);
		candidates[count] = (uint32_t)y;
		count += in;
	}
	return count;
}
