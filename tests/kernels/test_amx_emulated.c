// SPDX-License-Identifier: Apache-2.0
// Tests kernels/gemm_amx.c on a processor without AMX: the same source over emulated tiles. It
// fails if one bit differs from the scalar tier. The rest of that source needs AVX-512 and GFNI;
// without them the test skips. CUTTLE_TEST_SEED sets the seed.
#include "tests/kernels/kernel_cases.h"

#if defined(__x86_64__)
#include "tests/kernels/amx_emulation.h"

#include "kernels/cpu.h"

#include <time.h>

// The source itself and not the library's object: that one holds the instructions. Under other
// names, since the library holds these.
static gemm_fn gemm_q8_emulated, gemm_q4_emulated, gemm_planes_emulated;
#define gemm_q8_amx gemm_q8_emulated
#define gemm_q4_amx gemm_q4_emulated
#define gemm_planes_amx gemm_planes_emulated
#include "kernels/gemm_amx.c"

static struct numbers numbers;

static gemm_fn *emulated_of(enum packed_type type) {
	return type == PACKED_Q8_0   ? gemm_q8_emulated
	       : type <= PACKED_Q4_1 ? gemm_q4_emulated
	                             : gemm_planes_emulated;
}

static gemm_fn *scalar_of(enum packed_type type) {
	return type == PACKED_Q8_0   ? gemm_q8_scalar
	       : type <= PACKED_Q4_1 ? gemm_q4_scalar
	                             : gemm_planes_scalar;
}

/* Both over rows [first, first + count) and places [begin, end), the emulated one between guards.
 */
static void compare_tiles(const struct problem *problem, size_t first, size_t count, bool add,
                          const uint32_t *groups, size_t begin, size_t end) {
	const size_t stride = end * GEMM_GROUP + draw_below(&numbers, 5),
	             floats = (count - 1) * stride + end * GEMM_GROUP;
	struct guarded guard;
	float *expected = new_array(floats, sizeof *expected),
	      *got = guarded_new(&guard, floats * sizeof *got, 4 * draw_below(&numbers, 16));
	for (size_t i = 0; i < floats; i++) expected[i] = draw_plain(&numbers);
	memcpy(got, expected, floats * sizeof *got);
	// Copies that end where the rows end, so that a sanitizer sees a read beyond them.
	const size_t blocks = problem->k / GEMM_BLOCK;
	struct gemm_rows rows = slice_rows(problem, first, count);
	int8_t *q = new_array(count * problem->k, sizeof *q);
	int32_t *sum = new_array(count * blocks, sizeof *sum);
	rows.q = memcpy(q, rows.q, count * problem->k * sizeof *q);
	rows.sum = memcpy(sum, rows.sum, count * blocks * sizeof *sum);
	const size_t products = amx.products;
	emulated_of(problem->type)(got, stride, add, &rows, &problem->matrix, groups, begin, end);
	scalar_of(problem->type)(expected, stride, add, &rows, &problem->matrix, groups, begin,
	                         end);
	assert_false(amx.configured);
	const size_t tiles = count / PASS_ROWS * (PASS_ROWS / TILE_ROWS) +
	                     (count % PASS_ROWS + TILE_ROWS - 1) / TILE_ROWS;
	const size_t parts = problem->k / packed_span(problem->type);
	assert_int_equal(amx.products - products,
	                 count < TILE_ROWS ? 0 : tiles * (end - begin) * parts);
	expect_same("gemm", "amx, emulated", expected, got, floats);
	guarded_end(&guard);
	free(expected);
	free(q);
	free(sum);
}

