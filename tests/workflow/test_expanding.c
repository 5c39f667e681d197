// SPDX-License-Identifier: Apache-2.0
// Tests how workflow/expand.c chooses parents. It fails if a text's group does not follow the
// weights, if a group without a shown text is chosen, if parents are of another group, stand twice
// or are not as likely as each other, or if a choice depends on anything but seed and number.
#include "workflow/expand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { GROUPS = 4, SHOWN = 13, CHOICES = 20000 };

/* Groups of 6, 0, 2 and 5 shown texts, whose numbers have holes. */
static size_t members[SHOWN] = {1, 2, 3, 5, 8, 13, 4, 6, 7, 9, 10, 11, 12};
static size_t firsts[GROUPS + 1] = {0, 6, 6, 8, 13};
static const uint64_t weights[GROUPS] = {6, 90, 1, 3};

static struct expand make_expanding(struct kept_group groups[GROUPS], uint64_t seed) {
	for (size_t i = 0; i < GROUPS; i++) groups[i] = (struct kept_group){.weight = weights[i]};
	return (struct expand){.kept = {.groups = groups, .group_count = GROUPS},
	                       .members = members,
	                       .firsts = firsts,
	                       .usable = SHOWN,
	                       .weight = 10,
	                       .receipt = {.seed = seed, .examples = 4}};
}

static void choices_follow_the_weights(void **state) {
	(void)state;
	struct kept_group groups[GROUPS];
	const struct expand expand = make_expanding(groups, 7);
	size_t of_group[GROUPS] = {0}, of_text[16] = {0};
	for (uint64_t text = 0; text < CHOICES; text++) {
		struct expand_parents parents;
		expand_choose(&expand, text, &parents);
		const size_t first = firsts[parents.group], end = firsts[parents.group + 1];
		of_group[parents.group]++;
		assert_int_equal(parents.count, end - first < 4 ? end - first : 4);
		for (size_t i = 0; i < parents.count; i++) {
			size_t at = first;
			while (at < end && members[at] != parents.texts[i]) at++;
			assert_true(at < end);
			assert_true(!i || parents.texts[i] > parents.texts[i - 1]);
			of_text[parents.texts[i]]++;
		}
	}
	assert_int_equal(of_group[1], 0);
	// 6 : 1 : 3 of 20000, each within five standard deviations.
	assert_in_range(of_group[0], 12000 - 346, 12000 + 346);
	assert_in_range(of_group[2], 2000 - 212, 2000 + 212);
	assert_in_range(of_group[3], 6000 - 324, 6000 + 324);
	// Four of six are shown: each in 2 of 3 texts; four of five: in 4 of 5; two of two: always.
	for (size_t i = 0; i < 6; i++)
		assert_in_range(3 * of_text[members[i]], 2 * of_group[0] - 900,
		                2 * of_group[0] + 900);
	for (size_t i = 6; i < 8; i++) assert_int_equal(of_text[members[i]], of_group[2]);
	for (size_t i = 8; i < 13; i++)
		assert_in_range(5 * of_text[members[i]], 4 * of_group[3] - 900,
		                4 * of_group[3] + 900);
}

static void choices_follow_from_the_seed(void **state) {
	(void)state;
	struct kept_group groups[GROUPS], others[GROUPS];
	struct expand first = make_expanding(groups, 7), second = make_expanding(others, 8);
	size_t same = 0;
	for (uint64_t text = 0; text < 1000; text++) {
		struct expand_parents one, again, other;
		expand_choose(&first, text, &one);
		expand_choose(&second, text, &other);
		// Texts asked for in between change nothing.
		expand_choose(&first, 999 - text, &again);
		expand_choose(&first, text, &again);
		assert_memory_equal(&one, &again, sizeof one);
		same += one.group == other.group && one.count == other.count &&
		        !memcmp(one.texts, other.texts, one.count * sizeof *one.texts);
	}
	assert_true(same < 300);
	// One that is asked for is one that the file has.
	first.receipt.examples = 1;
	struct expand_parents parents;
	expand_choose(&first, 3, &parents);
	assert_int_equal(parents.count, 1);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(choices_follow_the_weights),
	    cmocka_unit_test(choices_follow_from_the_seed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
