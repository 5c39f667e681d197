// SPDX-License-Identifier: Apache-2.0
// weights.c: makes the table of E in long double, then checks it in integers.
//
// Nothing is assumed of libm, long double or the compiler's floating point: however the table was
// made, dp_weights_check proves it right, or there is no mechanism (dp/PRIVACY.md, step 4).
#include "dp/weights.h"

#include "base/misuse.h"
#include "dp/wide.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

_Static_assert(LDBL_MANT_DIG >= 64,
               "A and E have up to 56 bits: a 64-bit long double rounds both rightly");

#define PUBLIC_BITS 56      /* the largest A is 2^56 */
#define DESIGN_BITS 53      /* t of weights.h, where it suffices */
#define WIDE_BITS 126       /* t of weights.h, where 53 does not suffice */
#define SIGNIFICANT_BITS 56 /* of an E; further bits are zeros */
#define FIELD_BITS 57       /* of a table entry, for the significant bits; it holds 2^56 too */
#define SERIES_BITS 60      /* the unit of exp_below's power series is 2^-60 */
#define LARGEST_EXPONENT 32 /* of g C/tau: lambda (1 + 1e-9) 2^56 and e^lambda are < 2^62 */

/* Returns r < 2^62 with r / 2^*bits <= e^v, v = fraction / 2^56. r / 2^*bits is less than e^v by at
 * most 2^-48 of it. v is halved until it is below 1. There the power series, all terms positive,
 * gives its exponential, which is then squared as often as v was halved. Every operation rounds
 * down. Example: v = 3 is halved twice to 0.75, and e^3 = (e^0.75)^4. */
static uint64_t exp_below(uint64_t fraction, unsigned *bits) {
	unsigned halvings = 0;
	while (fraction >> halvings >> 56) halvings++;
	unsigned __int128 term = (unsigned __int128)1 << SERIES_BITS, sum = 0;
	for (unsigned n = 1; term > 0; n++) {
		sum += term;
		term = (term * fraction >> (56 + halvings)) / n;
	}
	for (*bits = SERIES_BITS; halvings > 0; halvings--) {
		sum *= sum;
		for (*bits *= 2; sum >> 62; --*bits) sum >>= 1;
	}
	return (uint64_t)sum;
}

enum dp_status dp_weights_check(const struct dp_weights *weights) {
	const int32_t limit = weights->sum_limit, clip = weights->clip_fixed;
	unsigned bits;
	const uint64_t ratio = exp_below(weights->bound, &bits), one = UINT64_C(1) << bits;
	bool good = dp_weight_private(weights, -limit) >= 1 &&
	            dp_weight_private(weights, limit) <= (unsigned __int128)1 << WIDE_BITS;
	for (int32_t s = -limit; s < limit; s++)
		good &= dp_weight_private(weights, s) <= dp_weight_private(weights, s + 1);
	for (int32_t s = -limit; s <= limit - clip; s++) {
		const struct dp_wide low = dp_wide_product(ratio, dp_weight_private(weights, s));
		good &=
		    !dp_wide_less(low, dp_wide_product(one, dp_weight_private(weights, s + clip)));
	}
	return good ? DP_OK : DP_SELF_CHECK;
}

void dp_gain_temperature(unsigned gain, int64_t *num, int64_t *den) {
	unsigned divisor = gain ? gain : DP_GAIN_NONE, rest = DP_GAIN_NONE;
	while (rest > 0) {
		const unsigned next = divisor % rest;
		divisor = rest;
		rest = next;
	}
	*num *= DP_GAIN_NONE / divisor;
	*den *= (gain ? gain : DP_GAIN_NONE) / divisor;
}

