// SPDX-License-Identifier: Apache-2.0
// fusion.h: DP-Fusion (arXiv 2507.04531), PMixED (2403.15638) and DP-Decoding (2205.13621) in exact
// integers. They draw one token at a time from the mean of m laws. Each is a public law into which
// one private law is mixed, but only so far; how far is what they differ in.
//
// dp_fusion_mechanism makes the table of functions that dp/mechanism.h describes. One private row
// at a time goes in; the drawn token comes out. Which row, and how far it was mixed in, stays
// inside and is wiped.
//   A paid token: dp_fusion_open, dp_fusion_row unless the row is null, dp_fusion_draw.
//   A free token, drawn from the public law alone: dp_fusion_open, dp_fusion_draw.
// Rules for the caller: those of dp/mechanism.h, on which the proof stands.
#ifndef CUTTLE_DP_FUSION_H
#define CUTTLE_DP_FUSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "dp/entropy.h"
#include "dp/mechanism.h"
#include "dp/status.h"

/* The mechanism. Source: DP-Fusion, with the changes that dp/PRIVACY.md, steps 20 to 28, proves;
 * with references for its groups it is PMixED, steps 47 and 51; DP-Decoding is step 48.
 *
 *   phi_i(y) logits of row i; row 0 is the public one, rows 1 .. m belong to the m places
 *   L_i(y) = clamp(round_half_even(phi_i(y) 2^12), -2^26, 2^26)
 *   V+     = { y allowed : L_0(y) >= the k-th largest L_0 among the allowed }, the candidates
 *   a, b_i = the laws of rows 0 and i over V+ (dp/rowlaw.h), integers that sum to 2^46; b_i = a
 *            where row i is null or not finite
 *   l_i    = the share of row i, in units of 2^-16 (dp/share.h)
 *            with FIXED a is the uniform law instead, floor(2^46 / n) each, the rest on the first
 *   w_i(y) = (2^16 - l_i) a(y) + l_i b_i(y), which sums to 2^62
 *   P(y)   = sum over i of w_i(y) / (m 2^62)
 *
 * The mean is drawn by drawing i first: so a step needs one private row. Where one row shows all
 * marks ("all"), m is 1.
 *
 * Guarantee: dp/fusion_account.h, and for RATIO and FIXED dp/mixture_account.h. */
struct dp_fusion;

/* What limits the share of a row. */
enum dp_fusion_rule {
	DP_FUSION_BOUNDED, /* D_order of w_i and a is at most c_i, either way round (Theorem F2) */
	DP_FUSION_CAPPED, /* lambda_i^2 E_p[u_i^2] <= m^2 (1 - Lambda) (e^c - 1), lambda_i <= Lambda
	                     (Theorem F3): then c is what blanking one place costs. Order 2 */
	DP_FUSION_RATIO,  /* e^-c <= w_i(y) / (2^16 a(y)) <= e^c for every y: order infinity */
	DP_FUSION_FIXED   /* l_i is most_share, and a is uniform: DP-Decoding. One place */
};

#define DP_FUSION_MOST_PLACES 65536

struct dp_fusion_params {
	enum dp_fusion_rule rule;
	unsigned order;        /* alpha, 2 .. 16; with CAPPED: 2; with RATIO, FIXED: not read */
	uint32_t least_places; /* a batch has at least so many places, 1 <= least <= most */
	uint32_t most_places;  /* and at most so many, up to 65536 */
	/* [most_places] c of each place, nats per token; with CAPPED and RATIO all are equal.
	 * Positive, with (alpha - 1) c <= 700; with RATIO c <= 16; with FIXED not read. Public;
	 * copied. */
	const double *divergences;
	/* BOUNDED: what a place may cost in a whole batch, at order alpha, by the filter of
	 * dp/record_filter.h; (alpha - 1) budget <= 700, most_places <= 4096. 0 = no filter */
	double budget;
	uint32_t most_share; /* CAPPED: Lambda in units of 2^-16, 1 .. 2^16 - 1. FIXED: l, alike */
	uint32_t top_k;      /* k; 0, or more than the allowed tokens, means every allowed token;
	                        0 with FIXED */
	uint32_t tokens;     /* T >= 1: hard cap of paid tokens per batch */
	uint32_t sure;       /* millionths, 0 .. 10^6: where the public law gives a candidate so
	                        much, and the batch has a free token left, the token is free.
	                        Example: 900000 is 0.9. 0 = never, as with FIXED */
	size_t vocab;        /* tokens of the vocabulary, 1 .. 2^18 */
	int64_t temperature_num; /* tau = num / den, 1e-6 .. 16 */
	int64_t temperature_den;
	/* [vocab], nonzero = may be drawn; NULL = every token. Public; copied. */
	const uint8_t *allowed;
	struct dp_random random; /* dp_random_system() for a private output; copied */
};

