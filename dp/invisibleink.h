// SPDX-License-Identifier: Apache-2.0
// invisibleink.h: InvisibleInk (NeurIPS 2025, Algorithm 1) in exact integers. It draws one token at
// a time from one public row of logits and up to B private rows.
//
// dp_invisibleink_mechanism makes the table of functions that dp/mechanism.h describes.
// Private rows go in; the drawn token comes out.
//   A paid token: dp_invisibleink_public, dp_invisibleink_private for each reference that is not
//   null, in any order, dp_invisibleink_draw.
//   A free token, drawn from the public weights A alone: dp_invisibleink_public,
//   dp_invisibleink_sure where that answers true, draw. Or: dp_invisibleink_alone, draw.
// Rules for the caller, on which the proof stands: a row's logits are a function of that row alone,
// bit for bit. The tokens of one batch are drawn once: a resumed batch goes on, it never draws a
// token again.
#ifndef CUTTLE_DP_INVISIBLEINK_H
#define CUTTLE_DP_INVISIBLEINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "dp/entropy.h"
#include "dp/mechanism.h"
#include "dp/status.h"

/* The mechanism. Source: InvisibleInk, Theorem 2; dp/PRIVACY.md.
 *
 *   phi_i(y) logits of row i
 *   L_i(y) = clamp(round_half_even(phi_i(y) 2^F), -2^26, 2^26)
 *   l      = the k-th largest L_pub among the allowed tokens
 *   V+     = { y allowed : B (L_pub(y) - l) >= -2 floor(g Chat) }, the candidates
 *   s_i    = 0, or with `center` the lower median over V+ of L_i - L_pub
 *   S(y)   = sum over i of clamp(L_i(y) - L_pub(y) - s_i, -Chat, +Chat); a null reference adds 0.
 *            Once all are in, the sum is clamped to -B Chat .. +B Chat
 *   g      = gain / 100; 1 is InvisibleInk as published
 *   kappa  = g temperature_den / (temperature_num B 2^F)
 *   A(y)   = max(1, round(2^56 exp((L_pub(y) - max L_pub) B kappa / g))); with a shift a(y), a
 *            public number of each token, of L_pub + a for L_pub
 *   E(s)   = round(2^q exp(s kappa)), with q of dp/weights.h
 *   P(y)   = A(y) E(S(y)) / sum of A E over V+
 *
 * Guarantee: all tokens of one batch together are rho-zCDP, under "replace one reference by null".
 * rho = T eta^2 / 8, eta = 2 Chat kappa (1 + 1e-9). dp_guarantee_rho in dp/account.h computes it,
 * dp/PRIVACY.md proves it. */
struct dp_invisibleink;

struct dp_invisibleink_params {
	uint32_t
	    batch; /* B >= 1: private references, the null ones counted; with lots their mean */
	uint32_t top_k;  /* k; 0, or more than the allowed tokens, means every allowed token */
	uint32_t tokens; /* T >= 1: hard cap of paid tokens per batch; free ones are not counted */
	size_t vocab;    /* tokens of the vocabulary, 1 .. 2^24 */
	int64_t temperature_num; /* tau = num / den, both in 1 .. 2^31 - 1 */
	int64_t temperature_den;
	int32_t clip_fixed;     /* Chat = C 2^F >= 1, with B Chat <= 2^21 */
	unsigned fraction_bits; /* F, at most 16 */
	unsigned gain;          /* g in hundredths, 100 .. 300; 0 = 100 */
	bool center;            /* take each row's median off its differences before clipping */
	/* Rows that may come in a step, at most, with rows Chat <= 2^30; 0 = B. It is above B where
	 * lots decide which references a batch has (dp/amplify.h). Then B stays in kappa alone. */
	uint32_t rows;
	/* In millionths, for the table alone: where dp_invisibleink_sure answers true for it, open
	 * decides for a free token. Example: 950000 is 0.95. 0 = never. */
	uint32_t sure;
	/* [vocab], nonzero = may be drawn; NULL = every token. Public; copied. */
	const uint8_t *allowed;
	struct dp_random random; /* dp_random_system() for a private output; copied */
};

/* Builds the mechanism, makes the table of E and checks all of it. It allocates all memory that the
 * mechanism will ever need. DP_BAD_PARAMETER: a bound above is broken, no token is allowed, or
 * g C/tau is so large or so small that the integer weights cannot hold eta. 1e-6 < g C/(B tau) and
 * g C/tau < 28 work, for large B too (dp/weights.h). DP_SELF_CHECK: the table is wrong.
 * DP_NO_MEMORY. On failure *out is NULL and the caller owns nothing. */
enum dp_status dp_invisibleink_new(const struct dp_invisibleink_params *params,
                                   struct dp_invisibleink **out);

