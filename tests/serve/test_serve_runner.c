// SPDX-License-Identifier: Apache-2.0
// Tests serve/jobs/runner.c, how a server starts a command. It fails if a signal for a command that
// has just begun runs a handler of the server, or does not end the command. It fails if a command
// has a descriptor of the server's or its process group, if it takes an input that is lost for a
// whole one, if what it says has no bound, or if an exit code that got lost counts as done.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "serve/jobs/runner.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMMANDS = 200 };

static char folder[] = "/tmp/cuttle-runner-XXXXXX", job[64];
static struct vault vault = {folder, folder};
static int told[2];

/* As the server's own: whoever runs it writes to the pipe that they share. */
static void tell_test(int number) {
	(void)number;
	(void)!write(told[1], "x", 1);
}

static void end_at_once(void *user) {
	runner_signal(user, SIGTERM);
}

static void a_signal_is_the_commands(void **state) {
	(void)state;
	static const char *const words[] = {"sleep", "100", NULL};
	struct sigaction handler = {.sa_handler = tell_test}, before;
	char byte;
	// On one processor the signal is there before the new process has done anything.
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	(void)sched_setaffinity(0, sizeof one, &one);
	assert_int_equal(pipe2(told, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(sigaction(SIGTERM, &handler, &before), 0);
	for (int i = 0; i < COMMANDS; i++) {
		struct runner runner = RUNNER_NONE;
		struct runner_result result;
		struct runner_request request = {
		    .program = "/bin/sleep", .words = words, .tick = end_at_once, .user = &runner};
		// With something to write the first call of `tick` is at once.
		assert_int_equal(vault_read(&vault, "job_a", &request.input, NULL), CUTTLE_OK);
		assert_int_equal(runner_run(&runner, &request, &result, NULL), CUTTLE_OK);
		assert_int_equal(result.code, 128 + SIGTERM);
		vault_close(&request.input);
		free(result.answer);
	}
	assert_int_equal(read(told[0], &byte, 1), -1);
	(void)sigaction(SIGTERM, &before, NULL);
	(void)close(told[0]);
	(void)close(told[1]);
}

/* Runs a line of shell with the vault's input. */
static struct runner_result run_shell(const char *line, void (*hear)(void *, const char *),
                                      void *user) {
	const char *const words[] = {"sh", "-c", line, NULL};
	struct runner runner = RUNNER_NONE;
	struct runner_result result;
	struct runner_request request = {
	    .program = "/bin/sh", .words = words, .line = hear, .user = user};
	assert_int_equal(vault_read(&vault, "job_a", &request.input, NULL), CUTTLE_OK);
	assert_int_equal(runner_run(&runner, &request, &result, NULL), CUTTLE_OK);
	vault_close(&request.input);
	return result;
}

static void a_command_has_nothing_of_the_servers(void **state) {
	(void)state;
	char line[256];
	// As a library might open one: it does not end with exec by itself.
	const int open_here = dup(STDERR_FILENO);
	assert_true(open_here > STDERR_FILENO);
	(void)snprintf(line, sizeof line,
	               "[ -e /proc/$$/fd/%d ] && echo descriptor; read -r a b c d group rest "
	               "</proc/$$/stat; [ $group = $$ ] || echo group; cat",
	               open_here);
	struct runner_result result = run_shell(line, NULL, NULL);
	(void)close(open_here);
	assert_int_equal(result.code, 0);
	assert_string_equal(result.answer, "text");
	free(result.answer);
}

/* The file is there, whole and as often as it is asked for, and nothing else is behind it. */
static void a_file_is_the_requests(void **state) {
	static char file[70000];
	const char *const words[] = {
	    "sh", "-c", "cat " RUNNER_FILE " " RUNNER_FILE "; cat; ls /proc/self/fd | wc -l", NULL};
	struct runner runner = RUNNER_NONE;
	struct runner_result result;
	struct runner_request request = {
	    .program = "/bin/sh", .words = words, .file = file, .file_size = sizeof file};
	(void)state;
	memset(file, 'f', sizeof file);
	const int open_here = dup(STDERR_FILENO), other = dup(STDERR_FILENO);
	for (int round = 0; round < 2; round++) {
		// The second time the file in memory is descriptor 3 here, too, where that is free.
		if (round) (void)close(open_here);
		assert_int_equal(vault_read(&vault, "job_a", &request.input, NULL), CUTTLE_OK);
		assert_int_equal(runner_run(&runner, &request, &result, NULL), CUTTLE_OK);
		vault_close(&request.input);
		assert_int_equal(result.code, 0);
		const size_t size = 2 * sizeof file;
		assert_true(strlen(result.answer) > size);
		assert_memory_equal(result.answer, file, sizeof file);
		assert_memory_equal(result.answer + sizeof file, file, sizeof file);
		// 0, 1, 2, the file, and the folder that ls reads.
		assert_memory_equal(result.answer + size, "text", 4);
		assert_int_equal(atoi(result.answer + size + 4), 5);
		free(result.answer);
	}
	(void)close(other);
}

/* Counts lines and their bytes. */
static void count_line(void *user, const char *line) {
	size_t *const counted = user;
	counted[0]++;
	counted[1] += strlen(line);
}

static void what_it_says_is_bounded(void **state) {
	(void)state;
	size_t counted[2] = {0};
	struct runner_result result = run_shell(
	    "cat; head -c 300000 /dev/zero | tr '\\0' a; head -c 5000 /dev/zero | tr '\\0' b >&2; "
	    "echo >&2; echo cuttle c >&2; exit 3",
	    count_line, counted);
	assert_int_equal(result.code, 3);
	assert_int_equal(strlen(result.answer), RUNNER_ANSWER);
	assert_int_equal(counted[0], 2);
	assert_int_equal(counted[1], RUNNER_LINE - 1 + strlen("cuttle c"));
	assert_string_equal(result.said, "cuttle c");
	free(result.answer);
}

static void a_lost_input_is_not_its_end(void **state) {
	(void)state;
	char refs[96], whole[96], line[256];
	struct vault_writer *writer;
	static char piece[VAULT_PIECE];
	(void)snprintf(refs, sizeof refs, "%s/refs", job);
	(void)snprintf(whole, sizeof whole, "%s/whole", folder);
	(void)snprintf(line, sizeof line, "cat >/dev/null; : >%s", whole);
	assert_int_equal(vault_begin(&vault, "job_a", &writer, NULL), CUTTLE_OK);
	for (int i = 0; i < 4; i++)
		assert_int_equal(vault_add(writer, piece, sizeof piece, NULL), CUTTLE_OK);
	assert_int_equal(vault_keep(&writer, NULL), CUTTLE_OK);
	struct runner_result result = run_shell(line, NULL, NULL);
	assert_false(result.input_lost);
	assert_int_equal(unlink(whole), 0);
	free(result.answer);
	assert_int_equal(truncate(refs, (off_t)3 * VAULT_PIECE), 0);
	result = run_shell(line, NULL, NULL);
	assert_true(result.input_lost);
	assert_int_equal(result.code, 128 + SIGKILL);
	assert_int_not_equal(access(whole, F_OK), 0);
	free(result.answer);
}

static void a_lost_code_is_a_failure(void **state) {
	(void)state;
	// The kernel keeps no exit codes then.
	(void)signal(SIGCHLD, SIG_IGN);
	struct runner_result result = run_shell("exit 3", NULL, NULL);
	(void)signal(SIGCHLD, SIG_DFL);
	assert_int_equal(result.code, CUTTLE_INTERNAL);
	free(result.answer);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_signal_is_the_commands),
	    cmocka_unit_test(a_file_is_the_requests),
	    cmocka_unit_test(a_command_has_nothing_of_the_servers),
	    cmocka_unit_test(what_it_says_is_bounded),
	    cmocka_unit_test(a_lost_input_is_not_its_end),
	    cmocka_unit_test(a_lost_code_is_a_failure),
	};
	struct vault_writer *writer;
	// As the server: a command that has ended must not end who writes to it.
	(void)signal(SIGPIPE, SIG_IGN);
	if (sodium_init() < 0 || !mkdtemp(folder)) return 1;
	(void)snprintf(job, sizeof job, "%s/job_a", folder);
	if (mkdir(job, 0700) || vault_begin(&vault, "job_a", &writer, NULL) ||
	    vault_add(writer, "text", 4, NULL) || vault_keep(&writer, NULL))
		return 1;
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	vault_wipe(&vault, "job_a");
	return failed || rmdir(job) || rmdir(folder);
}
