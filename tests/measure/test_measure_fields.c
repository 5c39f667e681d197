// SPDX-License-Identifier: Apache-2.0
// Tests measure/fields on numbers computed by hand, and on drawn lines against a slow reference
// below that shares no line with it. It fails if a distance, an association or a dependence is
// another one; if bins are not of equal mass or lose a number; if an error is not that of
// resamples of the lines; or if a field that is no key is in KND.
#include "measure/fields.h"
#include "measure/stream.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void assert_near(double value, double wanted) {
	if (!(fabs(value - wanted) < 1e-12)) fail_msg("%.17g instead of %.17g", value, wanted);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void test_distance(void **state) {
	(void)state;
	// .5 .25 .25 0 against 0 .25 .25 .5
	static const uint32_t one[] = {2, 1, 1, 0}, other[] = {0, 2, 2, 4}, far[] = {0, 0, 0, 3};
	assert_near(fields_distance(one, other, 4), 0.5);
	assert_near(fields_distance(one, one, 4), 0);
	assert_near(fields_distance(one, far, 4), 1);
}

static void test_association(void **state) {
	(void)state;
	// chi^2 / n is 1, less 1 / 3 by chance; the most is 1 - 1 / 3.
	static const uint32_t tied[] = {2, 0, 0, 2}, free_[] = {1, 1, 1, 1};
	assert_near(fields_association(tied, 2, 2), 1);
	assert_near(fields_association(free_, 2, 2), 0);
	// Shares .4 .1 .1 .4: chi^2 / n = 4 .15^2 / .25 = .36; (.36 - 1/9) / (1 - 1/9) = .28.
	static const uint32_t some[] = {4, 1, 1, 4};
	assert_near(fields_association(some, 2, 2), sqrt(0.28));
	// An empty column counts as none.
	static const uint32_t wide[] = {4, 0, 1, 1, 0, 4};
	assert_near(fields_association(wide, 2, 3), sqrt(0.28));
	// One value on a side, or a single line, says nothing.
	static const uint32_t row[] = {3, 4, 0, 0}, single[] = {0, 1, 0, 0};
	assert_near(fields_association(row, 2, 2), 0);
	assert_near(fields_association(single, 2, 2), 0);
}

static void test_pair(void **state) {
	(void)state;
	double numbers[FIELDS_MEASURES];
	// The header's example, and the same with roles changed.
	static const uint32_t tied[] = {5, 0, 0, 5}, loose[] = {2, 2, 2, 2};
	fields_pair(tied, loose, 2, 2, numbers);
	assert_near(numbers[FIELDS_JOINT], 0.5);
	assert_near(numbers[FIELDS_APART], 0.5);
	assert_near(numbers[FIELDS_V_REAL], 1);
	assert_near(numbers[FIELDS_V_OTHER], 0);
	assert_near(numbers[FIELDS_V_DIFFERENCE], 1);
	assert_near(numbers[FIELDS_DEPENDENCE], 0.5);
	fields_pair(loose, tied, 2, 2, numbers);
	assert_near(numbers[FIELDS_APART], 0);
	assert_near(numbers[FIELDS_V_DIFFERENCE], 1);
	assert_near(numbers[FIELDS_DEPENDENCE], 0.5);
	// Turned around: V is the same, and no dependence is kept.
	static const uint32_t turned[] = {0, 5, 5, 0};
	fields_pair(tied, turned, 2, 2, numbers);
	assert_near(numbers[FIELDS_JOINT], 1);
	assert_near(numbers[FIELDS_V_DIFFERENCE], 0);
	assert_near(numbers[FIELDS_DEPENDENCE], 1);
	// Other marginals alone: P = .6 .4 and .5 .5, Q = .4 .6 and .5 .5, both independent.
	static const uint32_t one[] = {3, 3, 2, 2}, two[] = {2, 2, 3, 3};
	fields_pair(one, two, 2, 2, numbers);
	assert_near(numbers[FIELDS_JOINT], 0.2);
	assert_near(numbers[FIELDS_DEPENDENCE], 0);
}

