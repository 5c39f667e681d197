// SPDX-License-Identifier: Apache-2.0
// bayes.h: guesses a text's label by its words: multinomial naive Bayes.
//
// Nothing is kept; scratch is wiped.
// With n(w, c) occurrences of word w in training texts of class c, and V different words in all
// training texts, the score of a class is
//   ln(texts of c / texts) + sum over the text's words of ln((n(w, c) + 1) / (n(c) + V))
// Words that no training text has count for nothing. The largest score wins, ties to the lower
// class; a class without training texts never wins. Source: McCallum and Nigam 1998, section 2.
#ifndef CUTTLE_MEASURE_BAYES_H
#define CUTTLE_MEASURE_BAYES_H

#include "measure/corpus.h"
#include "measure/refit.h"

struct bayes_data {
	const struct corpus *corpus; /* training texts first, then the test texts */
	const uint32_t *labels;      /* [corpus->texts], each below `classes` */
	size_t train;                /* training texts, at least 1 */
	uint32_t classes;            /* at least 1 */
};

/* guesses[texts - train] = the label of each test text, after training text i was learnt times[i]
 * times (times NULL: each once); their sum is above 0. False: out of memory. */
bool bayes_guess(const struct bayes_data *data, const uint32_t *times, uint32_t *guesses);

/* Rates on the test texts, of which there is one at least, and their error (measure/refit.h). */
bool bayes_measure(const struct bayes_data *data, size_t refits, uint64_t seed,
                   struct refit_result *result);

#endif
