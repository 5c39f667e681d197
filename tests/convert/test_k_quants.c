// SPDX-License-Identifier: Apache-2.0
// Tests convert/k_quants.c: the rounding to Q4_K and Q6_K. The engine's own packing reads the
// blocks back; golden/types.txt holds that packing to another implementation.
// The test fails if a weight is further off than rounding to its part's range and the two levels
// of scales allow. It also fails if the error over all weights is larger than 4 and 6 bits can
// explain.
#include "convert/weight_type.h"
#include "kernels/f16.h"
#include "kernels/pack.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BLOCKS = 64, COUNT = BLOCKS * GEMM_SUPER };

static float values[COUNT], back[COUNT];
static uint8_t blocks[COUNT * 2];

static void read_back(enum packed_type type) {
	size_t weights, scales, minima;
	assert_true(pack_sizes(type, 1, COUNT, &weights, &scales, &minima));
	struct packed_matrix matrix = {.type = type,
	                               .channels = 1,
	                               .k = COUNT,
	                               .weights = aligned_alloc(64, weights),
	                               .scales = malloc(scales + 1),
	                               .minima = malloc(minima + 1)};
	assert_true(matrix.weights && matrix.scales && matrix.minima);
	pack_groups(&matrix, blocks, 0, 1);
	pack_row(&matrix, 0, back);
	free((void *)matrix.weights);
	free((void *)matrix.scales);
	free((void *)matrix.minima);
}

static double half_at(const uint8_t *from) {
	uint16_t half;
	memcpy(&half, from, sizeof half);
	return (double)float_of_f16(half);
}

/* The root of the mean squared error of a part against what the plainest rounding of it would do:
 * half a step of its range at most, half a unit of the scale at the largest code, half a unit of
 * the minimum. */
static void check_parts(enum weight_name name) {
	const bool q4 = name == WEIGHT_Q4_K;
	const size_t part = q4 ? 32 : 16;
	for (size_t i = 0; i < COUNT; i += part) {
		const uint8_t *block = blocks + i / GEMM_SUPER * weight_type(name)->block_bytes;
		double least = 0, most = 0, error = 0;
		for (size_t j = i; j < i + part; j++) {
			least = fmin(least, (double)values[j]);
			most = fmax(most, (double)values[j]);
			error += ((double)values[j] - (double)back[j]) *
			         ((double)values[j] - (double)back[j]);
		}
		const double step = q4 ? (most - least) / 15 : fmax(-least, most) / 31;
		const double scales =
		    q4 ? 7.5 * fabs(half_at(block)) + 0.5 * fabs(half_at(block + 2))
		       : 16 * fabs(half_at(block + 208));
		// An fp16 rounds to 2^-11 of itself, and 2^-25 where it is subnormal; times scale
		// and code.
		const double halves = 0.001 * (most - least) + (q4 ? 63 * 16 : 128 * 32) * 0x1p-25;
		if (!(sqrt(error / (double)part) <= step / 2 + scales + halves))
			fail_msg("%s, part %zu: error %g of a range of %g", weight_type(name)->name,
			         i / part, sqrt(error / (double)part), most - least);
	}
}

/* Of the whole, relative. */
static double relative_error(void) {
	double error = 0, size = 0;
	for (size_t i = 0; i < COUNT; i++) {
		error +=
		    ((double)values[i] - (double)back[i]) * ((double)values[i] - (double)back[i]);
		size += (double)values[i] * (double)values[i];
	}
	return size > 0 ? sqrt(error / size) : error;
}

static float uniform(uint64_t *state) {
	return (float)(tiny_random(state) >> 40) * 0x1p-23f - 1.0f;
}

/* About normal. */
static float normal(uint64_t *state) {
	float sum = 0;
	for (int i = 0; i < 12; i++) sum += uniform(state);
	return sum / 2;
}

static float spread(uint64_t *state, size_t i) { /* weights as models have them */
	(void)i;
	return 0.02f * normal(state);
}
static float outliers(uint64_t *state, size_t i) {
	return normal(state) * (i % 97 == 0 ? 30.0f : 1.0f);
}
static float positive(uint64_t *state, size_t i) {
	(void)i;
	return 3.0f + 0.1f * uniform(state);
}
static float negative(uint64_t *state, size_t i) {
	return -positive(state, i);
}
static float levels(uint64_t *state, size_t i) { /* parts of very different size */
	return ldexpf(normal(state), (int)(i / 16 % 16) - 8);
}
static float tiny(uint64_t *state, size_t i) {
	return ldexpf(normal(state), i / GEMM_SUPER % 2 ? -20 : -60);
}
static float large(uint64_t *state, size_t i) {
	(void)i;
	return 40000.0f * uniform(state);
}
static float alone(uint64_t *state, size_t i) {
	(void)state;
	return i % 16 == i / 16 % 16 ? 1.0f : 0.0f;
}
static float none(uint64_t *state, size_t i) {
	(void)state;
	(void)i;
	return 0.0f;
}

static void test_errors(void **state) {
	(void)state;
	static const struct {
		float (*value)(uint64_t *state, size_t i);
		double q4, q6; /* the relative error is below */
	} cases[] = {{spread, 0.08, 0.02},    {outliers, 0.12, 0.04}, {positive, 0.02, 0.02},
	             {negative, 0.004, 0.02}, {levels, 0.08, 0.02},   {tiny, 1.001, 1.001},
	             {large, 0.08, 0.02},     {alone, 0.01, 0.01},    {none, 1, 1}};
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		uint64_t random = c;
		for (size_t i = 0; i < COUNT; i++) values[i] = cases[c].value(&random, i);
		for (int q4 = 0; q4 < 2; q4++) {
			const enum weight_name name = q4 ? WEIGHT_Q4_K : WEIGHT_Q6_K;
			assert_true(weight_write(weight_type(name), values, COUNT, blocks));
			read_back(q4 ? PACKED_Q4_K : PACKED_Q6_K);
			const double error = relative_error();
			print_message("case %zu, %s: relative error %.4f\n", c,
			              weight_type(name)->name, error);
			check_parts(name);
			assert_true(error < (q4 ? cases[c].q4 : cases[c].q6));
		}
	}
}

/* On weights as models have them, 4.5 bits with two levels must be worth at least the 5 bits of
 * one. */
static void test_against_q4_1(void **state) {
	(void)state;
	uint64_t random = 1;
	for (size_t i = 0; i < COUNT; i++) values[i] = spread(&random, i);
	assert_true(weight_write(weight_type(WEIGHT_Q4_1), values, COUNT, blocks));
	read_back(PACKED_Q4_1);
	const double plain = relative_error();
	assert_true(weight_write(weight_type(WEIGHT_Q4_K), values, COUNT, blocks));
	read_back(PACKED_Q4_K);
	print_message("q4_1 %.4f, q4_k %.4f\n", plain, relative_error());
	assert_true(relative_error() < plain);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_errors),
	                                   cmocka_unit_test(test_against_q4_1)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