static void test_bins(void **state) {
	(void)state;
	double values[200];
	struct fields_bins bins;
	for (int i = 0; i < 100; i++) values[i] = 100 - i;
	fields_bins_make(values, 100, &bins);
	assert_int_equal(bins.count, FIELDS_BINS);
	size_t counts[FIELDS_BINS + 2] = {0};
	for (int i = 1; i <= 100; i++) counts[fields_bin(&bins, i)]++;
	assert_int_equal(counts[0] + counts[FIELDS_BINS + 1], 0);
	for (int i = 1; i <= FIELDS_BINS; i++) assert_int_equal(counts[i], 5);
	assert_int_equal(fields_bin(&bins, 0.9), 0);
	assert_int_equal(fields_bin(&bins, 1), 1);
	assert_int_equal(fields_bin(&bins, 5.9), 1);
	assert_int_equal(fields_bin(&bins, 6), 2);
	assert_int_equal(fields_bin(&bins, 100), FIELDS_BINS);
	assert_int_equal(fields_bin(&bins, 100.1), FIELDS_BINS + 1);
	assert_int_equal(fields_coarse(&bins, 0), 0);
	assert_int_equal(fields_coarse(&bins, 4), 1);
	assert_int_equal(fields_coarse(&bins, 5), 2);
	assert_int_equal(fields_coarse(&bins, 20), 5);
	assert_int_equal(fields_coarse(&bins, 21), 6);
	// 90 zeros, then 1 to 10: an edge that is there already makes no bin.
	for (int i = 0; i < 100; i++) values[i] = i < 90 ? 0 : i - 89;
	fields_bins_make(values, 100, &bins);
	assert_int_equal(bins.count, 3);
	assert_true(bins.edges[1] == 1 && bins.edges[2] == 6 && bins.edges[3] == 10);
	assert_int_equal(fields_coarse(&bins, 3), 3);
	assert_int_equal(fields_coarse(&bins, 4), 4);
	// All equal: one bin, and what is no such number is outside.
	for (int i = 0; i < 100; i++) values[i] = 7;
	fields_bins_make(values, 100, &bins);
	assert_int_equal(bins.count, 1);
	assert_int_equal(fields_bin(&bins, 6.9), 0);
	assert_int_equal(fields_bin(&bins, 7), 1);
	assert_int_equal(fields_bin(&bins, 7.1), 2);
	// Few: one bin of all. None: all are outside.
	fields_bins_make(values, 4, &bins);
	assert_int_equal(bins.count, 1);
	fields_bins_make(values, 0, &bins);
	assert_int_equal(fields_bin(&bins, 7), 0);
}

/* ---- against the reference ------------------------------------------------------------------- */

enum { REAL_LINES = 83, OTHER_LINES = 61, COLUMNS = 4, RESAMPLES = 25, SEED = 11, MOST = 9 };

static uint8_t real[COLUMNS][REAL_LINES], other[COLUMNS][OTHER_LINES];
static const size_t cells[COLUMNS] = {2, 9, 5, 3}, coarse_cells[COLUMNS] = {2, 4, 5, 3};
static const bool keys[COLUMNS] = {true, true, false, true};
static uint8_t coarse[COLUMNS][MOST];
static struct fields_column columns[COLUMNS];

static int make_lines(void **state) {
	(void)state;
	struct stream stream = stream_of(5, 5);
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < (side ? OTHER_LINES : REAL_LINES); i++) {
			// The second and the fourth follow the first, more or less.
			const uint64_t first = stream_below(&stream, 2);
			for (size_t c = 0; c < COLUMNS; c++) {
				uint64_t code = stream_below(&stream, cells[c]);
				if (c == 0) code = first;
				if (c % 2 && stream_below(&stream, side ? 5 : 2)) code = first;
				(side ? other[c] : real[c])[i] = (uint8_t)code;
			}
		}
	for (size_t c = 0; c < COLUMNS; c++) {
		for (size_t k = 0; k < cells[c]; k++)
			coarse[c][k] = (uint8_t)(k < coarse_cells[c] ? k : coarse_cells[c] - 1);
		columns[c] = (struct fields_column){real[c],   other[c],        cells[c],
		                                    coarse[c], coarse_cells[c], keys[c]};
	}
	return 0;
}

/* How many of the drawn lines have value x in column a, and y in column b; MOST = any. */
static double share(const uint8_t (*codes)[2], size_t lines, size_t x, size_t y) {
	double count = 0;
	for (size_t i = 0; i < lines; i++)
		count += (x == MOST || codes[i][0] == x) && (y == MOST || codes[i][1] == y);
	return count / (double)lines;
}

