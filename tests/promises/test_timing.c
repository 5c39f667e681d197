// SPDX-License-Identifier: Apache-2.0
// Reports whether the time of a draw depends on the private sum. Two classes of private rows are
// interleaved at random and compared by Welch's t, as dudect does it (Reparaz, Balasch &
// Verbauwhede 2017).
// It runs only at night, and flags |t| > 4.5. It does not fail for that: PRIVACY.md promises
// nothing about time.
#include "tests/dp/test_dp_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "dp/invisibleink.h"
#include "tests/support/statistics.h"

enum { VOCAB = 100, BATCH = 7, MOST_DRAWS = 1000000 };

/* The test's generator, counting how often it is asked: a draw is repeated when its bits are out of
 * range, by chance and by W. */
struct counted {
	uint64_t seed;
	unsigned asked;
};

static enum dp_status fill_counted(void *user, void *bytes, size_t size) {
	struct counted *counted = user;
	counted->asked++;
	return test_fill(&counted->seed, bytes, size);
}

struct moments {
	double n, mean, squares;
};

static void take(struct moments *m, double x) {
	const double away = x - m->mean;
	m->n++;
	m->mean += away / m->n;
	m->squares += away * (x - m->mean);
}

static double welch(const struct moments class[2]) {
	double variance = 0;
	for (int i = 0; i < 2; i++) variance += class[i].squares / (class[i].n - 1) / class[i].n;
	return (class[1].mean - class[0].mean) / sqrt(variance);
}

static int ascending(const void *a, const void *b) {
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void time_of_a_draw(void **state) {
	(void)state;
	if (!nightly()) skip();
	static double ns[MOST_DRAWS], sorted[MOST_DRAWS];
	static uint8_t class[MOST_DRAWS], once[MOST_DRAWS];
	struct counted counted = {.seed = nightly_seed(61)};
	uint64_t order = counted.seed + 1;
	const struct dp_invisibleink_params params = {.batch = BATCH,
	                                              .tokens = MOST_DRAWS,
	                                              .vocab = VOCAB,
	                                              .temperature_num = 6,
	                                              .temperature_den = 5,
	                                              .clip_fixed = 2699,
	                                              .fraction_bits = 12,
	                                              .random = {fill_counted, &counted}};
	struct dp_invisibleink *m;
	float public[VOCAB], rows[2][VOCAB];
	const uint32_t *candidates;
	uint32_t token;
	size_t count;
	for (size_t y = 0; y < VOCAB; y++) {
		public[y] = test_between(&order, -3, 3);
		rows[0][y] = public[y]; /* adds nothing anywhere */
		rows[1][y] =
		    public[y] + (test_below(&order, 2) ? 9 : -9); /* the ends of the table */
	}
	assert_int_equal(dp_invisibleink_new(&params, &m), DP_OK);
	dp_invisibleink_begin(m, 0);
	for (size_t i = 0; i < MOST_DRAWS; i++) {
		class[i] = (uint8_t)test_below(&order, 2);
		assert_int_equal(dp_invisibleink_public(m, public, &candidates, &count), DP_OK);
		for (int row = 0; row < BATCH; row++) dp_invisibleink_private(m, rows[class[i]]);
		counted.asked = 0;
		const double start = now_ns();
		const enum dp_status status = dp_invisibleink_draw(m, &token);
		ns[i] = now_ns() - start;
		once[i] = counted.asked == 1;
		assert_int_equal(status, DP_OK);
	}
	dp_invisibleink_free(&m);
	memcpy(sorted, ns, sizeof sorted);
	qsort(sorted, MOST_DRAWS, sizeof *sorted, ascending);
	static const double cut[] = {0.5, 0.9, 0.99, 1};
	for (int only_once = 1; only_once >= 0; only_once--)
		for (size_t c = 0; c < sizeof cut / sizeof *cut; c++) {
			struct moments moments[2] = {{0, 0, 0}, {0, 0, 0}};
			const double limit = sorted[(size_t)(cut[c] * (MOST_DRAWS - 1))];
			for (size_t i = 0; i < MOST_DRAWS; i++)
				if (ns[i] <= limit && (once[i] || !only_once))
					take(&moments[class[i]], ns[i]);
			const double t = welch(moments);
			printf("timing: draws%s, fastest %g %%: %.1f and %.1f ns, t = %.1f%s\n",
			       only_once ? " of one try" : ", whatever the tries", 100 * cut[c],
			       moments[0].mean, moments[1].mean, t,
			       fabs(t) > 4.5 ? "  <-- flagged" : "");
		}
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(time_of_a_draw)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
