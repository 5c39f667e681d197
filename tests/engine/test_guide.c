// SPDX-License-Identifier: Apache-2.0
// Tests texts of a grammar through the public API, on a tiny model: engine/run/loop/guide.c. It
// fails if a text is not one of its grammar, whatever T and the free tokens are; if a forced token
// is counted or another one is not; if a run resumed at any token goes on otherwise, or takes
// tokens that its grammar does not have; or if private rows say which tokens are free, which one a
// free one is, or how a text is brought to its end.
#include "engine/cuttle.h"
#include "engine/grammar/automaton.h"
#include "engine/model/model.h"
#include "engine/run/loop/guide.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXTS = 5, BATCH = 3, MOST = 2000 };

struct written {
	const char *references[TEXTS * BATCH];
	int32_t tokens[TEXTS][MOST];
	uint32_t counts[TEXTS], free_tokens[TEXTS];
	char texts[TEXTS][MOST * 12];
	enum cuttle_finish finish[TEXTS];
	size_t done, drawn_now, stop_after; /* 0 = never */
};

static void give_reference(void *user, size_t index, const char **text, size_t *size) {
	const struct written *written = user;
	*text = written->references[index];
	*size = *text ? strlen(*text) : 0;
}

static size_t give_drawn(void *user, size_t text, const int32_t **tokens) {
	struct written *written = user;
	*tokens = written->tokens[text];
	return written->counts[text];
}

static int take_token(void *user, size_t text, uint32_t step, int32_t token) {
	struct written *written = user;
	assert_int_equal(step, written->counts[text]);
	assert_true(step < MOST);
	written->tokens[text][written->counts[text]++] = token;
	return ++written->drawn_now == written->stop_after;
}

static int take_text(void *user, const struct cuttle_text *text) {
	struct written *written = user;
	assert_int_equal(text->index, written->done++);
	assert_int_equal(text->tokens, written->counts[text->index]);
	memcpy(written->texts[text->index], text->text, text->size);
	written->texts[text->index][text->size] = 0;
	written->finish[text->index] = text->finish;
	written->free_tokens[text->index] = text->free_tokens;
	return 0;
}

static struct cuttle_plan_params seeded_params(uint32_t tokens) {
	struct cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.clip = 0.8;
	params.batch = BATCH;
	params.tokens = tokens;
	params.top_k = 20;
	params.insecure = true;
	params.insecure_seed = 7;
	return params;
}

static enum cuttle_status run_params(struct cuttle_model *model,
                                     const struct cuttle_plan_params *params,
                                     struct written *written) {
	static const char *const words[] = {"one fish", "two fish", "red", "blue fish", "old"};
	struct cuttle_plan *plan;
	struct cuttle_error error;
	if (cuttle_plan_make(model, params, &plan, &error)) fail_msg("%s", error.message);
	struct cuttle_job job;
	cuttle_job_default(&job);
	job.texts = TEXTS;
	job.user = written;
	job.reference = give_reference;
	job.drawn = give_drawn;
	job.token = take_token;
	job.text = take_text;
	written->done = written->drawn_now = 0;
	for (size_t i = 0; i < TEXTS * BATCH; i++)
		if (!written->references[i]) written->references[i] = words[i % 5];
	const enum cuttle_status status = cuttle_job_run(plan, &job, &error);
	cuttle_plan_free(&plan);
	return status;
}

static struct cuttle_grammar *read_grammar(const char *gbnf) {
	struct cuttle_grammar *grammar;
	struct cuttle_error error;
	if (cuttle_grammar_read(gbnf, strlen(gbnf), &grammar, &error))
		fail_msg("%s", error.message);
	return grammar;
}

static const char *const grammars[] = {
    ("root ::= \"{\\\"ward\\\": \\\"\" (\"surgery\" | \"cardiology\") \"\\\", \\\"note\\\": \\\"\" "
     "[a-y ]{0,60} \"\\\"}\""),
    "root ::= \"[\" (root (\", \" root)*)? \"]\" | [0-9]{1,3}", // a rule within itself
    "root ::= \"yes\" | \"no, \" [a-z]{20,} \"!\"",             // far from its end at times
    "root ::= [\\U0001f600-\\U0001f64f]{2} \"\\n\"",            // characters of several tokens
    "root ::= \" \" \"forced\" \" \"",                          // no token is paid
    "root ::= \"\" | \"a\"",
};

