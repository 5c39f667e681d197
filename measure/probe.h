// SPDX-License-Identifier: Apache-2.0
// probe.h: guesses a text's label by its embedding: logistic regression with many classes.
//
// Rows may follow from private texts; scratch is wiped. The weights minimise, over the training
// texts,
//   sum of -ln P(label) + penalty / 2 * sum of squared weights,
//   P(c) = exp(w_c x + b_c) / the sum of the same over all classes
// The intercepts b bear no penalty. Scikit-learn's C is 1 / penalty with three classes or more; for
// two classes its model is this one at half its penalty. A class without training texts has no
// chance. How: L-BFGS (Nocedal and Wright 2006, section 7.2) along the axes of measure/pca.h, until
// the gradient is so short that the sum is within 1e-9 of its least value, as a share of what it is
// with all weights 0 (by strong convexity: gradient^2 / (2 penalty)).
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

/* chances [texts - train][classes] = ln P(class) of each test text, learnt from training text i
 * taken times[i] times (times NULL: each once); their sum is above 0. Minus infinity for a class
 * without training texts. False: out of memory, or no convergence, as with rows that are not
 * finite. */
bool probe_chances(const struct probe_data *data, const uint32_t *times, double *chances);

/* Rates on the test texts, of which there is one at least, and their error (measure/refit.h). */
bool probe_measure(const struct probe_data *data, size_t refits, uint64_t seed,
                   struct refit_result *result);

#endif
