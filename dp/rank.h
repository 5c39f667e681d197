// SPDX-License-Identifier: Apache-2.0
// rank.h: the word mechanism `rank` in exact integers. It draws a rank from one fixed table, then
// gives out the word that stands at that rank when all words are sorted by closeness.
//
// The table is public. Keys, draws and the difference between a word and null are private; they
// stay inside or are wiped.
//   Once: dp_rank_new. Per place: dp_rank_draw, and only then dp_rank_output with the word's keys.
// Example with V 5, step, k 2, epsilon 2: E is 8124353099063 twice and 2^40 three times, so the two
// nearest words have 0.4156 each and the others 0.0562 each, whatever the word is.
#ifndef CUTTLE_DP_RANK_H
#define CUTTLE_DP_RANK_H

#include <stdint.h>
#include "dp/entropy.h"
#include "dp/rank_table.h"
#include "dp/status.h"

/* The mechanism. Source: dp/PRIVACY.md, steps 30 to 36.
 *
 *   output words O[0 .. V-1]; integers E[0] >= ... >= E[V-1] >= 1, all public; W = sum of E
 *   r drawn with P(r) = E[r] / W, u drawn uniformly from 0 .. V-1, before x is looked at
 *   x a word:  O[pi_x(r)], pi_x = the ids 0 .. V-1 by (key descending, id ascending)
 *   x null:    O[u]
 *
 * Guarantee per place: P(y | x) <= e^epsilon P(y | x') for all words or null x, x' and all y, since
 * E[0] 2^40 <= floor(2^40 e^epsilon) E[V-1]. No float enters: any keys keep it.
 *
 * The caller must keep two rules. The keys of a place depend on the word there, on public things
 * and on outputs so far, never on other raw words. Each draw serves one place, once. */
struct dp_rank_params {
	enum dp_rank_shape shape;
	uint32_t words;              /* V, 2 .. 2^18 */
	uint32_t near;               /* k of STEP, 1 .. V-1; ENVELOPE: not read */
	uint32_t epsilon_millionths; /* epsilon per place, 1 .. 64 * 10^6. Example: 6000000 is 6 */
	struct dp_random random;     /* dp_random_system() for a private output; copied */
};

struct dp_rank;

/* What one place draws. It is private: whoever knows an output and its rank knows much of the word.
 * The caller wipes it. */
struct dp_rank_drawn {
	uint32_t rank; /* r, by the table */
	uint32_t even; /* u, uniform on 0 .. V-1; the output where the place is null */
};

/* Builds the table, checks it, and takes all memory that the mechanism will ever need: about 68
 * bytes per word. DP_BAD_PARAMETER: a bound above is broken. DP_SELF_CHECK: dp_rank_check fails.
 * DP_NO_MEMORY. On failure *out is NULL and the caller owns nothing. */
enum dp_status dp_rank_new(const struct dp_rank_params *params, struct dp_rank **out);

/* Frees all memory and sets *mechanism to NULL. It may be NULL before. */
void dp_rank_free(struct dp_rank **mechanism);

/* Draws rank and even of one place, both and in this order, whatever will stand there.
 * DP_NO_ENTROPY: the source failed (dp/draw.h); *out is then zero, and every later call fails too.
 */
enum dp_status dp_rank_draw(struct dp_rank *mechanism, struct dp_rank_drawn *out);

/* The id at `rank` < V when the ids 0 .. V-1 are sorted by key descending, then id ascending.
 * keys: [V] int32, any values, private. The work, and every address read, is the same for all keys
 * and ranks. Before it answers it counts the ids that stand before the answer: they are `rank`, or
 * the process ends. Theorem R asks that each rank has its own id; the count shows that. */
uint32_t dp_rank_select(const struct dp_rank *mechanism, const int32_t *keys, uint32_t rank);

/* The output of one place: with keys, dp_rank_select of drawn->rank. With NULL, drawn->even. Both
 * take the same work. */
uint32_t dp_rank_output(const struct dp_rank *mechanism, const struct dp_rank_drawn *drawn,
                        const int32_t *keys);

/* ---- public numbers -------------------------------------------------------------------------- */

/* [V] E, the mechanism's own. */
const struct dp_wide *dp_rank_table(const struct dp_rank *mechanism);

/* Room for any number of 256 bits in decimal, with its final zero. */
#define DP_RANK_DIGITS 80

/* What a receipt says of the table: decimal digits without sign or leading zeros. */
struct dp_rank_receipt {
	char first[DP_RANK_DIGITS]; /* E[0] */
	char last[DP_RANK_DIGITS];  /* E[V-1] */
	char total[DP_RANK_DIGITS]; /* W */
};
void dp_rank_describe(const struct dp_rank *mechanism, struct dp_rank_receipt *out);

/* P(rank < k), k <= V, to about 15 digits. To be shown only: nothing is proven from it. */
double dp_rank_share(const struct dp_rank *mechanism, uint32_t k);

/* The k in 1 .. V-1 of the step with the highest mean similarity, where `similarity` is the public
 * mean similarity at each rank: the least k that maximises
 *   (e^epsilon sum of g(r), r < k, + sum of g(r), r >= k) / (k e^epsilon + V - k).
 * similarity: [words], finite; 2 <= words. Advice only: any k keeps the guarantee. */
uint32_t dp_rank_best_near(const double *similarity, uint32_t words, uint32_t epsilon_millionths);

#endif
