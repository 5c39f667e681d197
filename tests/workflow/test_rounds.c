// SPDX-License-Identifier: Apache-2.0
// Tests runs in two rounds, and which texts of the first the second shows. It fails if the number
// of batches of the first round is another, if hashes differ from those of hashlib, or if a text is
// shown that was dropped, is blank or goes in circles. It fails if a run that was stopped anywhere,
// or has other texts in flight, shows others: with and without lots, clusters and a token bank.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/receipts/evidence.h"
#include "tests/support/files.h"
#include "tests/support/runs.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"
#include "workflow/rounds.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXTS = 10, BATCH = 2, TOKENS = 4, RECORDS = 60, ROOM = 1 << 16 };
static char folder[] = "/tmp/cuttle-rounds-XXXXXX";
static char model_path[96], input[96], examples[96], out[96];
static struct setup_model opened;
static struct cuttle_error error;
static size_t tokens_told; /* by the run before */

/* ---- which texts are shown ------------------------------------------------------------------- */

static char fingerprint[HASH_TEXT];

static void parts(void **state) {
	(void)state;
	static const size_t wanted[][2] = {{0, 0},
	                                   {1, 0},
	                                   {7, 0},
	                                   {8, 1},
	                                   {9, 1},
	                                   {10, 1},
	                                   {11, 2},
	                                   {20, 2},
	                                   {21, 3},
	                                   {99, 10},
	                                   {100, 10},
	                                   {101, 11},
	                                   {SIZE_MAX, SIZE_MAX / 10 + 1}};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		assert_int_equal(rounds_first(wanted[i][0]), wanted[i][1]);
}

static void open_round(struct rounds *rounds, size_t most, size_t cluster, const char *heading) {
	const struct cuttle_drawn room = {.count = most, .places = 2 * most};
	assert_int_equal(rounds_open(rounds, &room, opened.model, fingerprint, &error), CUTTLE_OK);
	assert_int_equal(rounds_begin(rounds, cluster, heading, &error), CUTTLE_OK);
}

/* Its tokens do not go in circles. */
static void keep(struct rounds *rounds, size_t index, const char *words, size_t size,
                 enum cuttle_finish finish) {
	static const int32_t ids[] = {1, 2, 3, 4, 5};
	const struct cuttle_text text = {
	    .index = index, .text = words, .size = size, .ids = ids, .tokens = 5, .finish = finish};
	assert_int_equal(rounds_keep(rounds, &text, &error), CUTTLE_OK);
}

static void keep_words(struct rounds *rounds, size_t index, const char *words) {
	keep(rounds, index, words, strlen(words), CUTTLE_FINISH_EOS);
}

/* Vectors of Python's hashlib. */
static void hashes_choose(void **state) {
	(void)state;
	static const struct {
		size_t cluster;
		uint64_t batch;
		const char *shown[3];
	} vectors[] = {{0, 3, {"3", "5", "6"}},
	               {0, 4, {"0", "2", "3"}},
	               {0, 5, {"0", "4", "7"}},
	               {1, 3, {"1", "4", "7"}},
	               {7, 1000000000000, {"0", "2", "5"}}};
	memset(fingerprint, 'a', sizeof fingerprint - 1);
	for (size_t i = 1; i < sizeof fingerprint - 1; i += 2) fingerprint[i] = 'b';
	for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
		struct rounds rounds;
		char name[8];
		open_round(&rounds, 3, vectors[v].cluster, NULL);
		const struct cuttle_drawn *shown = rounds_show(&rounds, vectors[v].batch);
		assert_int_equal(shown->count, 0);
		assert_null(shown->texts);
		for (size_t i = 0; i < 8; i++) {
			(void)snprintf(name, sizeof name, "%zu", i);
			keep_words(&rounds, i, name);
			// With too few all are shown, in their order.
			if (i == 1) assert_string_equal(rounds_show(&rounds, 9)->texts[1], "1");
		}
		shown = rounds_show(&rounds, vectors[v].batch);
		assert_int_equal(shown->count, 3);
		assert_int_equal(shown->places, 6);
		for (size_t i = 0; i < 3; i++)
			assert_string_equal(shown->texts[i], vectors[v].shown[i]);
		// Another cluster knows none of them.
		assert_int_equal(rounds_begin(&rounds, vectors[v].cluster + 1, NULL, &error),
		                 CUTTLE_OK);
		assert_int_equal(rounds_show(&rounds, vectors[v].batch)->count, 0);
		rounds_close(&rounds);
	}
}

