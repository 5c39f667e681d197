// SPDX-License-Identifier: Apache-2.0
// amin_account.h: what the mechanism of dp/amin.h promises for a batch, and which clip suits an
// epsilon.
//
// All numbers are public: no private data passes through.
// Example: s = 127, r = 100, sigma = 0.3, tau = 1, epsilon 10 at delta 1e-6. The thresholds cost
// rho 0.1378 of 1.5393, and what is left allows the clip 21.26. With s = 31 the thresholds alone
// cost epsilon 12.76: there is no clip.
#ifndef CUTTLE_DP_AMIN_ACCOUNT_H
#define CUTTLE_DP_AMIN_ACCOUNT_H

#include <stdint.h>
#include "dp/claim.h"
#include "dp/status.h"

/* The formulas. Source: dp/PRIVACY.md, step 46.
 *
 *   t1        = ceil(sigma s 2^G)            Theta = floor(theta s 2^G)
 *   threshold = 2 2^G / t1                   what a unit's answers may move odds by, as a logarithm
 *   eta       = 2 Chat kappa (1 + 1e-9)      the range of a paid token
 *   rho       = r (eta^2 / 8 + threshold^2 / 2) */

#define DP_AMIN_LAW_BITS 32 /* G */
/* The largest C/tau: what the weights hold for every batch. */
#define DP_AMIN_MOST_CLIP 28.0

/* The mechanism's integers, named as in struct dp_amin_params. */
struct dp_amin_integers {
	uint32_t batch; /* s */
	uint32_t units; /* r */
	int64_t temperature_num;
	int64_t temperature_den;
	int32_t clip_fixed;
	unsigned fraction_bits;
	unsigned law_bits; /* G */
	uint64_t scale;    /* t1 */
};

/* t1 of sigma, and Theta of theta, at G = 32. Both are given in millionths and computed exactly.
 * sigma lies in 1e-6 .. 1000, theta in 0 .. 2, and s is 1 .. 2^16. */
uint64_t dp_amin_scale(uint32_t sigma_millionths, uint32_t batch);
int64_t dp_amin_theta(uint32_t theta_millionths, uint32_t batch);

/* What the mechanism with these integers claims of a batch. All fields are in their ranges. */
struct dp_claim dp_amin_claim(const struct dp_amin_integers *integers);

/* rho of the thresholds of a batch alone, rounded up. The clip is not read. */
double dp_amin_threshold_rho(const struct dp_amin_integers *integers);

/* Finds the clip for an epsilon: F, the largest of 12 to 4 with s Chat <= 2^21, and the largest
 * Chat whose claim is within epsilon by zCDP, and C/tau within DP_AMIN_MOST_CLIP. Reads all other
 * fields of *integers. DP_BAD_PARAMETER: a number is out of its domain, the thresholds alone cost
 * more than epsilon, or what they leave is below all that the weights hold. *integers is then as
 * before. */
enum dp_status dp_amin_calibrate(struct dp_amin_integers *integers, double epsilon, double delta);

/* Parameters next to those that dp_amin_calibrate refused, with which it finds a clip: each one
 * alone, all others as they were. 0: there is none in range. */
struct dp_amin_nearest {
	uint32_t units;            /* the most units */
	uint32_t sigma_millionths; /* the least noise; up to 1000 */
	uint32_t batch;            /* the least batch; up to 4096 */
};

/* sigma_millionths is that of integers->scale, which is not read. */
struct dp_amin_nearest dp_amin_nearest(const struct dp_amin_integers *integers,
                                       uint32_t sigma_millionths, double epsilon, double delta);

#endif
