// SPDX-License-Identifier: Apache-2.0
// Tests a private run whose random bits fail, through the public API; test_dp_draw tests the
// source alone.
// It fails if a token is drawn after the failure, if one is made up, or if short reads change
// anything. It fails if after a fork one process draws what the other draws.
#include "tests/dp/test_dp_support.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dp/invisibleink.h"
#include "tests/support/tiny_model.h"

/* ---- getrandom(2), replaced at link time ----------------------------------------------------- */

enum fault { WORKS, FAILS, INTERRUPTED, SHORT, EMPTY, HALF_THEN_FAILS };

static enum fault fault;
static size_t calls, good_calls; /* the fault begins after good_calls */
static uint64_t stream;          /* 0: the system's own bits */

ssize_t getrandom(void *bytes, size_t size, unsigned flags) {
	const bool faulty = calls++ >= good_calls;
	if (faulty && (fault == FAILS || (fault == HALF_THEN_FAILS && size < 32))) {
		errno = ENOSYS;
		return -1;
	}
	if (faulty && fault == INTERRUPTED && calls % 2) {
		errno = EINTR;
		return -1;
	}
	if (faulty && fault == EMPTY) return 0;
	if (faulty && fault == SHORT && size > 8) size = 8;
	if (faulty && fault == HALF_THEN_FAILS) size = 16;
	if (stream == 0) return syscall(SYS_getrandom, bytes, size, flags);
	test_fill(&stream, bytes, size);
	return (ssize_t)size;
}

static void inject(enum fault kind, size_t after, uint64_t bits) {
	fault = kind;
	good_calls = after;
	stream = bits;
	calls = 0;
}

/* ---- a private job --------------------------------------------------------------------------- */

enum { TEXTS = 3, TOKENS = 12, BATCH = 2 };

struct output {
	int32_t tokens[TEXTS * TOKENS];
	size_t drawn, texts;
	size_t resumed[TEXTS]; /* tokens of an earlier run */
	int32_t earlier[TEXTS][TOKENS];
};

static void give_reference(void *user, size_t index, const char **text, size_t *size) {
	(void)user;
	*text = index % 2 ? "two fish" : "red";
	*size = strlen(*text);
}

static int take_token(void *user, size_t text, uint32_t step, int32_t token) {
	struct output *output = user;
	output->tokens[output->drawn++] = token;
	output->earlier[text][step] = token;
	output->resumed[text]++;
	return 0;
}

static size_t give_drawn(void *user, size_t text, const int32_t **tokens) {
	struct output *output = user;
	*tokens = output->earlier[text];
	return output->resumed[text];
}

static int take_text(void *user, const struct cuttle_text *text) {
	(void)text;
	((struct output *)user)->texts++;
	return 0;
}

static struct cuttle_model *model;

static int open_model(void **state) {
	(void)state;
	model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	return 0;
}

static int close_model(void **state) {
	(void)state;
	cuttle_model_free(&model);
	return 0;
}

static struct cuttle_plan *make_plan(void) {
	struct cuttle_plan_params params;
	struct cuttle_plan *plan;
	cuttle_plan_params_default(&params);
	params.clip = 0.5;
	params.accountant = CUTTLE_ZCDP;
	params.batch = BATCH;
	params.tokens = TOKENS;
	params.kind = "fish";
	params.parallel = 1;
	assert_int_equal(cuttle_plan_make(model, &params, &plan, NULL), CUTTLE_OK);
	return plan;
}

static enum cuttle_status run(struct cuttle_plan *plan, struct output *output,
                              struct cuttle_error *error) {
	struct cuttle_job job;
	cuttle_job_default(&job);
	job.texts = TEXTS;
	job.user = output;
	job.reference = give_reference;
	job.drawn = give_drawn;
	job.token = take_token;
	job.text = take_text;
	return cuttle_job_run(plan, &job, error);
}

/* The bits fail after any number of draws: what was drawn before is what an undisturbed run draws,
 * and nothing comes after. The same plan stays silent when the bits are back; a new plan goes on
 * from the journal. */
