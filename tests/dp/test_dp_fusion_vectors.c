// SPDX-License-Identifier: Apache-2.0
// Tests dp/rowlaw.c, dp/share.c and dp/fusion_account.c against golden/fusion.txt.
// tests/oracle/fusion.py made that file: the same definitions in exact fractions and 45 digits.
// It fails if a law or a share differs by one, if a divergence or an epsilon is off by more than
// 1e-9, or if a promised number is below its vector.
#include "tests/dp/test_dp_support.h"

#include <math.h>
#include <stdio.h>

#include "dp/fusion_account.h"
#include "dp/rowlaw.h"
#include "dp/share.h"

enum { MOST_WORDS = 64 };

struct golden_line {
	char *word[MOST_WORDS]; /* word[0] is the name */
	size_t count, next;
};

static double golden_number(struct golden_line *line) {
	assert_true(line->next < line->count);
	return strtod(line->word[line->next++], NULL);
}

static unsigned golden_whole(struct golden_line *line) {
	return (unsigned)golden_number(line);
}

static void read_entries(struct golden_line *line, uint64_t *entries, size_t n) {
	for (size_t i = 0; i < n; i++) {
		assert_true(line->next < line->count);
		entries[i] = strtoull(line->word[line->next++], NULL, 10);
	}
}

/* A vector of a promised number: never below it, and at most 1e-9 of it above. */
static void expect_promise(struct golden_line *line, double got) {
	const double want = golden_number(line);
	if (!(got >= want && got <= want * (1 + 1e-9)))
		fail_msg("%s: got %.17g, want %.17g", line->word[0], got, want);
}

static uint32_t read_share(struct golden_line *line, uint64_t a[16], uint64_t b[16],
                           unsigned *order, size_t *n) {
	*order = golden_whole(line);
	const double divergence = golden_number(line);
	*n = golden_whole(line);
	assert_true(*n <= 16);
	read_entries(line, a, *n);
	read_entries(line, b, *n);
	return dp_share_bounded(a, b, *n, *order, dp_share_cap(*order, divergence));
}

static void check_share(struct golden_line *line) {
	uint64_t a[16], b[16];
	unsigned order;
	size_t n;
	const uint32_t share = read_share(line, a, b, &order, &n);
	assert_int_equal(share, golden_whole(line));
}

/* D_order of two laws in integers, of the same sum. */
static long double divergence_of(const uint64_t *p, const uint64_t *q, size_t n, unsigned order) {
	long double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += (long double)p[i] * powl((long double)p[i] / (long double)q[i], order - 1);
	return logl(sum / 0x1p62L) / (order - 1);
}

static void check_divergences(struct golden_line *line) {
	uint64_t a[16], b[16], w[16];
	unsigned order;
	size_t n;
	const uint32_t share = read_share(line, a, b, &order, &n);
	for (size_t i = 0; i < n; i++) {
		w[i] = (DP_SHARE_ONE - share) * a[i] + share * b[i];
		a[i] *= DP_SHARE_ONE;
	}
	const double forward = golden_number(line), reverse = golden_number(line);
	assert_true(fabsl(divergence_of(w, a, n, order) - (long double)forward) <
	            1e-9L * (long double)forward + 1e-18L);
	assert_true(fabsl(divergence_of(a, w, n, order) - (long double)reverse) <
	            1e-9L * (long double)reverse + 1e-18L);
}

static void check_law(struct golden_line *line) {
	const unsigned num = golden_whole(line), den = golden_whole(line), n = golden_whole(line);
	float logits[16];
	uint64_t want[16], got[16];
	assert_true(n <= 16);
	for (unsigned i = 0; i < n; i++) logits[i] = (float)golden_number(line);
	read_entries(line, want, n);
	struct dp_rowlaw rowlaw;
	assert_int_equal(dp_rowlaw_init(&rowlaw, num, den), DP_OK);
	assert_true(dp_rowlaw_make(&rowlaw, logits, n, got));
	assert_memory_equal(got, want, n * sizeof *got);
	dp_rowlaw_release(&rowlaw);
}