static void gemm_same_bits(enum packed_type type, enum mood mood) {
	enum { MOST_ROWS = 147 };
	static const size_t counts[] = {1, 15, 16, 17, 24, 31, 32, 33, 127, 128, 129, MOST_ROWS};
	static const size_t long_counts[] = {PASS_ROWS, PASS_ROWS + 1, PASS_ROWS + 33};
	static const size_t ks[] = {96, 1056},
	                    ks_of_levels[] = {256, 1280}; // the longer ones are more than a run
	for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
		struct problem problem =
		    problem_new(&numbers, type, 16 * (1 + i) + 1 + draw_below(&numbers, 15),
		                packed_has_levels(type) ? ks_of_levels[i] : ks[i], MOST_ROWS, mood);
		for (size_t j = 0; j < sizeof counts / sizeof *counts; j++)
			compare_tiles(&problem, draw_below(&numbers, MOST_ROWS + 1 - counts[j]),
			              counts[j], j % 2, NULL, j % 3 % problem.groups,
			              problem.groups);
		uint32_t sparse[7];
		for (size_t j = 0; j < 7; j++)
			sparse[j] = (uint32_t)draw_below(&numbers, problem.groups);
		for (size_t begin = 0; begin < 3; begin++)
			compare_tiles(&problem, 3, 15 + 9 * begin, begin % 2, sparse, begin, 7);
		compare_tiles(&problem, 0, 16, false, sparse, 4, 4 + 1);
		problem_free(&problem);
	}
	struct problem problem = problem_new(&numbers, type, 16, packed_has_levels(type) ? 256 : 96,
	                                     PASS_ROWS + 33, mood);
	for (size_t j = 0; j < sizeof long_counts / sizeof *long_counts; j++)
		compare_tiles(&problem, 0, long_counts[j], j % 2, NULL, 0, 1);
	problem_free(&problem);
}

static void test_gemm_same_bits(void **state) {
	(void)state;
	for (enum packed_type type = PACKED_Q8_0; type < PACKED_TYPES; type++)
		for (enum mood mood = PLAIN; mood < MOODS; mood++) gemm_same_bits(type, mood);
}

/* The emulation itself, by one product worked out by hand: -128 * -128 and 127 * -128 stay what
 * they are, nothing saturates, and rows and columns that are not in use are zero. */
static void test_emulation(void **state) {
	(void)state;
	uint8_t configuration[64] = {1};
	for (size_t t = 0; t < 8; t++) configuration[16 + 2 * t] = 8, configuration[48 + t] = 2;
	const int8_t a[2][8] = {{-128, -128, -128, -128, 1}, {127, 127, 127, 127, 0, 0, 0, -1}};
	const int8_t b[2][8] = {{-128, -128, -128, -128, 1, 2, 3, 4}, {7, 0, 0, 9, 0, 0, 0, -56}};
	int32_t c[3][2] = {{10, 20}, {30, 40}, {50, 60}};
	_tile_loadconfig(configuration);
	_tile_loadd(0, c, 8);
	_tile_loadd(1, a, 8);
	_tile_loadd(2, b, 8);
	_tile_dpbssd(0, 1, 2);
	_tile_stored(0, c, 8);
	_tile_release();
	const int32_t expected[3][2] = {{10 + 4 * 128 * 128 + 7, 20 - 128 * 10},
	                                {30 - 4 * 127 * 128 - 9, 40 + 127 * 10 + 56},
	                                {50, 60}};
	assert_memory_equal(c, expected, sizeof c);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_emulation),
                                          cmocka_unit_test(test_gemm_same_bits)};

// This file is compiled for AVX-512, so main does nothing but ask before anything could use it.
int main(void) {
	if (!(cpu_flags() & CPU_AVX512) || !__builtin_cpu_supports("gfni")) {
		printf("skipped: this CPU has no AVX-512 or no GFNI\n");
		return 0;
	}
	const char *seed = getenv("CUTTLE_TEST_SEED");
	numbers.state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
	printf("CUTTLE_TEST_SEED=%llu\n", (unsigned long long)numbers.state);
	fflush(stdout);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void) {
	printf("skipped: AMX is of x86-64\n");
	return 0;
}
#endif
