// SPDX-License-Identifier: Apache-2.0
// refit.h: how well a task is learnt from some texts, and how much luck of these texts is in that.
//
// Nothing is kept.
// The task is learnt once from all training texts. For the error it is learnt again from as many
// texts drawn from them with replacement, the test texts being the same.
#ifndef CUTTLE_MEASURE_REFIT_H
#define CUTTLE_MEASURE_REFIT_H

#include "measure/rates.h"

enum { REFIT_COUNT = 50 };

struct refit_task {
	void *self;            /* what guess is called with */
	size_t train;          /* training texts, at least 1 */
	size_t test;           /* test texts, at least 1 */
	uint32_t classes;      /* labels are below it */
	const uint32_t *truth; /* labels of the test texts */
	/* Learns from training text i, times[i] times (times NULL: each once), and sets the guesses
	 * [test]. False: it could not. */
	bool (*guess)(void *self, const uint32_t *times, uint32_t *guesses);
};

struct refit_result {
	struct rates rates;     /* learnt from each training text once */
	struct rates deviation; /* standard deviations over the refits */
};

/* refits is 0, for deviations of 0, or at least 2. False: out of memory, or guess gave false. */
bool refit_measure(const struct refit_task *task, size_t refits, uint64_t seed,
                   struct refit_result *result);

#endif
