// SPDX-License-Identifier: Apache-2.0
// Why axes: the best weights lie in the span of the training rows, so a turn of it changes nothing.
// Along the axes of their variance the columns of the training rows are orthogonal. Then the matrix
// of second derivatives is nearly diagonal, and L-BFGS, which begins with that diagonal, needs tens
// of steps. Rows also become shorter when there are fewer training texts than columns.
// Refits share the axes of all training rows, and each starts from the weights of the one before.
//
// Weights of a class are one line [axes + 1], the intercept last; a row has a 1 there.
#include "measure/probe.h"

#include "base/misuse.h"
#include "measure/pca.h"
#include "measure/scratch.h"

#include <math.h>
#include <string.h>

enum {
	PAIRS_KEPT = 12,    /* last steps that L-BFGS knows */
	MOST_STEPS = 10000, /* tens are needed */
	MOST_HALVINGS = 60, /* of a step that does not lessen the sum */
	LANES = 8,          /* interleaved sums of a product */
};

#define WANTED_SHARE 1e-13  /* what the gradient allows above the least sum; 1e-9 is promised */
#define ENOUGH_DESCENT 1e-4 /* of what the gradient promises (Nocedal and Wright, 3.4) */
#define SUM_ROUNDING 1e-14  /* relative: how far two sums may differ by rounding alone */

/* Rows along the axes, and what the last fit left. */
struct probe {
	const struct probe_data *data;
	size_t line;      /* axes + 1 */
	size_t size;      /* weights: classes * line */
	double *rows;     /* [texts][line], ending in 1 */
	double *weights;  /* [size] */
	double *trial;    /* [size] */
	double *gradient; /* [size] */
	double *last;     /* [size], the gradient before */
	double *step;     /* [size] */
	double *diagonal; /* [size]: second derivatives where all weights are 0 */
	double *moved;    /* [PAIRS_KEPT][size]: differences of weights */
	double *turned;   /* [PAIRS_KEPT][size]: of gradients */
	double *counts;   /* [classes]: training texts */
	double *scores;   /* [classes], of one text */
};

static double multiply_lines(const double *a, const double *b, size_t n) {
	double lane[LANES] = {0};
	size_t i = 0;
	for (; i + LANES <= n; i += LANES)
		for (size_t l = 0; l < LANES; l++) lane[l] += a[i + l] * b[i + l];
	double sum = 0.0;
	for (size_t l = 0; l < LANES; l++) sum += lane[l];
	for (; i < n; i++) sum += a[i] * b[i];
	return sum;
}

static void add_line(double *restrict to, double factor, const double *restrict from, size_t n) {
	for (size_t i = 0; i < n; i++) to[i] += factor * from[i];
}

/* p->scores = ln P(class) of a row. */
static void score_row(const struct probe *p, const double *weights, const double *row) {
	const uint32_t classes = p->data->classes;
	double most = -INFINITY, sum = 0.0;
	for (uint32_t c = 0; c < classes; c++) {
		p->scores[c] = p->counts[c] > 0.0
		                   ? multiply_lines(weights + c * p->line, row, p->line)
		                   : -INFINITY;
		if (p->scores[c] > most) most = p->scores[c];
	}
	for (uint32_t c = 0; c < classes; c++) sum += exp(p->scores[c] - most);
	const double whole = most + log(sum);
	for (uint32_t c = 0; c < classes; c++) p->scores[c] -= whole;
}

/* The sum that is to become small, and its gradient. */
static double evaluate_weights(const struct probe *p, const uint32_t *times, const double *weights,
                               double *gradient) {
	const struct probe_data *data = p->data;
	double sum = 0.0;
	for (uint32_t c = 0; c < data->classes; c++) {
		const double *w = weights + c * p->line;
		double *g = gradient + c * p->line;
		for (size_t j = 0; j + 1 < p->line; j++) g[j] = data->penalty * w[j];
		g[p->line - 1] = 0.0;
		sum += data->penalty / 2.0 * multiply_lines(w, w, p->line - 1);
	}
	for (size_t i = 0; i < data->train; i++) {
		const double weight = times ? times[i] : 1.0, *row = p->rows + i * p->line;
		if (weight == 0.0) continue;
		score_row(p, weights, row);
		sum -= weight * p->scores[data->labels[i]];
		for (uint32_t c = 0; c < data->classes; c++) {
			if (!(p->counts[c] > 0.0)) continue;
			const double excess =
			    exp(p->scores[c]) - (c == data->labels[i] ? 1.0 : 0.0);
			add_line(gradient + c * p->line, weight * excess, row, p->line);
		}
	}
	return sum;
}