unsigned dp_weights_bits(uint32_t batch, int32_t clip_fixed, unsigned fraction_bits,
                         int64_t temperature_num, int64_t temperature_den, unsigned gain) {
	if (batch < 1 || clip_fixed < 1 || (int64_t)batch * clip_fixed > DP_SUM_LIMIT ||
	    fraction_bits > 16)
		return 0;
	if (temperature_num < 1 || temperature_num > INT32_MAX || temperature_den < 1 ||
	    temperature_den > INT32_MAX)
		return 0;
	if (gain && (gain < DP_GAIN_NONE || gain > DP_GAIN_MOST)) return 0;
	// Below 2^38 and 2^40: the products with Chat <= 2^21 and 2^F <= 2^16 stay below 2^62.
	dp_gain_temperature(gain, &temperature_num, &temperature_den);
	const long double exponent = (long double)(clip_fixed * temperature_den) /
	                             (long double)(temperature_num << fraction_bits);
	if (exponent >= LARGEST_EXPONENT) return 0;
	/* At worst E(s + Chat) is rounded up by half a unit, and the smallest E down by half a
	 * unit. The limit of 1.1 units has some room on top. 2^-53 is for the rounding to
	 * significant bits and for that of the check itself. */
	const long double slack = 1e-9L * exponent / batch - 0x1p-53L, smallest = expl(-exponent);
	const unsigned octaves = (unsigned)ceill(exponent / logl(2.0L));
	if (1.1L / ldexpl(smallest, DESIGN_BITS - (int)octaves) < slack)
		return DESIGN_BITS - octaves;
	if (1.1L / ldexpl(smallest, WIDE_BITS - (int)octaves) < slack) return WIDE_BITS - octaves;
	return 0;
}

enum dp_status dp_weights_init(struct dp_weights *weights, uint32_t batch, int32_t clip_fixed,
                               unsigned fraction_bits, int64_t temperature_num,
                               int64_t temperature_den, unsigned gain) {
	*weights = (struct dp_weights){0};
	const unsigned private_bits = dp_weights_bits(batch, clip_fixed, fraction_bits,
	                                              temperature_num, temperature_den, gain);
	if (private_bits == 0) return DP_BAD_PARAMETER;
	int64_t private_num = temperature_num, private_den = temperature_den;
	dp_gain_temperature(gain, &private_num, &private_den);
	const int32_t limit = (int32_t)batch * clip_fixed;
	uint64_t *table = malloc((2 * (size_t)limit + 1) * sizeof *table);
	if (!table) return DP_NO_MEMORY;
	const int64_t scale_den = private_num << fraction_bits; /* < 2^54 */
	/* This may round at 2^64 and above. That is harmless: the check relies on nothing here. */
	const long double nats = (long double)scale_den * batch;
	uint64_t shift = 0;
	long double unit = ldexpl(1.0L, (int)private_bits); /* 2^(q - shift) */
	for (int32_t s = -limit; s <= limit; s++) {
		const long double e = expl((long double)(s * private_den) / nats);
		for (; e * unit >= ldexpl(1.0L, SIGNIFICANT_BITS); shift++) unit /= 2.0L;
		table[s + limit] = shift << FIELD_BITS | (uint64_t)llrintl(e * unit);
	}
	unsigned __int128 bound = ((unsigned __int128)(clip_fixed * private_den) << 56) /
	                          ((unsigned __int128)scale_den * batch);
	bound += bound / 1000000000;
	*weights = (struct dp_weights){.table = table,
	                               .sum_limit = limit,
	                               .clip_fixed = clip_fixed,
	                               .bound = (uint64_t)bound,
	                               .scale_num = temperature_den,
	                               .scale_den = temperature_num << fraction_bits,
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
	long double nats =
	    (long double)(below * weights->scale_num) / (long double)weights->scale_den;
	long double weight = expl(-nats) * ((uint64_t)1 << PUBLIC_BITS);
	return weight < 1.0L ? 1 : (uint64_t)llrintl(weight);
}

unsigned __int128 dp_weight_private(const struct dp_weights *weights, int32_t sum) {
	const uint64_t word = weights->table[sum + weights->sum_limit],
	               digits = word & ((UINT64_C(1) << FIELD_BITS) - 1);
	return (unsigned __int128)digits << (word >> FIELD_BITS);
}
