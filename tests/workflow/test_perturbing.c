// SPDX-License-Identifier: Apache-2.0
// Tests workflow/perturb as another workflow would use it. It fails if a run that is killed
// after any word does not go on to the same texts, if a word that was journalled is drawn again, if
// a padded text is longer or shorter than N, or if the texts are not given back in their order.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/tables/words_file.h"
#include "tests/support/files.h"
#include "workflow/perturb.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 8, RECORDS = 4, PLACES = 3, ROOM = 1 << 16, KILLED = 9 };
static char folder[] = "/tmp/cuttle-perturbing-XXXXXX";
static char words_path[64], input[64], out[64], whole[64];
static const char *const NAMES[] = {"ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen"};
static struct cuttle_error error;
static size_t tokens_told, texts_told;
static size_t die_after; /* words after which the process ends; SIZE_MAX = never */
static bool stop_asked, completed;

static void tell_begin(void *user, bool complete) {
	(void)user;
	completed = complete;
}
static void tell_reading(void *user, size_t text) {
	(void)user;
	(void)text;
}
static void tell_token(void *user) {
	(void)user;
	if (++tokens_told == die_after) _exit(KILLED);
}
static void tell_text(void *user) {
	(void)user;
	texts_told++;
}
static bool tell_stop(void *user) {
	(void)user;
	return stop_asked;
}
static void tell_end(void *user) {
	(void)user;
}
static void tell_publish(void *user, const char *receipt) {
	(void)user;
	assert_non_null(receipt);
}

static const struct run_events EVENTS = {NULL,      tell_begin, tell_reading, tell_token,
                                         tell_text, tell_stop,  tell_end,     tell_publish};

static struct perturb_request make_perturbing(const char *output, bool seeded) {
	struct perturb_request request;
	perturb_default(&request);
	request.params.near = 2;
	request.params.insecure = seeded;
	request.params.insecure_seed = 5;
	request.words = words_path;
	request.common.input = input;
	request.common.output = output;
	request.record_words = PLACES;
	request.pad = true;
	request.common.now = 1700000000;
	request.threads = 1;
	return request;
}

static enum cuttle_status run_once(const struct perturb_request *request) {
	struct perturb perturb;
	tokens_told = texts_told = 0;
	enum cuttle_status status = perturb_check(request, &error);
	if (!status) status = perturb_paths(request, &error);
	if (status) return status;
	status = perturb_open(request, NULL, &perturb, &error);
	if (!status) status = perturb_run(request, &perturb, &EVENTS, &error);
	perturb_free(&perturb);
	return status;
}

/* Runs it in a process that is killed behind its n-th word. */
static void run_killed(const struct perturb_request *request, size_t words) {
	int state;
	const pid_t child = fork();
	assert_true(child >= 0);
	if (!child) {
		die_after = words;
		_exit((int)run_once(request));
	}
	assert_int_equal(waitpid(child, &state, 0), child);
	assert_true(WIFEXITED(state) && WEXITSTATUS(state) == KILLED);
}

static void remove_run(const char *path) {
	char name[128];
	static const char *const endings[] = {".jsonl", ".receipt.json"};
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(name, sizeof name, "%.*s%s", (int)strlen(path) - 6, path,
		               endings[i]);
		assert_int_equal(unlink(name), 0);
	}
	(void)snprintf(name, sizeof name, "%s.journal", path);
	assert_int_not_equal(access(name, F_OK), 0);
}

static void a_run_killed_after_any_word_goes_on_to_the_same_texts(void **state) {
	(void)state;
	const struct perturb_request straight = make_perturbing(whole, true),
	                             killed = make_perturbing(out, true);
	char *wanted = malloc(ROOM), *is = malloc(ROOM);
	assert_true(wanted && is);
	assert_int_equal(run_once(&straight), CUTTLE_OK);
	assert_int_equal(tokens_told, RECORDS * PLACES);
	assert_int_equal(texts_told, RECORDS);
	const size_t size = files_get(whole, wanted, ROOM);
	for (size_t words = 1; words <= RECORDS * PLACES; words++) {
		run_killed(&killed, words);
		assert_int_equal(run_once(&killed), CUTTLE_OK);
		assert_int_equal(tokens_told, RECORDS * PLACES - words);
		assert_int_equal(files_get(out, is, ROOM), size);
		assert_memory_equal(is, wanted, size);
		remove_run(out);
	}
	remove_run(whole);
	free(wanted);
	free(is);
}

/* Word `place` of a perturbed text. */
static void read_word(const struct records *texts, size_t text, size_t place, char word[8]) {
	size_t size;
	const char *bytes = records_text(texts, text, &size);
	assert_non_null(bytes);
	assert_int_equal(size, PLACES * 4 - 1);
	memcpy(word, bytes + 4 * place, 3);
	word[3] = 0;
}