enum { DP_MOST_SHIFT = 1 << 26 };

/* From the next step on the public weights A are of L_pub(y) + shift[y], for shift[vocab], which is
 * copied. V+ and S stay those of L_pub. The shift must be public, or protected by itself and paid
 * for: it is in every weight, of both worlds alike. |shift[y]| <= DP_MOST_SHIFT. Not
 * within a step. DP_NO_MEMORY: nothing has changed. */
enum dp_status dp_invisibleink_shift(struct dp_invisibleink *mechanism, const int32_t *shift);

/* Wipes the private arrays, frees all memory and sets *mechanism to NULL. It may be NULL before. */
void dp_invisibleink_free(struct dp_invisibleink **mechanism);

/* Builds the same mechanism and fills *out, the table by which the loop calls it. out->claim is
 * that of the integers (dp_integers_claim). out->self is the mechanism, for the functions below;
 * out->free frees it. A step is free once all T tokens are paid, and where the public row is
 * `sure`; then no row is wanted. Any other step wants V+ of every place. Fewer places than `batch`
 * count as null ones. Statuses as above; on failure *out is empty. */
enum dp_status dp_invisibleink_mechanism(const struct dp_invisibleink_params *params,
                                         struct dp_mechanism *out);

/* Starts a batch. `spent` paid tokens of it were drawn before: 0 for a new batch. Required before
 * the first step. */
void dp_invisibleink_begin(struct dp_invisibleink *mechanism, uint32_t spent);

/* Until the next dp_invisibleink_begin a step draws one of the tokens with allowed[y] nonzero: in
 * place of `allowed` of the parameters, of which they are a part. V+ is found among them. At least
 * one; [vocab], public, read when a step starts. Not within a step. */
void dp_invisibleink_allow(struct dp_invisibleink *mechanism, const uint8_t *allowed);

/* Starts a step. logits[vocab] are those of the public row. *candidates is V+, ascending, with
 * *count >= 1 tokens. The mechanism owns the array; it is valid until the next call of this
 * function or of dp_invisibleink_alone. It is a function of the public logits and the parameters
 * alone.
 * DP_SPENT: the batch has drawn its T tokens; this is checked before anything else.
 * DP_PUBLIC_NOT_FINITE: a logit is NaN or infinite. No step is started; the batch may go on with
 * another public row.
 * DP_NO_ENTROPY: the source failed earlier.
 * On failure *candidates is NULL and *count 0. */
enum dp_status dp_invisibleink_public(struct dp_invisibleink *mechanism, const float *logits,
                                      const uint32_t **candidates, size_t *count);

/* Starts a step whose token is drawn from A over V+ alone, whatever is left of T. logits[vocab] and
 * statuses as above, without DP_SPENT. */
enum dp_status dp_invisibleink_alone(struct dp_invisibleink *mechanism, const float *logits);

/* Whether A alone gives its likeliest candidate a probability of at least millionths / 10^6,
 * compared in integers. If so, the step goes on as if dp_invisibleink_alone had started it. To be
 * called after dp_invisibleink_public and before any private row. The answer is a function of the
 * public logits and the parameters. */
bool dp_invisibleink_sure(struct dp_invisibleink *mechanism, uint32_t millionths);

/* Adds one private row: logits[count], in the order of the candidates. For a null reference the
 * caller does not call this. A row with a NaN or an infinity adds exactly nothing, like a null
 * reference. At most `rows` calls per step, and none in a step of A alone: one more is a caller
 * bug. */
void dp_invisibleink_private(struct dp_invisibleink *mechanism, const float *logits);

/* Draws the step's token and ends the step. A paid token counts as spent before it is drawn, also
 * when the draw fails. A token of A alone does not count. DP_NO_ENTROPY: *token is not written and
 * this mechanism never draws again. */
enum dp_status dp_invisibleink_draw(struct dp_invisibleink *mechanism, uint32_t *token);

/* Paid tokens of this batch drawn so far, those told to dp_invisibleink_begin included. */
uint32_t dp_invisibleink_spent(const struct dp_invisibleink *mechanism);

/* PRIVATE, for tests, auditors and traces only: the candidates of the last step, and S, A and E of
 * candidates[candidate], candidate < count. */
const uint32_t *dp_invisibleink_candidates(const struct dp_invisibleink *mechanism, size_t *count);
int32_t dp_invisibleink_sum(const struct dp_invisibleink *mechanism, size_t candidate);
uint64_t dp_invisibleink_public_weight(const struct dp_invisibleink *mechanism, size_t candidate);
unsigned __int128 dp_invisibleink_private_weight(const struct dp_invisibleink *mechanism,
                                                 size_t candidate);

#endif
