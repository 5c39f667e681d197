// SPDX-License-Identifier: Apache-2.0
// Tests where texts end by their stops: engine/run/plan/stops.c, and what jobs make of it.
// It fails if a stop is missed or found where none is, whatever pieces the text comes in. It fails
// if what stands behind a stop is told, or if a text ends elsewhere because references differ,
// because it was interrupted, or because another text of its batch came before.
#include "engine/run/plan/stops.h"

#include "engine/cuttle.h"
#include "tests/support/tiny_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* ---- the search ------------------------------------------------------------------------------ */

static bool is_blank_of(const char *text, size_t size) {
	return strspn(text, " \t\r\n") >= size;
}

/* Whether the stop stands at the text's begin, forwards and by every choice of white space. */
static bool stands_here(const char *text, const char *stop, bool behind_break) {
	if (!*stop) return true;
	if (behind_break && *text && strchr(" \t\r", *text) && stands_here(text + 1, stop, true))
		return true;
	return *text == *stop && stands_here(text + 1, stop + 1, *stop == '\n');
}

static size_t find_slowly(const struct stops *stops, const char *text) {
	for (size_t begin = 0; text[begin]; begin++)
		for (size_t i = 0; i < stops->count; i++)
			if (stands_here(text + begin, stops->all[i], false) &&
			    !(is_blank_of(stops->all[i], strlen(stops->all[i])) &&
			      is_blank_of(text, begin)))
				return begin;
	return STOPS_NONE;
}

static void every_stop_is_found(void **state) {
	(void)state;
	static const char *const strings[] = {"\n\n", "\n###", "b\n a", "END", "\n"};
	static const char letters[] = "ab#\n \n\tEND";
	uint64_t random = 3;
	size_t found = 0;
	for (int round = 0; round < 40000; round++) {
		const struct cuttle_stops given = {strings, 1 + tiny_random(&random) % 5, true};
		struct stops stops;
		char text[20] = "";
		assert_int_equal(stops_copy(&given, false, &stops, NULL), CUTTLE_OK);
		for (size_t size = 0, at = 0; size + 3 < sizeof text && at == size;) {
			const size_t piece = 1 + tiny_random(&random) % 3, before = size;
			while (size < before + piece)
				text[size++] = letters[tiny_random(&random) % (sizeof letters - 1)];
			text[size] = 0;
			const size_t begin = stops_find(&stops, text, size, before);
			assert_int_equal(begin, find_slowly(&stops, text));
			found += begin != STOPS_NONE;
			if (begin == STOPS_NONE) at = size;
		}
		stops_free(&stops);
	}
	assert_true(found > 10000);
}

static void examples_decide(void **state) {
	(void)state;
	static const struct {
		const char *texts[3];
		const char *stops[CUTTLE_STOPS_AUTO];
	} cases[] = {
	    {{"one", " two \n\n", "three\n"}, {"\n", "\n###"}},
	    {{"one", "two\nlines", "three"}, {"\n\n", "\n###"}},
	    {{"one\r\nline", "two", "three"}, {"\n\n", "\n###"}},
	    {{"one\n \t\ntwo", "two", "three"}, {"\n###", NULL}},
	    {{"one\n\ntwo", "two\nlines", "three"}, {"\n###", NULL}},
	};
	const char *found[CUTTLE_STOPS_AUTO];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const size_t wanted = cases[i].stops[1] ? 2 : 1;
		assert_int_equal(cuttle_stops_auto(cases[i].texts, 3, true, found), wanted);
		for (size_t s = 0; s < wanted; s++)
			assert_string_equal(found[s], cases[i].stops[s]);
		assert_int_equal(cuttle_stops_auto(cases[i].texts, 3, false, found), wanted - 1);
	}
	// Without an example nothing is known.
	assert_int_equal(cuttle_stops_auto(NULL, 0, false, found), 0);
	assert_int_equal(cuttle_stops_auto(NULL, 0, true, found), 1);
	assert_string_equal(found[0], "\n###");
}

/* ---- jobs ------------------------------------------------------------------------------------ */

enum { BATCHES = 3, BATCH = 2, TOKENS = 24, TOLD = BATCHES * TOKENS };