/* Counts the classes and sets the diagonal. Returns the sum where all weights are 0. */
static double begin_fit(struct probe *p, const uint32_t *times) {
	const struct probe_data *data = p->data;
	double texts = 0.0, present = 0.0;
	memset(p->counts, 0, data->classes * sizeof *p->counts);
	for (size_t i = 0; i < data->train; i++) {
		REQUIRE(data->labels[i] < data->classes);
		p->counts[data->labels[i]] += times ? times[i] : 1.0;
	}
	for (uint32_t c = 0; c < data->classes; c++) {
		texts += p->counts[c];
		present += p->counts[c] > 0.0;
	}
	REQUIRE(texts > 0.0);
	double *squares = p->step;
	memset(squares, 0, p->line * sizeof *squares);
	for (size_t i = 0; i < data->train; i++)
		for (size_t j = 0; j < p->line; j++) {
			const double x = p->rows[i * p->line + j];
			squares[j] += (times ? times[i] : 1.0) * x * x;
		}
	for (uint32_t c = 0; c < data->classes; c++) {
		const double share = p->counts[c] / texts, spread = share * (1.0 - share);
		for (size_t j = 0; j < p->line; j++)
			p->diagonal[c * p->line + j] = data->penalty + spread * squares[j];
		if (p->counts[c] > 0.0) continue;
		memset(p->weights + c * p->line, 0, p->line * sizeof *p->weights);
	}
	return texts * log(present);
}

/* p->step = the way down by the last `known` pairs, the newest in place (newest % PAIRS_KEPT). */
static void choose_step(struct probe *p, size_t known, size_t newest) {
	double products[PAIRS_KEPT], shares[PAIRS_KEPT];
	for (size_t i = 0; i < p->size; i++) p->step[i] = -p->gradient[i];
	for (size_t k = 0; k < known; k++) {
		const size_t place = (newest + PAIRS_KEPT - k) % PAIRS_KEPT;
		const double *moved = p->moved + place * p->size,
		             *turned = p->turned + place * p->size;
		products[place] = multiply_lines(moved, turned, p->size);
		shares[place] = multiply_lines(moved, p->step, p->size) / products[place];
		add_line(p->step, -shares[place], turned, p->size);
	}
	for (size_t i = 0; i < p->size; i++) p->step[i] /= p->diagonal[i];
	for (size_t k = known; k-- > 0;) {
		const size_t place = (newest + PAIRS_KEPT - k) % PAIRS_KEPT;
		const double *moved = p->moved + place * p->size,
		             *turned = p->turned + place * p->size;
		const double back = multiply_lines(turned, p->step, p->size) / products[place];
		add_line(p->step, shares[place] - back, moved, p->size);
	}
}

/* Finds the weights. False: no convergence. */
static bool descend(struct probe *p, const uint32_t *times) {
	const double start = begin_fit(p, times);
	const double wanted = 2.0 * p->data->penalty * WANTED_SHARE * start;
	double sum = evaluate_weights(p, times, p->weights, p->gradient);
	size_t known = 0, newest = 0;
	for (size_t turn = 0; turn < MOST_STEPS; turn++) {
		if (multiply_lines(p->gradient, p->gradient, p->size) <= wanted) return true;
		choose_step(p, known, newest);
		const double slope = multiply_lines(p->gradient, p->step, p->size);
		memcpy(p->last, p->gradient, p->size * sizeof *p->last);
		double length = 1.0, reached = INFINITY;
		for (int halving = 0; halving < MOST_HALVINGS; halving++, length /= 2.0) {
			memcpy(p->trial, p->weights, p->size * sizeof *p->trial);
			add_line(p->trial, length, p->step, p->size);
			reached = evaluate_weights(p, times, p->trial, p->gradient);
			if (reached <= sum + ENOUGH_DESCENT * length * slope + SUM_ROUNDING * sum)
				break;
		}
		if (!isfinite(reached)) return false;
		newest = (newest + 1) % PAIRS_KEPT;
		double *moved = p->moved + newest * p->size, *turned = p->turned + newest * p->size;
		for (size_t i = 0; i < p->size; i++) {
			moved[i] = p->trial[i] - p->weights[i];
			turned[i] = p->gradient[i] - p->last[i];
		}
		memcpy(p->weights, p->trial, p->size * sizeof *p->weights);
		sum = reached;
		if (known < PAIRS_KEPT) known++;
		// Rounding may take the convexity from a tiny step: then begin again.
		if (!(multiply_lines(moved, turned, p->size) > 0.0)) known = 0;
	}
	return false;
}

