// SPDX-License-Identifier: Apache-2.0
// Tests measure/mauve.c and compare.c: a second program's numbers to their digits, mauve-text's
// numbers (tests/golden/make_measure.py), and what resampling says against fresh samples.
// It fails if equal histograms have not 1, if MAUVE* lacks its halves, or if a deviation is that of
// another size of sample.
#include "measure/compare.h"
#include "measure/mauve.h"
#include "measure/samples.h"
#include "measure/stream.h"
#include "tests/measure/measure_rows.h"
#include "tests/support/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

struct histograms {
	size_t clusters;
	uint32_t p[10], q[10];
	double scores[3]; /* c = .9, c = 5, frontier integral, by a second program */
};

static const struct histograms histograms[] = {
    {4, {10, 20, 30, 40}, {40, 30, 20, 10}, {.9783923097283, .6538536633533, .1437633739716}},
    {4, {50, 0, 25, 25}, {0, 50, 25, 25}, {.8135548334500, .0925723629483, .5}},
    {4, {5, 5, 5, 5}, {5, 5, 5, 5}, {1, 1, 0}},
    {5, {7, 1, 0, 12, 30}, {6, 2, 3, 9, 30}, {.9978483464704, .9542300234221, .0356564495574}},
    {2, {20, 0}, {0, 20}, {.5515392575985, .0040720962620, 1}},
    {10, {3, 9, 0, 0, 40, 11, 7, 0, 1, 29}, {12, 9, 2, 0, 31, 0, 7, 8, 1, 30}, {0, 0, 0}},
};

static void test_histograms(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof histograms / sizeof *histograms; i++) {
		const struct histograms *h = &histograms[i];
		struct mauve near, far;
		assert_true(mauve_measure(h->p, h->q, h->clusters, MAUVE_SCALE_PAPER, 0, 0, &near));
		assert_true(mauve_measure(h->p, h->q, h->clusters, MAUVE_SCALE_FINE, 0, 0, &far));
		if (h->scores[0] > 0) {
			assert_true(fabs(near.score - h->scores[0]) < 6e-14);
			assert_true(fabs(far.score - h->scores[1]) < 6e-14);
			assert_true(fabs(near.frontier - h->scores[2]) < 6e-14);
		}
		char name[32];
		snprintf(name, sizeof name, "mauve_%zu", i);
		const double sorted[3] = {near.sorted, far.sorted, near.frontier};
		expect_golden(name, sorted, 3, 1e-12);
		// Where no points coincide, sorting changes nothing.
		const bool equal = i == 2;
		assert_true(equal ? near.score == 1 && near.sorted == 0.75
		                  : fabs(near.score - near.sorted) < 1e-14);
		assert_true(equal ? near.star == 1 : near.star > near.score);
		if (!equal) {
			snprintf(name, sizeof name, "mauve_%zu_star", i);
			const double star[3] = {near.star, far.star, near.frontier_star};
			expect_golden(name, star, 3, 1e-12);
		}
		assert_true(near.deviation == 0 && near.star_deviation == 0);
	}
}

/* Both ways round the curve is the same, and so is a cluster that nobody is in. */
static void test_symmetry(void **state) {
	(void)state;
	const struct histograms *h = &histograms[3];
	double p[6], q[6];
	mauve_shares(h->p, 5, 0, p);
	mauve_shares(h->q, 5, 0, q);
	p[5] = q[5] = 0;
	const double score = mauve_score(p, q, 5, 5);
	assert_true(fabs(score - mauve_score(q, p, 5, 5)) < 1e-14);
	assert_true(score == mauve_score(p, q, 6, 5));
	assert_true(fabs(mauve_frontier(p, q, 6) - mauve_frontier(q, p, 5)) < 1e-15);
	// Nearly equal shares: the closed formula would lose all digits here.
	const double a[2] = {0.5 + 1e-9, 0.5 - 1e-9}, b[2] = {0.5, 0.5};
	assert_true(fabs(mauve_frontier(a, b, 2) / (2e-18 / 3) - 1) < 1e-6);
	// Where the series ends and the formula begins both agree.
	const double c[2] = {0.6249999, 0.3750001}, d[2] = {0.6250001, 0.3749999},
	             e[2] = {0.375, 0.625};
	assert_true(fabs(mauve_frontier(c, e, 2) - mauve_frontier(d, e, 2)) < 1e-6);
}