/* Whether the text is one of the grammar. */
static bool is_of(const struct cuttle_grammar *grammar, const char *text) {
	struct automaton *automaton;
	assert_int_equal(automaton_new(grammar, 0, &automaton, NULL), CUTTLE_OK);
	const uint32_t end =
	    automaton_walk(automaton, automaton_begin(automaton), text, strlen(text));
	const bool is = end && automaton_accepts(automaton, end);
	automaton_free(&automaton);
	return is;
}

static void check_written(const struct cuttle_grammar *grammar, const struct written *written,
                          uint32_t most_paid, uint32_t most_free) {
	assert_int_equal(written->done, TEXTS);
	for (size_t i = 0; i < TEXTS; i++) {
		uint32_t paid = 0;
		for (size_t t = 0; t < written->counts[i]; t++) paid += written->tokens[i][t] >= 0;
		if (!is_of(grammar, written->texts[i])) fail_msg("\"%s\"", written->texts[i]);
		assert_true(written->finish[i] == CUTTLE_FINISH_EOS ||
		            (written->finish[i] == CUTTLE_FINISH_CLOSED && paid == most_paid));
		assert_true(paid <= most_paid && written->counts[i] - paid <= most_free);
		assert_int_equal(written->free_tokens[i], written->counts[i] - paid);
	}
}

static struct cuttle_model *open_model(void) {
	return tiny_model_open_healthy(2);
}

/* The least free tokens that a plan takes. */
static uint32_t least_free(struct cuttle_model *model, struct cuttle_plan_params params) {
	struct cuttle_plan *plan;
	struct cuttle_error error;
	for (params.savings.free_tokens = 1;; params.savings.free_tokens++) {
		if (!cuttle_plan_make(model, &params, &plan, &error)) break;
		assert_non_null(strstr(error.message, "free tokens are too few"));
	}
	cuttle_plan_free(&plan);
	return params.savings.free_tokens;
}

/* Whatever is paid and free, each text is one of its grammar. */
static void every_text_is_of_its_grammar(void **state) {
	(void)state;
	struct cuttle_model *model = open_model();
	size_t closed = 0, ended = 0;
	for (size_t g = 0; g < sizeof grammars / sizeof *grammars; g++) {
		struct cuttle_grammar *grammar = read_grammar(grammars[g]);
		const struct cuttle_grammar *const one[] = {grammar};
		for (uint32_t tokens = 1; tokens <= 33; tokens += briefly() ? 16 : 8)
			for (int way = 0; way < 6; way++) {
				static struct written written;
				struct cuttle_plan_params params = seeded_params(tokens);
				params.grammars = one;
				params.grammar_count = 1;
				params.savings.complete = way % 2;
				params.savings.public_when = way / 2 == 1 ? 0.5 : 0;
				params.insecure_seed += (uint64_t)way + 10 * tokens;
				if (way / 2 == 2)
					params.savings.free_tokens = least_free(model, params);
				const uint32_t u = params.savings.free_tokens;
				written = (struct written){0};
				assert_int_equal(run_params(model, &params, &written), CUTTLE_OK);
				check_written(grammar, &written, tokens, u ? u : MOST);
				for (size_t i = 0; i < TEXTS; i++) {
					closed += written.finish[i] == CUTTLE_FINISH_CLOSED;
					ended += written.finish[i] == CUTTLE_FINISH_EOS;
					assert_false(params.savings.complete &&
					             written.finish[i] == CUTTLE_FINISH_CLOSED);
				}
			}
		cuttle_grammar_free(&grammar);
	}
	assert_true(closed > 20 && ended > 20);
	cuttle_model_free(&model);
}

/* However many free tokens there are, from the least on, none is missing at a text's end. */
static void free_tokens_are_always_enough(void **state) {
	(void)state;
	struct cuttle_model *model = open_model();
	struct cuttle_grammar *grammar = read_grammar("root ::= \"yes\" | [a-x] [a-z]{20,} \"!\"");
	const struct cuttle_grammar *const one[] = {grammar};
	size_t longer = 0;
	struct cuttle_plan_params params = seeded_params(9);
	params.grammars = one;
	params.grammar_count = 1;
	for (uint32_t more = 0, least = least_free(model, params); more < 30; more++) {
		static struct written written;
		written = (struct written){0};
		params.savings.free_tokens = least + more;
		params.insecure_seed++;
		assert_int_equal(run_params(model, &params, &written), CUTTLE_OK);
		check_written(grammar, &written, 9, least + more);
		for (size_t i = 0; i < TEXTS; i++) longer += written.texts[i][0] != 'y';
	}
	assert_true(longer > 5);
	cuttle_grammar_free(&grammar);
	cuttle_model_free(&model);
}

