// SPDX-License-Identifier: Apache-2.0
// Tests the table of E in dp/weights.c for every parameter set that tests use, whole, against
// 256-bit arithmetic of the test's own.
// It fails if one entry is further off than the proof allows. It also fails if the scan itself
// does not see a table that was made wrong.
#include "tests/dp/test_dp_support.h"

#include "tests/dp/dp_oracle.h"
#include "tests/dp/dp_parameters.h"

static struct dp_invisibleink_params params_of(const struct dp_integers *n) {
	return (struct dp_invisibleink_params){.batch = n->batch,
	                                       .temperature_num = n->temperature_num,
	                                       .temperature_den = n->temperature_den,
	                                       .clip_fixed = n->clip_fixed,
	                                       .fraction_bits = n->fraction_bits,
	                                       .gain = n->gain};
}

static void make(const struct dp_integers *n, struct dp_weights *weights) {
	assert_int_equal(dp_weights_init(weights, n->batch, n->clip_fixed, n->fraction_bits,
	                                 n->temperature_num, n->temperature_den, n->gain),
	                 DP_OK);
}

static void every_set(void **state) {
	(void)state;
	for (size_t i = 0; i < DP_PARAMETER_SETS; i += briefly() ? 5 : 1) {
		struct dp_weights weights;
		const struct dp_invisibleink_params params = params_of(&DP_PARAMETERS[i]);
		make(&DP_PARAMETERS[i], &weights);
		const char *wrong = oracle_table(&weights, &params);
		if (wrong) fail_msg("set %zu: %s", i, wrong);
		dp_weights_release(&weights);
	}
}

/* Sets that are calibrated at run time: default parameters and others, by both accountants. */
static void calibrated_sets(void **state) {
	(void)state;
	static const double epsilons[] = {1, 10};
	for (uint32_t batch = 1; batch < 32; batch += 15)
		for (size_t i = 0; i < 2; i++)
			for (int exact = 0; exact < 2; exact++) {
				struct dp_weights weights;
				struct dp_integers n = {.batch = batch,
				                        .tokens = 30,
				                        .temperature_num = 1,
				                        .temperature_den = 1};
				assert_int_equal((exact ? dp_calibrate_exact : dp_calibrate)(
				                     &n, epsilons[i], 1e-6, NULL),
				                 DP_OK);
				const struct dp_invisibleink_params params = params_of(&n);
				make(&n, &weights);
				const char *wrong = oracle_table(&weights, &params);
				if (wrong)
					fail_msg("B = %u, epsilon %g: %s", batch, epsilons[i],
					         wrong);
				dp_weights_release(&weights);
			}
}

/* The scan sees one entry off by three units of its last place, anywhere. */
static void the_scan_has_teeth(void **state) {
	(void)state;
	static const size_t sets[] = {1, 29};
	for (size_t i = 0; i < 2; i++) {
		struct dp_weights weights;
		const struct dp_invisibleink_params params = params_of(&DP_PARAMETERS[sets[i]]);
		make(&DP_PARAMETERS[sets[i]], &weights);
		assert_null(oracle_table(&weights, &params));
		for (int32_t s = -weights.sum_limit; s <= weights.sum_limit;
		     s += weights.sum_limit / 4)
			for (int sign = -1; sign < 2; sign += 2) {
				uint64_t *entry = weights.table + weights.sum_limit + s,
				         kept = *entry;
				*entry += (uint64_t)(3 * sign);
				assert_non_null(oracle_table(&weights, &params));
				*entry = kept;
			}
		dp_weights_release(&weights);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_set),
	    cmocka_unit_test(calibrated_sets),
	    cmocka_unit_test(the_scan_has_teeth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
