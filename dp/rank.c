// SPDX-License-Identifier: Apache-2.0
// rank.c: see rank.h. Loops over keys do the same work, at the same addresses, whatever the keys
// and the rank are.
#include "dp/rank.h"

#include "base/misuse.h"
#include "dp/draw.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct dp_rank {
	struct dp_rank_params params;
	struct dp_wide *table;    /* [V] E */
	struct dp_wide *prefixes; /* [V] E[0] + ... + E[r]; the last is W */
	int32_t *null_keys;       /* [V] zeros: the keys of null, by which rank r has id r */
	bool failed;              /* the random source failed once */
};

static bool rank_fits(const struct dp_rank_params *p) {
	if (p->shape != DP_RANK_STEP && p->shape != DP_RANK_ENVELOPE) return false;
	if (p->words < 2 || p->words > DP_RANK_MOST_WORDS) return false;
	if (p->shape == DP_RANK_STEP && (p->near < 1 || p->near >= p->words)) return false;
	return p->epsilon_millionths >= 1 && p->epsilon_millionths <= DP_RANK_MOST_EPSILON;
}

static enum dp_status build_rank(struct dp_rank *m) {
	const uint32_t words = m->params.words;
	m->table = calloc(words, sizeof *m->table);
	m->prefixes = calloc(words, sizeof *m->prefixes);
	m->null_keys = calloc(words, sizeof *m->null_keys);
	if (!m->table || !m->prefixes || !m->null_keys) return DP_NO_MEMORY;
	dp_rank_tabulate(m->params.shape, words, m->params.near, m->params.epsilon_millionths,
	                 m->table);
	struct dp_wide sum = {0, 0};
	for (uint32_t r = 0; r < words; r++) m->prefixes[r] = sum = dp_wide_sum(sum, m->table[r]);
	return dp_rank_check(m->table, words, m->params.epsilon_millionths);
}

enum dp_status dp_rank_new(const struct dp_rank_params *params, struct dp_rank **out) {
	REQUIRE(params && out && params->random.fill);
	*out = NULL;
	if (!rank_fits(params)) return DP_BAD_PARAMETER;
	struct dp_rank *m = calloc(1, sizeof *m);
	if (!m) return DP_NO_MEMORY;
	m->params = *params;
	const enum dp_status status = build_rank(m);
	if (status == DP_OK) *out = m;
	else dp_rank_free(&m);
	return status;
}

void dp_rank_free(struct dp_rank **mechanism) {
	struct dp_rank *m = *mechanism;
	*mechanism = NULL;
	if (!m) return;
	free(m->table);
	free(m->prefixes);
	free(m->null_keys);
	free(m);
}

/* ---- one place ------------------------------------------------------------------------------- */

enum dp_status dp_rank_draw(struct dp_rank *m, struct dp_rank_drawn *out) {
	const uint32_t words = m->params.words;
	size_t rank = 0;
	uint32_t even = 0;
	enum dp_status status = m->failed ? DP_NO_ENTROPY : DP_OK;
	if (status == DP_OK) status = dp_draw_summed(m->prefixes, words, &m->params.random, &rank);
	if (status == DP_OK) status = dp_draw_below(words, &m->params.random, &even);
	m->failed = status != DP_OK;
	*out = (struct dp_rank_drawn){0};
	if (!m->failed) *out = (struct dp_rank_drawn){(uint32_t)rank, even};
	explicit_bzero(&rank, sizeof rank);
	explicit_bzero(&even, sizeof even);
	return status;
}

/* How many ids stand before id `own` in the order. */
static uint32_t count_before(const int32_t *keys, uint32_t words, uint32_t own) {
	int32_t key = 0;
	for (uint32_t i = 0; i < words; i++) key |= keys[i] & -(int32_t)(i == own);
	uint32_t before = 0;
	for (uint32_t i = 0; i < words; i++)
		before += (keys[i] > key) | ((keys[i] == key) & (i < own));
	return before;
}

/* The key with this place in the order of int32: 0 has INT32_MIN, 2^32 - 1 has INT32_MAX. */
static int32_t convert_place(uint32_t place) {
	return (int32_t)(place ^ UINT32_C(1) << 31);
}

/* Finds the key at `rank`, the largest that more than `rank` ids have or exceed, and how many ids
 * exceed it. Its place is made from the top, two bits a pass. */