/* What leaves no choice is free, and nothing else is before T tokens are paid. */
static void forced_tokens_are_free(void **state) {
	(void)state;
	struct cuttle_model *model = open_model();
	struct cuttle_grammar *forced = read_grammar(grammars[4]),
	                      *choice = read_grammar(grammars[0]);
	const struct cuttle_grammar *const one[] = {forced}, *const other[] = {choice};
	static struct written written;
	struct cuttle_plan_params params = seeded_params(3);
	params.grammars = one;
	params.grammar_count = 1;
	written = (struct written){0};
	assert_int_equal(run_params(model, &params, &written), CUTTLE_OK);
	for (size_t i = 0; i < TEXTS; i++) {
		assert_string_equal(written.texts[i], " forced ");
		assert_int_equal(written.free_tokens[i], written.counts[i]);
		assert_int_equal(written.finish[i], CUTTLE_FINISH_EOS);
	}
	params = seeded_params(80);
	params.grammars = other;
	params.grammar_count = 1;
	written = (struct written){0};
	assert_int_equal(run_params(model, &params, &written), CUTTLE_OK);
	for (size_t i = 0; i < TEXTS; i++) {
		// s or c, and the note with what ends it: a token of the tiny model is a byte.
		const char *note = strstr(written.texts[i], "note\": \"");
		assert_non_null(note);
		const size_t length = strlen(note) - strlen("note\": \"") - strlen("\"}");
		assert_int_equal(written.counts[i] - written.free_tokens[i],
		                 1 + length + (length < 60));
	}
	// Where a text may end or go on, its end is a choice like any other.
	struct cuttle_grammar *open = read_grammar("root ::= [a-y]{0,40}");
	const struct cuttle_grammar *const third[] = {open};
	size_t longest = 0;
	params.grammars = third;
	written = (struct written){0};
	assert_int_equal(run_params(model, &params, &written), CUTTLE_OK);
	for (size_t i = 0; i < TEXTS; i++) {
		const size_t length = strlen(written.texts[i]);
		assert_int_equal(written.counts[i], length + 1);
		assert_int_equal(written.free_tokens[i], length == 40);
		longest = length > longest ? length : longest;
	}
	assert_true(longest > 0);
	cuttle_grammar_free(&open);
	cuttle_grammar_free(&forced);
	cuttle_grammar_free(&choice);
	cuttle_model_free(&model);
}

/* A run that is interrupted after any token goes on as it would have. */
static void runs_go_on_anywhere(void **state) {
	(void)state;
	struct cuttle_model *model = open_model();
	struct cuttle_grammar *grammar = read_grammar(grammars[0]);
	const struct cuttle_grammar *const one[] = {grammar};
	static struct written whole, part;
	struct cuttle_plan_params params = seeded_params(9);
	params.grammars = one;
	params.grammar_count = 1;
	whole = (struct written){0};
	assert_int_equal(run_params(model, &params, &whole), CUTTLE_OK);
	const size_t all = whole.drawn_now;
	for (size_t stop = 1; stop < all; stop += 7) {
		part = (struct written){.stop_after = stop};
		params.parallel = 1 + (uint32_t)stop % 3;
		assert_int_equal(run_params(model, &params, &part), CUTTLE_PARTIAL);
		part.stop_after = 0;
		params.parallel = 1 + (uint32_t)stop % 4;
		assert_int_equal(run_params(model, &params, &part), CUTTLE_OK);
		assert_int_equal(part.drawn_now, all - stop);
		for (size_t i = 0; i < TEXTS; i++) {
			assert_string_equal(part.texts[i], whole.texts[i]);
			assert_int_equal(part.finish[i], whole.finish[i]);
		}
	}
	// Tokens that the grammar does not have are another run's, and so are forced ones that
	// were paid.
	for (int paid = 0; paid < 2; paid++) {
		part = (struct written){0};
		part.counts[0] = 1;
		part.tokens[0][0] = paid ? ~whole.tokens[0][0] : whole.tokens[0][0] - 1;
		assert_true(whole.tokens[0][0] < 0);
		assert_int_equal(run_params(model, &params, &part), CUTTLE_MODEL);
	}
	cuttle_grammar_free(&grammar);
	cuttle_model_free(&model);
}

