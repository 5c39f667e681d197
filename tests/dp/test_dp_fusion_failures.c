// SPDX-License-Identifier: Apache-2.0
// Tests dp/fusion.c and dp/rowlaw.c when memory fails, and what they leave behind in it. The linker
// puts the functions below in the place of the real ones.
// It fails if a failed allocation is not reported or costs another one, if a step allocates, or if
// freed memory, or the mechanism after a draw, holds the private law.
#include "tests/dp/test_dp_support.h"

#include <limits.h>
#include <malloc.h>

#include "dp/fusion.h"
#include "dp/rowlaw.h"

enum { VOCAB = 16 };

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void __wrap_free(void *block);

static int still_allowed = INT_MAX; /* allocations that still succeed */
static long blocks;                 /* allocated and not freed */

/* What no freed block may hold, and how many blocks held it. */
static uint64_t private_law[VOCAB];
static bool searching;
static int found;

void *__wrap_malloc(size_t size) {
	if (still_allowed < INT_MAX && still_allowed-- <= 0) return NULL;
	blocks++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
	if (still_allowed < INT_MAX && still_allowed-- <= 0) return NULL;
	blocks++;
	return __real_calloc(count, size);
}

void __wrap_free(void *block) {
	if (block && searching)
		for (size_t i = 0; i < VOCAB; i++)
			found += memmem(block, malloc_usable_size(block), &private_law[i],
			                sizeof *private_law) != NULL;
	blocks -= block != NULL;
	__real_free(block);
}

static float public_logits[VOCAB], private_logits[VOCAB];

static struct dp_fusion_params failing_example(uint64_t *seed) {
	static const double each[2] = {0.1, 0.2};
	static const uint8_t allowed[VOCAB] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	for (size_t i = 0; i < VOCAB; i++) {
		public_logits[i] = (float)(i * i % 7);
		private_logits[i] = (float)(i * i % 5) + 0.37f;
	}
	return (struct dp_fusion_params){.rule = DP_FUSION_BOUNDED,
	                                 .order = 3,
	                                 .least_places = 2,
	                                 .most_places = 2,
	                                 .divergences = each,
	                                 .tokens = 9,
	                                 .top_k = VOCAB,
	                                 .vocab = VOCAB,
	                                 .temperature_num = 1,
	                                 .temperature_den = 1,
	                                 .allowed = allowed,
	                                 .random = {test_fill, seed}};
}

static int count_failures(const struct dp_fusion_params *params) {
	int failures = 0;
	for (enum dp_status status = DP_NO_MEMORY; status != DP_OK; failures++) {
		struct dp_fusion *m;
		const long before = blocks;
		still_allowed = failures;
		status = dp_fusion_new(params, &m);
		still_allowed = INT_MAX;
		if (status == DP_OK) {
			dp_fusion_free(&m);
			assert_int_equal(blocks, before);
			break;
		}
		assert_int_equal(status, DP_NO_MEMORY);
		assert_null(m);
		assert_int_equal(blocks, before);
		struct dp_mechanism table;
		still_allowed = failures;
		assert_int_equal(dp_fusion_mechanism(params, &table), DP_NO_MEMORY);
		still_allowed = INT_MAX;
		assert_null(table.self);
		assert_int_equal(blocks, before);
	}
	return failures;
}

static void no_memory(void **state) {
	(void)state;
	uint64_t seed = 1;
	struct dp_fusion_params params = failing_example(&seed);
	static const double alike[2] = {0.1, 0.1};
	assert_int_equal(count_failures(&params), 10);
	params.divergences = alike;
	params.budget = 1;
	assert_int_equal(count_failures(&params), 12);
	struct dp_rowlaw rowlaw;
	still_allowed = 0;
	assert_int_equal(dp_rowlaw_init(&rowlaw, 1, 1), DP_NO_MEMORY);
	still_allowed = INT_MAX;
	assert_null(rowlaw.table);
	dp_rowlaw_release(&rowlaw);
	uint64_t law[1];
	assert_misuse((void)dp_rowlaw_make(&rowlaw, public_logits, 1, law));
}

