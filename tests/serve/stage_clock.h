// SPDX-License-Identifier: Apache-2.0
// stage_clock.h: a clock that a test moves, so that none waits for one. For programs that are
// linked with --wrap=clock_gettime and --wrap=pthread_cond_timedwait; each includes it once.
#ifndef CUTTLE_TESTS_SERVE_STAGE_CLOCK_H
#define CUTTLE_TESTS_SERVE_STAGE_CLOCK_H

#include "tests/serve/jobs_stage.h"

#include <errno.h>
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

static bool clock_is_past(const struct timespec *moment) {
	struct timespec now;
	(void)__wrap_clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > moment->tv_sec ||
	       (now.tv_sec == moment->tv_sec && now.tv_nsec >= moment->tv_nsec);
}

/* Looks at the clock a hundred times a second, since nobody wakes it when that is moved. */
int __real_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock,
                                  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock,
                                  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *changed, pthread_mutex_t *lock,
                                  const struct timespec *until) {
	int status = ETIMEDOUT;
	(void)atomic_fetch_add(&clock_sleeps, 1);
	while (status == ETIMEDOUT && !clock_is_past(until)) {
		struct timespec slice;
		(void)__real_clock_gettime(CLOCK_MONOTONIC, &slice);
		slice.tv_nsec += 10000000;
		slice.tv_sec += slice.tv_nsec / 1000000000;
		slice.tv_nsec %= 1000000000;
		status = __real_pthread_cond_timedwait(changed, lock, &slice);
	}
	(void)atomic_fetch_sub(&clock_sleeps, 1);
	return status;
}

static void pass_time(unsigned seconds) {
	(void)atomic_fetch_add(&clock_ahead, seconds);
}

#endif
