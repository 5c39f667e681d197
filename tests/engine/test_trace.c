// SPDX-License-Identifier: Apache-2.0
// Tests engine/run/loop/diagnosis.c and io/output/trace.c. It fails if a step's numbers differ from
// those worked out by hand. It fails if others can read a trace file, or if another command than
// its own can go on with it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dp/invisibleink.h"
#include "engine/run/loop/diagnosis.h"
#include "io/output/trace.h"
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- numbers --------------------------------------------------------------------------------- */

enum { VOCAB = 4, ROWS = 2, CANDIDATES = 3 };
static const float PUBLIC[VOCAB] = {2, 1, 0, -9},
                   PRIVATE[ROWS][CANDIDATES] = {{2.25F, 3, 0}, {0, 1, 0.25F}};

static const float *public_row(void *self, size_t slot) {
	(void)self;
	assert_int_equal(slot, 5);
	return PUBLIC;
}

static const float *row(void *self, size_t place) {
	return place < *(size_t *)self ? PRIVATE[place] : NULL;
}

static void step_of(size_t count, double temperature, struct cuttle_trace_step *step) {
	struct dp_invisibleink *mechanism;
	struct cuttle_plan plan = {.batch = ROWS,
	                           .places = ROWS,
	                           .guarantee = {.clip_fixed = 1 << 11, .fraction_bits = 12}};
	const struct logit_source source = {.self = &count, .public_row = public_row, .row = row};
	const struct dp_invisibleink_params params = {.batch = ROWS,
	                                              .top_k = 3,
	                                              .tokens = 1,
	                                              .vocab = VOCAB,
	                                              .temperature_num =
	                                                  (int64_t)(temperature * 10),
	                                              .temperature_den = 10,
	                                              .clip_fixed = 1 << 11,
	                                              .fraction_bits = 12,
	                                              .random = dp_random_system()};
	const uint32_t *candidates;
	uint32_t token;
	size_t candidate_count;
	assert_int_equal(dp_invisibleink_new(&params, &mechanism), DP_OK);
	dp_invisibleink_begin(mechanism, 0);
	assert_int_equal(dp_invisibleink_public(mechanism, PUBLIC, &candidates, &candidate_count),
	                 DP_OK);
	assert_int_equal(candidate_count, CANDIDATES);
	for (size_t i = 0; i < count; i++) dp_invisibleink_private(mechanism, PRIVATE[i]);
	assert_int_equal(dp_invisibleink_draw(mechanism, &token), DP_OK);
	plan.traced = mechanism;
	*step = (struct cuttle_trace_step){.token = (int32_t)token};
	diagnosis_of(&plan, &source, 5, false, step);
	dp_invisibleink_free(&mechanism);
}

static void numbers_are_those_of_the_step(void **state) {
	(void)state;
	static const double MOVES[CANDIDATES] = {-0.125, 0.25,
	                                         0.125}; // means of the differences, clipped to 0.5
	for (size_t count = 0; count <= ROWS; count += ROWS)
		for (int draw = 0; draw < 40; draw++) {
			const double temperature = draw % 2 ? 1 : 1.5;
			struct cuttle_trace_step step;
			double public_sum = 0, sum = 0, entropy = 0, law[CANDIDATES];
			step_of(count, temperature, &step);
			for (size_t i = 0; i < CANDIDATES; i++) {
				law[i] =
				    exp(((double)PUBLIC[i] + (count ? MOVES[i] : 0)) / temperature);
				public_sum += exp((double)PUBLIC[i] / temperature);
				sum += law[i];
			}
			for (size_t i = 0; i < CANDIDATES; i++)
				entropy -= law[i] / sum * log(law[i] / sum);
			const size_t token = (size_t)step.token;
			assert_int_equal(step.candidates, CANDIDATES);
			assert_int_equal(step.private_rows, count);
			assert_true(fabs(step.effective_k - exp(entropy)) < 1e-6);
			assert_true(fabs(step.public_top - exp(2 / temperature) / public_sum) <
			            1e-6);
			assert_true(fabs(step.public_probability -
			                 exp((double)PUBLIC[token] / temperature) / public_sum) <
			            1e-6);
			assert_true(fabs(step.probability - law[token] / sum) < 1e-6);
			assert_int_equal(step.public_rank, token + 1);
			assert_int_equal(step.rank, token + 1);
			assert_true(fabs(step.clipped - (count ? 2.0 / 6 : 0)) < 1e-12);
		}
}

