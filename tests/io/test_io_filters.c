// SPDX-License-Identifier: Apache-2.0
// Tests io/text/filters.c: where a text is cut, which texts go in circles, and which are
// duplicates, at the very numbers that filters.h says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "io/text/filters.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void a_sentence_stays_whole(void **state) {
	(void)state;
	static const struct {
		const char *text, *left;
	} rows[] = {
	    {"One. Two. Thr", "One. Two."},
	    {"One! Two? Thr", "One! Two?"},
	    {"He said \"no.\" And th", "He said \"no.\""},
	    {"It is (so.) And th", "It is (so.)"},
	    {"He said \xe2\x80\x9cno.\xe2\x80\x9d An", "He said \xe2\x80\x9cno.\xe2\x80\x9d"},
	    // Exactly half is left, and one byte less than half.
	    {"abcd. fghi", "abcd."},
	    {"abcd. fghij", "abcd. fghij"},
	    // No end of a sentence: a number, an address, none at all, nothing.
	    {"Take 2.5 m", "Take 2.5 m"},
	    {"See a.example for", "See a.example for"},
	    {"no end", "no end"},
	    {"", ""},
	    {"whole.", "whole."},
	    {"whole.\nA", "whole."},
	    // Chinese and Japanese have no space after a full stop.
	    {"\xe4\xbd\xa0\xe5\xa5\xbd\xe3\x80\x82\xe5\xa5\xbd",
	     "\xe4\xbd\xa0\xe5\xa5\xbd\xe3\x80\x82"},
	    {"\xe4\xbd\xa0\xef\xbc\x81\xe3\x80\x8d\xe5\xa5\xbd",
	     "\xe4\xbd\xa0\xef\xbc\x81\xe3\x80\x8d"},
	    // U+304C ends in the bytes 8c 8c: no stop in the middle of a character.
	    {"\xe3\x81\x8c\xe3\x81\x8c", "\xe3\x81\x8c\xe3\x81\x8c"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const size_t left = filters_trim(rows[i].text, strlen(rows[i].text));
		assert_int_equal(left, strlen(rows[i].left));
		assert_memory_equal(rows[i].text, rows[i].left, left);
	}
}

static bool goes_in_circles(const int32_t *ids, size_t count) {
	bool loops;
	assert_int_equal(filters_find_loops(ids, count, &loops, NULL), CUTTLE_OK);
	return loops;
}

static void circles(void **state) {
	(void)state;
	int32_t ids[400];
	// The run 1 2 3 4 between others that differ: four times are allowed, five are not.
	for (size_t times = 4; times <= 5; times++) {
		size_t count = 0;
		for (size_t i = 0; i < times; i++) {
			for (int32_t k = 1; k <= 4; k++) ids[count++] = k;
			for (int32_t k = 0; k < 10; k++) ids[count++] = (int32_t)(100 + 10 * i) + k;
		}
		assert_int_equal(goes_in_circles(ids, count), times == 5);
	}
	// Overlapping runs count: eight equal tokens have five.
	for (size_t i = 0; i < 8; i++) ids[i] = 7;
	assert_true(goes_in_circles(ids, 8));
	// Runs of three: distinct ones of all, 2 of 5 is enough, 1 of 3 and 3 of 8 are too few.
	const int32_t two_of_five[] = {1, 1, 1, 1, 1, 1, 2}, one_of_three[] = {1, 1, 1, 1, 1};
	assert_false(goes_in_circles(two_of_five, 7));
	assert_true(goes_in_circles(one_of_three, 5));
	const int32_t period[] = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1};
	assert_true(goes_in_circles(period, 10));
	assert_false(goes_in_circles(period, 9));
	// Too short to say.
	assert_false(goes_in_circles(ids, 2));
	assert_false(goes_in_circles(NULL, 0));
	assert_false(goes_in_circles(ids, 3));
}

static enum filter_rule judge(struct filter_past *past, const char *text) {
	static const int32_t ids[] = {1, 2, 3, 4, 5};
	enum filter_rule rule;
	assert_int_equal(filters_judge(past, text, strlen(text), ids, 5, &rule, NULL), CUTTLE_OK);
	return rule;
}

/* Writes words w<first> .. w<last>. */
static void write_words(char *text, int first, int last) {
	for (; first <= last; first++) {
		*text++ = 'w';
		*text++ = (char)('0' + first / 10);
		*text++ = (char)('0' + first % 10);
		*text++ = ' ';
	}
	*text = 0;
}

