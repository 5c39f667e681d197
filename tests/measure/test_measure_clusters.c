// SPDX-License-Identifier: Apache-2.0
// Tests measure/stream.c, kmeans.c, pca.c and base/eigen.c, with golden numbers of scikit-learn.
// It fails if a start, a tie or an empty centre is treated otherwise than kmeans.h says, if the
// number of axes is off by one, or if an axis or a row along it differs by more than 1e-9.
#include "base/eigen.h"
#include "measure/kmeans.h"
#include "measure/pca.h"
#include "measure/stream.h"
#include "tests/measure/measure_rows.h"
#include "tests/support/statistics.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- streams --------------------------------------------------------------------------------- */

static void test_stream(void **state) {
	(void)state;
	struct stream one = stream_of(1, 0), same = stream_of(1, 0), other = stream_of(1, 1);
	size_t seen[7] = {0}, equal = 0;
	const double p[7] = {1. / 7, 1. / 7, 1. / 7, 1. / 7, 1. / 7, 1. / 7, 1. / 7};
	for (int i = 0; i < 70000; i++) {
		const uint64_t a = stream_below(&one, 7), b = stream_below(&other, 7);
		assert_true(a < 7 && b < 7 && a == stream_below(&same, 7));
		seen[a]++;
		equal += a == b;
	}
	assert_true(fit(seen, p, 7, 70000) > FALSE_ALARM);
	assert_true(equal > 9500 && equal < 10500);
	// A limit just above half of all numbers: without drawing again the low half is twice as
	// likely.
	size_t low = 0;
	for (int i = 0; i < 10000; i++)
		low += stream_below(&one, (UINT64_C(1) << 63) + (UINT64_C(1) << 62)) < UINT64_C(1)
		                                                                           << 62;
	assert_true(low > 3100 && low < 3560);
}

static void test_resampling(void **state) {
	(void)state;
	struct stream stream = stream_of(2, 0);
	const uint32_t ends[5] = {10, 10, 40, 41, 100};
	const double p[5] = {.10, 0, .30, .01, .59};
	size_t sums[5] = {0};
	for (int i = 0; i < 1000; i++) {
		uint32_t drawn[5], all = 0;
		stream_recount(&stream, ends, 5, drawn);
		for (size_t k = 0; k < 5; k++) {
			sums[k] += drawn[k];
			all += drawn[k];
		}
		assert_int_equal(all, 100);
	}
	assert_true(fit(sums, p, 5, 100000) > FALSE_ALARM);
	size_t often[4] = {0};
	for (int i = 0; i < 1000; i++) {
		uint32_t times[50], all = 0;
		stream_resample(&stream, 50, times);
		for (size_t k = 0; k < 50; k++) {
			all += times[k];
			often[times[k] < 3 ? times[k] : 3]++;
		}
		assert_int_equal(all, 50);
	}
	// Binomial with 50 trials of chance 1/50: .3642 are not drawn at all.
	assert_true(often[0] > 17500 && often[0] < 18900 && often[3] > 3400 && often[3] < 4500);
}

/* ---- k-means --------------------------------------------------------------------------------- */

enum { ROWS = 300, WIDTH = 8, CLUSTERS = 7 };

static double sample[ROWS * WIDTH];

static int make_sample(void **state) {
	(void)state;
	static const unsigned shares[6] = {1, 2, 3, 4, 3, 3};
	static float rows[ROWS * WIDTH];
	make_rows(12, ROWS, WIDTH, 6, shares, 0.9, rows, NULL);
	for (size_t i = 0; i < ROWS * WIDTH; i++) sample[i] = (double)rows[i];
	return 0;
}