/* After T tokens private rows say nothing: texts with the same beginning end alike. */
static void private_rows_end_no_text(void **state) {
	(void)state;
	struct cuttle_model *model = open_model();
	struct cuttle_grammar *grammar = read_grammar("root ::= [a-z]{20,} \"!\"");
	const struct cuttle_grammar *const one[] = {grammar};
	static struct written first, second;
	struct cuttle_plan_params params = seeded_params(4);
	params.grammars = one;
	params.grammar_count = 1;
	first = (struct written){0};
	assert_int_equal(run_params(model, &params, &first), CUTTLE_OK);
	second = (struct written){0};
	size_t compared = 0;
	for (size_t i = 0; i < TEXTS; i++) {
		uint32_t paid = 0, t = 0;
		for (; t < first.counts[i] && paid < 4; t++) paid += first.tokens[i][t] >= 0;
		memcpy(second.tokens[i], first.tokens[i], t * sizeof *first.tokens[i]);
		second.counts[i] = t;
		compared += paid == 4 && t + 2 < first.counts[i];
	}
	for (size_t i = 0; i < TEXTS * BATCH; i++) second.references[i] = "something else, say";
	assert_int_equal(run_params(model, &params, &second), CUTTLE_OK);
	for (size_t i = 0; i < TEXTS; i++) assert_string_equal(first.texts[i], second.texts[i]);
	assert_int_equal(compared, TEXTS);
	cuttle_grammar_free(&grammar);
	cuttle_model_free(&model);
}

/* Puts the first `count` tokens of each text into *part. Returns how many texts go on. */
static size_t begin_alike(const struct written *whole, uint32_t count, const char *reference,
                          struct written *part) {
	size_t open = 0;
	*part = (struct written){0};
	for (size_t i = 0; i < TEXTS; i++) {
		part->counts[i] = count < whole->counts[i] ? count : whole->counts[i];
		memcpy(part->tokens[i], whole->tokens[i],
		       part->counts[i] * sizeof *part->tokens[i]);
		open += part->counts[i] < whole->counts[i];
	}
	for (size_t i = 0; i < TEXTS * BATCH; i++) part->references[i] = reference;
	return open;
}

/* With the same tokens drawn, other references change neither which tokens are free nor which one a
 * free one is, be it forced or on the way to an end. They change paid ones alone. */
static void private_rows_decide_paid_tokens_alone(void **state) {
	(void)state;
	struct cuttle_model *model = open_model();
	size_t forced = 0, behind = 0, paid_alike = 0, paid_otherwise = 0;
	for (size_t g = 0; g < 3; g++) {
		struct cuttle_grammar *grammar = read_grammar(grammars[g]);
		const struct cuttle_grammar *const one[] = {grammar};
		for (int way = 0; way < 4; way++) {
			static struct written whole, part;
			struct cuttle_plan_params params = seeded_params(way / 2 ? 12 : 3);
			params.grammars = one;
			params.grammar_count = 1;
			params.savings.complete = way % 2;
			params.parallel = TEXTS;
			uint32_t paid[TEXTS] = {0}, longest = 0;
			whole = (struct written){0};
			assert_int_equal(run_params(model, &params, &whole), CUTTLE_OK);
			for (size_t i = 0; i < TEXTS; i++)
				longest = whole.counts[i] > longest ? whole.counts[i] : longest;
			for (uint32_t t = 0; t < longest; t++) {
				const size_t open = begin_alike(
				    &whole, t, t % 2 ? "another one" : "" /* null */, &part);
				part.stop_after = open;
				assert_int_equal(run_params(model, &params, &part), CUTTLE_PARTIAL);
				for (size_t i = 0; i < TEXTS; i++) {
					if (t >= whole.counts[i]) continue;
					const int32_t here = whole.tokens[i][t],
					              there = part.tokens[i][t];
					assert_int_equal(part.counts[i], t + 1);
					if (here < 0) assert_int_equal(there, here);
					else assert_true(there >= 0);
					forced += here < 0 && paid[i] < params.tokens;
					behind += paid[i] == params.tokens;
					paid_alike += here >= 0 && here == there;
					paid_otherwise += here >= 0 && here != there;
					paid[i] += here >= 0;
				}
			}
		}
		cuttle_grammar_free(&grammar);
	}
	assert_true(forced > 200 && behind > 100);
	assert_true(paid_alike > 10 && paid_otherwise > 10);
	cuttle_model_free(&model);
}

