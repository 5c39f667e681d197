// SPDX-License-Identifier: Apache-2.0
// Tests the table of dp/mechanism.h over InvisibleInk, and the accounts of dp/claim.h.
// It fails if the table draws another token than InvisibleInk's own functions do from the same
// rows and the same randomness. It fails if a token is free where it may not be, if it is not told
// to be free, or if a row is wanted for it. It fails if the claim is not that of the integers.
#include "tests/dp/test_dp_support.h"

#include <math.h>

#include "dp/account.h"
#include "dp/zcdp.h"
#include "dp/invisibleink.h"

enum { MOST = 40, BATCH = 5, TOKENS = 6 };

static struct dp_invisibleink_params table_params(uint64_t *seed) {
	return (struct dp_invisibleink_params){.batch = BATCH,
	                                       .top_k = 9,
	                                       .tokens = TOKENS,
	                                       .vocab = MOST,
	                                       .temperature_num = 6,
	                                       .temperature_den = 5,
	                                       .clip_fixed = 1500,
	                                       .fraction_bits = 11,
	                                       .center = true,
	                                       .sure = 400000,
	                                       .random = {test_fill, seed}};
}

static struct dp_mechanism make_table(const struct dp_invisibleink_params *params) {
	struct dp_mechanism table;
	assert_int_equal(dp_invisibleink_mechanism(params, &table), DP_OK);
	return table;
}

/* Draws one token of the batch by the table. Place 2 is null. */
static enum dp_status draw_by_table(const struct dp_mechanism *table, uint32_t spent,
                                    bool may_be_free, const float *public_row,
                                    float rows[BATCH][MOST], uint32_t *token, enum dp_fate *fate) {
	struct dp_wanted wanted;
	table->begin(table->self, BATCH, spent);
	enum dp_status status = table->open(table->self, public_row, may_be_free, &wanted);
	assert_int_equal(wanted.place, DP_EVERY_PLACE);
	if (status) {
		assert_int_equal(wanted.count, 0);
		return status;
	}
	for (uint32_t place = 0; wanted.count && place < BATCH; place++) {
		float logits[MOST];
		for (size_t c = 0; c < wanted.count; c++) logits[c] = rows[place][wanted.tokens[c]];
		if (place != 2) table->row(table->self, place, logits);
	}
	return table->draw(table->self, token, fate);
}

/* The same by InvisibleInk's own functions. */
static enum dp_status draw_by_hand(struct dp_invisibleink *m, uint32_t spent, bool may_be_free,
                                   const float *public_row, float rows[BATCH][MOST],
                                   uint32_t *token, enum dp_fate *fate) {
	const uint32_t *candidates;
	size_t count;
	dp_invisibleink_begin(m, spent);
	*fate = DP_FREE;
	if (spent == TOKENS && may_be_free) {
		assert_int_equal(dp_invisibleink_alone(m, public_row), DP_OK);
		return dp_invisibleink_draw(m, token);
	}
	enum dp_status status = dp_invisibleink_public(m, public_row, &candidates, &count);
	if (status) return status;
	if (may_be_free && dp_invisibleink_sure(m, 400000)) return dp_invisibleink_draw(m, token);
	*fate = DP_PAID;
	for (uint32_t place = 0; place < BATCH; place++) {
		float logits[MOST];
		for (size_t c = 0; c < count; c++) logits[c] = rows[place][candidates[c]];
		if (place != 2) dp_invisibleink_private(m, logits);
	}
	return dp_invisibleink_draw(m, token);
}