static double slow_v(const uint8_t (*codes)[2], size_t lines) {
	double square = 0, rows = 0, cols = 0;
	const double n = (double)lines;
	for (size_t x = 0; x < MOST; x++) rows += share(codes, lines, x, MOST) > 0;
	for (size_t y = 0; y < MOST; y++) cols += share(codes, lines, MOST, y) > 0;
	for (size_t x = 0; x < MOST; x++)
		for (size_t y = 0; y < MOST; y++) {
			const double wanted =
			    share(codes, lines, x, MOST) * share(codes, lines, MOST, y);
			if (wanted > 0)
				square += pow(share(codes, lines, x, y) - wanted, 2) / wanted;
		}
	square = fmax(0, square - (rows - 1) * (cols - 1) / (n - 1));
	rows -= pow(rows - 1, 2) / (n - 1);
	cols -= pow(cols - 1, 2) / (n - 1);
	return fmin(rows, cols) > 1 ? sqrt(square / (fmin(rows, cols) - 1)) : 0;
}

/* All numbers of a pair, and in one[2] the distance of both columns where they are not coarse. */
static void slow_pair(size_t a, size_t b, const size_t *real_drawn, const size_t *other_drawn,
                      double numbers[FIELDS_MEASURES], double one[2]) {
	uint8_t p[REAL_LINES][2], q[OTHER_LINES][2];
	for (int fine = 1; fine >= 0; fine--) {
		for (size_t i = 0; i < REAL_LINES; i++) {
			const uint8_t x = real[a][real_drawn[i]], y = real[b][real_drawn[i]];
			p[i][0] = fine ? x : coarse[a][x];
			p[i][1] = fine ? y : coarse[b][y];
		}
		for (size_t i = 0; i < OTHER_LINES; i++) {
			const uint8_t x = other[a][other_drawn[i]], y = other[b][other_drawn[i]];
			q[i][0] = fine ? x : coarse[a][x];
			q[i][1] = fine ? y : coarse[b][y];
		}
		one[0] = fine ? 0 : one[0];
		one[1] = fine ? 0 : one[1];
		for (size_t x = 0; fine && x < MOST; x++) {
			one[0] +=
			    fabs(share(p, REAL_LINES, x, MOST) - share(q, OTHER_LINES, x, MOST)) /
			    2;
			one[1] +=
			    fabs(share(p, REAL_LINES, MOST, x) - share(q, OTHER_LINES, MOST, x)) /
			    2;
		}
	}
	memset(numbers, 0, FIELDS_MEASURES * sizeof *numbers);
	for (size_t x = 0; x < MOST; x++)
		for (size_t y = 0; y < MOST; y++) {
			const double here = share(p, REAL_LINES, x, y),
			             there = share(q, OTHER_LINES, x, y),
			             here_apart = share(p, REAL_LINES, x, MOST) *
			                          share(p, REAL_LINES, MOST, y),
			             there_apart = share(q, OTHER_LINES, x, MOST) *
			                           share(q, OTHER_LINES, MOST, y);
			numbers[FIELDS_JOINT] += fabs(here - there) / 2;
			numbers[FIELDS_APART] += fabs(here - here_apart) / 2;
			numbers[FIELDS_DEPENDENCE] +=
			    fabs((here - here_apart) - (there - there_apart)) / 2;
		}
	numbers[FIELDS_V_REAL] = slow_v(p, REAL_LINES);
	numbers[FIELDS_V_OTHER] = slow_v(q, OTHER_LINES);
	numbers[FIELDS_V_DIFFERENCE] = fabs(numbers[FIELDS_V_REAL] - numbers[FIELDS_V_OTHER]);
}

/* The standard deviation of values[RESAMPLES]. */
static double slow_deviation(const double *values) {
	double mean = 0, squares = 0;
	for (size_t i = 0; i < RESAMPLES; i++) mean += values[i] / RESAMPLES;
	for (size_t i = 0; i < RESAMPLES; i++) squares += pow(values[i] - mean, 2);
	return sqrt(squares / (RESAMPLES - 1));
}

