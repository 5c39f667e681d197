// SPDX-License-Identifier: Apache-2.0
// Refit i learns from resample i of the seed's stream, whatever task it is: tasks share their luck.
#include "measure/refit.h"

#include "base/misuse.h"
#include "measure/samples.h"
#include "measure/scratch.h"
#include "measure/stream.h"

bool refit_measure(const struct refit_task *task, size_t refits, uint64_t seed,
                   struct refit_result *result) {
	REQUIRE(task->train >= 1 && task->test >= 1 && refits != 1);
	uint32_t *times = scratch_make(task->train, sizeof *times),
	         *guesses = scratch_make(task->test, sizeof *guesses);
	double *accuracies = scratch_make(refits, sizeof *accuracies),
	       *recalls = scratch_make(refits, sizeof *recalls);
	bool ok = times && guesses && accuracies && recalls;
	ok = ok && task->guess(task->self, NULL, guesses) &&
	     rates_of(task->truth, guesses, task->test, task->classes, &result->rates);
	struct stream stream = stream_of(seed, 0);
	for (size_t i = 0; ok && i < refits; i++) {
		struct rates rates;
		stream_resample(&stream, task->train, times);
		ok = task->guess(task->self, times, guesses) &&
		     rates_of(task->truth, guesses, task->test, task->classes, &rates);
		if (!ok) break;
		accuracies[i] = rates.accuracy;
		recalls[i] = rates.mean_recall;
	}
	if (ok) {
		result->deviation.accuracy = samples_deviation(accuracies, refits);
		result->deviation.mean_recall = samples_deviation(recalls, refits);
	}
	scratch_free(times);
	scratch_free(guesses);
	scratch_free(accuracies);
	scratch_free(recalls);
	return ok;
}