/* What is shown of a single text; NULL = nothing. */
static const char *shown_of(struct rounds *rounds) {
	const struct cuttle_drawn *shown = rounds_show(rounds, 0);
	assert_true(shown->count <= 1);
	return shown->count ? shown->texts[0] : NULL;
}

static void texts_are_clean(void **state) {
	(void)state;
	struct rounds rounds;
	char text[400], cut[200];
	static const int32_t circles[] = {7, 7, 7, 7, 7, 7, 7, 7, 7};
	open_round(&rounds, 1, 0, NULL);
	keep(&rounds, 0, "", 0, CUTTLE_FINISH_EOS);
	keep_words(&rounds, 1, " \n ");
	keep(&rounds, 2, "a\0b", 3, CUTTLE_FINISH_EOS);
	const struct cuttle_text loop = {
	    .index = 3, .text = "round", .size = 5, .ids = circles, .tokens = 9};
	assert_int_equal(rounds_keep(&rounds, &loop, &error), CUTTLE_OK);
	assert_null(shown_of(&rounds));
	// One that was cut short ends with its sentence, one that ended is as it was.
	keep(&rounds, 4, "It ends so. It doe", 18, CUTTLE_FINISH_LENGTH);
	assert_string_equal(shown_of(&rounds), "It ends so.");
	keep_words(&rounds, 5, "it  ENDS so.");
	assert_int_equal(rounds.count, 1);
	rounds_close(&rounds);
	open_round(&rounds, 1, 0, NULL);
	keep(&rounds, 4, "It ends so. It doe", 18, CUTTLE_FINISH_STOP);
	assert_string_equal(shown_of(&rounds), "It ends so. It doe");
	rounds_close(&rounds);
	// 150 tokens are bytes here: 128 are left, with the heading, and of these whole sentences.
	for (int ends = 0; ends < 3; ends++) {
		const char *heading = ends == 2 ? "kind: sea" : NULL;
		memset(text, 'x', 150);
		text[150] = 0;
		if (ends) memcpy(text + 98, ". ", 2);
		open_round(&rounds, 1, 0, heading);
		keep_words(&rounds, 0, text);
		(void)snprintf(cut, sizeof cut, "%s%s%.*s", heading ? heading : "",
		               heading ? "\n" : "", ends ? 99 : 128, text);
		assert_string_equal(shown_of(&rounds), cut);
		rounds_close(&rounds);
	}
	// Never within a character, and nothing where the heading takes all.
	text[0] = 'x';
	for (size_t i = 0; i < 75; i++) memcpy(text + 1 + 2 * i, "\xc3\xa9", 2);
	text[151] = 0;
	open_round(&rounds, 1, 0, NULL);
	keep_words(&rounds, 0, text);
	assert_int_equal(strlen(shown_of(&rounds)), 127);
	rounds_close(&rounds);
	memset(text, 'h', 128);
	text[128] = 0;
	open_round(&rounds, 1, 0, text);
	keep_words(&rounds, 0, "words");
	assert_null(shown_of(&rounds));
	rounds_close(&rounds);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static const char *const FIELD[] = {"kind"};

enum way { PLAIN, DROPS, LOTS, PUBLIC_KINDS, PRIVATE_KINDS, BANK, WAYS };

static struct generate_request make_request(enum way way) {
	struct generate_request request = runs_request(input, TEXTS, BATCH, TOKENS);
	request.common.output = out;
	request.public_examples = examples;
	request.rounds = 2;
	request.lots = way == LOTS || way == PRIVATE_KINDS ? RUN_LOTS_ON : RUN_LOTS_OFF;
	request.plan.epsilon = 8;
	request.filters.drop[FILTER_DUPLICATES] = way == DROPS;
	request.plan.savings.token_bank = way == BANK;
	if (way != PUBLIC_KINDS && way != PRIVATE_KINDS) return request;
	request.category_fields = FIELD;
	request.category_field_count = 1;
	request.categories = "sea,land";
	request.category_public = way == PUBLIC_KINDS;
	request.texts = 18;
	return request;
}

/* Runs until so many tokens were drawn. */
static enum cuttle_status run_until(const struct generate_request *request, size_t tokens) {
	return runs_until(request, &opened, tokens, &tokens_told, &error);
}

static void remove_output(void) {
	static const char *const endings[] = {"",      ".journal", ".journal.key",
	                                      ".lots", ".run",     OUTPUT_DROPPED};
	char name[160];
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		(void)snprintf(name, sizeof name, "%s%s", out, endings[i]);
		(void)unlink(name);
	}
	char *receipt = output_receipt_beside(out);
	(void)unlink(receipt);
	free(receipt);
}

