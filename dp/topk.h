// SPDX-License-Identifier: Apache-2.0
// V_k+: the tokens that the public row allows to be drawn. From integers of the public row alone.
#ifndef CUTTLE_DP_TOPK_H
#define CUTTLE_DP_TOPK_H

#include <stddef.h>
#include <stdint.h>

/* candidates = { y : allowed[y], B (fixed[y] - l) >= -2 Chat }, ascending, where l is the k-th largest fixed[y] among the allowed y.
 * k == 0, or k at least the number of allowed tokens, gives every allowed token. Ties are in.
 * Shapes: fixed[vocab], |.| <= 2^26; allowed[vocab], nonzero = allowed, NULL = all; heap[min(k, vocab)] scratch; candidates[vocab].
 * 1 <= vocab <= 2^24, batch >= 1, clip_fixed >= 0. Returns the number of candidates, 0 only when no token is allowed.
 * O(vocab log k) at worst, without a full sort. Source: design note privacy.md 1.4; InvisibleInk eq. 5 (Top-k+). */
size_t dp_topk(const int32_t *fixed, const uint8_t *allowed, size_t vocab, uint32_t k, uint32_t batch, int32_t clip_fixed, int32_t *heap,
               uint32_t *candidates);

#endif
