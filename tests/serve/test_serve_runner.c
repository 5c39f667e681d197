// SPDX-License-Identifier: Apache-2.0
// Tests serve/runner.c, how a server starts a command. It fails if a signal for a command that has
// just begun runs a handler of the server, or does not end the command.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "serve/runner.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_signal_is_the_commands),
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
