// SPDX-License-Identifier: Apache-2.0
// InvisibleInk (NeurIPS 2025, Algorithm 1) in exact integers: one token at a time from one public row and up to B private rows.
//
// Per token:  public -> private, once per reference that is not null, in any order -> draw.
// Or, at no cost: public -> sure (if it says so) -> draw, or: alone -> draw. Such a token is drawn from A alone.
//
//   L_i(y) = clamp(round_half_even(phi_i(y) 2^F), -2^26, 2^26)                     phi_i: logits of row i
//   V+     = { y allowed : B (L_pub(y) - l) >= -2 Chat },  l = the k-th largest L_pub among the allowed
//   S(y)   = sum_i clamp(L_i(y) - L_pub(y) - s_i, -Chat, +Chat)                    a null reference adds 0
//   s_i    = 0, or with `center` the median over V+ of L_i - L_pub
//   P(y)   = A(y) E(S(y)) / sum over V+,   A = round(2^56 exp((L_pub(y) - max) B kappa)), at least 1;  E(s) = round(2^q exp(s kappa))
//   kappa  = temperature_den / (temperature_num B 2^F)
//
// Guarantee of all tokens of one batch together, under "replace one reference by null": rho-zCDP, rho = T eta^2 / 8,
// eta = 2 Chat kappa (1 + 1e-9); dp_guarantee in dp/account.h computes it, dp/PRIVACY.md proves it. Two things are the caller's part: a
// row's logits are a function of that row alone, bit for bit; and the tokens of one batch are drawn once (a resumed batch goes on, it never
// draws again). Source: design note privacy.md 1.4, Theorem A; InvisibleInk Theorem 2.
#ifndef CUTTLE_DP_INVISIBLEINK_H
#define CUTTLE_DP_INVISIBLEINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "dp/entropy.h"
#include "dp/status.h"

struct dp_invisibleink;

struct dp_invisibleink_params {
	uint32_t batch;                           /* B >= 1: private references, the null ones counted */
	uint32_t top_k;                           /* k; 0, or more than the allowed tokens, means every allowed token */
	uint32_t tokens;                          /* T >= 1: hard cap of tokens drawn per batch, those at no cost aside */
	size_t vocab;                             /* 1 .. 2^24 */
	int64_t temperature_num, temperature_den; /* tau = num / den, both in 1 .. 2^31 - 1 */
	int32_t clip_fixed;                       /* Chat = C 2^F >= 1, with B Chat <= 2^21 */
	unsigned fraction_bits;                   /* F, at most 16 */
	bool center;                              /* differences are taken from their median before they are clipped */
	const uint8_t *allowed;                   /* [vocab], nonzero = may be drawn; copied; NULL = every token. Public. */
	struct dp_random random;                  /* copied; dp_random_system() for a private output */
};

/* Builds the mechanism, makes the table of E and checks it exhaustively. Every byte it will ever need is allocated here.
 * DP_BAD_PARAMETER: a bound above is broken, no token is allowed, or C/tau is so large or so small that the integer weights cannot hold
 * eta (dp/weights.h: 1e-6 < C/(B tau) and C/tau < 28 work, for large B too). DP_SELF_CHECK: the table is not what it must be. DP_NO_MEMORY.
 * On failure *out is NULL and the caller owns nothing. */
enum dp_status dp_invisibleink_new(const struct dp_invisibleink_params *params, struct dp_invisibleink **out);

/* Wipes and releases; nulls the handle; a NULL handle is fine. */
void dp_invisibleink_free(struct dp_invisibleink **mechanism);

/* Starts a batch of which `spent` tokens were drawn before (0 for a new one). Required before the first dp_invisibleink_public. */
void dp_invisibleink_begin(struct dp_invisibleink *mechanism, uint32_t spent);

/* Starts a step. logits[vocab] are the public row's. *candidates, ascending, *count >= 1, is V+: owned by the mechanism, valid until the
 * next call of this function; a function of the public logits and the parameters alone.
 * DP_SPENT: the batch has drawn its T tokens (checked before anything else). DP_PUBLIC_NOT_FINITE: some logit is (no step is started; the
 * batch may go on with another public row). DP_NO_ENTROPY: the source failed earlier. On failure *candidates is NULL and *count 0. */
enum dp_status dp_invisibleink_public(struct dp_invisibleink *mechanism, const float *logits, const uint32_t **candidates, size_t *count);

/* Starts a step that ends with a token drawn from A over V+ alone, whatever is left of T. Statuses as above, without DP_SPENT. */
enum dp_status dp_invisibleink_alone(struct dp_invisibleink *mechanism, const float *logits);

/* After `public` and before any private row: whether A alone gives its likeliest candidate a probability of at least millionths / 10^6,
 * compared in integers. Then the step goes on as one of `alone`. A function of the public logits and the parameters. */
bool dp_invisibleink_sure(struct dp_invisibleink *mechanism, uint32_t millionths);

/* Adds one private row: logits[count], in the order of the candidates. A row with a NaN or an infinity adds exactly nothing, as a null
 * reference, which is simply no call. At most B calls per step, and none in a step of A alone; a further one is a caller bug. */
void dp_invisibleink_private(struct dp_invisibleink *mechanism, const float *logits);

/* Draws the step's token and ends the step. The token counts as spent before it is drawn, also when the draw fails; one of A alone does
 * not. DP_NO_ENTROPY: *token is not written and this mechanism never draws again. */
enum dp_status dp_invisibleink_draw(struct dp_invisibleink *mechanism, uint32_t *token);

/* Tokens of this batch drawn so far, those of `begin` included. */
uint32_t dp_invisibleink_spent(const struct dp_invisibleink *mechanism);

/* For tests, auditors and traces only, private: the candidates of the last step, and S, A, E of number i (< count) of them. */
const uint32_t *dp_invisibleink_candidates(const struct dp_invisibleink *mechanism, size_t *count);
int32_t dp_invisibleink_sum(const struct dp_invisibleink *mechanism, size_t candidate);
uint64_t dp_invisibleink_public_weight(const struct dp_invisibleink *mechanism, size_t candidate);
unsigned __int128 dp_invisibleink_private_weight(const struct dp_invisibleink *mechanism, size_t candidate);

#endif
