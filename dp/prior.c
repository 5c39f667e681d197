// SPDX-License-Identifier: Apache-2.0
// prior.c: see prior.h.
#include "dp/prior.h"

#include "base/misuse.h"
#include "dp/noise.h"
#include "dp/rounding.h"
#include "dp/weights.h"
#include "dp/zcdp.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void dp_prior_add(const int32_t *ids, size_t size, const uint8_t *allowed, size_t vocab,
                  uint64_t stamp, uint64_t *last, int64_t *counts) {
	size_t distinct = 0;
	for (size_t i = 0; i < size && distinct < DP_PRIOR_TOKENS; i++) {
		REQUIRE(ids[i] >= 0 && (size_t)ids[i] < vocab);
		const size_t token = (size_t)ids[i];
		if (!allowed[token] || last[token] == stamp) continue;
		last[token] = stamp;
		counts[token]++;
		distinct++;
	}
}

/* Whether a noisy count is 3 sigma or more, in integers: count^2 >= 9 sigma^2. */
static bool stands_out(int64_t noisy, uint32_t parts) {
	return noisy > 0 &&
	       (unsigned __int128)((__int128)noisy * noisy) * parts >=
	           (unsigned __int128)DP_PRIOR_KEPT * DP_PRIOR_KEPT * DP_PRIOR_VARIANCE;
}

enum dp_status dp_prior(const struct dp_prior_records *records, const uint8_t *allowed,
                        size_t vocab, uint32_t parts, const struct dp_random *random,
                        int64_t *noisy) {
	memset(noisy, 0, vocab * sizeof *noisy);
	if (parts < DP_PRIOR_LEAST_PARTS || parts > DP_PRIOR_MOST_PARTS) return DP_BAD_PARAMETER;
	int64_t *counts = calloc(vocab, sizeof *counts);
	uint64_t *last = calloc(vocab, sizeof *last);
	enum dp_status status = counts && last ? DP_OK : DP_NO_MEMORY;
	for (size_t y = 0; status == DP_OK && y < vocab; y++)
		if (allowed[y])
			status = dp_noise_gaussian(DP_PRIOR_VARIANCE, parts, random, &counts[y]);
	for (size_t i = 0; status == DP_OK && i < records->count; i++) {
		const int32_t *ids = NULL;
		const size_t size = records->tokens(records->user, i, &ids);
		dp_prior_add(ids, size, allowed, vocab, i + 1, last, counts);
	}
	for (size_t y = 0; status == DP_OK && y < vocab; y++)
		if (stands_out(counts[y], parts)) noisy[y] = counts[y];
	if (counts) explicit_bzero(counts, vocab * sizeof *counts);
	if (last) explicit_bzero(last, vocab * sizeof *last);
	free(counts);
	free(last);
	return status;
}

/* ---- what it costs --------------------------------------------------------------------------- */

double dp_prior_rho(uint32_t parts, double rho) {
	return round_up(((long double)rho + (long double)parts / 1e6L) * (1.0L + SIMPLE));
}

enum dp_status dp_prior_calibrate(struct dp_integers *integers, uint32_t parts, double epsilon,
                                  double delta, const char **reason) {
	struct dp_budget whole = {.epsilon = epsilon,
	                          .delta = delta,
	                          .rho = (double)NAN,
	                          .clip = (double)NAN,
	                          .temperature = (double)NAN};
	struct dp_integers i = *integers;
	enum dp_status status = dp_budget_solve(&whole, DP_RHO, reason);
	if (status != DP_OK) return status;
	const double left = round_down(
	    fmaxl(0.0L, (long double)whole.rho - (long double)parts / 1e6L) * (1.0L - SIMPLE));
	const char *const small =
	    "epsilon leaves nothing for the texts beside the token prior: give more of it, or less "
	    "to --token-prior";
	if (!(left >= 0x1p-40)) {
		*reason = small;
		return DP_BAD_PARAMETER;
	}
	status = dp_calibrate(&i, dp_epsilon_of_rho(left, delta), delta, reason);
	if (status != DP_OK) return status;
	/* Both conversions were rounded up, so the clip may be a step too large. */
	while (i.clip_fixed >= 1 &&
	       (dp_epsilon_of_rho(dp_prior_rho(parts, dp_guarantee_rho(&i)), delta) > epsilon ||
	        !dp_weights_bits(i.batch, i.clip_fixed, i.fraction_bits, i.temperature_num,
	                         i.temperature_den, i.gain)))
		i.clip_fixed--;
	if (i.clip_fixed < 1) {
		*reason = small;
		return DP_BAD_PARAMETER;
	}
	*integers = i;
	return DP_OK;
}