static void no_token_without_bits(void **state) {
	(void)state;
	static const enum fault faults[] = {FAILS, EMPTY, HALF_THEN_FAILS};
	static struct output whole, part;
	struct cuttle_error error;
	struct cuttle_plan *plan = make_plan();
	whole = (struct output){.drawn = 0};
	inject(WORKS, 0, 77);
	assert_int_equal(run(plan, &whole, &error), CUTTLE_OK);
	const size_t draws = calls; /* rejected ones are asked for again */
	assert_true(draws >= whole.drawn && whole.drawn > TOKENS);
	cuttle_plan_free(&plan);
	for (size_t i = 0; i < 3; i++)
		for (size_t after = 0; after < draws; after += 1 + i) {
			part = (struct output){.drawn = 0};
			plan = make_plan();
			inject(faults[i], after, 77);
			assert_int_equal(run(plan, &part, &error), CUTTLE_INTERNAL);
			assert_true(strlen(error.message) > 0 && !strchr(error.message, '\n'));
			assert_true(part.drawn <= after && part.texts < TEXTS);
			assert_memory_equal(part.tokens, whole.tokens,
			                    part.drawn * sizeof *part.tokens);
			const size_t drawn = part.drawn;
			inject(WORKS, 0, 78);
			part.texts = 0;
			assert_int_equal(run(plan, &part, &error), CUTTLE_INTERNAL);
			assert_int_equal(part.drawn, drawn);
			assert_int_equal(calls, 0);
			cuttle_plan_free(&plan);
			if (after % 7 != 0) continue;
			plan = make_plan();
			part.texts = 0;
			assert_int_equal(run(plan, &part, &error), CUTTLE_OK);
			assert_int_equal(part.texts, TEXTS);
			cuttle_plan_free(&plan);
		}
}

/* Bits that come in pieces, or late, are the same bits. */
static void pieces_are_whole(void **state) {
	(void)state;
	static const enum fault faults[] = {SHORT, INTERRUPTED};
	static struct output whole, pieces;
	struct cuttle_error error;
	for (size_t i = 0; i < 2; i++) {
		struct cuttle_plan *plan = make_plan();
		whole = pieces = (struct output){.drawn = 0};
		inject(WORKS, 0, 79);
		assert_int_equal(run(plan, &whole, &error), CUTTLE_OK);
		const size_t draws = calls;
		inject(faults[i], 0, 79);
		assert_int_equal(run(plan, &pieces, &error), CUTTLE_OK);
		assert_true(calls >= 2 * draws - 1);
		assert_int_equal(pieces.drawn, whole.drawn);
		assert_memory_equal(pieces.tokens, whole.tokens,
		                    whole.drawn * sizeof *whole.tokens);
		cuttle_plan_free(&plan);
	}
}

enum { WIDE = 65536, DRAWS = 8 };

static void draw_some(struct dp_invisibleink *m, uint32_t tokens[DRAWS]) {
	static float flat[WIDE];
	const uint32_t *candidates;
	size_t count;
	for (int i = 0; i < DRAWS; i++) {
		if (i > 0)
			assert_int_equal(dp_invisibleink_public(m, flat, &candidates, &count),
			                 DP_OK);
		assert_int_equal(dp_invisibleink_draw(m, &tokens[i]), DP_OK);
	}
}

/* Forked in the middle of a step: no bits were fetched ahead, so parent and child, and two
 * children, draw differently (by chance alike once in 2^128), each asking the system for every
 * token. */
static void nothing_survives_a_fork(void **state) {
	(void)state;
	static float flat[WIDE];
	const struct dp_invisibleink_params params = {.batch = 1,
	                                              .tokens = DRAWS,
	                                              .vocab = WIDE,
	                                              .temperature_num = 1,
	                                              .temperature_den = 1,
	                                              .clip_fixed = 4,
	                                              .fraction_bits = 4,
	                                              .random = dp_random_system()};
	struct dp_invisibleink *m;
	uint32_t tokens[3][DRAWS];
	const uint32_t *candidates;
	size_t count;
	inject(WORKS, 0, 0);
	assert_int_equal(dp_invisibleink_new(&params, &m), DP_OK);
	dp_invisibleink_begin(m, 0);
	assert_int_equal(dp_invisibleink_public(m, flat, &candidates, &count), DP_OK);
	assert_int_equal(calls, 0);
	for (int child = 0; child < 2; child++) {
		int ends[2], status;
		assert_int_equal(pipe(ends), 0);
		const pid_t pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			draw_some(m, tokens[2]);
			_exit(calls < DRAWS ||
			      write(ends[1], tokens[2], sizeof tokens[2]) != sizeof tokens[2]);
		}
		close(ends[1]);
		assert_int_equal(read(ends[0], tokens[child], sizeof tokens[child]),
		                 sizeof tokens[child]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		close(ends[0]);
	}
	draw_some(m, tokens[2]);
	assert_true(calls >= DRAWS);
	for (int i = 0; i < 3; i++)
		assert_memory_not_equal(tokens[i], tokens[(i + 1) % 3], sizeof tokens[i]);
	dp_invisibleink_free(&m);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_token_without_bits),
	    cmocka_unit_test(pieces_are_whole),
	    cmocka_unit_test(nothing_survives_a_fork),
	};
	return cmocka_run_group_tests(tests, open_model, close_model);
}