/* Starts of seed 3 are those of the golden file, where scikit-learn went on from them. */
static void test_kmeans_golden(void **state) {
	(void)state;
	const struct kmeans_params params = {
	    .clusters = CLUSTERS, .restarts = 5, .rounds = 500, .seed = 3};
	static uint32_t labels[ROWS], again[ROWS];
	static double centres[CLUSTERS * WIDTH];
	double objective, sizes[CLUSTERS] = {0}, numbers[ROWS];
	assert_true(kmeans_fit(sample, ROWS, WIDTH, &params, labels, centres, &objective));
	expect_golden("kmeans_best", &objective, 1, 1e-9);
	for (size_t i = 0; i < ROWS; i++) {
		numbers[i] = labels[i];
		sizes[labels[i]]++;
	}
	expect_golden("kmeans_labels", numbers, ROWS, 0);
	expect_golden("kmeans_sizes", sizes, CLUSTERS, 0);
	assert_true(kmeans_assign(sample, ROWS, WIDTH, centres, CLUSTERS, again));
	assert_memory_equal(labels, again, sizeof labels);
	// One start alone, and one round of it, are no better.
	struct kmeans_params less = params;
	less.restarts = 1;
	assert_true(kmeans_fit(sample, ROWS, WIDTH, &less, again, NULL, &objective));
	expect_golden("kmeans_start_0", &objective, 1, 1e-9);
	double shorter;
	less.rounds = 1;
	assert_true(kmeans_fit(sample, ROWS, WIDTH, &less, again, NULL, &shorter));
	assert_true(shorter > objective);
}

/* Two pairs of equal rows and a centre between: the lower centre takes what is as near to both. */
static void test_kmeans_ties(void **state) {
	(void)state;
	const double centres[3] = {0, 2, 2}, rows[4] = {1, 2, -5, 1.5};
	uint32_t labels[4];
	assert_true(kmeans_assign(rows, 4, 1, centres, 3, labels));
	const uint32_t wanted[4] = {0, 1, 0, 1};
	assert_memory_equal(labels, wanted, sizeof wanted);
}

/* With as many clusters as different rows all distances are 0, whatever rows the starts drew. A
 * start with two equal rows leaves a centre empty, and that centre must move. */
static void test_kmeans_empty(void **state) {
	(void)state;
	const double rows[8] = {5, 5, 5, 5, 5, 1, 9, 14};
	for (uint64_t seed = 0; seed < 30; seed++) {
		const struct kmeans_params params = {
		    .clusters = 4, .restarts = 1, .rounds = 20, .seed = seed};
		uint32_t labels[8];
		double objective = -1;
		assert_true(kmeans_fit(rows, 8, 1, &params, labels, NULL, &objective));
		assert_true(objective == 0);
		for (size_t i = 1; i < 8; i++) assert_int_equal(labels[i] == labels[i - 1], i < 5);
	}
	// Fewer different rows than clusters: it ends all the same.
	const struct kmeans_params many = {.clusters = 6, .restarts = 2, .rounds = 20, .seed = 1};
	uint32_t labels[8];
	double objective = -1, centres[6];
	assert_true(kmeans_fit(rows, 8, 1, &many, labels, centres, &objective));
	assert_true(objective == 0);
}

/* ---- axes ------------------------------------------------------------------------------------ */

static void check_pca(const char *shape, size_t count, size_t width) {
	static const unsigned shares[4] = {4, 4, 4, 4};
	float *rows = calloc(count * width, sizeof *rows);
	double *unit = calloc(count * width, sizeof *unit);
	double *out = calloc(count * width, sizeof *out);
	assert_true(rows && unit && out);
	make_rows(11, count, width, 4, shares, 1.0, rows, NULL);
	make_unit_rows(rows, count, width, unit);
	struct pca *pca;
	assert_true(pca_fit(unit, count, width, 0.9, &pca));
	const size_t axes = pca_axes(pca);
	double got[16];
	for (size_t i = 0; i < axes; i++) got[i] = pca_share(pca, i);
	char name[32];
	snprintf(name, sizeof name, "pca_%s_shares", shape);
	expect_golden(name, got, axes, 1e-12);
	pca_apply(pca, unit, count, out);
	const size_t shown[3] = {0, 7, count - 1};
	for (size_t i = 0; i < 3; i++)
		memcpy(got + i * axes, out + shown[i] * axes, axes * sizeof *got);
	snprintf(name, sizeof name, "pca_%s_rows", shape);
	expect_golden(name, got, 3 * axes, 1e-9);
	// A row alone has the same numbers.
	double alone[8];
	pca_apply(pca, unit + 7 * width, 1, alone);
	assert_memory_equal(alone, out + 7 * axes, axes * sizeof *alone);
	pca_free(pca);
	free(rows);
	free(unit);
	free(out);
}

static void test_pca_golden(void **state) {
	(void)state;
	check_pca("tall", 120, 24);
	check_pca("wide", 30, 70);
}

/* Variances 8, 2 and 0 along the columns: shares .8 and .2. The axis that reaches the share counts.
 */
