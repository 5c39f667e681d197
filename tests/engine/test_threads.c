// SPDX-License-Identifier: Apache-2.0
// Tests engine/machine/threads.c. It fails if a task is done twice or not at all, whoever does it,
// or if the callers of one pool do not take turns. It fails if a worker that lost its core in the
// middle of a task is not moved to the caller's core, or does not keep off it afterwards.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

// The source itself is included, with one function replaced: this one counts the workers that are
// moved to the caller's core.
static size_t guests_seen;
static int counted_setaffinity(pthread_t thread, size_t bytes, const cpu_set_t *set) {
	guests_seen += CPU_COUNT(set) == 1 && CPU_ISSET(sched_getcpu(), set);
	return pthread_setaffinity_np(thread, bytes, set);
}
#define pthread_setaffinity_np counted_setaffinity
#include "engine/machine/threads.c"

enum { MOST_TASKS = 300 };

struct tally {
	_Atomic uint32_t times[MOST_TASKS];
	_Atomic uint32_t foreign; /* calls with a worker number that does not exist */
	struct threads *threads;
	long task_ns;
};

static long now_ns(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void count(void *context, size_t index, unsigned worker) {
	struct tally *tally = context;
	atomic_fetch_add(&tally->times[index], 1);
	if (worker >= threads_count(tally->threads)) atomic_fetch_add(&tally->foreign, 1);
	const long end = tally->task_ns ? now_ns() + tally->task_ns : 0;
	while (end && now_ns() < end) continue;
}

static void run_and_check(struct threads *threads, size_t tasks, long task_ns) {
	struct tally tally = {.threads = threads, .task_ns = task_ns};
	threads_run(threads, tasks, count, &tally);
	for (size_t i = 0; i < MOST_TASKS; i++)
		if (tally.times[i] != (i < tasks))
			fail_msg("task %zu of %zu was done %u times", i, tasks, tally.times[i]);
	assert_int_equal(tally.foreign, 0);
}

static void test_every_task_once(void **state) {
	(void)state;
	for (unsigned count = 1; count <= 9; count += 2) {
		struct threads *threads;
		assert_int_equal(threads_new(count, &threads, NULL), CUTTLE_OK);
		for (size_t queue = 0; queue < 2000; queue++)
			run_and_check(threads, queue * 7 % MOST_TASKS, queue % 10 ? 0 : 500);
		threads_free(&threads);
	}
}

enum { CALLERS = 6 };

/* Several callers of one pool, and the order in which their queues began. */
struct line {
	struct threads *threads;
	_Atomic bool open;
	_Atomic unsigned begun;
	unsigned order[CALLERS];
	struct line_caller {
		struct line *line;
		unsigned number;
		pthread_t thread;
		_Atomic bool seen;
	} callers[CALLERS];
};

static void note_order(void *context, size_t index, unsigned worker) {
	struct line_caller *caller = context;
	struct line *line = caller->line;
	(void)index;
	(void)worker;
	if (!atomic_exchange(&caller->seen, true)) line->order[line->begun++] = caller->number;
	while (!line->open) sched_yield();
}

static void *stand_in_line(void *argument) {
	struct line_caller *caller = argument;
	threads_run(caller->line->threads, 2, note_order, caller);
	return NULL;
}

/* The first caller holds the pool until all others wait. They must then come in the order in which
 * they began to wait. */
static void test_callers_in_order(void **state) {
	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		struct line line = {0};
		assert_int_equal(threads_new(2, &line.threads, NULL), CUTTLE_OK);
		for (unsigned i = 0; i < CALLERS; i++) {
			line.callers[i] = (struct line_caller){.line = &line, .number = i};
			assert_int_equal(pthread_create(&line.callers[i].thread, NULL,
			                                stand_in_line, &line.callers[i]),
			                 0);
			while (line.threads->turns_given != i + 1) usleep(100);
		}
		line.open = true;
		for (unsigned i = 0; i < CALLERS; i++)
			assert_int_equal(pthread_join(line.callers[i].thread, NULL), 0);
		for (unsigned i = 0; i < CALLERS; i++) assert_int_equal(line.order[i], i);
		threads_free(&line.threads);
	}
}

/* Keeps a processor busy until it is killed or its parent is gone. */
static pid_t stranger_on(int cpu) {
	const pid_t child = fork();
	if (child) return child;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sched_setaffinity(0, sizeof one, &one);
	for (volatile bool forever = true; forever;) continue;
	_exit(0);
}

/* Two workers on two cores, with a busy process on each. A worker that lost its core within a task
 * must come to the caller's core, and leave it afterwards. */
static void test_lost_cores(void **state) {
	(void)state;
	cpu_set_t all, two;
	int cpus[2];
	assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
	CPU_ZERO(&two);
	for (int cpu = 0, count = 0; cpu < CPU_SETSIZE && count < 2; cpu++)
		if (CPU_ISSET(cpu, &all)) CPU_SET(cpus[count++] = cpu, &two);
	if (CPU_COUNT(&two) < 2) skip();
	const pid_t strangers[2] = {stranger_on(cpus[0]), stranger_on(cpus[1])};
	assert_int_equal(sched_setaffinity(0, sizeof two, &two), 0);
	struct threads *threads;
	assert_int_equal(threads_new(2, &threads, NULL), CUTTLE_OK);
	const long end = now_ns() + 60000000000;
	for (guests_seen = 0; guests_seen < 20 && now_ns() < end;)
		run_and_check(threads, 24, 50000);
	printf("a guest %zu times\n", guests_seen);
	assert_true(guests_seen >= 20);
	cpu_set_t place;
	assert_int_equal(pthread_getaffinity_np(threads->seats[1].thread, sizeof place, &place), 0);
	CPU_CLR(threads->caller_cpu, &two);
	assert_true(CPU_EQUAL(&place, &two));
	threads_free(&threads);
	for (size_t i = 0; i < 2; i++) {
		kill(strangers[i], SIGKILL);
		waitpid(strangers[i], NULL, 0);
	}
	assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_task_once),
	                                   cmocka_unit_test(test_callers_in_order),
	                                   cmocka_unit_test(test_lost_cores)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