/* A text that begins knows nothing of the one before it, which may have been within what must
 * follow. */
static void texts_begin_anew(void **state) {
	(void)state;
	struct cuttle_model *model = open_model();
	const struct vocab *vocab = model->model.vocab;
	struct cuttle_grammar *grammar = read_grammar("root ::= \"abc\" [x-y] \"def\"");
	const struct transcript_rules rules = {.vocab = vocab,
	                                       .tokens = 5,
	                                       .free_tokens = 20,
	                                       .length = 25,
	                                       .completes = true,
	                                       .exact = true};
	struct transcript transcript;
	struct guide *guide;
	struct guide_step step;
	assert_int_equal(transcript_new(&rules, &transcript, NULL), CUTTLE_OK);
	assert_int_equal(guide_new(vocab, 2, false, &guide, NULL), CUTTLE_OK);
	assert_true(guide_begin(guide, 0, grammar));
	for (uint32_t before = 0; before < 8; before++) {
		assert_true(guide_begin(guide, 1, grammar));
		transcript_begin(&transcript, false);
		for (uint32_t i = 0; i < before; i++) {
			assert_true(guide_next(guide, 1, &transcript, &step));
			assert_int_equal(step.forced, i == 3 ? -1 : "abcxdef"[i]);
			guide_took(guide, 1, "abcxdef"[i]);
			transcript_add(&transcript, i == 3 ? 'x' : ~step.forced);
		}
		// The other text in flight is where it was.
		transcript_begin(&transcript, false);
		assert_true(guide_next(guide, 0, &transcript, &step));
		assert_int_equal(step.forced, 'a');
	}
	guide_free(&guide);
	transcript_free(&transcript);
	cuttle_grammar_free(&grammar);
	cuttle_model_free(&model);
}

/* ---- public texts ---------------------------------------------------------------------------- */

enum { HEADINGS = 5 };

static struct cuttle_plan_params public_params;

static void name_prompt(void *user, size_t text, struct cuttle_plan_params *params,
                        const char **heading) {
	(void)user;
	(void)text;
	*params = public_params;
	*heading = NULL;
}

/* Text i is of heading 4 - i, so that a second text in a place is of another grammar. */
static size_t name_heading(void *user, size_t text) {
	(void)user;
	return HEADINGS - 1 - text;
}

static enum cuttle_status run_public(struct cuttle_model *model, uint32_t parallel,
                                     struct written *written) {
	struct cuttle_plan *plan;
	struct cuttle_error error;
	if (cuttle_plan_make(model, &public_params, &plan, &error)) fail_msg("%s", error.message);
	struct cuttle_public_job job;
	cuttle_public_job_default(&job);
	job.texts = TEXTS;
	job.parallel = parallel;
	job.seed = 3;
	job.user = written;
	job.prompt = name_prompt;
	job.heading = name_heading;
	job.drawn = give_drawn;
	job.token = take_token;
	job.text = take_text;
	written->done = written->drawn_now = 0;
	const enum cuttle_status status = cuttle_public_run(plan, &job, &error);
	cuttle_plan_free(&plan);
	return status;
}

/* Letters behind the number of a text, up to the mark that ends it. */
static size_t count_letters(const char *text) {
	const char *number = strchr(text, ']');
	return number ? strspn(number + 2, "abcdefghijklmnopqrstuvwxyz") : 0;
}

/* Each public text is of its own heading's grammar, however many are in flight and wherever it was
 * stopped, and T counts what was a choice in it. */