/* Numbers of vectors: 200 and 200, 10 clusters, the mean of five seeds. Clusters of another program
 * differ, so within .02. */
static void test_end_to_end(void **state) {
	(void)state;
	enum { N = 200, W = 32, K = 10, SEEDS = 5 };
	static const unsigned one[5] = {6, 4, 3, 2, 1}, other[5] = {1, 2, 3, 4, 6};
	static float rows[3 * N * W];
	static uint32_t labels[2 * N];
	make_rows(13, N, W, 5, one, 1.0, rows, NULL);
	static float second[2 * N * W];
	make_rows(13, 2 * N, W, 5, other, 1.0, second, NULL);
	memcpy(rows + N * W, second + N * W, N * W * sizeof *rows);
	assert_int_equal(mauve_clusters(N), K);
	assert_int_equal(mauve_clusters(45), 2);
	struct mauve_points points;
	assert_true(mauve_project(rows, 2 * N, W, MAUVE_SHARE, &points));
	double means[2][4] = {{0}};
	const double scales[2] = {MAUVE_SCALE_PAPER, MAUVE_SCALE_FINE};
	struct kmeans_params params = {K, MAUVE_RESTARTS, MAUVE_ROUNDS, 0};
	for (params.seed = 0; params.seed < SEEDS; params.seed++) {
		uint32_t p[K], q[K];
		assert_true(
		    kmeans_fit(points.rows, 2 * N, points.axes, &params, labels, NULL, NULL));
		mauve_count(labels, N, K, p);
		mauve_count(labels + N, N, K, q);
		for (size_t c = 0; c < 2; c++) {
			struct mauve m;
			assert_true(mauve_measure(p, q, K, scales[c], 0, 0, &m));
			const double got[4] = {m.score, m.star, m.frontier, m.frontier_star};
			for (size_t k = 0; k < 4; k++) means[c][k] += got[k] / SEEDS;
		}
	}
	expect_golden("mauve_end_0.9", means[0], 4, 0.02);
	expect_golden("mauve_end_5.0", means[1], 4, 0.02);
	mauve_points_free(&points);
}

/* Fresh samples of two known laws against resamples of one sample of each: the deviations agree
 * within a factor, as the scores are far from 1. */
static void test_deviation(void **state) {
	(void)state;
	enum { K = 8, N = 400, TIMES = 300 };
	const uint32_t p_ends[K] = {N / 8,     N / 4,     3 * N / 8, N / 2,
	                            5 * N / 8, 3 * N / 4, 7 * N / 8, N},
	               q_ends[K] = {N / 2, 5 * N / 8, 6 * N / 8, 7 * N / 8, N, N, N, N};
	struct stream stream = stream_of(5, 0);
	double scores[TIMES], guessed = 0;
	for (size_t i = 0; i < TIMES; i++) {
		uint32_t p[K], q[K];
		stream_recount(&stream, p_ends, K, p);
		stream_recount(&stream, q_ends, K, q);
		struct mauve m;
		assert_true(
		    mauve_measure(p, q, K, MAUVE_SCALE_FINE, i < 3 ? MAUVE_RESAMPLES : 0, i, &m));
		scores[i] = m.score;
		if (i < 3) guessed += m.deviation / 3;
		if (i < 3)
			assert_true(m.star_deviation > m.deviation / 2 &&
			            m.star_deviation < 2 * m.deviation);
	}
	const double truth = samples_deviation(scores, TIMES);
	if (!(guessed > 0.8 * truth && guessed < 1.25 * truth))
		fail_msg("deviation %g, of fresh samples %g", guessed, truth);
}

/* ---- which run is nearer --------------------------------------------------------------------- */

