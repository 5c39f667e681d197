// SPDX-License-Identifier: Apache-2.0
// probe.h: guesses a text's label by its embedding: logistic regression with many classes.
//
// Called by tools/ for `cuttle evaluate --task`, and by audits. Rows may follow from private texts;
// scratch is wiped. The weights minimise
//   sum over texts of -ln P(label) + penalty / 2 * sum of squared weights,
//   P(c) = exp(w_c x + b_c) / the sum of the same over all classes
// The intercepts b bear no penalty. Scikit-learn's C is 1 / penalty with three classes or more; its
// model for two classes has half of this penalty. Method: L-BFGS (Nocedal and Wright 2006, section
// 7.2) on a problem that is strictly convex, until the gradient is so short that the sum lies
// within 1e-9 of its least value, relative to what it has with all weights 0.
// A class without training texts never wins.
#ifndef CUTTLE_MEASURE_PROBE_H
#define CUTTLE_MEASURE_PROBE_H

#include "measure/refit.h"

#define PROBE_PENALTY 0.1 /* for rows of length one */

struct probe_data {
	const float *rows;      /* [texts][width], finite: training texts first, then test texts */
	size_t texts;           /* all of them */
	size_t width;           /* numbers of an embedding */
	const uint32_t *labels; /* [texts], each below `classes` */
	size_t train;           /* training texts, at least 1 */
	uint32_t classes;       /* at least 1 */
	double penalty;         /* above 0 */
};

/* Sets weights [classes][width + 1], intercepts last, from the training texts, text i taken
 * times[i] times (times NULL: each once); their sum is above 0. False: out of memory, or no
 * convergence within 10,000 steps. */
bool probe_fit(const struct probe_data *data, const uint32_t *times, double *weights);

/* scores [count][classes] = ln P(class) of each of rows [count][width]. */
void probe_scores(const double *weights, uint32_t classes, const float *rows, size_t count,
                  size_t width, double *scores);

/* guesses[texts - train] = the likeliest label of each test text, ties to the lower. */
bool probe_guess(const struct probe_data *data, const uint32_t *times, uint32_t *guesses);

/* Rates on the test texts, of which there is one at least, and their error (measure/refit.h). */
bool probe_measure(const struct probe_data *data, size_t refits, uint64_t seed,
                   struct refit_result *result);

#endif
