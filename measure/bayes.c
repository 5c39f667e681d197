// SPDX-License-Identifier: Apache-2.0
// One table holds, word by word, the logarithms for all classes side by side: a text's score adds
// one line of it for each of its words, in the order of the text.
#include "measure/bayes.h"

#include "base/misuse.h"
#include "measure/scratch.h"

#include <math.h>

struct bayes_table {
	double *words;   /* [distinct][classes]: first occurrences, then logarithms */
	double *lengths; /* [classes]: words of all training texts of a class */
	double *priors;  /* [classes]: training texts, then logarithms */
	double *scores;  /* [classes], of one text */
	bool *known;     /* [distinct]: a training text has this word */
};

static void learn_texts(const struct bayes_data *data, const uint32_t *times,
                        const struct bayes_table *t) {
	const struct corpus *corpus = data->corpus;
	const uint32_t classes = data->classes;
	double texts = 0.0, vocabulary = 0.0;
	for (size_t i = 0; i < data->train; i++) {
		const double weight = times ? times[i] : 1.0;
		const uint32_t class = data->labels[i];
		REQUIRE(class < classes);
		if (weight == 0.0) continue;
		texts += weight;
		t->priors[class] += weight;
		for (size_t k = corpus->first[i]; k < corpus->first[i + 1]; k++) {
			const uint32_t word = corpus->word[k];
			vocabulary += !t->known[word];
			t->known[word] = true;
			t->words[word * (size_t)classes + class] += weight;
			t->lengths[class] += weight;
		}
	}
	REQUIRE(texts > 0.0);
	for (uint32_t c = 0; c < classes; c++) t->priors[c] = log(t->priors[c] / texts);
	for (uint32_t w = 0; w < corpus->distinct; w++)
		for (uint32_t c = 0; t->known[w] && c < classes; c++) {
			double *entry = &t->words[w * (size_t)classes + c];
			*entry = log((*entry + 1.0) / (t->lengths[c] + vocabulary));
		}
}

/* A class without training texts has a prior of minus infinity, and keeps it. */
static uint32_t guess_text(const struct bayes_data *data, size_t text,
                           const struct bayes_table *t) {
	const struct corpus *corpus = data->corpus;
	const uint32_t classes = data->classes;
	for (uint32_t c = 0; c < classes; c++) t->scores[c] = t->priors[c];
	for (size_t k = corpus->first[text]; k < corpus->first[text + 1]; k++) {
		if (!t->known[corpus->word[k]]) continue;
		const double *entries = t->words + corpus->word[k] * (size_t)classes;
		for (uint32_t c = 0; c < classes; c++) t->scores[c] += entries[c];
	}
	uint32_t best = 0;
	for (uint32_t c = 1; c < classes; c++)
		if (t->scores[c] > t->scores[best]) best = c;
	return best;
}

bool bayes_guess(const struct bayes_data *data, const uint32_t *times, uint32_t *guesses) {
	const struct corpus *corpus = data->corpus;
	const uint32_t classes = data->classes;
	REQUIRE(data->train >= 1 && data->train <= corpus->texts && classes >= 1);
	const struct bayes_table t = {
	    .words = scratch_make((size_t)corpus->distinct * classes, sizeof *t.words),
	    .lengths = scratch_make(classes, sizeof *t.lengths),
	    .priors = scratch_make(classes, sizeof *t.priors),
	    .scores = scratch_make(classes, sizeof *t.scores),
	    .known = scratch_make(corpus->distinct, sizeof *t.known),
	};
	const bool ok = t.words && t.lengths && t.priors && t.scores && t.known;
	if (ok) {
		learn_texts(data, times, &t);
		for (size_t i = data->train; i < corpus->texts; i++)
			guesses[i - data->train] = guess_text(data, i, &t);
	}
	scratch_free(t.words);
	scratch_free(t.lengths);
	scratch_free(t.priors);
	scratch_free(t.scores);
	scratch_free(t.known);
	return ok;
}

static bool guess_by_words(void *self, const uint32_t *times, uint32_t *guesses) {
	return bayes_guess(*(const struct bayes_data **)self, times, guesses);
}

bool bayes_measure(const struct bayes_data *data, size_t refits, uint64_t seed,
                   struct refit_result *result) {
	const struct refit_task task = {
	    .self = &data,
	    .train = data->train,
	    .test = data->corpus->texts - data->train,
	    .classes = data->classes,
	    .truth = data->labels + data->train,
	    .guess = guess_by_words,
	};
	return refit_measure(&task, refits, seed, result);
}