struct memory {
	const char *reference; /* of every place */
	int32_t tokens[BATCHES][TOKENS];
	uint32_t counts[BATCHES];
	size_t drawn_now, stop_after; /* stop_after: tokens that are drawn at most; 0 = all */
	char texts[TOLD][TOKENS * 3 + 1];
	enum cuttle_finish finish[TOLD];
	size_t told;
};

static void give_reference(void *user, size_t index, const char **text, size_t *size) {
	const struct memory *memory = user;
	(void)index;
	*text = memory->reference;
	*size = memory->reference ? strlen(memory->reference) : 0;
}

static size_t give_drawn(void *user, size_t batch, const int32_t **tokens) {
	struct memory *memory = user;
	*tokens = memory->tokens[batch];
	return memory->counts[batch];
}

static int take_token(void *user, size_t batch, uint32_t step, int32_t token) {
	struct memory *memory = user;
	assert_int_equal(step, memory->counts[batch]);
	memory->tokens[batch][memory->counts[batch]++] = token;
	return ++memory->drawn_now == memory->stop_after;
}

static int take_text(void *user, const struct cuttle_text *text) {
	struct memory *memory = user;
	memcpy(memory->texts[memory->told], text->text, text->size);
	memory->texts[memory->told][text->size] = 0;
	memory->finish[memory->told++] = text->finish;
	return 0;
}

static struct cuttle_plan_params stopped_params(const struct cuttle_stops *stops) {
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.clip = 0.8;
	params.batch = BATCH;
	params.tokens = TOKENS;
	params.kind = "fish";
	params.insecure = true;
	params.insecure_seed = 42;
	params.stops = *stops;
	return params;
}

static enum cuttle_status run_stopped(struct cuttle_model *model,
                                      const struct cuttle_plan_params *params,
                                      struct memory *memory) {
	struct cuttle_plan *plan;
	struct cuttle_error error;
	struct cuttle_job job;
	assert_int_equal(cuttle_plan_make(model, params, &plan, &error), CUTTLE_OK);
	cuttle_job_default(&job);
	job.texts = BATCHES;
	job.user = memory;
	job.reference = give_reference;
	job.drawn = give_drawn;
	job.token = take_token;
	job.text = take_text;
	memory->told = 0;
	const enum cuttle_status status = cuttle_job_run(plan, &job, &error);
	cuttle_plan_free(&plan);
	return status;
}

/* The journal of every batch spells these words. */
static void spell(struct cuttle_model *model, const char *words, struct memory *memory) {
	*memory = (struct memory){.reference = memory->reference};
	for (size_t batch = 0; batch < BATCHES; batch++)
		for (const char *c = words; *c; c++) {
			size_t count;
			assert_int_equal(
			    cuttle_tokenize(model, c, 1, false,
			                    &memory->tokens[batch][memory->counts[batch]], 1,
			                    &count, NULL),
			    CUTTLE_OK);
			memory->counts[batch]++;
		}
}

static const char *const references[] = {"one line", "two\nlines", "a\n\nblank one",
                                         "a ### mark\n###", NULL};

/* What ends a text is public: tokens that spell a stop end it without the model, whatever the
 * references look like. */
static void references_have_no_say(void **state) {
	(void)state;
	static const char *const blank_line[] = {"\n\n"};
	static const struct {
		const char *spelt, *text;
		struct cuttle_stops stops;
	} cases[] = {
	    {"\n hello \n \n", "hello", {blank_line, 1, true}},
	    {" hello \n###", "hello", {NULL, 0, false}},
	};
	struct cuttle_model *model = tiny_model_open_healthy(1);
	for (size_t i = 0; i < 2 * sizeof references / sizeof *references; i++) {
		static struct memory memory;
		memory.reference = references[i / 2];
		spell(model, cases[i % 2].spelt, &memory);
		const struct cuttle_plan_params params = stopped_params(&cases[i % 2].stops);
		assert_int_equal(run_stopped(model, &params, &memory), CUTTLE_OK);
		assert_int_equal(memory.drawn_now, 0);
		assert_int_equal(memory.told, BATCHES);
		for (size_t text = 0; text < BATCHES; text++) {
			assert_string_equal(memory.texts[text], cases[i % 2].text);
			assert_int_equal(memory.finish[text], CUTTLE_FINISH_STOP);
		}
	}
	cuttle_model_free(&model);
}

