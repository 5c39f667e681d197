// SPDX-License-Identifier: Apache-2.0
// Tests dp/rank.c when memory fails, and when its table is made wrongly. The linker puts the
// functions below in the place of the real ones.
// It fails if a failed allocation is not reported or costs another one, if a place allocates, or if
// a mechanism is built on a wrong table.
#include "tests/dp/test_dp_support.h"

#include <limits.h>

#include "dp/rank.h"

void *__real_calloc(size_t count, size_t size);
void __real_free(void *block);
void __real_dp_rank_tabulate(enum dp_rank_shape shape, uint32_t words, uint32_t near,
                             uint32_t epsilon, struct dp_wide *table);
void *__wrap_calloc(size_t count, size_t size);
void __wrap_free(void *block);
void __wrap_dp_rank_tabulate(enum dp_rank_shape shape, uint32_t words, uint32_t near,
                             uint32_t epsilon, struct dp_wide *table);

static int still_allowed = INT_MAX; /* allocations that still succeed */
static long blocks;                 /* allocated and not freed */
static int wrong_by;                /* what the first E has too much */

void *__wrap_calloc(size_t count, size_t size) {
	if (still_allowed < INT_MAX && still_allowed-- <= 0) return NULL;
	blocks++;
	return __real_calloc(count, size);
}

void __wrap_free(void *block) {
	blocks -= block != NULL;
	__real_free(block);
}

void __wrap_dp_rank_tabulate(enum dp_rank_shape shape, uint32_t words, uint32_t near,
                             uint32_t epsilon, struct dp_wide *table) {
	__real_dp_rank_tabulate(shape, words, near, epsilon, table);
	table[0] = dp_wide_sum(table[0], (struct dp_wide){(unsigned)wrong_by, 0});
}

static struct dp_rank_params failing_rank(uint64_t *seed) {
	return (struct dp_rank_params){.shape = DP_RANK_STEP,
	                               .words = 16,
	                               .near = 3,
	                               .epsilon_millionths = 6000000,
	                               .random = {test_fill, seed}};
}

static void no_memory(void **state) {
	(void)state;
	uint64_t seed = 1;
	const struct dp_rank_params params = failing_rank(&seed);
	const long before = blocks;
	struct dp_rank *m;
	for (int failures = 0; failures < 4; failures++) {
		still_allowed = failures;
		const enum dp_status status = dp_rank_new(&params, &m);
		still_allowed = INT_MAX;
		assert_int_equal(status, DP_NO_MEMORY);
		assert_null(m);
		assert_int_equal(blocks, before);
	}
	assert_int_equal(dp_rank_new(&params, &m), DP_OK);
	assert_int_equal(blocks, before + 4);
	still_allowed = 0;
	for (int place = 0; place < 10; place++) {
		static const int32_t keys[16] = {5, 4, 3};
		struct dp_rank_drawn drawn;
		assert_int_equal(dp_rank_draw(m, &drawn), DP_OK);
		assert_true(dp_rank_output(m, &drawn, place % 2 ? keys : NULL) < 16);
	}
	still_allowed = INT_MAX;
	dp_rank_free(&m);
	assert_int_equal(blocks, before);
}

static void wrong_table(void **state) {
	(void)state;
	uint64_t seed = 1;
	const struct dp_rank_params params = failing_rank(&seed);
	const long before = blocks;
	struct dp_rank *m;
	wrong_by = 1;
	assert_int_equal(dp_rank_new(&params, &m), DP_SELF_CHECK);
	assert_null(m);
	assert_int_equal(blocks, before);
	wrong_by = 0;
	assert_int_equal(dp_rank_new(&params, &m), DP_OK);
	dp_rank_free(&m);
	assert_int_equal(blocks, before);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_memory),
	    cmocka_unit_test(wrong_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
