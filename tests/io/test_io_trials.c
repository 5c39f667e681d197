// SPDX-License-Identifier: Apache-2.0
// Tests io/output/trials.c: the games of an audit that is continued.
// It fails if a number comes back otherwise, if half a line counts, if games of another audit are
// taken over, if a file of the user is written over, or if others may read the file.
#include "io/output/trials.h"
#include "tests/support/files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define ONE "1111111111111111111111111111111111111111111111111111111111111111"
#define OTHER "2222222222222222222222222222222222222222222222222222222222222222"

static const double GAMES[][2] = {
    {1, -3.125}, {0, 1e-300}, {1, -1.7976931348623157e308}, {0, 1.0 / 3}, {1, 0}};
enum { COUNT = sizeof GAMES / sizeof *GAMES };
static char path[] = "/tmp/cuttle-trials-XXXXXX";

static struct trials *open_trials(const char *command, size_t values, enum cuttle_status wanted) {
	struct trials *trials;
	struct cuttle_error error;
	assert_int_equal(trials_open(path, command, values, &trials, &error), wanted);
	assert_true((trials == NULL) == (wanted != CUTTLE_OK));
	return trials;
}

static void add_all(void) {
	struct trials *trials = open_trials(ONE, 2, CUTTLE_OK);
	struct cuttle_error error;
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(trials_add(trials, GAMES[i], &error), CUTTLE_OK);
	trials_close(&trials, false);
}

static void expect(size_t count) {
	struct trials *trials = open_trials(ONE, 2, CUTTLE_OK);
	assert_int_equal(trials_count(trials), count);
	for (size_t i = 0; i < count; i++)
		assert_memory_equal(trials_get(trials, i), GAMES[i], sizeof *GAMES);
	trials_close(&trials, false);
}

static void they_come_back(void **state) {
	(void)state;
	(void)unlink(path);
	struct stat standing;
	const mode_t mask = umask(0);
	add_all();
	assert_int_equal(stat(path, &standing), 0);
	assert_int_equal(standing.st_mode & 0777, 0600);
	expect(COUNT);
	/* A file that somebody opened to all is closed again. */
	assert_int_equal(chmod(path, 0644), 0);
	expect(COUNT);
	assert_int_equal(stat(path, &standing), 0);
	assert_int_equal(standing.st_mode & 0777, 0600);
	umask(mask);
	char text[2000];
	const size_t size = files_get(path, text, sizeof text);
	assert_memory_equal(text, "{\"trials\":\"PRIVATE: ", 20);
	assert_int_equal(text[size - 1], '\n');

	/* Cut anywhere: whole lines count, the rest is gone. */
	const size_t line = 52, header = size - COUNT * line;
	for (size_t cut = 0; cut <= size; cut += 7) {
		files_put(path, text, cut);
		expect(cut < header ? 0 : (cut - header) / line);
		expect(cut < header ? 0 : (cut - header) / line);
	}
	/* A damaged line, and what is behind it. */
	files_put(path, text, size);
	text[header + 2 * line + 3] = 'x';
	files_put(path, text, size);
	expect(2);
	struct trials *trials = open_trials(ONE, 2, CUTTLE_OK);
	trials_close(&trials, true);
	assert_int_equal(access(path, F_OK), -1);
}

static void others_stay(void **state) {
	(void)state;
	(void)unlink(path);
	add_all();
	open_trials(OTHER, 2, CUTTLE_USAGE);
	open_trials(ONE, 3, CUTTLE_USAGE);
	expect(COUNT);
	struct trials *held = open_trials(ONE, 2, CUTTLE_OK);
	(void)open_trials(ONE, 2, CUTTLE_USAGE); /* in use */
	trials_close(&held, false);
	char text[100];
	files_put(path, "my notes\n", 9);
	open_trials(ONE, 2, CUTTLE_USAGE);
	assert_int_equal(files_get(path, text, sizeof text), 9);
	assert_memory_equal(text, "my notes\n", 9);
	(void)unlink(path);
}

static void in_memory(void **state) {
	(void)state;
	struct trials *trials;
	struct cuttle_error error;
	assert_int_equal(trials_open(NULL, ONE, 1, &trials, &error), CUTTLE_OK);
	for (size_t i = 0; i < 1000; i++) {
		const double value = (double)i;
		assert_int_equal(trials_add(trials, &value, &error), CUTTLE_OK);
	}
	for (size_t i = 0; i < 1000; i++) assert_true(trials_get(trials, i)[0] == (double)i);
	trials_close(&trials, true);
	trials_close(&trials, false);
}

int main(void) {
	files_put_new(path, "", 0);
	const struct CMUnitTest tests[] = {cmocka_unit_test(they_come_back),
	                                   cmocka_unit_test(others_stay),
	                                   cmocka_unit_test(in_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