static void duplicates(void **state) {
	(void)state;
	const struct filters filters = {.drop = {[FILTER_DUPLICATES] = true}};
	struct filter_past *past;
	char text[1024];
	assert_int_equal(filters_open(&filters, NULL, &past, NULL), CUTTLE_OK);
	assert_int_equal(judge(past, "One two."), FILTER_KEEP);
	assert_int_equal(judge(past, " one  TWO.\n"), FILTER_DUPLICATES);
	assert_int_equal(judge(past, "One two!"), FILTER_KEEP);
	assert_int_equal(judge(past, ""), FILTER_KEEP);
	assert_int_equal(judge(past, " "), FILTER_DUPLICATES);
	// 40 words have 36 runs. 33 of them: 29 runs, 29/36 is above 4/5; 32: 28/36 is below.
	write_words(text, 1, 40);
	assert_int_equal(judge(past, text), FILTER_KEEP);
	write_words(text, 1, 33);
	assert_int_equal(judge(past, text), FILTER_DUPLICATES);
	write_words(text, 1, 32);
	assert_int_equal(judge(past, text), FILTER_KEEP);
	// Exactly 4/5: 36 runs of 40 words, 45 runs of 49.
	write_words(text, 1, 49);
	assert_int_equal(judge(past, text), FILTER_DUPLICATES);
	write_words(text, 1, 50);
	assert_int_equal(judge(past, text), FILTER_KEEP);
	// Punctuation and case make no other words.
	assert_int_equal(judge(past, "a b c d e f g"), FILTER_KEEP);
	assert_int_equal(judge(past, "A, b; c -- d \"e\" f (g)"), FILTER_DUPLICATES);
	// What is dropped is not compared with: x is near y, y is near z, z is not near x.
	write_words(text, 60, 99);
	assert_int_equal(judge(past, text), FILTER_KEEP);
	write_words(text, 65, 99);
	assert_int_equal(judge(past, text), FILTER_DUPLICATES);
	write_words(text, 70, 99);
	assert_int_equal(judge(past, text), FILTER_KEEP);
	filters_close(&past);
	assert_null(past);
}

/* A text that goes in circles is no duplicate, and later texts are not compared with it. */
static void the_order_of_rules(void **state) {
	(void)state;
	struct filters filters = {0};
	struct filter_past *past;
	const int32_t circle[8] = {0}, straight[] = {1, 2, 3, 4};
	enum filter_rule rule;
	assert_false(filters_drop_any(&filters));
	assert_int_equal(filters_read("loops,duplicates", &filters, NULL), CUTTLE_OK);
	assert_true(filters.drop[FILTER_LOOPS] && filters.drop[FILTER_DUPLICATES]);
	assert_int_equal(filters_open(&filters, NULL, &past, NULL), CUTTLE_OK);
	assert_int_equal(filters_judge(past, "a", 1, circle, 8, &rule, NULL), CUTTLE_OK);
	assert_int_equal(rule, FILTER_LOOPS);
	assert_int_equal(filters_judge(past, "a", 1, straight, 4, &rule, NULL), CUTTLE_OK);
	assert_int_equal(rule, FILTER_KEEP);
	assert_int_equal(filters_judge(past, "a", 1, circle, 8, &rule, NULL), CUTTLE_OK);
	assert_int_equal(rule, FILTER_LOOPS);
	filters_close(&past);
	filters_close(&past);
	static const char *const wrong[] = {"",     "loops,", "loops,loops",      "likely",
	                                    "loop", ",loops", "unlikely,unlikely"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		filters = (struct filters){0};
		assert_int_equal(filters_read(wrong[i], &filters, NULL), CUTTLE_USAGE);
	}
}

/* Reads "12" as a mean of -12; "" has none, and "?" cannot be scored. */
static enum cuttle_status read_mean(void *user, const char *text, size_t size, double *mean,
                                    struct cuttle_error *error) {
	size_t *asked = user;
	(void)error;
	++*asked;
	if (size && *text == '?') return CUTTLE_MODEL;
	*mean = size ? -strtod(text, NULL) : NAN;
	return CUTTLE_OK;
}

static void unlikely_texts(void **state) {
	(void)state;
	struct filters filters = {0};
	struct filter_past *past;
	size_t asked = 0;
	const struct filter_scale scale = {read_mean, &asked, -3.5};
	const int32_t circle[8] = {0};
	enum filter_rule rule;
	assert_int_equal(filters_read("unlikely,duplicates,loops", &filters, NULL), CUTTLE_OK);
	assert_int_equal(filters_open(&filters, &scale, &past, NULL), CUTTLE_OK);
	assert_int_equal(judge(past, "3.4"), FILTER_KEEP);
	// Below it, not at it; whatever came before.
	assert_int_equal(judge(past, "3.5"), FILTER_KEEP);
	assert_int_equal(judge(past, "3.6"), FILTER_UNLIKELY);
	assert_int_equal(judge(past, "9"), FILTER_UNLIKELY);
	assert_int_equal(judge(past, "3.6"), FILTER_UNLIKELY);
	assert_int_equal(judge(past, "3.4"), FILTER_DUPLICATES);
	// A text without a token is kept, once.
	assert_int_equal(judge(past, ""), FILTER_KEEP);
	assert_int_equal(judge(past, ""), FILTER_DUPLICATES);
	assert_int_equal(asked, 8);
	// What goes in circles is not scored.
	assert_int_equal(filters_judge(past, "9", 1, circle, 8, &rule, NULL), CUTTLE_OK);
	assert_int_equal(rule, FILTER_LOOPS);
	assert_int_equal(asked, 8);
	assert_int_equal(filters_judge(past, "?", 1, circle, 1, &rule, NULL), CUTTLE_MODEL);
	filters_close(&past);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_sentence_stays_whole),
	    cmocka_unit_test(circles),
	    cmocka_unit_test(duplicates),
	    cmocka_unit_test(the_order_of_rules),
	    cmocka_unit_test(unlikely_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