static void read_all(const char *path, char *bytes) {
	bytes[files_get(path, bytes, ROOM - 1)] = 0;
}

static char wanted[ROOM], got[ROOM], plain[ROOM];

static void write_input(void) {
	static char lines[RECORDS * 96];
	lines[0] = 0;
	for (size_t i = 0; i < RECORDS; i++)
		(void)snprintf(lines + strlen(lines), sizeof lines - strlen(lines),
		               "{\"text\":\"Note %zu: a gardener who coughs.\",\"kind\":\"%s\"}\n",
		               i, i % 2 ? "sea" : "land");
	files_put(input, lines, strlen(lines));
}

/* Stopped after any token, the bytes are those of a run that was not; so with any number of texts
 * in flight. */
static void stopped_anywhere(void **state) {
	(void)state;
	for (enum way way = 0; way < WAYS; way++) {
		struct generate_request request = make_request(way);
		remove_output();
		assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
		const size_t all = tokens_told;
		read_all(out, wanted);
		remove_output();
		// In one round it is something else, so there are two.
		request.rounds = 1;
		request.examples_per_text = 4;
		assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
		read_all(out, plain);
		assert_string_not_equal(plain, wanted);
		remove_output();
		request = make_request(way);
		for (uint32_t parallel = 1; parallel <= 3; parallel += 2) {
			request.plan.parallel = parallel;
			for (size_t tokens = 1; tokens <= all; tokens += briefly()      ? 31
			                                                 : way == PLAIN ? 1
			                                                                : 9) {
				const enum cuttle_status status = run_until(&request, tokens);
				assert_true(status == CUTTLE_PARTIAL || tokens + 3 > all);
				if (status)
					assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
				read_all(out, got);
				assert_string_equal(got, wanted);
				remove_output();
			}
		}
		// Stopped after every few tokens.
		size_t runs = 0;
		while (run_until(&request, 3) == CUTTLE_PARTIAL) assert_true(runs++ < all);
		assert_true(runs > 1);
		read_all(out, got);
		assert_string_equal(got, wanted);
		remove_output();
	}
}

static const char *line_of(const char *text, size_t number) {
	while (number--) text = strchr(text, '\n') + 1;
	return text;
}

/* The first round is as it was in one round; the second is another text. */
static void the_first_is_as_ever(void **state) {
	(void)state;
	struct generate_request request = make_request(PLAIN);
	remove_output();
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	read_all(out, wanted);
	remove_output();
	request.rounds = 1;
	request.examples_per_text = 4;
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	read_all(out, plain);
	remove_output();
	const size_t first = (size_t)(line_of(plain, rounds_first(TEXTS)) - plain);
	assert_memory_equal(wanted, plain, first);
	assert_string_not_equal(wanted, plain);
	// Where no cluster has enough texts there is one round only.
	for (uint64_t rounds = 1; rounds <= 2; rounds++) {
		request.rounds = rounds;
		request.texts = 7;
		assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
		read_all(out, rounds == 1 ? plain : got);
		remove_output();
	}
	assert_string_equal(got, plain);
}

/* Runs to the end and reads OUT into `text`. Whether the first text was dropped. */
static bool runs_without_first(const struct generate_request *request, char *text) {
	char name[160];
	assert_int_equal(run_until(request, SIZE_MAX), CUTTLE_OK);
	read_all(out, text);
	(void)snprintf(name, sizeof name, "%s" OUTPUT_DROPPED, out);
	read_all(name, got);
	remove_output();
	return !strncmp(got, "{\"index\":0,", 11);
}

/* What the run drops is shown to nobody: where that is all of the first round, the second is as it
 * would be without one. */
