// SPDX-License-Identifier: Apache-2.0
// Tests engine/run/loop/bench.c, cuttle_bench, on a tiny model. It fails if the numbers disagree
// with each other, or with what can be counted by hand.
#include "engine/cuttle.h"
#include "kernels/kernels.h"
#include "tests/support/tiny_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	LAYER_WEIGHTS = 2 * 64 * 64 + 2 * 32 * 64 + 3 * 96 * 64,
	HEAD_BYTES = (TINY_VOCAB + 15) / 16 * 16 * TINY_WIDTH * 4
};

static struct cuttle_bench_result bench(struct cuttle_model *model, uint32_t batch,
                                        uint32_t parallel, uint32_t steps) {
	const struct cuttle_bench_params params = {sizeof params, batch, parallel, 16, steps, 0, 0};
	struct cuttle_bench_result result;
	struct cuttle_error error = {""};
	if (cuttle_bench(model, &params, &result, &error)) fail_msg("%s", error.message);
	return result;
}

static void assert_near(double a, double b, double share) {
	if (!(a >= b * (1.0 - share) && a <= b * (1.0 + share)))
		fail_msg("%g is not near %g", a, b);
}

static double sum_of_parts(const struct cuttle_bench_result *result) {
	double sum = 0.0;
	for (int part = 0; part < CUTTLE_PARTS; part++) {
		assert_true(result->parts_ms[part] >= 0.0);
		sum += result->parts_ms[part];
	}
	return sum;
}

/* Documents with marks: as many rows, of which one needs a head. */
static void test_groups(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(2);
	const struct cuttle_bench_result batch = bench(model, 3, 2, 12);
	struct cuttle_bench_params params = {sizeof params, 0, 2, 16, 12, 3, 0};
	struct cuttle_bench_result r;
	assert_int_equal(cuttle_bench(model, &params, &r, NULL), CUTTLE_OK);
	assert_int_equal(r.parallel, 2);
	assert_near(r.rows_per_s * r.step_ms, 8 * 1000.0, 1e-6);
	assert_near(r.multiply_adds, batch.multiply_adds, 1e-9);
	assert_near(sum_of_parts(&r), r.step_ms, 0.9);
	params.batch = 1;
	assert_int_equal(cuttle_bench(model, &params, &r, NULL), CUTTLE_USAGE);
	params.batch = 0;
	params.groups = 17;
	assert_int_equal(cuttle_bench(model, &params, &r, NULL), CUTTLE_USAGE);
	cuttle_model_free(&model);
}

static void test_numbers(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(2);
	const struct cuttle_bench_result r = bench(model, 3, 2, 12);
	assert_int_equal(r.parallel, 2);
	assert_int_equal(r.threads, 2);
	assert_true(r.prompt_tokens_per_s > 0.0 && r.step_ms > 0.0);
	assert_true(r.step_p10_ms <= r.step_ms && r.step_ms <= r.step_p90_ms);
	assert_near(r.rows_per_s * r.step_ms, 8 * 1000.0, 1e-6);
	assert_near(r.tokens_per_s * r.step_ms, 2 * 1000.0, 1e-6);
	// The head is F32 here: nothing of it counts as bytes by bytes. Q4_1 takes half a byte and
	// 4 bytes per 32 weights.
	assert_near(r.multiply_adds, 8.0 * TINY_LAYERS * LAYER_WEIGHTS, 1e-9);
	const double layers = TINY_LAYERS * LAYER_WEIGHTS * 0.625;
	assert_true(r.weight_bytes >= layers + HEAD_BYTES &&
	            r.weight_bytes <= layers + 3.01 * HEAD_BYTES);
	for (int part = 0; part < CUTTLE_OTHER; part++) assert_true(r.parts_ms[part] > 0.0);
	assert_true(r.rss_bytes > 1 << 20);
	cuttle_model_free(&model);
}

/* Another process may disturb the middle of the steps, but hardly every time. */
static void test_parts_make_the_step(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(2);
	double worst = 1.0;
	for (int attempt = 0; attempt < 6 && worst > 0.2; attempt++) {
		const struct cuttle_bench_result r = bench(model, 7, 1, 64);
		const double ratio = sum_of_parts(&r) / r.step_ms;
		worst = ratio > 1.0 ? ratio - 1.0 : 1.0 - ratio;
	}
	assert_true(worst <= 0.2);
	cuttle_model_free(&model);
}

static void test_public_alone(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(2);
	const struct cuttle_bench_result r = bench(model, 0, 3, 8);
	assert_near(r.multiply_adds, 3.0 * TINY_LAYERS * LAYER_WEIGHTS, 1e-9);
	assert_near(r.weight_bytes, TINY_LAYERS * LAYER_WEIGHTS * 0.625 + HEAD_BYTES, 0.01);
	assert_near(r.rows_per_s, r.tokens_per_s, 1e-9);
	cuttle_model_free(&model);
}

