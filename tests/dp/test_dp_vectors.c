// SPDX-License-Identifier: Apache-2.0
// Tests dp/account.c and dp/exact.c against golden/accountant.txt. tests/oracle/accountant.py made
// that file: the same formulas from the papers, in Python's own arithmetic of 45 digits.
// It fails if a result is off by more than 1e-9, or if a promised number is below its vector.
#include "tests/dp/test_dp_support.h"

#include <math.h>
#include <stdio.h>

#include "dp/account.h"
#include "dp/exact.h"
#include "dp/zcdp.h"

enum { MOST_ARGUMENTS = 7 };

static double rho_of_clip(const double *x) {
	return dp_rho_of_clip(x[0], (uint32_t)x[1], x[2], (uint32_t)x[3]);
}

static double cks_epsilon(const double *x) {
	return dp_epsilon_of_rho(x[0], x[1]);
}

static double cks_delta(const double *x) {
	return dp_delta_of_rho(x[0], x[1]);
}

static double cks_rho(const double *x) {
	return dp_rho_of_epsilon(x[0], x[1]);
}

static double bs16_epsilon(const double *x) {
	return dp_epsilon_bun_steinke(x[0], x[1]);
}

static double guarantee(const double *x) {
	const struct dp_integers integers = {.batch = (uint32_t)x[0],
	                                     .tokens = (uint32_t)x[1],
	                                     .temperature_num = (int64_t)x[2],
	                                     .temperature_den = (int64_t)x[3],
	                                     .clip_fixed = (int32_t)x[4],
	                                     .fraction_bits = (unsigned)x[5]};
	return dp_guarantee_epsilon(&integers, x[6]);
}

static double exact_delta(const double *x) {
	double delta;
	assert_int_equal(dp_exact_delta(x[0], (uint32_t)x[1], x[2], (unsigned)x[3], &delta), DP_OK);
	return delta;
}

static double exact_epsilon(const double *x) {
	double epsilon;
	assert_int_equal(dp_exact_epsilon(x[0], (uint32_t)x[1], x[2], (unsigned)x[3], &epsilon),
	                 DP_OK);
	return epsilon;
}

/* The last number of exact_* is the script's window, which is not used here. An attack is a bound
 * from below only: a coarse grid loses up to 2 % of it. At 500 steps dp/exact is 4e-9 looser than
 * the script, because of its windows (UNSEEN). */
static const struct quantity {
	const char *name;
	double (*compute)(const double *arguments);
	int arguments;
	double above, below; /* how far, relative, ours may be from the vector */
} QUANTITIES[] = {
    {"rho_of_clip", rho_of_clip, 4, 1e-9, 0},      {"cks_epsilon", cks_epsilon, 2, 1e-9, 0},
    {"cks_delta", cks_delta, 2, 1e-9, 0},          {"cks_rho", cks_rho, 2, 0, 1e-9},
    {"bs16_epsilon", bs16_epsilon, 2, 1e-9, 0},    {"guarantee", guarantee, 7, 1e-9, 0},
    {"exact_delta", exact_delta, 5, 1e-9, 0},      {"exact_epsilon", exact_epsilon, 5, 5e-9, 0},
    {"attack_epsilon", exact_epsilon, 5, 0.02, 0},
};
enum { QUANTITY_COUNT = sizeof QUANTITIES / sizeof *QUANTITIES };

static void every_vector(void **state) {
	(void)state;
	size_t seen[QUANTITY_COUNT] = {0};
	char line[256], name[32];
	FILE *file = fopen("tests/golden/accountant.txt", "r");
	assert_non_null(file);
	while (fgets(line, sizeof line, file)) {
		if (line[0] == '#') continue;
		int at = 0, used;
		assert_int_equal(sscanf(line, "%31s%n", name, &at), 1);
		size_t q = 0;
		while (q < QUANTITY_COUNT && strcmp(QUANTITIES[q].name, name) != 0) q++;
		if (q == QUANTITY_COUNT) fail_msg("unknown: %s", name);
		double arguments[MOST_ARGUMENTS], want;
		for (int i = 0; i < QUANTITIES[q].arguments; i++, at += used)
			assert_int_equal(sscanf(line + at, "%lf%n", &arguments[i], &used), 1);
		assert_int_equal(sscanf(line + at, "%lf%n", &want, &used), 1);
		assert_string_equal(line + at + used, "\n");
		const double got = QUANTITIES[q].compute(arguments);
		if (!(got >= want * (1 - QUANTITIES[q].below) &&
		      got <= want * (1 + QUANTITIES[q].above)))
			fail_msg("got %.17g for %s", got, line);
		seen[q]++;
	}
	fclose(file);
	for (size_t q = 0; q < QUANTITY_COUNT; q++) assert_true(seen[q] >= 5);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_vector)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