static void public_texts_are_of_their_headings(void **state) {
	(void)state;
	static const char *const forms[HEADINGS] = {
	    "root ::= \"[ward 0] \" [a-z]{1,60} \"!\"", "root ::= \"[1] \" [a-z]{9,40} \"!\"",
	    "root ::= \"[ward number 2] \" [a-z]{30,40} \"!\"", "root ::= \"3\"",
	    "root ::= \"[4] \" [0-9]{1,40} \"!\""};
	static const char *const headings[HEADINGS] = {"a", "b", "c", "d", "e"};
	static struct written whole, part;
	struct cuttle_model *model = open_model();
	struct cuttle_grammar *made[HEADINGS];
	for (size_t g = 0; g < HEADINGS; g++) made[g] = read_grammar(forms[g]);
	size_t spent = 0;
	for (uint32_t tokens = 3; tokens < 60; tokens += 8) {
		public_params = seeded_params(tokens);
		public_params.batch = 1;
		public_params.headings = headings;
		public_params.heading_count = HEADINGS;
		public_params.grammars = (const struct cuttle_grammar *const *)made;
		public_params.grammar_count = HEADINGS;
		whole = (struct written){0};
		assert_int_equal(run_public(model, 1, &whole), CUTTLE_OK);
		assert_int_equal(whole.done, TEXTS);
		for (size_t i = 0; i < TEXTS; i++) {
			const char *text = whole.texts[i];
			if (!is_of(made[name_heading(NULL, i)], text)) fail_msg("\"%s\"", text);
			assert_int_equal(whole.free_tokens[i], whole.counts[i]);
			// A token of the tiny model is a byte.
			if (name_heading(NULL, i) != 0 || whole.finish[i] != CUTTLE_FINISH_CLOSED)
				continue;
			assert_int_equal(count_letters(text), tokens);
			spent++;
		}
		for (size_t stop = 1; stop < whole.drawn_now; stop += briefly() ? 97 : 23) {
			part = (struct written){.stop_after = stop};
			assert_int_equal(run_public(model, 3, &part), CUTTLE_PARTIAL);
			part.stop_after = 0;
			assert_int_equal(run_public(model, 2, &part), CUTTLE_OK);
			assert_memory_equal(part.texts, whole.texts, sizeof part.texts);
			assert_memory_equal(part.finish, whole.finish, sizeof part.finish);
		}
	}
	assert_true(spent > 1);
	for (size_t g = 0; g < HEADINGS; g++) cuttle_grammar_free(&made[g]);
	cuttle_model_free(&model);
}

static void assert_refused(struct cuttle_model *model, const struct cuttle_plan_params *params,
                           const char *reason) {
	struct cuttle_plan *plan;
	struct cuttle_error error;
	assert_int_equal(cuttle_plan_make(model, params, &plan, &error), CUTTLE_USAGE);
	if (!strstr(error.message, reason)) fail_msg("%s", error.message);
}

static void what_does_not_go_together_is_refused(void **state) {
	(void)state;
	struct cuttle_model *model = open_model();
	struct cuttle_grammar *grammar = read_grammar(grammars[0]),
	                      *endless = read_grammar("root ::= \"a\"{1000000} \"b\"{1000000}");
	const struct cuttle_grammar *const two[] = {grammar, grammar}, *const far[] = {endless};
	const char *const headings[] = {"a", "b", "c"}, *const stop[] = {"x"};
	struct cuttle_plan_params good = seeded_params(5), params;
	good.grammars = two;
	good.grammar_count = 1;
	params = good;
	params.savings.token_bank = true;
	assert_refused(model, &params, "a token bank exclude");
	params = good;
	params.stops = (struct cuttle_stops){.given = true, .strings = stop, .count = 1};
	assert_refused(model, &params, "stops exclude");
	params = good;
	params.headings = headings;
	params.heading_count = 3;
	params.grammar_count = 2;
	assert_refused(model, &params, "2 grammars are not one for each");
	params = good;
	params.method = CUTTLE_NONE;
	params.method_params.not_private = true;
	params.clip = NAN;
	params.insecure = false;
	assert_refused(model, &params, "any method but invisibleink");
	params = good;
	params.grammars = far;
	assert_refused(model, &params, "shortest text has 2000000 bytes");
	cuttle_grammar_free(&grammar);
	cuttle_grammar_free(&endless);
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_text_is_of_its_grammar),
	    cmocka_unit_test(free_tokens_are_always_enough),
	    cmocka_unit_test(forced_tokens_are_free),
	    cmocka_unit_test(runs_go_on_anywhere),
	    cmocka_unit_test(private_rows_end_no_text),
	    cmocka_unit_test(private_rows_decide_paid_tokens_alone),
	    cmocka_unit_test(texts_begin_anew),
	    cmocka_unit_test(public_texts_are_of_their_headings),
	    cmocka_unit_test(what_does_not_go_together_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