/* With many stops texts are short, and a bank writes the next ones. */
static struct cuttle_plan_params many_stops(bool bank) {
	static char letters[26][2];
	static const char *strings[26];
	for (size_t i = 0; i < 26; i++) {
		letters[i][0] = (char)('a' + i);
		strings[i] = letters[i];
	}
	const struct cuttle_stops stops = {strings, 26, true};
	struct cuttle_plan_params params = stopped_params(&stops);
	params.savings.token_bank = bank;
	return params;
}

/* No letter is told, whatever the references are; those that a text is drawn from do not loosen
 * the rule. */
static void no_reference_lifts_a_stop(void **state) {
	(void)state;
	static struct memory memory;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	const struct cuttle_plan_params params = many_stops(true);
	for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
		memory = (struct memory){.reference = references[i]};
		size_t stopped = 0;
		assert_int_equal(run_stopped(model, &params, &memory), CUTTLE_OK);
		for (size_t text = 0; text < memory.told; text++) {
			stopped += memory.finish[text] == CUTTLE_FINISH_STOP;
			assert_int_equal(strcspn(memory.texts[text], "abcdefghijklmnopqrstuvwxyz"),
			                 strlen(memory.texts[text]));
		}
		assert_true(stopped > 0);
	}
	cuttle_model_free(&model);
}

static void interrupted_anywhere(void **state) {
	(void)state;
	static struct memory whole, part;
	struct cuttle_model *model = tiny_model_open_healthy(1);
	for (int bank = 0; bank < 2; bank++) {
		struct cuttle_plan_params params = many_stops(bank);
		whole = (struct memory){.reference = "one fish"};
		assert_int_equal(run_stopped(model, &params, &whole), CUTTLE_OK);
		size_t stopped = 0, total = 0;
		for (size_t i = 0; i < whole.told; i++) {
			stopped += whole.finish[i] == CUTTLE_FINISH_STOP;
			// A stop and what its token brought behind it are not told.
			assert_int_equal(strcspn(whole.texts[i], "abcdefghijklmnopqrstuvwxyz"),
			                 strlen(whole.texts[i]));
		}
		for (size_t i = 0; i < BATCHES; i++) total += whole.counts[i];
		assert_true(bank ? stopped > BATCHES : stopped > 0);
		assert_true(bank ? total == TOLD : total < TOLD);
		for (size_t stop = 1; stop < total; stop++) {
			part = (struct memory){.reference = "one fish", .stop_after = stop};
			assert_int_equal(run_stopped(model, &params, &part), CUTTLE_PARTIAL);
			part.stop_after = 0;
			assert_int_equal(run_stopped(model, &params, &part), CUTTLE_OK);
			assert_int_equal(part.told, whole.told);
			assert_memory_equal(part.counts, whole.counts, sizeof part.counts);
			assert_memory_equal(part.tokens, whole.tokens, sizeof part.tokens);
			for (size_t i = 0; i < whole.told; i++)
				assert_string_equal(part.texts[i], whole.texts[i]);
		}
	}
	cuttle_model_free(&model);
}

static void wrong_stops_are_refused(void **state) {
	(void)state;
	static char long_stop[CUTTLE_STOP_BYTES + 2];
	static const char *strings[CUTTLE_STOPS + 1];
	struct cuttle_model *model = tiny_model_open_healthy(1);
	struct cuttle_plan *plan;
	memset(long_stop, 'x', sizeof long_stop - 1);
	for (size_t i = 0; i <= CUTTLE_STOPS; i++) strings[i] = "x";
	for (int wrong = 0; wrong < 5; wrong++) {
		strings[0] = wrong == 1 ? "" : wrong == 2 ? "\xff" : wrong == 3 ? long_stop : "x";
		const struct cuttle_stops stops = {strings, wrong == 4 ? CUTTLE_STOPS + 1 : 1,
		                                   true};
		const struct cuttle_plan_params params = stopped_params(&stops);
		assert_int_equal(cuttle_plan_make(model, &params, &plan, NULL),
		                 wrong ? CUTTLE_USAGE : CUTTLE_OK);
		cuttle_plan_free(&plan);
	}
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_stop_is_found),     cmocka_unit_test(examples_decide),
	    cmocka_unit_test(references_have_no_say),  cmocka_unit_test(interrupted_anywhere),
	    cmocka_unit_test(wrong_stops_are_refused), cmocka_unit_test(no_reference_lifts_a_stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