static void a_journalled_word_is_what_goes_out(void **state) {
	(void)state;
	const struct perturb_request request = make_perturbing(out, false);
	char journal[128], line[256], word[8];
	(void)snprintf(journal, sizeof journal, "%s.journal", out);
	for (size_t words = 1; words < RECORDS * PLACES; words += 3) {
		int ids[RECORDS * PLACES], id;
		size_t count = 0, text, place;
		run_killed(&request, words);
		FILE *file = fopen(journal, "r");
		assert_non_null(file);
		assert_non_null(fgets(line, sizeof line, file));
		while (fgets(line, sizeof line, file)) {
			assert_int_equal(sscanf(line, "%zu %zu %d", &text, &place, &id), 3);
			assert_int_equal(text * PLACES + place, count);
			assert_in_range(id, 0, WORDS - 1);
			ids[count++] = id;
		}
		(void)fclose(file);
		assert_int_equal(count, words);
		struct perturb perturb;
		struct records *texts;
		assert_int_equal(perturb_open(&request, NULL, &perturb, &error), CUTTLE_OK);
		assert_int_equal(perturb_run(&request, &perturb, &EVENTS, &error), CUTTLE_OK);
		assert_int_equal(perturb_texts(&request, &perturb, &texts, &error), CUTTLE_OK);
		assert_int_equal(records_count(texts), RECORDS);
		for (size_t i = 0; i < count; i++) {
			read_word(texts, i / PLACES, i % PLACES, word);
			assert_string_equal(word, NAMES[ids[i]]);
		}
		records_free(&texts);
		perturb_free(&perturb);
		remove_run(out);
	}
}

static void a_run_that_is_asked_to_stop_goes_on(void **state) {
	(void)state;
	const struct perturb_request request = make_perturbing(out, true);
	size_t runs = 0;
	stop_asked = true;
	while (run_once(&request) == CUTTLE_PARTIAL) assert_true(++runs <= RECORDS + 1);
	stop_asked = false;
	assert_int_equal(run_once(&request), CUTTLE_OK);
	assert_true(completed || runs > 0);
	remove_run(out);
}

static void what_contradicts_itself_is_refused(void **state) {
	(void)state;
	struct perturb_request request = make_perturbing(out, false);
	request.record_words = 0;
	assert_int_equal(run_once(&request), CUTTLE_USAGE);
	request = make_perturbing(out, false);
	request.keep_numbers = true;
	assert_int_equal(run_once(&request), CUTTLE_USAGE);
	request = make_perturbing(out, false);
	request.pad = false;
	request.common.ledger = "l";
	request.common.dataset = "d";
	assert_int_equal(run_once(&request), CUTTLE_USAGE);
	assert_string_equal(error.message, "a ledger counts proven guarantees only: --method rank "
	                                   "with -N WORDS --pad");
	request = make_perturbing(out, false);
	request.params.near = WORDS;
	assert_int_equal(run_once(&request), CUTTLE_USAGE);
	request = make_perturbing(out, false);
	request.params.epsilon_millionths = 64000001;
	assert_int_equal(run_once(&request), CUTTLE_USAGE);
	request = make_perturbing(input, false);
	assert_int_equal(run_once(&request), CUTTLE_USAGE);
}

static int prepare_perturbing(void **state) {
	(void)state;
	static const char records[] = "{\"text\":\"Ant bee.\"}\n\nnone\n"
	                              "{\"text\":\"cat dog elk fox gnu\"}\n";
	float vectors[WORDS * 3];
	char sha256[HASH_TEXT];
	struct cuttle_words *words;
	struct cuttle_words_params params;
	die_after = SIZE_MAX;
	if (!mkdtemp(folder)) return 1;
	(void)snprintf(words_path, sizeof words_path, "%s/words.cw", folder);
	(void)snprintf(input, sizeof input, "%s/in.jsonl", folder);
	(void)snprintf(out, sizeof out, "%s/out.jsonl", folder);
	(void)snprintf(whole, sizeof whole, "%s/all.jsonl", folder);
	files_put(input, records, sizeof records - 1);
	for (size_t i = 0; i < WORDS * 3; i++) vectors[i] = (float)(i * i % 7) - 2.5f;
	cuttle_words_params_default(&params);
	params.count = WORDS;
	params.width = 3;
	params.words = NAMES;
	params.vectors = vectors;
	params.raw = true;
	params.threads = 1;
	if (cuttle_words_make(&params, &words, &error)) return 1;
	const bool written = !words_file_write(words_path, words, NULL, 0, sha256, &error);
	cuttle_words_free(&words);
	return !written;
}

static int remove_perturbing(void **state) {
	(void)state;
	static const char *const names[] = {"words.cw", "in.jsonl"};
	return files_remove(folder, names, 2);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_run_killed_after_any_word_goes_on_to_the_same_texts),
	    cmocka_unit_test(a_journalled_word_is_what_goes_out),
	    cmocka_unit_test(a_run_that_is_asked_to_stop_goes_on),
	    cmocka_unit_test(what_contradicts_itself_is_refused),
	};
	return cmocka_run_group_tests(tests, prepare_perturbing, remove_perturbing);
}