static void test_compare(void **state) {
	(void)state;
	const uint32_t references[4] = {100, 100, 100, 100}, near[4] = {110, 95, 105, 90},
	               far[4] = {260, 80, 40, 20};
	struct compare_difference d, back;
	assert_true(compare_runs(references, near, far, 4, MAUVE_SCALE_FINE, 200, 1, &d));
	assert_true(compare_runs(references, far, near, 4, MAUVE_SCALE_FINE, 200, 1, &back));
	assert_true(d.difference > 0 && back.difference == -d.difference);
	assert_true(d.deviation > 0 && d.p < 0.01);
	assert_true(fabs(erfc(d.difference / d.deviation / sqrt(2)) - d.p) < 1e-15);
	// A run against itself: no difference, though both are drawn anew and differ.
	assert_true(compare_runs(references, far, far, 4, MAUVE_SCALE_FINE, 200, 1, &d));
	assert_true(d.difference == 0 && d.deviation > 0 && d.p == 1);
	// What references do to both cancels: the deviation is less than that of separate draws.
	struct mauve one;
	assert_true(mauve_measure(references, far, 4, MAUVE_SCALE_FINE, 2000, 1, &one));
	assert_true(compare_runs(references, far, far, 4, MAUVE_SCALE_FINE, 2000, 1, &d));
	assert_true(d.deviation < 0.97 * sqrt(2) * one.deviation);
}

static void test_holm(void **state) {
	(void)state;
	double p[3] = {.004, .03, .02}, adjusted[3];
	assert_true(compare_holm(p, 3, adjusted));
	assert_true(fabs(adjusted[0] - .012) < 1e-15 && fabs(adjusted[1] - .04) < 1e-15 &&
	            fabs(adjusted[2] - .04) < 1e-15);
	double high[2] = {.7, .9};
	assert_true(compare_holm(high, 2, high));
	assert_true(high[0] == 1 && high[1] == 1);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* 1,000 and 1,000 texts, from embeddings to all numbers. */
static void bench_mauve(size_t width) {
	const size_t n = 1000, k = 50;
	uint32_t p[50], q[50];
	static const unsigned shares[5] = {6, 4, 3, 2, 1};
	float *rows = calloc(2 * n * width, sizeof *rows);
	uint32_t *labels = calloc(2 * n, sizeof *labels);
	assert_true(rows && labels);
	// Noise in all directions needs many axes: worse than embeddings of texts.
	make_rows(13, 2 * n, width, 5, shares, 1.0, rows, NULL);
	for (size_t i = 0; i < 2 * n * width; i++) rows[i] *= sqrtf((float)(1 + i % width));
	const clock_t began = clock();
	struct mauve_points points;
	assert_true(mauve_project(rows, 2 * n, width, MAUVE_SHARE, &points));
	const clock_t projected = clock();
	const struct kmeans_params params = {k, MAUVE_RESTARTS, MAUVE_ROUNDS, 1};
	assert_true(kmeans_fit(points.rows, 2 * n, points.axes, &params, labels, NULL, NULL));
	const clock_t clustered = clock();
	mauve_count(labels, n, k, p);
	mauve_count(labels + n, n, k, q);
	struct mauve m;
	assert_true(mauve_measure(p, q, k, MAUVE_SCALE_PAPER, MAUVE_RESAMPLES, 1, &m));
	printf("width %zu: %zu axes in %.2f s, k-means %.2f s, scores and errors %.2f s\n", width,
	       points.axes, (double)(projected - began) / CLOCKS_PER_SEC,
	       (double)(clustered - projected) / CLOCKS_PER_SEC,
	       (double)(clock() - clustered) / CLOCKS_PER_SEC);
	mauve_points_free(&points);
	free(rows);
	free(labels);
}

/* With --bench WIDTH: times instead of tests. */
int main(int argc, char **argv) {
	if (argc == 3 && strcmp(argv[1], "--bench") == 0) {
		bench_mauve(strtoul(argv[2], NULL, 10));
		return 0;
	}
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_histograms), cmocka_unit_test(test_symmetry),
	    cmocka_unit_test(test_end_to_end), cmocka_unit_test(test_deviation),
	    cmocka_unit_test(test_compare),    cmocka_unit_test(test_holm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
