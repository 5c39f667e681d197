// SPDX-License-Identifier: Apache-2.0
// Tests base/processors.c and engine/machine/cores.c on an invented machine with more processors
// than a cpu_set_t can name. It fails if one of them is lost, or if a number that is out of range
// is in a set.
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

// The sources themselves are included, with one function replaced. It answers as Linux does on a
// machine with 7,000 processors, where the process may use 5,000 to 6,999.
enum { FIRST = 5000, MACHINE = 7000 };
static int invented_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) {
	assert_int_equal(process, 0);
	if (bytes < MACHINE / 8) {
		errno = EINVAL;
		return -1;
	}
	CPU_ZERO_S(bytes, set);
	for (size_t processor = FIRST; processor < MACHINE; processor++)
		CPU_SET_S(processor, bytes, set);
	return 0;
}
#define sched_getaffinity invented_getaffinity
#include "base/processors.c"
#include "engine/machine/cores.c"

static void large_machines_are_counted(void **state) {
	(void)state;
	struct processors set;
	assert_true(processors_allowed(&set));
	assert_int_equal(processors_count(&set), MACHINE - FIRST);
	// The real machine has no files about these processors, so each is a core of its own.
	assert_int_equal(count_physical_cores(), MACHINE - FIRST);
}

static void sets_hold_what_was_added(void **state) {
	(void)state;
	static const int numbers[] = {0, 1023, 1024, PROCESSORS_MOST - 1};
	struct processors set = {0};
	for (unsigned i = 0; i < 4; i++) {
		assert_false(processors_have(&set, numbers[i]));
		processors_add(&set, numbers[i]);
		assert_true(processors_have(&set, numbers[i]));
		assert_int_equal(processors_count(&set), i + 1);
	}
	assert_false(processors_have(&set, -1));
	assert_false(processors_have(&set, PROCESSORS_MOST));
	processors_remove(&set, -1);
	processors_remove(&set, PROCESSORS_MOST);
	processors_remove(&set, 1025);
	assert_int_equal(processors_count(&set), 4);
	processors_remove(&set, 1024);
	assert_false(processors_have(&set, 1024));
	assert_int_equal(processors_count(&set), 3);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(large_machines_are_counted),
	                                   cmocka_unit_test(sets_hold_what_was_added)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
