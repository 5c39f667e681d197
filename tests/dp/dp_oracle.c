// SPDX-License-Identifier: Apache-2.0
// How the second implementation of the mechanism computes: probabilities from the definition, and
// draws by exact rejection sampling. dp_oracle.h says what it may be used for.
#include "tests/dp/dp_oracle.h"

#include "tests/dp/test_dp_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the law --------------------------------------------------------------------------------- */

/* clamp(round_half_even(x 2^F), -2^26, 2^26), from the bits of the float: x is sign times digits
 * times 2^exponent. */
static int64_t fixed(float x, unsigned fraction_bits) {
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	const int field = (int)(bits >> 23 & 0xff),
	          shift = (field ? field : 1) - 150 + (int)fraction_bits;
	const int64_t digits = (int64_t)(bits & 0x7fffff) | (field ? 0x800000 : 0);
	int64_t whole = 0;
	if (shift >= 0) {
		whole = shift > 30 ? (digits ? INT64_C(1) << 40 : 0) : digits << shift;
	} else if (shift >= -40) {
		const int64_t rest = digits & ((INT64_C(1) << -shift) - 1), half = INT64_C(1)
		                                                                   << (-shift - 1);
		whole = digits >> -shift;
		if (rest > half || (rest == half && whole % 2 != 0)) whole++;
	}
	if (whole > INT64_C(1) << 26) whole = INT64_C(1) << 26;
	return bits >> 31 ? -whole : whole;
}

static int descending(const void *a, const void *b) {
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x < y) - (x > y);
}

struct dp_invisibleink_params oracle_params(uint64_t *seed, struct dp_random random) {
	enum { MOST_BATCH = 8, MOST_VOCAB = 64 };
	static const unsigned gains[] = {0, 100, 150, 200, 300, 137};
	const unsigned bits = 4 + (unsigned)test_below(seed, 9);
	const size_t vocab = 2 + test_below(seed, MOST_VOCAB - 1);
	return (struct dp_invisibleink_params){
	    .batch = 1 + (uint32_t)test_below(seed, MOST_BATCH),
	    .top_k = (uint32_t)test_below(seed, vocab + 2),
	    .tokens = 1,
	    .vocab = vocab,
	    .temperature_num = 1 + (int64_t)test_below(seed, 20),
	    .temperature_den = 1 + (int64_t)test_below(seed, 20),
	    .clip_fixed = 1 + (int32_t)test_below(seed, UINT64_C(2) << bits),
	    .fraction_bits = bits,
	    .gain = gains[test_below(seed, sizeof gains / sizeof *gains)],
	    .random = random};
}

void oracle_law(const struct dp_invisibleink_params *p, const float *public,
                const float *const *rows, struct oracle_law *law) {
	int64_t l[ORACLE_VOCAB], sorted[ORACLE_VOCAB], best = INT64_MIN;
	const int64_t gain = p->gain ? p->gain : 100;
	size_t allowed = 0;
	if (p->vocab > ORACLE_VOCAB) abort();
	for (size_t y = 0; y < p->vocab; y++) {
		l[y] = fixed(public[y], p -> fraction_bits);
		if (!p->allowed || p->allowed[y]) sorted[allowed++] = l[y];
	}
	qsort(sorted, allowed, sizeof *sorted, descending);
	const size_t k = p->top_k == 0 || p->top_k > allowed ? allowed : p->top_k;
	*law = (struct oracle_law){.kappa_num = (unsigned __int128)p->temperature_den,
	                           .kappa_den =
	                               ((unsigned __int128)p->temperature_num << p->fraction_bits) *
	                               p->batch * 100};
	for (size_t y = 0; y < p->vocab; y++)
		if ((!p->allowed || p->allowed[y]) &&
		    (sorted[k - 1] - l[y]) * p->batch <= 2 * (p->clip_fixed * gain / 100))
			law->token[law->count++] = (uint32_t)y;
	for (uint32_t i = 0; i < p->batch; i++) {
		bool finite = rows[i] != NULL;
		for (size_t c = 0; finite && c < law->count; c++)
			finite = isfinite(rows[i][law->token[c]]);
		for (size_t c = 0; finite && c < law->count; c++) {
			const int64_t d =
			    fixed(rows[i][law->token[c]], p->fraction_bits) - l[law->token[c]];
			law->sum[c] += d > p->clip_fixed    ? p->clip_fixed
			               : d < -p->clip_fixed ? -p->clip_fixed
			                                    : d;
		}
	}
	for (size_t c = 0; c < law->count; c++) {
		law->gap[c] = 100 * p->batch * l[law->token[c]] + gain * law->sum[c];
		if (law->gap[c] > best) best = law->gap[c];
	}
	for (size_t c = 0; c < law->count; c++) law->gap[c] = best - law->gap[c];
}