static void check_epsilon(struct golden_line *line) {
	const unsigned order = golden_whole(line);
	const double delta = golden_number(line);
	const uint32_t tokens = golden_whole(line);
	double each[8];
	const double divergence = golden_number(line);
	for (size_t i = 0; i < 8; i++) each[i] = divergence;
	const uint32_t blanked = golden_whole(line), places = golden_whole(line);
	expect_promise(line, dp_fusion_epsilon(dp_fusion_loss(order, each, blanked, places), tokens,
	                                       order, delta));
}

static void check_exchange(struct golden_line *line) {
	const unsigned order = golden_whole(line);
	const double delta = golden_number(line);
	const uint32_t tokens = golden_whole(line);
	const double loss = golden_number(line);
	expect_promise(line, dp_fusion_epsilon_exchange(loss, tokens, order, delta));
}

static void check_ceiling(struct golden_line *line) {
	const unsigned order = golden_whole(line);
	const double delta = golden_number(line);
	const uint32_t tokens = golden_whole(line);
	const double loss = golden_number(line);
	const uint32_t values = golden_whole(line);
	expect_promise(line, dp_fusion_ceiling(loss, tokens, order, delta, values));
}

static void check_planned(struct golden_line *line) {
	const double epsilon = golden_number(line), delta = golden_number(line);
	const uint32_t tokens = golden_whole(line);
	struct dp_fusion_plan plan;
	assert_int_equal(dp_fusion_plan_bounded(epsilon, delta, tokens, 1, &plan), DP_OK);
	assert_int_equal(plan.order, golden_whole(line));
	const double want = golden_number(line);
	assert_true(plan.divergence <= want * (1 + 1e-15) && plan.divergence >= want * (1 - 1e-9));
}

static void check_capped(struct golden_line *line) {
	const double delta = golden_number(line);
	const uint32_t tokens = golden_whole(line);
	const double divergence = golden_number(line);
	const uint32_t blanked = golden_whole(line);
	expect_promise(
	    line, dp_fusion_epsilon(dp_fusion_capped_loss(divergence, blanked), tokens, 2, delta));
}

static const struct {
	const char *name;
	void (*check)(struct golden_line *line);
	size_t least; /* lines of this name in the file */
} CHECKS[] = {
    {"share", check_share, 300},      {"divergences", check_divergences, 30},
    {"law", check_law, 60},           {"epsilon", check_epsilon, 30},
    {"exchange", check_exchange, 30}, {"ceiling", check_ceiling, 40},
    {"planned", check_planned, 18},   {"capped", check_capped, 6},
};
enum { CHECK_COUNT = sizeof CHECKS / sizeof *CHECKS };

static void every_golden_line(void **state) {
	(void)state;
	size_t seen[CHECK_COUNT] = {0};
	char text[2048];
	FILE *file = fopen("tests/golden/fusion.txt", "r");
	assert_non_null(file);
	while (fgets(text, sizeof text, file)) {
		if (text[0] == '#') continue;
		struct golden_line line = {.next = 1};
		char *rest = text, *word;
		while ((word = strtok_r(rest, " \n", &rest))) {
			assert_true(line.count < MOST_WORDS);
			line.word[line.count++] = word;
		}
		size_t c = 0;
		while (c < CHECK_COUNT && strcmp(CHECKS[c].name, line.word[0]) != 0) c++;
		if (c == CHECK_COUNT) fail_msg("unknown: %s", line.word[0]);
		CHECKS[c].check(&line);
		assert_int_equal(line.next, line.count);
		seen[c]++;
	}
	fclose(file);
	for (size_t c = 0; c < CHECK_COUNT; c++) assert_true(seen[c] >= CHECKS[c].least);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_golden_line)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