static uint32_t find_key(const int32_t *keys, uint32_t words, uint32_t rank, int32_t *key) {
	count_above_fn *count_above = kernels_get()->count_above;
	int32_t below[COUNT_ABOVE];
	uint32_t counts[COUNT_ABOVE], place = 0;
	for (int bit = 30; bit >= 0; bit -= 2) {
		for (uint32_t t = 0; t < COUNT_ABOVE; t++)
			below[t] = convert_place(place + ((t + 1) << bit) - 1);
		count_above(keys, words, below, counts);
		uint32_t reached = 0;
		for (uint32_t t = 0; t < COUNT_ABOVE; t++) reached += counts[t] > rank;
		place += reached << bit;
	}
	*key = convert_place(place);
	for (uint32_t t = 0; t < COUNT_ABOVE; t++) below[t] = *key;
	count_above(keys, words, below, counts);
	return counts[0];
}

uint32_t dp_rank_select(const struct dp_rank *m, const int32_t *keys, uint32_t rank) {
	const uint32_t words = m->params.words;
	REQUIRE(keys && rank < words);
	int32_t key;
	const uint32_t above = find_key(keys, words, rank, &key);
	/* Of the ids with this key, `skip` stand before the one at `rank`. */
	const uint32_t skip = rank - above, id = kernels_get()->find_equal(keys, words, key, skip);
	/* No private value can make this fail: it guards the proof against an error above. */
	const bool in_order = count_before(keys, words, id) == rank;
	REQUIRE(in_order);
	return id;
}

uint32_t dp_rank_output(const struct dp_rank *m, const struct dp_rank_drawn *drawn,
                        const int32_t *keys) {
	const uint32_t null = -(uint32_t)(keys == NULL);
	return dp_rank_select(m, null ? m->null_keys : keys,
	                      (drawn->even & null) | (drawn->rank & ~null));
}

/* ---- public numbers -------------------------------------------------------------------------- */

const struct dp_wide *dp_rank_table(const struct dp_rank *m) {
	return m->table;
}

static void write_decimal(struct dp_wide value, char text[DP_RANK_DIGITS]) {
	const struct dp_wide ten = {10, 0};
	char digits[DP_RANK_DIGITS], *first = digits + sizeof digits;
	*--first = '\0';
	do {
		const struct dp_wide rest = dp_wide_quotient(value, ten);
		*--first = (char)('0' + (int)(value.low - 10 * rest.low));
		value = rest;
	} while (value.low | value.high);
	memcpy(text, first, (size_t)(digits + sizeof digits - first));
}

void dp_rank_describe(const struct dp_rank *m, struct dp_rank_receipt *out) {
	write_decimal(m->table[0], out->first);
	write_decimal(m->table[m->params.words - 1], out->last);
	write_decimal(m->prefixes[m->params.words - 1], out->total);
}

static long double convert_wide(struct dp_wide value) {
	return ldexpl((long double)value.high, 128) + (long double)value.low;
}

double dp_rank_share(const struct dp_rank *m, uint32_t k) {
	REQUIRE(k <= m->params.words);
	if (k == 0) return 0;
	return (double)(convert_wide(m->prefixes[k - 1]) /
	                convert_wide(m->prefixes[m->params.words - 1]));
}

uint32_t dp_rank_best_near(const double *similarity, uint32_t words, uint32_t epsilon_millionths) {
	REQUIRE(similarity && words >= 2);
	REQUIRE(epsilon_millionths >= 1 && epsilon_millionths <= DP_RANK_MOST_EPSILON);
	/* The mean is divided by e^epsilon above and below: 1 for a near word, `far` for another.
	 */
	const long double far = expl(-(long double)epsilon_millionths / 1e6L);
	long double rest = 0.0L, near = 0.0L, best = -(long double)INFINITY;
	for (uint32_t r = 0; r < words; r++) rest += similarity[r];
	uint32_t best_near = 1;
	for (uint32_t k = 1; k < words; k++) {
		near += similarity[k - 1];
		rest -= similarity[k - 1];
		const long double mean = (near + far * rest) / (k + far * (words - k));
		if (mean > best) {
			best = mean;
			best_near = k;
		}
	}
	return best_near;
}