/* Lists which lines a resample drew: a line that was drawn twice stands there twice. */
static void list_drawn(struct stream *stream, size_t lines, size_t *drawn) {
	uint32_t times[REAL_LINES];
	size_t at = 0;
	stream_resample(stream, lines, times);
	for (size_t i = 0; i < lines; i++)
		for (uint32_t k = 0; k < times[i]; k++) drawn[at++] = i;
}

static void test_reference(void **state) {
	(void)state;
	const struct fields_comparison comparison = {columns,     COLUMNS,   REAL_LINES,
	                                             OTHER_LINES, RESAMPLES, SEED};
	struct fields_result result;
	static size_t drawn[1 + RESAMPLES][2][REAL_LINES];
	struct stream streams[2] = {stream_of(SEED, 0), stream_of(SEED, 1)};
	for (size_t i = 0; i < REAL_LINES; i++) drawn[0][0][i] = drawn[0][1][i] = i;
	for (size_t r = 1; r <= RESAMPLES; r++)
		for (size_t side = 0; side < 2; side++)
			list_drawn(&streams[side], side ? OTHER_LINES : REAL_LINES, drawn[r][side]);
	assert_true(fields_compare(&comparison, &result));
	assert_int_equal(result.pair_count, 6);
	assert_int_equal(result.key_pairs, 3);
	static double knd[1 + RESAMPLES], joint[1 + RESAMPLES], apart[1 + RESAMPLES],
	    mean[1 + RESAMPLES];
	size_t pair = 0;
	for (size_t a = 0; a < COLUMNS; a++)
		for (size_t b = a + 1; b < COLUMNS; b++, pair++) {
			double all[FIELDS_MEASURES][1 + RESAMPLES], one[2][1 + RESAMPLES];
			for (size_t r = 0; r <= RESAMPLES; r++) {
				double numbers[FIELDS_MEASURES], ones[2];
				slow_pair(a, b, drawn[r][0], drawn[r][1], numbers, ones);
				for (int k = 0; k < FIELDS_MEASURES; k++) all[k][r] = numbers[k];
				for (int k = 0; k < 2; k++) one[k][r] = ones[k];
				joint[r] += numbers[FIELDS_JOINT] / 6;
				if (a == 0) mean[r] += ones[1] / COLUMNS;
				if (a == 0 && b == 1) mean[r] += ones[0] / COLUMNS;
				if (!keys[a] || !keys[b]) continue;
				knd[r] += numbers[FIELDS_DEPENDENCE] / 3;
				apart[r] += numbers[FIELDS_APART] / 3;
			}
			for (int k = 0; k < FIELDS_MEASURES; k++) {
				assert_near(result.pairs[pair][k].value, all[k][0]);
				assert_near(result.pairs[pair][k].error,
				            slow_deviation(all[k] + 1));
			}
			assert_near(result.fields[a].value, one[0][0]);
			assert_near(result.fields[a].error, slow_deviation(one[0] + 1));
			assert_near(result.fields[b].value, one[1][0]);
		}
	assert_near(result.mean.value, mean[0]);
	assert_near(result.mean.error, slow_deviation(mean + 1));
	assert_near(result.joint.value, joint[0]);
	assert_near(result.joint.error, slow_deviation(joint + 1));
	assert_near(result.knd.value, knd[0]);
	assert_near(result.knd.error, slow_deviation(knd + 1));
	assert_near(result.knd_apart.value, apart[0]);
	assert_near(result.knd_apart.error, slow_deviation(apart + 1));
	assert_true(result.knd.error > 0.005 && result.knd.value > 0.05);
	fields_free(&result);
}

/* A single field has no pairs, and no field at all has no numbers. */
static void test_few_columns(void **state) {
	(void)state;
	for (size_t count = 0; count < 2; count++) {
		const struct fields_comparison comparison = {columns,     count, REAL_LINES,
		                                             OTHER_LINES, 2,     SEED};
		struct fields_result result;
		assert_true(fields_compare(&comparison, &result));
		assert_int_equal(result.pair_count, 0);
		assert_true(isnan(result.joint.value) && isnan(result.knd.value));
		assert_true(isnan(result.mean.value) == !count);
		fields_free(&result);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_distance),  cmocka_unit_test(test_association),
	    cmocka_unit_test(test_pair),      cmocka_unit_test(test_bins),
	    cmocka_unit_test(test_reference), cmocka_unit_test(test_few_columns),
	};
	return cmocka_run_group_tests(tests, make_lines, NULL);
}
