// SPDX-License-Identifier: Apache-2.0
// measure_rows.c: every operation is exact in both languages, or rounds once in the same way.
#include "tests/measure/measure_rows.h"

#include "tests/support/golden.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static double next_unit(uint64_t *state) {
	return (double)(tiny_random(state) >> 40) / 0x1p23 - 1.0;
}

void make_rows(uint64_t seed, size_t count, size_t width, size_t groups, const unsigned *shares,
               double spread, float *rows, uint32_t *labels) {
	double *centres = calloc(groups * width, sizeof *centres);
	assert_non_null(centres);
	for (size_t i = 0; i < groups * width; i++) centres[i] = next_unit(&seed);
	for (size_t i = 0; i < count; i++) {
		unsigned lot = (unsigned)(tiny_random(&seed) % 16);
		uint32_t group = 0;
		while (lot >= shares[group]) lot -= shares[group++];
		if (labels) labels[i] = group;
		for (size_t j = 0; j < width; j++) {
			const double noise = spread * next_unit(&seed);
			rows[i * width + j] =
			    (float)((centres[group * width + j] + noise) / (double)(1 + j));
		}
	}
	free(centres);
}

void make_unit_rows(const float *from, size_t count, size_t width, double *to) {
	for (size_t i = 0; i < count; i++) {
		double square = 0;
		for (size_t j = 0; j < width; j++)
			square += (double)from[i * width + j] * (double)from[i * width + j];
		for (size_t j = 0; j < width; j++)
			to[i * width + j] = (double)from[i * width + j] / sqrt(square);
	}
}

void expect_golden(const char *name, const double *got, size_t count, double apart) {
	double *want = calloc(count + 1, sizeof *want);
	assert_non_null(want);
	assert_int_equal(golden_read("tests/golden/measure.txt", name, want, count + 1), count);
	for (size_t i = 0; i < count; i++)
		if (!(fabs(got[i] - want[i]) <= apart))
			fail_msg("%s, number %zu: got %.15g, want %.15g", name, i, got[i], want[i]);
	free(want);
}