void oracle_probabilities(const struct oracle_law *law, double *p) {
	long double weight[ORACLE_VOCAB], whole = 0;
	for (size_t c = 0; c < law->count; c++)
		whole += weight[c] = expl(-(long double)law->gap[c] * (long double)law->kappa_num /
		                          (long double)law->kappa_den);
	for (size_t c = 0; c < law->count; c++) p[c] = (double)(weight[c] / whole);
}

/* ---- the draw -------------------------------------------------------------------------------- */

/* Uniform below n. It takes as many bits as n - 1 has, and new ones while they are too large. */
static unsigned __int128 below(unsigned __int128 n, const struct dp_random *random) {
	unsigned bytes = 0;
	while (bytes < 16 && (n - 1) >> 8 * bytes) bytes++;
	unsigned __int128 mask = 0;
	while (mask < n - 1) mask = mask << 1 | 1;
	for (;;) {
		unsigned __int128 x = 0;
		if (random->fill(random->user, &x, bytes) != DP_OK) abort();
		if ((x & mask) < n) return x & mask;
	}
}

/* True with probability exp(-gamma), gamma = num / den <= 1. Coins of probability gamma / 1,
 * gamma / 2, ... are thrown until one fails; the answer is whether its number is odd. */
static bool small_coin(unsigned __int128 num, unsigned __int128 den,
                       const struct dp_random *random) {
	unsigned k = 1;
	while (below(den * k, random) < num) k++;
	return k % 2 == 1;
}

bool oracle_coin(unsigned __int128 num, unsigned __int128 den, const struct dp_random *random) {
	for (; num > den; num -= den)
		if (!small_coin(1, 1, random)) return false;
	return small_coin(num, den, random);
}

size_t oracle_draw(const struct oracle_law *law, const struct dp_random *random) {
	for (;;) {
		const size_t c = (size_t)below(law->count, random);
		if (oracle_coin((unsigned __int128)law->gap[c] * law->kappa_num, law->kappa_den,
		                random))
			return c;
	}
}

/* ---- the table ------------------------------------------------------------------------------- */

/* A number with 64 bits before the point and 256 after it, or a whole number of 320 bits. The least
 * limb comes first. */
enum { LIMBS = 5 };
struct real {
	uint64_t limb[LIMBS];
};

static struct real add(struct real a, const struct real *b) {
	unsigned __int128 carry = 0;
	for (int i = 0; i < LIMBS; i++) {
		carry += (unsigned __int128)a.limb[i] + b->limb[i];
		a.limb[i] = (uint64_t)carry;
		carry >>= 64;
	}
	return a;
}

/* a b / 2^256, rounded down: the product of two numbers, or of a whole number and a number. */
static struct real times(const struct real *a, const struct real *b) {
	uint64_t product[2 * LIMBS] = {0};
	for (int i = 0; i < LIMBS; i++) {
		unsigned __int128 carry = 0;
		for (int j = 0; j < LIMBS; j++) {
			carry += (unsigned __int128)a->limb[i] * b->limb[j] + product[i + j];
			product[i + j] = (uint64_t)carry;
			carry >>= 64;
		}
		product[i + LIMBS] = (uint64_t)carry;
	}
	struct real result;
	memcpy(result.limb, product + LIMBS - 1, sizeof result.limb);
	return result;
}

static struct real times_whole(struct real a, uint64_t b) {
	unsigned __int128 carry = 0;
	for (int i = 0; i < LIMBS; i++) {
		carry += (unsigned __int128)a.limb[i] * b;
		a.limb[i] = (uint64_t)carry;
		carry >>= 64;
	}
	return a;
}

static struct real over(struct real a, uint64_t b) {
	unsigned __int128 rest = 0;
	for (int i = LIMBS; i-- > 0;) {
		rest = rest << 64 | a.limb[i];
		a.limb[i] = (uint64_t)(rest / b);
		rest %= b;
	}
	return a;
}