static void test_pca_share(void **state) {
	(void)state;
	const double rows[12] = {2, 0, 5, -2, 0, 5, 0, 1, 5, 0, -1, 5};
	const struct {
		double share;
		size_t axes;
	} cases[] = {{0.5, 1}, {0.79, 1}, {0.81, 2}, {0.99, 2}, {1.0, 2}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct pca *pca;
		assert_true(pca_fit(rows, 4, 3, cases[i].share, &pca));
		assert_int_equal(pca_axes(pca), cases[i].axes);
		assert_true(fabs(pca_share(pca, 0) - 0.8) < 1e-15);
		double out[8];
		pca_apply(pca, rows, 4, out);
		assert_true(fabs(out[0] - 2) < 1e-15);
		pca_free(pca);
	}
	// Equal rows have no axis of any length; a row that is not finite has none at all.
	double strange[6] = {1, 2, 3, 1, 2, 3}, out[2];
	struct pca *pca;
	assert_true(pca_fit(strange, 2, 3, 0.9, &pca));
	assert_int_equal(pca_axes(pca), 1);
	assert_true(pca_share(pca, 0) == 0);
	pca_apply(pca, strange, 2, out);
	assert_true(out[0] == 0 && out[1] == 0);
	pca_free(pca);
	strange[4] = NAN;
	assert_false(pca_fit(strange, 2, 3, 0.9, &pca));
	pca_free(pca);
}

/* A matrix of rank r with equal values: all vectors are orthogonal, and fit their values. */
static void test_eigen_vectors(void **state) {
	(void)state;
	enum { N = 40, RANK = 12 };
	static double a[N * N], kept[N * N], values[N], vectors[N * N], scratch[8 * N];
	static const unsigned shares[1] = {16};
	float rows[RANK * N];
	double basis[RANK * N];
	make_rows(21, RANK, N, 1, shares, 3.0, rows, NULL);
	make_unit_rows(rows, RANK, N, basis);
	// Gram and Schmidt; then six values of 3, five of 1 and one of .5.
	for (size_t i = 0; i < RANK; i++)
		for (size_t k = 0; k < 2 * i + 1; k++) {
			const size_t other = k % (i + 1);
			double dot = 0, square = 0;
			for (size_t j = 0; j < N; j++)
				dot += basis[i * N + j] * basis[other * N + j];
			for (size_t j = 0; j < N && other != i; j++)
				basis[i * N + j] -= dot * basis[other * N + j];
			for (size_t j = 0; j < N; j++)
				square += basis[i * N + j] * basis[i * N + j];
			for (size_t j = 0; j < N; j++) basis[i * N + j] /= sqrt(square);
		}
	for (size_t i = 0; i < RANK; i++)
		for (size_t k = 0; k < N * N; k++)
			a[k] += (i < 6    ? 3
			         : i < 11 ? 1
			                  : 0.5) *
			        basis[i * N + k / N] * basis[i * N + k % N];
	memcpy(kept, a, sizeof a);
	assert_int_equal(eigen_scratch(N), 8 * N);
	assert_true(eigen_values(N, a, values, scratch));
	for (size_t i = 0; i < N; i++)
		assert_true(fabs(values[i] - (i < 6 ? 3 : i < 11 ? 1 : i < 12 ? 0.5 : 0)) < 1e-10);
	assert_true(eigen_vectors(N, a, values, N, vectors, scratch));
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < N; k++) {
			double turned = 0, dot = 0;
			for (size_t j = 0; j < N; j++) {
				turned += kept[k * N + j] * vectors[i * N + j];
				dot += vectors[k * N + j] * vectors[i * N + j];
			}
			assert_true(fabs(turned - values[i] * vectors[i * N + k]) < 1e-10);
			assert_true(fabs(dot - (i == k)) < 1e-12);
		}
	double endless[4] = {INFINITY, 1, 1, 1};
	assert_false(eigen_values(2, endless, values, scratch));
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_stream),        cmocka_unit_test(test_resampling),
	    cmocka_unit_test(test_kmeans_golden), cmocka_unit_test(test_kmeans_ties),
	    cmocka_unit_test(test_kmeans_empty),  cmocka_unit_test(test_pca_golden),
	    cmocka_unit_test(test_pca_share),     cmocka_unit_test(test_eigen_vectors),
	};
	return cmocka_run_group_tests(tests, make_sample, NULL);
}