static void the_table_is_the_mechanism(void **state) {
	(void)state;
	uint64_t seed = 1, one = 2, other = 2;
	struct dp_invisibleink_params params = table_params(&one);
	struct dp_mechanism table = make_table(&params);
	struct dp_invisibleink *m;
	params.random.user = &other;
	assert_int_equal(dp_invisibleink_new(&params, &m), DP_OK);
	size_t fates[2] = {0}, spent_free = 0, refused = 0;
	const int rounds = test_cases(2000);
	for (int round = 0; round < rounds; round++) {
		float public_row[MOST], rows[BATCH][MOST];
		for (size_t y = 0; y < MOST; y++) {
			public_row[y] = test_between(&seed, -3, 1);
			for (size_t i = 0; i < BATCH; i++)
				rows[i][y] = public_row[y] + test_between(&seed, -2, 2);
		}
		if (round % 4 == 1) public_row[test_below(&seed, MOST)] = 6;
		if (round % 3 == 0) rows[1][test_below(&seed, MOST)] = NAN;
		const uint32_t spent = (uint32_t)test_below(&seed, TOKENS + 1);
		const bool may_be_free = test_below(&seed, 3) > 0;
		uint32_t token = 0, expected = 0;
		enum dp_fate fate, expected_fate;
		const enum dp_status status = draw_by_hand(m, spent, may_be_free, public_row, rows,
		                                           &expected, &expected_fate);
		assert_int_equal(
		    draw_by_table(&table, spent, may_be_free, public_row, rows, &token, &fate),
		    status);
		assert_int_equal(status, spent == TOKENS && !may_be_free ? DP_SPENT : DP_OK);
		refused += status == DP_SPENT;
		if (status) continue;
		assert_int_equal(token, expected);
		assert_int_equal(fate, expected_fate);
		assert_true(may_be_free || fate == DP_PAID);
		assert_int_equal(dp_invisibleink_spent(table.self), spent + (fate == DP_PAID));
		fates[fate]++;
		spent_free += spent == TOKENS;
	}
	assert_true(fates[DP_PAID] > (size_t)rounds / 5 && fates[DP_FREE] > (size_t)rounds / 5 &&
	            spent_free > (size_t)rounds / 20 && refused > (size_t)rounds / 40);
	dp_invisibleink_free(&m);
	table.free(table.self);
}

/* Never sure, so nothing is free before T. */
/* What audits read: the logarithms of the weights that the draw would use. */
static void the_law_is_that_of_the_draw(void **state) {
	(void)state;
	uint64_t seed = 5, drawn = 2;
	struct dp_invisibleink_params params = table_params(&drawn);
	struct dp_mechanism table = make_table(&params);
	for (int round = 0; round < 20; round++) {
		float public_row[MOST], row[MOST];
		double ln_w[MOST];
		struct dp_wanted wanted;
		for (size_t y = 0; y < MOST; y++) public_row[y] = test_between(&seed, -3, 1);
		table.begin(table.self, BATCH, 0);
		assert_int_equal(table.open(table.self, public_row, false, &wanted), DP_OK);
		for (uint32_t place = 0; place < BATCH; place++) {
			for (size_t i = 0; i < wanted.count; i++)
				row[i] = test_between(&seed, -3, 3);
			table.row(table.self, place, row);
		}
		table.law(table.self, ln_w);
		for (size_t i = 0; i < wanted.count; i++) {
			const double a = (double)dp_invisibleink_public_weight(table.self, i),
			             e = (double)dp_invisibleink_private_weight(table.self, i);
			assert_true(fabs(ln_w[i] - log(a) - log(e)) < 1e-12);
		}
	}
	table.free(table.self);
}

static void nothing_is_free_unasked(void **state) {
	(void)state;
	uint64_t seed = 3;
	struct dp_invisibleink_params params = table_params(&seed);
	params.sure = 0;
	struct dp_mechanism table = make_table(&params);
	float public_row[MOST] = {50}, rows[BATCH][MOST] = {{0}}; // as sure as can be
	uint32_t token;
	enum dp_fate fate;
	for (uint32_t spent = 0; spent <= TOKENS; spent++) {
		assert_int_equal(
		    draw_by_table(&table, spent, true, public_row, rows, &token, &fate), DP_OK);
		assert_int_equal(fate, spent < TOKENS ? DP_PAID : DP_FREE);
	}
	public_row[1] = NAN;
	for (uint32_t spent = 0; spent <= TOKENS; spent++)
		assert_int_equal(
		    draw_by_table(&table, spent, true, public_row, rows, &token, &fate),
		    DP_PUBLIC_NOT_FINITE);
	table.free(table.self);
}

static enum dp_status no_bits_at_all(void *user, void *bytes, size_t size) {
	(void)user, (void)bytes, (void)size;
	return DP_NO_ENTROPY;
}

static void no_entropy_says_nothing(void **state) {
	(void)state;
	struct dp_invisibleink_params params = table_params(NULL);
	params.random = (struct dp_random){no_bits_at_all, NULL};
	struct dp_mechanism table = make_table(&params);
	float public_row[MOST] = {0}, rows[BATCH][MOST] = {{0}};
	uint32_t token = 77;
	enum dp_fate fate = (enum dp_fate)5;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(draw_by_table(&table, 0, false, public_row, rows, &token, &fate),
		                 DP_NO_ENTROPY);
		assert_int_equal(token, 77);
		assert_int_equal(fate, 5);
	}
	table.free(table.self);
}

