// SPDX-License-Identifier: Apache-2.0
#include "dp/weights.h"

#include "base/misuse.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(LDBL_MANT_DIG >= 64, "E has 53 bits and A up to 56: a 64-bit long double rounds both rightly");

#define LARGEST_EXPONENT 8 /* C/tau; keeps every product of the check within 128 bits */
#define SERIES_ONE ((unsigned __int128)1 << 60)

static unsigned ceil_log2(size_t n) {
	return n <= 1 ? 0 : 64 - (unsigned)__builtin_clzll((unsigned long long)n - 1);
}

/* floor(2^60 e^v), or less by at most a few units, for v = fraction / 2^56 <= 8: a power series of positive terms, each rounded down. */
static unsigned __int128 exp_below(uint64_t fraction) {
	unsigned __int128 term = SERIES_ONE, sum = 0;
	for (unsigned n = 1; term > 0; n++) {
		sum += term;
		term = (term * fraction >> 56) / n;
	}
	return sum;
}

enum dp_status dp_weights_check(const struct dp_weights *weights) {
	const size_t entries = 2 * (size_t)weights->sum_limit + 1, clip = (size_t)weights->clip_fixed;
	const uint64_t *e = weights->table;
	const unsigned __int128 ratio = exp_below(weights->bound);
	bool good = e[0] >= 1 && e[entries - 1] <= (uint64_t)1 << 53;
	for (size_t i = 1; i < entries; i++) good &= e[i - 1] <= e[i];
	if (!good) return DP_SELF_CHECK;
	for (size_t i = 0; i + clip < entries; i++) good &= e[i + clip] * SERIES_ONE <= ratio * e[i];
	return good ? DP_OK : DP_SELF_CHECK;
}

/* Whether E, rounded to integers, keeps ln E(s+Chat)/E(s) within lambda (1 + 1e-9): half a unit up above, half a unit down below, and the
 * rounding of the check itself. */
static bool fits(long double exponent, long double lambda, unsigned private_bits) {
	long double smallest = ldexpl(expl(-exponent), (int)private_bits);
	return 1.1L / smallest + 0x1p-53L < 1e-9L * lambda;
}

static bool in_domain(size_t vocab, uint32_t batch, int32_t clip_fixed, unsigned fraction_bits, int64_t num, int64_t den) {
	return vocab >= 1 && vocab <= (size_t)1 << 24 && batch >= 1 && clip_fixed >= 1 && (int64_t)batch * clip_fixed <= DP_SUM_LIMIT &&
	       fraction_bits <= 16 && num >= 1 && num <= INT32_MAX && den >= 1 && den <= INT32_MAX;
}

enum dp_status dp_weights_init(struct dp_weights *weights, size_t vocab, uint32_t batch, int32_t clip_fixed, unsigned fraction_bits,
                               int64_t temperature_num, int64_t temperature_den) {
	*weights = (struct dp_weights){0};
	if (!in_domain(vocab, batch, clip_fixed, fraction_bits, temperature_num, temperature_den)) return DP_BAD_PARAMETER;
	const int64_t scale_den = temperature_num << fraction_bits; /* < 2^47 */
	const int64_t clip_nats = clip_fixed * temperature_den;     /* < 2^52; over scale_den: C/tau */
	if (clip_nats / scale_den >= LARGEST_EXPONENT) return DP_BAD_PARAMETER;
	const long double exponent = (long double)clip_nats / (long double)scale_den;
	const unsigned private_bits = 53 - (unsigned)ceill(exponent / logl(2.0L));
	if (!fits(exponent, exponent / batch, private_bits)) return DP_BAD_PARAMETER;

	const int32_t limit = (int32_t)batch * clip_fixed;
	uint64_t *table = malloc((2 * (size_t)limit + 1) * sizeof *table);
	if (!table) return DP_NO_MEMORY;
	const long double unit = (long double)scale_den * batch; /* may round at 2^64 and above: the check below asks nothing of it */
	for (int32_t s = -limit; s <= limit; s++) {
		long double nats = (long double)(s * temperature_den) / unit;
		table[s + limit] = (uint64_t)llrintl(ldexpl(expl(nats), (int)private_bits));
	}
	unsigned __int128 bound = ((unsigned __int128)clip_nats << 56) / ((unsigned __int128)scale_den * batch);
	bound += bound / 1000000000;
	unsigned public_bits = 73 - ceil_log2(vocab);
	*weights = (struct dp_weights){.table = table,
	                               .sum_limit = limit,
	                               .clip_fixed = clip_fixed,
	                               .bound = (uint64_t)bound,
	                               .scale_num = temperature_den,
	                               .scale_den = scale_den,
	                               .public_bits = public_bits < 56 ? public_bits : 56,
	                               .private_bits = private_bits};
	enum dp_status status = dp_weights_check(weights);
	if (status != DP_OK) dp_weights_release(weights);
	return status;
}

void dp_weights_release(struct dp_weights *weights) {
	free(weights->table);
	*weights = (struct dp_weights){0};
}

uint64_t dp_weight_public(const struct dp_weights *weights, int64_t below) {
	REQUIRE(below >= 0 && below <= (int64_t)1 << 27);
	long double nats = (long double)(below * weights->scale_num) / (long double)weights->scale_den;
	long double weight = ldexpl(expl(-nats), (int)weights->public_bits);
	return weight < 1.0L ? 1 : (uint64_t)llrintl(weight);
}

uint64_t dp_weight_private(const struct dp_weights *weights, int32_t sum) {
	return weights->table[sum + weights->sum_limit];
}
