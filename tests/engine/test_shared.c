// SPDX-License-Identifier: Apache-2.0
// Tests one model used by many threads. Scores, jobs and benches run at the same time. It fails if
// one of them gives other bits than when they run one after the other, or if one waits for ever.
#include "engine/cuttle.h"
#include "tests/support/tiny_model.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { CALLERS = 4, ROUNDS = 6, SCORED = 40, TEXTS = 3, TEXT_BYTES = 4096, SECONDS = 120 };

/* What one caller gets from a score and a job. */
struct result {
	double logprobs[SCORED - 1];
	int32_t top1[SCORED - 1];
	char text[TEXT_BYTES];
	size_t text_size;
};

struct caller {
	struct cuttle_model *model;
	unsigned number;
	pthread_t thread;
	struct result results[ROUNDS];
	enum cuttle_status status;
	struct cuttle_error error;
};

static void reference(void *user, size_t index, const char **text, size_t *size) {
	static const char *const texts[] = {"abc", "a longer text", "zz z", "other"};
	(void)user;
	*text = texts[index % 4];
	*size = strlen(*text);
}

static int text(void *user, const struct cuttle_text *text) {
	struct result *result = user;
	if (result->text_size + text->size > TEXT_BYTES) return 1;
	memcpy(result->text + result->text_size, text->text, text->size);
	result->text_size += text->size;
	return 0;
}

static enum cuttle_status score_once(struct caller *caller, unsigned round, struct result *result) {
	int32_t ids[SCORED];
	for (int32_t i = 0; i < SCORED; i++)
		ids[i] = (int32_t)((i * 7 + (int32_t)caller->number * 13 + (int32_t)round) % 200);
	return cuttle_score(caller->model, ids, SCORED, result->logprobs, result->top1,
	                    &caller->error);
}

/* Each thread makes a plan of its own; all use one model. */
static enum cuttle_status job_once(struct caller *caller, unsigned round, struct result *result) {
	struct cuttle_plan_params params;
	struct cuttle_plan *plan;
	struct cuttle_job job;
	cuttle_plan_params_default(&params);
	params.clip = 1.0;
	params.batch = 2;
	params.tokens = 6;
	params.top_k = 20;
	params.context = 200;
	params.accountant = CUTTLE_ZCDP;
	params.insecure = true;
	params.insecure_seed = caller->number * ROUNDS + round;
	enum cuttle_status status = cuttle_plan_make(caller->model, &params, &plan, &caller->error);
	if (status) return status;
	cuttle_job_default(&job);
	job.texts = TEXTS;
	job.user = result;
	job.reference = reference;
	job.text = text;
	status = cuttle_job_run(plan, &job, &caller->error);
	cuttle_plan_free(&plan);
	return status;
}

static enum cuttle_status bench_once(struct caller *caller) {
	struct cuttle_bench_result measured;
	const struct cuttle_bench_params params = {sizeof params, 2, 2, 8, 4, 0, 0};
	return cuttle_bench(caller->model, &params, &measured, &caller->error);
}

static void *call(void *argument) {
	struct caller *caller = argument;
	for (unsigned round = 0; round < ROUNDS && !caller->status; round++) {
		struct result *result = &caller->results[round];
		caller->status = score_once(caller, round, result);
		if (!caller->status) caller->status = job_once(caller, round, result);
		if (!caller->status) caller->status = bench_once(caller);
	}
	return NULL;
}

static void check_callers(unsigned threads) {
	static struct caller alone[CALLERS], together[CALLERS];
	struct cuttle_model *model = tiny_model_open_healthy(threads);
	memset(alone, 0, sizeof alone);
	memset(together, 0, sizeof together);
	for (unsigned i = 0; i < CALLERS; i++) {
		alone[i].number = together[i].number = i;
		alone[i].model = together[i].model = model;
		(void)call(&alone[i]);
	}
	for (unsigned i = 0; i < CALLERS; i++)
		assert_int_equal(pthread_create(&together[i].thread, NULL, call, &together[i]), 0);
	for (unsigned i = 0; i < CALLERS; i++) {
		assert_int_equal(pthread_join(together[i].thread, NULL), 0);
		if (alone[i].status) fail_msg("alone: %s", alone[i].error.message);
		if (together[i].status) fail_msg("together: %s", together[i].error.message);
		assert_memory_equal(alone[i].results, together[i].results, sizeof alone[i].results);
	}
	cuttle_model_free(&model);
}

static void test_same_bits_together(void **state) {
	(void)state;
	for (unsigned threads = 1; threads <= 3; threads++) check_callers(threads);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_bits_together)};
	(void)alarm(SECONDS); // a hang ends in SIGALRM
	return cmocka_run_group_tests(tests, NULL, NULL);
}