/* A step, up to its row, with no memory to be had; the private law is noted. */
static void open_and_mix(struct dp_fusion *m) {
	struct dp_wanted wanted;
	still_allowed = 0;
	assert_int_equal(dp_fusion_open(m, public_logits, false, &wanted), DP_OK);
	dp_fusion_row(m, wanted.place, private_logits);
	still_allowed = INT_MAX;
	const struct dp_fusion_step step = dp_fusion_inspect(m);
	assert_true(step.share > 0 && step.count == VOCAB);
	memcpy(private_law, step.b, sizeof private_law);
}

/* The private law of a step that was drawn, dropped, failed, or left open when the mechanism was
 * freed. The last case shows that the search finds what is there. */
static void nothing_private_stays(void **state) {
	(void)state;
	for (int what = 0; what < 4; what++) {
		uint64_t seed = 2;
		const struct dp_fusion_params params = failing_example(&seed);
		struct dp_fusion *m;
		uint32_t token;
		enum dp_fate fate;
		assert_int_equal(dp_fusion_new(&params, &m), DP_OK);
		dp_fusion_begin(m, 2, 0);
		open_and_mix(m);
		const uint64_t *b = dp_fusion_inspect(m).b;
		if (what == 0) assert_int_equal(dp_fusion_draw(m, &token, &fate), DP_OK);
		if (what == 1) dp_fusion_begin(m, 2, 0);
		for (size_t i = 0; i < VOCAB && what < 2; i++) assert_true(b[i] == 0);
		found = 0;
		searching = true;
		if (what == 3) {
			void *volatile copy = malloc(sizeof private_law);
			assert_non_null(copy);
			memcpy(copy, private_law, sizeof private_law);
			free(copy);
		}
		dp_fusion_free(&m);
		searching = false;
		assert_int_equal(found > 0, what == 3);
	}
}

/* The source of a place, and of a draw. */
static enum dp_status fill_place(void *user, void *bytes, size_t size) {
	memset(bytes, 0, size);
	memcpy(bytes, user, sizeof(uint32_t));
	return DP_OK;
}

/* Which place was drawn is secret at order infinity. The last case leaves the step open, so that
 * freeing must wipe it. */
static void no_place_stays(void **state) {
	(void)state;
	enum { PLACES = 60000 };
	static double each[PLACES];
	uint32_t place = 54321;
	uint64_t seed = 2;
	for (size_t i = 0; i < PLACES; i++) each[i] = 0.5;
	struct dp_fusion_params params = failing_example(&seed);
	params.rule = DP_FUSION_RATIO;
	params.divergences = each;
	params.least_places = params.most_places = PLACES;
	params.random = (struct dp_random){fill_place, &place};
	for (int what = 0; what < 3; what++) {
		struct dp_fusion *m;
		struct dp_wanted wanted;
		uint32_t token;
		enum dp_fate fate;
		assert_int_equal(dp_fusion_new(&params, &m), DP_OK);
		dp_fusion_begin(m, PLACES, 0);
		assert_int_equal(dp_fusion_open(m, public_logits, false, &wanted), DP_OK);
		assert_int_equal(wanted.place, place);
		dp_fusion_row(m, wanted.place, private_logits);
		assert_true(dp_fusion_inspect(m).share > 0);
		const size_t size = malloc_usable_size(m);
		assert_non_null(memmem(m, size, &place, sizeof place));
		if (what == 0) assert_int_equal(dp_fusion_draw(m, &token, &fate), DP_OK);
		if (what == 1) dp_fusion_begin(m, PLACES, 0);
		if (what < 2) assert_null(memmem(m, size, &place, sizeof place));
		dp_fusion_free(&m);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_memory),
	    cmocka_unit_test(nothing_private_stays),
	    cmocka_unit_test(no_place_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