static void test_parallel_chosen(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(2);
	const struct cuttle_bench_result chosen = bench(model, 7, 0, 4);
	assert_in_range(chosen.parallel, 1, 32);
	assert_near(chosen.rows_per_s * chosen.step_ms, chosen.parallel * 8 * 1000.0, 1e-6);
	cuttle_model_free(&model);
}

static void test_bad_params(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(2);
	const struct cuttle_bench_params good = {sizeof good, 3, 1, 40, 8, 0, 2};
#define BAD(field, value)                                                                          \
	do {                                                                                       \
		struct cuttle_bench_params bad = good;                                             \
		struct cuttle_bench_result result;                                                 \
		struct cuttle_error error = {""};                                                  \
		bad.field = (value);                                                               \
		assert_int_equal(cuttle_bench(model, &bad, &result, &error), CUTTLE_USAGE);        \
		assert_true(error.message[0] && !strchr(error.message, '\n'));                     \
	} while (0)
	BAD(struct_size, 8);
	BAD(batch, 5000);
	BAD(parallel, 1000);
	BAD(prompt, 3);
	BAD(shared, 40);
	BAD(prompt, TINY_CONTEXT - 7);
	BAD(prompt, UINT32_MAX);
	BAD(steps, 0);
	BAD(steps, TINY_CONTEXT);
#undef BAD
	cuttle_model_free(&model);
}

static void test_ceilings(void **state) {
	(void)state;
	const struct kernels *tables[8];
	const size_t tiers = kernels_available(tables);
	for (size_t i = 0; i < tiers; i++) {
		const uint64_t once = tables[i]->int8_peak(1);
		assert_true(once > 0);
		assert_int_equal(tables[i]->int8_peak(5), 5 * once);
	}
	struct cuttle_model *model = tiny_model_open_healthy(2);
	double bytes, multiply_adds;
	assert_int_equal(cuttle_bench_ceilings(model, &bytes, &multiply_adds, NULL), CUTTLE_OK);
	assert_true(bytes > 1e8 && bytes < 1e13);
	assert_true(multiply_adds > 1e7 && multiply_adds < 1e15);
	assert_true(cuttle_bench_rss() > 1 << 20);
	cuttle_model_free(&model);
}

/* Bytes of address space that this process has mapped. */
static uint64_t mapped_bytes(void) {
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%llu", &pages), 1);
	assert_int_equal(fclose(file), 0);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void note_mapped_bytes(void *user, size_t index, const char **text, size_t *size) {
	*(uint64_t *)user = mapped_bytes();
	*text = NULL;
	*size = index * 0;
}

static int take_any_text(void *user, const struct cuttle_text *text) {
	return !user || !text;
}

/* A guarantee's job_bytes are what a job really maps: with shared prompts and without, for one text
 * in flight and for four. */
static void test_memory_of_a_job(void **state) {
	(void)state;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	for (uint32_t i = 0; i < 4; i++) {
		struct cuttle_plan_params params;
		struct cuttle_guarantee guarantee;
		struct cuttle_plan *plan;
		struct cuttle_job job;
		cuttle_plan_params_default(&params);
		params.epsilon = 10;
		params.tokens = 4;
		params.batch = 31;
		params.parallel = i & 1 ? 4 : 1;
		params.no_sharing = i & 2;
		assert_int_equal(cuttle_plan_make(model, &params, &plan, NULL), CUTTLE_OK);
		cuttle_plan_describe(plan, &guarantee);
		assert_int_equal(guarantee.parallel, params.parallel);
		const uint64_t before = mapped_bytes();
		uint64_t within = 0;
		cuttle_job_default(&job);
		job.texts = params.parallel;
		job.user = &within;
		job.reference = note_mapped_bytes;
		job.text = take_any_text;
		assert_int_equal(cuttle_job_run(plan, &job, NULL), CUTTLE_OK);
		// Beside its 8 or 21 MB the heap grows a little.
		assert_in_range(within - before, guarantee.job_bytes,
		                guarantee.job_bytes + (2 << 20));
		print_message("a job of %llu bytes maps %llu\n",
		              (unsigned long long)guarantee.job_bytes,
		              (unsigned long long)(within - before));
		cuttle_plan_free(&plan);
	}
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_groups),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_parts_make_the_step),
	    cmocka_unit_test(test_public_alone),
	    cmocka_unit_test(test_parallel_chosen),
	    cmocka_unit_test(test_bad_params),
	    cmocka_unit_test(test_ceilings),
	    cmocka_unit_test(test_memory_of_a_job),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