static void dropped_texts_are_not_shown(void **state) {
	(void)state;
	struct generate_request request = make_request(PLAIN);
	request.plan.temperature = 4;
	request.plan.top_k = 0;
	request.plan.tokens = 24;
	request.plan.epsilon = 1;
	request.examples_per_text = 4;
	request.filters.drop[FILTER_UNLIKELY] = true;
	while (!runs_without_first(&request, wanted))
		assert_true(request.plan.insecure_seed++ < 40);
	request.rounds = 1;
	assert_true(runs_without_first(&request, plain));
	assert_string_equal(wanted, plain);
	request.filters.drop[FILTER_UNLIKELY] = false;
	request.filters.drop[FILTER_LOOPS] = true;
	assert_false(runs_without_first(&request, plain));
	request.rounds = 2;
	assert_false(runs_without_first(&request, wanted));
	assert_string_not_equal(wanted, plain);
}

/* cuttle receipt verify finds numbers of rounds that cannot be. */
static void receipts(void **state) {
	(void)state;
	static const struct {
		const char *member;
		int64_t value;
		enum cuttle_status read, checked;
	} edits[] = {
	    {"count", 2, CUTTLE_OK, CUTTLE_OK},        {"count", 3, CUTTLE_OK, CUTTLE_LEDGER},
	    {"drawn", 1, CUTTLE_OK, CUTTLE_LEDGER},    {"drawn", 3, CUTTLE_OK, CUTTLE_LEDGER},
	    {"examples", 6, CUTTLE_OK, CUTTLE_LEDGER}, {"examples", 1, CUTTLE_INPUT, CUTTLE_OK},
	    {"others", 1, CUTTLE_OK, CUTTLE_LEDGER}};
	struct generate_request request = make_request(LOTS);
	request.plan.insecure = false;
	assert_int_equal(run_until(&request, SIZE_MAX), CUTTLE_OK);
	char *receipt = output_receipt_beside(out), path[128];
	read_all(receipt, got);
	free(receipt);
	remove_output();
	(void)snprintf(path, sizeof path, "%s/edited", folder);
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
		struct attested attested;
		struct evidence evidence;
		size_t size;
		json_t *root = json_loads(got, 0, NULL);
		(void)json_object_set_new(json_object_get(root, "rounds"), edits[i].member,
		                          json_integer(edits[i].value));
		char *bytes = receipt_canonical(root, &size);
		files_put(path, bytes, size);
		free(bytes);
		assert_int_equal(attest_open(path, &attested, &error), CUTTLE_OK);
		assert_int_equal(evidence_read(&GENERATE_KIND, &attested, &evidence, &error),
		                 edits[i].read);
		if (!edits[i].read)
			assert_int_equal(evidence_check(&evidence, NULL, &error), edits[i].checked);
		evidence_free(&evidence);
	}
	assert_int_equal(unlink(path), 0);
}

static int prepare_rounds(void **state) {
	(void)state;
	static const char lines[] = "{\"text\":\"Sea air.\",\"kind\":\"sea\"}\n"
	                            "{\"text\":\"Dry land.\",\"kind\":\"land\"}\n"
	                            "{\"text\":\"More.\"}\n"
	                            "{\"text\":\"The end of May.\"}\n"
	                            "{\"text\":\"A day in May.\"}\n";
	if (!mkdtemp(folder)) return -1;
	(void)snprintf(model_path, sizeof model_path, "%s/m.gguf", folder);
	(void)snprintf(input, sizeof input, "%s/in.jsonl", folder);
	(void)snprintf(examples, sizeof examples, "%s/examples.jsonl", folder);
	(void)snprintf(out, sizeof out, "%s/out.jsonl", folder);
	write_input();
	files_put(examples, lines, sizeof lines - 1);
	tiny_model_finite = true;
	return runs_model(model_path, &opened, &error) ? -1 : 0;
}

static int remove_rounds(void **state) {
	(void)state;
	static const char *const names[] = {"m.gguf", "in.jsonl", "examples.jsonl"};
	cuttle_model_free(&opened.model);
	return files_remove(folder, names, sizeof names / sizeof *names);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(parts),
	                                   cmocka_unit_test(hashes_choose),
	                                   cmocka_unit_test(texts_are_clean),
	                                   cmocka_unit_test(stopped_anywhere),
	                                   cmocka_unit_test(the_first_is_as_ever),
	                                   cmocka_unit_test(dropped_texts_are_not_shown),
	                                   cmocka_unit_test(receipts)};
	return cmocka_run_group_tests(tests, prepare_rounds, remove_rounds);
}
