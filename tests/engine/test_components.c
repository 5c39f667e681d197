// SPDX-License-Identifier: Apache-2.0
// Tests cuttle_components. It fails if the numbers of the rows along the axes are correlated, have
// another variance than 1 or another mean than 0, come in another order than by variance, or have
// other bits with another number of threads; or if rows without any direction are taken.
#include "engine/cuttle.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 400, WIDTH = 24, WANTED = 6, FLAT = 9 };

static double random_number(uint64_t *stream) {
	return (double)(tiny_random(stream) >> 11) * 0x1p-53 - 0.5;
}

/* Rows whose number i varies less the higher i is, mixed with the one before it; the last ones are
 * all equal. */
static void fill_rows(float *rows) {
	uint64_t stream = 1;
	for (size_t t = 0; t < COUNT; t++) {
		double before = 0;
		for (size_t i = 0; i < WIDTH; i++) {
			const double own = i < FLAT ? random_number(&stream) / (double)(i + 1) : 0;
			rows[t * WIDTH + i] = (float)(i < FLAT ? 3 + own + before / 2 : 7);
			before = own;
		}
	}
}

static void test_whitened(void **state) {
	(void)state;
	static float rows[COUNT * WIDTH], mean[WIDTH], axes[WIDTH * WIDTH], again[WIDTH * WIDTH];
	static double y[COUNT][WANTED];
	struct cuttle_error error = {""};
	fill_rows(rows);
	assert_int_equal(cuttle_components(rows, COUNT, WIDTH, WANTED, 1, mean, axes, &error),
	                 CUTTLE_OK);
	for (size_t t = 0; t < COUNT; t++)
		for (size_t n = 0; n < WANTED; n++) {
			y[t][n] = 0;
			for (size_t i = 0; i < WIDTH; i++)
				y[t][n] += (double)axes[n * WIDTH + i] *
				           ((double)rows[t * WIDTH + i] - (double)mean[i]);
		}
	for (size_t n = 0; n < WANTED; n++) {
		double sum = 0;
		for (size_t t = 0; t < COUNT; t++) sum += y[t][n];
		assert_true(fabs(sum / COUNT) < 1e-4);
		for (size_t m = 0; m <= n; m++) {
			double product = 0;
			for (size_t t = 0; t < COUNT; t++) product += y[t][n] * y[t][m];
			assert_true(fabs(product / COUNT - (m == n)) < 1e-4);
		}
	}
	// The length of an axis is one through the deviation along it, which falls.
	double before = 0;
	for (size_t n = 0; n < WANTED; n++) {
		double square = 0;
		for (size_t i = 0; i < WIDTH; i++)
			square += (double)axes[n * WIDTH + i] * (double)axes[n * WIDTH + i];
		assert_true(square > before);
		before = square;
	}
	assert_int_equal(cuttle_components(rows, COUNT, WIDTH, WANTED, 3, mean, again, &error),
	                 CUTTLE_OK);
	assert_memory_equal(axes, again, WANTED * WIDTH * sizeof *axes);
}

/* Of nine directions that the rows reach, 24 axes: fifteen are zero. */
static void test_flat_directions(void **state) {
	(void)state;
	static float rows[COUNT * WIDTH], mean[WIDTH], axes[WIDTH * WIDTH];
	struct cuttle_error error = {""};
	fill_rows(rows);
	assert_int_equal(cuttle_components(rows, COUNT, WIDTH, WIDTH, 1, mean, axes, &error),
	                 CUTTLE_OK);
	for (size_t n = 0; n < WIDTH; n++) {
		double square = 0;
		for (size_t i = 0; i < WIDTH; i++)
			square += (double)axes[n * WIDTH + i] * (double)axes[n * WIDTH + i];
		assert_true(n < FLAT ? square > 0 : square == 0);
	}
	for (size_t i = 0; i < COUNT * WIDTH; i++) rows[i] = 1;
	assert_int_equal(cuttle_components(rows, COUNT, WIDTH, 2, 1, mean, axes, &error),
	                 CUTTLE_USAGE);
	rows[5] = NAN;
	assert_int_equal(cuttle_components(rows, COUNT, WIDTH, 2, 1, mean, axes, &error),
	                 CUTTLE_USAGE);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_whitened),
	    cmocka_unit_test(test_flat_directions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