/* ---- the file -------------------------------------------------------------------------------- */

static char folder[] = "/tmp/cuttle-trace-XXXXXX", path[64];
static const struct cuttle_trace_step SMALL = {.text = 1},
                                      LARGE = {SIZE_MAX,   UINT32_MAX, INT32_MIN,
                                               UINT32_MAX, UINT32_MAX, -1.23456789e-300,
                                               -1e-300,    -1e-300,    -1.1111e-9,
                                               UINT32_MAX, UINT32_MAX, -1.23456e-300};

static enum cuttle_status open_trace(const char *command, bool resumed, struct trace **trace) {
	char fingerprint[HASH_TEXT];
	hash_of(command, strlen(command), fingerprint);
	return trace_open(path, fingerprint, resumed, trace, NULL);
}

static size_t size_of(void) {
	struct stat state;
	return stat(path, &state) ? 0 : (size_t)state.st_size;
}

static void only_its_own_command_goes_on(void **state) {
	(void)state;
	struct trace *trace, *other;
	assert_int_equal(open_trace("a", false, &trace), CUTTLE_OK);
	const size_t header = size_of();
	assert_true(header > 0);
	trace_close(&trace);
	assert_int_equal(access(path, F_OK), -1); // nothing was traced
	assert_int_equal(open_trace("a", true, &trace), CUTTLE_OK);
	assert_int_equal(trace_step(trace, &SMALL), 0);
	const size_t line = size_of() - header;
	assert_int_equal(trace_step(trace, &LARGE), 0);
	assert_int_equal(size_of(), header + 2 * line);
	assert_int_equal(trace_problem(trace, NULL), CUTTLE_OK);
	trace_close(&trace);
	struct stat about;
	assert_int_equal(stat(path, &about), 0);
	assert_int_equal(about.st_mode & 0777, 0600);

	assert_int_equal(open_trace("a", false, &other), CUTTLE_USAGE); // drawn anew, not continued
	assert_int_equal(open_trace("b", true, &other), CUTTLE_USAGE);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(open_trace("a", true, &other), CUTTLE_USAGE);
	assert_int_equal(chmod(path, 0600), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 12345, (gid_t)-1), 0);
		assert_int_equal(open_trace("a", true, &other), CUTTLE_USAGE);
		assert_int_equal(chown(path, 0, (gid_t)-1), 0);
	}
	char second[80];
	(void)snprintf(second, sizeof second, "%s.second", path);
	assert_int_equal(link(path, second), 0);
	assert_int_equal(open_trace("a", true, &other), CUTTLE_USAGE);
	assert_int_equal(unlink(second), 0);
	assert_int_equal(rename(path, second) | symlink(second, path), 0);
	assert_int_equal(open_trace("a", true, &other), CUTTLE_USAGE);
	assert_int_equal(rename(second, path), 0);
	assert_int_equal(size_of(), header + 2 * line);

	assert_int_equal(truncate(path, (off_t)(header + 2 * line - 7)), 0);
	assert_int_equal(open_trace("a", true, &trace), CUTTLE_OK);
	assert_int_equal(size_of(), header + line);
	assert_int_equal(trace_step(trace, &LARGE), 0);
	assert_int_equal(size_of(), header + 2 * line);
	trace_close(&trace);
	assert_int_equal(unlink(path), 0);
}

static int make_folder(void **state) {
	(void)state;
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(path, sizeof path, "%s/trace", folder);
	return 0;
}

static int remove_folder(void **state) {
	(void)state;
	return rmdir(folder);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_are_those_of_the_step),
	    cmocka_unit_test(only_its_own_command_goes_on),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