static int compare(const struct real *a, const struct real *b) {
	for (int i = LIMBS; i-- > 0;)
		if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
	return 0;
}

static struct real whole(unsigned __int128 x) {
	return (struct real){{(uint64_t)x, (uint64_t)(x >> 64)}};
}

/* exp(v) or exp(-v) for v < 32, wrong by less than 2^-200 of it: Taylor's series at v / 2^8,
 * squared eight times. */
static struct real exponential(struct real v, bool negative) {
	struct real part[2] = {{{0}}, {{0}}}, term = {{0, 0, 0, 0, 1}};
	v = over(v, 256);
	for (uint64_t n = 1; n < 80; n++) {
		part[(n - 1) % 2] = add(part[(n - 1) % 2], &term);
		term = over(times(&term, &v), n);
	}
	struct real result = add(part[0], &part[1]);
	if (negative) { /* the sum of the even terms minus that of the odd ones */
		for (int i = 0; i < LIMBS; i++) part[1].limb[i] = ~part[1].limb[i];
		const struct real one = whole(1);
		part[1] = add(part[1], &one);
		result = add(part[0], &part[1]);
	}
	for (int i = 0; i < 8; i++) result = times(&result, &result);
	return result;
}

/* num / den for num < 2^58, den < 2^63. */
static struct real ratio(uint64_t num, uint64_t den) {
	const struct real one = {{0, 0, 0, 0, 1}};
	return over(times_whole(one, num), den);
}

/* Whether `have` is 2^q e to within one unit of the last of its 56 bits. */
static bool right(unsigned __int128 have, const struct real *e, unsigned q) {
	const unsigned away = 256 - q;
	unsigned __int128 want = 0;
	for (unsigned limb = away / 64, at = 0; limb < LIMBS; limb++, at += 64) {
		const unsigned __int128 digits = e->limb[limb];
		want |= at ? digits << (at - away % 64) : digits >> away % 64;
	}
	const unsigned __int128 beyond = have >> 56;
	const int bits = beyond >> 64 ? 128 - __builtin_clzll((uint64_t)(beyond >> 64))
	                 : beyond     ? 64 - __builtin_clzll((uint64_t)beyond)
	                              : 0;
	const unsigned __int128 unit = (unsigned __int128)1 << bits;
	return have <= want + unit && want <= have + unit;
}

const char *oracle_table(const struct dp_weights *weights, const struct dp_invisibleink_params *p) {
	const uint64_t gain = p->gain ? p->gain : 100,
	               den = ((uint64_t)p->temperature_num << p->fraction_bits) * p->batch * 100;
	if (den >> 63 || (uint64_t)p->temperature_num >> (46 - p->fraction_bits))
		return "too fine for the oracle";
	struct real lambda = ratio((uint64_t)(p->clip_fixed * p->temperature_den) * gain, den),
	            slack = over(lambda, 1000000000);
	lambda = add(lambda, &slack);
	const struct real kappa = ratio((uint64_t)p->temperature_den * gain, den),
	                  most = exponential(lambda, false);
	const struct real larger = exponential(kappa, false), smaller = exponential(kappa, true);
	const int32_t limit = (int32_t)p->batch * p->clip_fixed;
	struct real up = {{0, 0, 0, 0, 1}}, down = up;
	for (int32_t s = 0; s <= limit; s++) {
		if (!right(dp_weight_private(weights, s), &up, weights->private_bits))
			return "E(s) is not 2^q exp(s kappa)";
		if (!right(dp_weight_private(weights, -s), &down, weights->private_bits))
			return "E(-s) is not 2^q exp(-s kappa)";
		up = times(&up, &larger);
		down = times(&down, &smaller);
	}
	for (int32_t s = -limit; s < limit; s++)
		if (dp_weight_private(weights, s) > dp_weight_private(weights, s + 1))
			return "E decreases";
	for (int32_t s = -limit; s + p->clip_fixed <= limit; s++) {
		const struct real low = whole(dp_weight_private(weights, s)),
		                  high = whole(dp_weight_private(weights, s + p->clip_fixed));
		const struct real allowed = times(&low, &most);
		if (compare(&high, &allowed) > 0)
			return "E(s + Chat) / E(s) is beyond exp(Chat kappa (1 + 1e-9))";
	}
	return NULL;
}