/* assert_misuse jumps, so each use stands in a function of its own. */
static void refuses_places(const struct dp_mechanism *table) {
	assert_misuse(table->begin(table->self, BATCH + 1, 0));
}

static void refuses_place(const struct dp_mechanism *table, const float *logits) {
	assert_misuse(table->row(table->self, BATCH, logits));
}

static void refuses_row(const struct dp_mechanism *table, const float *logits) {
	assert_misuse(table->row(table->self, 0, logits));
}

static void misuse_is_stopped(void **state) {
	(void)state;
	uint64_t seed = 4;
	const struct dp_invisibleink_params params = table_params(&seed);
	struct dp_mechanism table = make_table(&params);
	const float logits[MOST] = {0}, sure[MOST] = {50};
	struct dp_wanted wanted;
	refuses_places(&table);
	table.begin(table.self, BATCH - 1, 0); // fewer places are null ones
	assert_int_equal(table.open(table.self, logits, true, &wanted), DP_OK);
	assert_true(wanted.count > 0);
	refuses_place(&table, logits);
	table.begin(table.self, BATCH, 0);
	assert_int_equal(table.open(table.self, sure, true, &wanted), DP_OK);
	assert_int_equal(wanted.count, 0);
	refuses_row(&table, logits); // a free step takes none
	table.free(table.self);
	struct dp_invisibleink_params wrong = params;
	wrong.clip_fixed = 0;
	assert_int_equal(dp_invisibleink_mechanism(&wrong, &table), DP_BAD_PARAMETER);
	assert_null(table.self);
}

static void refuses_claim(const struct dp_claim *claim) {
	double epsilon;
	assert_misuse((void)dp_claim_rho(claim));
	assert_misuse((void)dp_claim_epsilon(claim, 1e-6));
	assert_misuse((void)dp_claim_exact(claim, 1e-6, &epsilon));
}

static void the_claim_is_that_of_the_integers(void **state) {
	(void)state;
	uint64_t seed = 5;
	const struct dp_invisibleink_params params = table_params(&seed);
	struct dp_mechanism table = make_table(&params);
	struct dp_integers integers = {.batch = BATCH,
	                               .tokens = TOKENS,
	                               .temperature_num = 6,
	                               .temperature_den = 5,
	                               .clip_fixed = 1500,
	                               .fraction_bits = 11};
	struct dp_claim claim = table.claim;
	assert_int_equal(claim.null, DP_NULL_IS_NOTHING);
	assert_int_equal(claim.units, TOKENS);
	assert_int_equal(claim.event.count, 0);
	const long double eta = 2 * 1500.0L / 2048 / (BATCH * 1.2L) * (1 + 1e-9L);
	assert_true(fabsl(claim.eta / eta - 1) < 1e-17L);
	// A claim of more batches is that of a longer one.
	for (uint32_t times = 1; times <= 3; times += 2) {
		double epsilon, expected;
		claim.units = integers.tokens = times * TOKENS;
		const double rho = dp_claim_rho(&claim);
		const long double true_rho = claim.units * eta * eta / 8;
		assert_true(rho >= true_rho && rho < true_rho * (1 + 1e-15L));
		assert_true(rho == dp_guarantee_rho(&integers));
		assert_true(dp_claim_epsilon(&claim, 1e-6) == dp_epsilon_of_rho(rho, 1e-6));
		assert_true(dp_claim_epsilon(&claim, 1e-6) ==
		            dp_guarantee_epsilon(&integers, 1e-6));
		assert_int_equal(dp_claim_exact(&claim, 1e-6, &epsilon), DP_OK);
		assert_int_equal(dp_guarantee_exact(&integers, 1e-6, &expected), DP_OK);
		assert_true(epsilon == expected && epsilon < dp_claim_epsilon(&claim, 1e-6));
	}
	claim.eta = 0;
	refuses_claim(&claim);
	table.free(table.self);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_table_is_the_mechanism),
	    cmocka_unit_test(the_law_is_that_of_the_draw),
	    cmocka_unit_test(nothing_is_free_unasked),
	    cmocka_unit_test(no_entropy_says_nothing),
	    cmocka_unit_test(misuse_is_stopped),
	    cmocka_unit_test(the_claim_is_that_of_the_integers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
