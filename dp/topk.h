// SPDX-License-Identifier: Apache-2.0
// topk.h: finds the candidates V+, the tokens that may be drawn, from the public row alone.
//
// It sees public integers only.
// Example: L_pub = 50, 40, 30, 29, 10 with k 3, B 2, Chat 4. The 3rd largest is l = 30. A token
// stays while 2 (L_pub - 30) >= -8, so the candidates are tokens 0, 1, 2, 3.
#ifndef CUTTLE_DP_TOPK_H
#define CUTTLE_DP_TOPK_H

#include <stddef.h>
#include <stdint.h>

/* candidates = { y : allowed[y], B (fixed[y] - l) >= -2 Chat }, ascending. l is the k-th largest
 * fixed[y] among the allowed y. k == 0, or k at least the number of allowed tokens, gives every
 * allowed token. Ties are in. Returns the number of candidates; it is 0 only when no token is
 * allowed. 1 <= vocab <= 2^24, batch >= 1, clip_fixed >= 0.
 *   fixed[vocab]         L_pub, |fixed[y]| <= 2^26
 *   allowed[vocab]       nonzero = allowed; NULL = every token
 *   heap[min(k, vocab)]  scratch
 *   candidates[vocab]    the answer
 * O(vocab log k) at worst, without a full sort.
 * Source: InvisibleInk eq. 5 (Top-k+). */
size_t dp_topk(const int32_t *fixed, const uint8_t *allowed, size_t vocab, uint32_t k,
               uint32_t batch, int32_t clip_fixed, int32_t *heap, uint32_t *candidates);

#endif