static void free_probe(struct probe *p) {
	double *const blocks[] = {p->rows,   p->weights, p->trial,    p->gradient,
	                          p->last,   p->step,    p->diagonal, p->moved,
	                          p->turned, p->counts,  p->scores};
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) scratch_free(blocks[i]);
}

/* p->rows = all rows along the axes of the training rows. */
static bool turn_rows(struct probe *p) {
	const struct probe_data *data = p->data;
	double *rows = scratch_make(data->texts * data->width, sizeof *rows), *turned = NULL;
	struct pca *pca = NULL;
	bool ok = rows != NULL;
	for (size_t i = 0; ok && i < data->texts * data->width; i++)
		rows[i] = (double)data->rows[i];
	ok = ok && pca_fit(rows, data->train, data->width, 1.0, &pca);
	if (ok) {
		p->line = pca_axes(pca) + 1;
		turned = scratch_make(data->texts * (p->line - 1), sizeof *turned);
		p->rows = scratch_make(data->texts * p->line, sizeof *p->rows);
		ok = turned && p->rows;
	}
	if (ok) pca_apply(pca, rows, data->texts, turned);
	for (size_t i = 0; ok && i < data->texts; i++) {
		memcpy(p->rows + i * p->line, turned + i * (p->line - 1),
		       (p->line - 1) * sizeof *turned);
		p->rows[i * p->line + p->line - 1] = 1.0;
	}
	pca_free(pca);
	scratch_free(rows);
	scratch_free(turned);
	return ok;
}

static bool make_probe(const struct probe_data *data, struct probe *p) {
	REQUIRE(data->train >= 1 && data->train <= data->texts && data->classes >= 1);
	REQUIRE(data->penalty > 0.0);
	*p = (struct probe){.data = data};
	if (!turn_rows(p)) return false;
	p->size = data->classes * p->line;
	p->weights = scratch_make(p->size, sizeof *p->weights);
	p->trial = scratch_make(p->size, sizeof *p->trial);
	p->gradient = scratch_make(p->size, sizeof *p->gradient);
	p->last = scratch_make(p->size, sizeof *p->last);
	p->step = scratch_make(p->size, sizeof *p->step);
	p->diagonal = scratch_make(p->size, sizeof *p->diagonal);
	p->moved = scratch_make(PAIRS_KEPT * p->size, sizeof *p->moved);
	p->turned = scratch_make(PAIRS_KEPT * p->size, sizeof *p->turned);
	p->counts = scratch_make(data->classes, sizeof *p->counts);
	p->scores = scratch_make(data->classes, sizeof *p->scores);
	return p->weights && p->trial && p->gradient && p->last && p->step && p->diagonal &&
	       p->moved && p->turned && p->counts && p->scores;
}

bool probe_chances(const struct probe_data *data, const uint32_t *times, double *chances) {
	struct probe p;
	const bool ok = make_probe(data, &p) && descend(&p, times);
	for (size_t i = data->train; ok && i < data->texts; i++) {
		score_row(&p, p.weights, p.rows + i * p.line);
		memcpy(chances + (i - data->train) * data->classes, p.scores,
		       data->classes * sizeof *chances);
	}
	free_probe(&p);
	return ok;
}

static bool guess_by_probe(void *self, const uint32_t *times, uint32_t *guesses) {
	struct probe *p = self;
	const struct probe_data *data = p->data;
	if (!descend(p, times)) return false;
	for (size_t i = data->train; i < data->texts; i++) {
		score_row(p, p->weights, p->rows + i * p->line);
		uint32_t best = 0;
		for (uint32_t c = 1; c < data->classes; c++)
			if (p->scores[c] > p->scores[best]) best = c;
		guesses[i - data->train] = best;
	}
	return true;
}

bool probe_measure(const struct probe_data *data, size_t refits, uint64_t seed,
                   struct refit_result *result) {
	struct probe p;
	bool ok = make_probe(data, &p);
	const struct refit_task task = {
	    .self = &p,
	    .train = data->train,
	    .test = data->texts - data->train,
	    .classes = data->classes,
	    .truth = data->labels + data->train,
	    .guess = guess_by_probe,
	};
	ok = ok && refit_measure(&task, refits, seed, result);
	free_probe(&p);
	return ok;
}