/* Builds the mechanism with all memory that it will ever need. DP_BAD_PARAMETER: a bound above is
 * broken, or no token is allowed. DP_NO_MEMORY. On failure *out is NULL and the caller owns
 * nothing. */
enum dp_status dp_fusion_new(const struct dp_fusion_params *params, struct dp_fusion **out);

/* Wipes the private arrays, frees all memory and sets *mechanism to NULL. It may be NULL before. */
void dp_fusion_free(struct dp_fusion **mechanism);

/* Builds the same mechanism and fills *out, the table by which the loop calls it. out->self is the
 * mechanism, for the functions below; out->free frees it. The claim is that of the fewest places
 * and the largest divergence, so it holds for every batch; the null row is the public one. With a
 * budget the claim has one unit, the whole batch, which costs the budget; what a token costs is not
 * told. Statuses as above; on failure *out is empty. */
enum dp_status dp_fusion_mechanism(const struct dp_fusion_params *params, struct dp_mechanism *out);

/* The claim of the mechanism that would be built so. Of FIXED it counts allowed[vocab]; of the
 * others vocabulary, temperature, candidates and random bits are not read. The bounds above are
 * kept. */
struct dp_claim dp_fusion_claim(const struct dp_fusion_params *params);

/* The functions of a step, as dp/mechanism.h has them; dp_fusion_turn comes before dp_fusion_begin
 * where there is a budget, and does nothing where there is none. A step is free where all T tokens
 * are paid or the public law is sure, and only where may_be_free says so; then no row is wanted.
 * Any other step wants V+ of one place, drawn at random: wanted->place is a SECRET. A token counts
 * as spent before its place is drawn. */
void dp_fusion_turn(struct dp_fusion *mechanism, uint32_t slot, bool fresh);
void dp_fusion_begin(struct dp_fusion *mechanism, uint32_t places, uint32_t spent);
/* Until the next dp_fusion_begin a step draws one of the tokens with allowed[y] nonzero, as
 * dp/mechanism.h has it: V+ is found among them. Not with FIXED, whose claim counts tokens. */
void dp_fusion_allow(struct dp_fusion *mechanism, const uint8_t *allowed);
enum dp_status dp_fusion_open(struct dp_fusion *mechanism, const float *public_row,
                              bool may_be_free, struct dp_wanted *wanted);
void dp_fusion_row(struct dp_fusion *mechanism, uint32_t place, const float *logits);
enum dp_status dp_fusion_draw(struct dp_fusion *mechanism, uint32_t *token, enum dp_fate *fate);

/* Paid tokens of this batch so far, those told to dp_fusion_begin included. */
uint32_t dp_fusion_spent(const struct dp_fusion *mechanism);

/* PRIVATE, for tests and auditors only: what the open step would draw from. */
struct dp_fusion_step {
	const uint32_t *candidates; /* [count] V+ */
	const uint64_t *a;          /* [count] the public law */
	const uint64_t *b; /* [count] the private law; its entries do not count where share is 0 */
	size_t count;
	uint32_t share; /* l; 0 where no row has come, or one that is not finite */
};
struct dp_fusion_step dp_fusion_inspect(const struct dp_fusion *mechanism);

#endif
