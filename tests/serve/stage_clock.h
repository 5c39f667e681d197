// SPDX-License-Identifier: Apache-2.0
// stage_clock.h: a clock that a test moves, so that none waits for one. For programs that are
// linked with --wrap=clock_gettime and --wrap=pthread_cond_timedwait; each includes it once.
#ifndef CUTTLE_TESTS_SERVE_STAGE_CLOCK_H
#define CUTTLE_TESTS_SERVE_STAGE_CLOCK_H

#include "tests/serve/jobs_stage.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_uint clock_ahead;  /* seconds that were passed over */
static atomic_uint clock_sleeps; /* threads that wait for a moment, or to be woken before */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
	const int failed = __real_clock_gettime(clock, now);
	if (!failed && clock == CLOCK_MONOTONIC) now->tv_sec += clock_ahead;
	return failed;
}

/* What they wait for; NULL = there are none. */
static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t *clock_changed;
static pthread_mutex_t *clock_held;

static void count_sleep(pthread_cond_t *changed, pthread_mutex_t *lock, int more) {
	(void)pthread_mutex_lock(&clock_lock);
	clock_sleeps += (unsigned)more;
	clock_changed = clock_sleeps ? changed : NULL;
	clock_held = clock_sleeps ? lock : NULL;
	(void)pthread_mutex_unlock(&clock_lock);
}

int __real_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock,
                                  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock,
                                  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock,
                                  const struct timespec *until) {
	struct timespec end = *until;
	end.tv_sec -= clock_ahead;
	count_sleep(changed, lock, 1);
	const int status = __real_pthread_cond_timedwait(changed, lock, &end);
	count_sleep(changed, lock, -1);
	return status;
}

/* Wakes all that wait, so that they look at the clock. */
static void pass_time(unsigned seconds) {
	(void)atomic_fetch_add(&clock_ahead, seconds);
	(void)pthread_mutex_lock(&clock_lock);
	pthread_cond_t *changed = clock_changed;
	pthread_mutex_t *lock = clock_held;
	(void)pthread_mutex_unlock(&clock_lock);
	if (!changed) return;
	(void)pthread_mutex_lock(lock);
	(void)pthread_cond_broadcast(changed);
	(void)pthread_mutex_unlock(lock);
}

#endif
