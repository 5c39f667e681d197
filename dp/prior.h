// SPDX-License-Identifier: Apache-2.0
// prior.h: the token prior: in how many records each token stands, with noise, so that it may be
// told, and what that costs.
//
// Counts are drawn once for a run, before a token is drawn. The tokens of a record are private;
// what dp_prior gives is public. It changes the public weights A alone (dp_invisibleink_shift).
// Example: rho 0.05 is noise of standard deviation 25.3. A token of 900 among 3,000 records may
// come out as 921; one of 40 records is below 3 deviations, 75.9, and comes out as 0.
// Rules: the counts are given out once. To draw them twice for the same records costs twice.
#ifndef CUTTLE_DP_PRIOR_H
#define CUTTLE_DP_PRIOR_H

#include <stddef.h>
#include <stdint.h>
#include "dp/account.h"
#include "dp/entropy.h"
#include "dp/status.h"

/* The counts. Each record adds 1 to each of its first 64 distinct tokens that may be drawn. So a
 * record that becomes null moves 64 counts by 1, at most: a distance of sqrt(64) = 8. Noise of the
 * discrete Gaussian law with sigma^2 = 64 / (2 rho) then costs rho (Canonne, Kamath & Steinke 2020;
 * dp/PRIVACY.md, step 44). rho is a whole number of millionths:
 * sigma^2 = 32,000,000 / parts. Counts below 3 sigma are told as 0. */
enum {
	DP_PRIOR_TOKENS = 64,            /* of a record, at most */
	DP_PRIOR_VARIANCE = 32000000,    /* sigma^2 times the millionths of rho */
	DP_PRIOR_LEAST_PARTS = 1000,     /* rho 0.001 */
	DP_PRIOR_MOST_PARTS = 100000000, /* rho 100 */
	DP_PRIOR_KEPT = 3                /* standard deviations */
};

/* The records, in an order that is the same whatever they say. */
struct dp_prior_records {
	size_t count;
	/* Sets *ids to the tokens of a record, and returns their number; 0: it is null. They stay
	 * valid until the next call. They lie in 0 .. vocab - 1. */
	size_t (*tokens)(void *user, size_t record, const int32_t **ids);
	void *user;
};

/* The counts alone, without noise: of public records, or of what dp_prior is given. Adds to
 * counts[vocab]. allowed[vocab]: nonzero = may be drawn. `last` [vocab] is scratch, 0 at first;
 * `stamp` is another number above 0 for each record. */
void dp_prior_add(const int32_t *ids, size_t size, const uint8_t *allowed, size_t vocab,
                  uint64_t stamp, uint64_t *last, int64_t *counts);

/* noisy[vocab] = in how many records each token counts, and noise; 0 where that is below 3 sigma or
 * the token may not be drawn. `parts` of a million are rho. All noise is drawn before the first
 * record is looked at. DP_BAD_PARAMETER: parts is out of range. DP_NO_ENTROPY, DP_NO_MEMORY:
 * nothing was drawn; noisy is 0 throughout. */
enum dp_status dp_prior(const struct dp_prior_records *records, const uint8_t *allowed,
                        size_t vocab, uint32_t parts, const struct dp_random *random,
                        int64_t *noisy);

/* ---- what it costs --------------------------------------------------------------------------- */

/* rho of batches and of the token prior together, rounded up: both composed, since every record is
 * counted and may stand in a batch, too. */
double dp_prior_rho(uint32_t parts, double rho);

/* dp_calibrate for what a token prior leaves: epsilon and delta are of both together, by zCDP.
 * *reason and statuses as there. DP_BAD_PARAMETER also where the prior alone costs epsilon, or
 * nearly. On failure *integers is unchanged. */
enum dp_status dp_prior_calibrate(struct dp_integers *integers, uint32_t parts, double epsilon,
                                  double delta, const char **reason);

#endif
