// SPDX-License-Identifier: Apache-2.0
// Tests workflow/examples.c against a slow choice. It fails if a prompt shows an example of another
// group while one of its own is left, another order than the file's, one that is left out, or more
// than were asked for.
#include "workflow/examples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 7 };

/* The definition: those of the group in order, then the others, cut to `most`, sorted. */
static size_t choose_slowly(const size_t *groups, size_t group, size_t most, size_t but,
                            size_t *chosen) {
	size_t order[COUNT], count = 0, used = 0;
	for (size_t i = 0; i < COUNT; i++)
		if (i != but && groups[i] == group) order[count++] = i;
	for (size_t i = 0; i < COUNT; i++)
		if (i != but && groups[i] != group) order[count++] = i;
	if (most && most < count) count = most;
	for (size_t i = 0; i < COUNT; i++)
		for (size_t k = 0; k < count; k++)
			if (order[k] == i) chosen[used++] = i;
	return used;
}

static void the_own_ones_first(void **state) {
	(void)state;
	size_t groups[COUNT] = {0, 1, 0, 2, 1, 0, 0}, chosen[COUNT], wanted[COUNT];
	assert_int_equal(examples_choose(groups, COUNT, 0, 3, EXAMPLES_NO_GROUP, chosen), 3);
	assert_true(chosen[0] == 0 && chosen[1] == 2 && chosen[2] == 5);
	assert_int_equal(examples_choose(groups, COUNT, 1, 3, EXAMPLES_NO_GROUP, chosen), 3);
	assert_true(chosen[0] == 0 && chosen[1] == 1 && chosen[2] == 4);
	assert_int_equal(examples_choose(groups, 0, 1, 3, EXAMPLES_NO_GROUP, chosen), 0);
	// All assignments of three groups and none, for each size, each group, each one left out.
	for (unsigned code = 0; code < 4 * 4 * 4 * 4 * 4 * 4 * 4; code++) {
		for (unsigned i = 0, left = code; i < COUNT; i++, left /= 4)
			groups[i] = left % 4 == 3 ? EXAMPLES_NO_GROUP : left % 4;
		const size_t most = code % 9, but = code % 5 ? EXAMPLES_NO_GROUP : code % COUNT;
		for (size_t group = 0; group < 3; group++) {
			const size_t count = choose_slowly(groups, group, most, but, wanted);
			assert_int_equal(examples_choose(groups, COUNT, group, most, but, chosen),
			                 count);
			assert_memory_equal(chosen, wanted, count * sizeof *chosen);
		}
	}
}

static void groups_by_their_first_lines(void **state) {
	(void)state;
	static const char *const headings[] = {"a: 1", "a: 1\nb: 2", "a: 12"};
	const char *text;
	assert_int_equal(examples_group("a: 1\nText", headings, 3, &text), 0);
	assert_string_equal(text, "Text");
	assert_int_equal(examples_group("a: 12\n", headings, 3, &text), 2);
	assert_string_equal(text, "");
	assert_int_equal(examples_group("a: 1", headings, 3, &text), EXAMPLES_NO_GROUP);
	assert_string_equal(text, "a: 1");
	assert_int_equal(examples_group("Text", headings, 0, &text), EXAMPLES_NO_GROUP);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_own_ones_first),
	    cmocka_unit_test(groups_by_their_first_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
