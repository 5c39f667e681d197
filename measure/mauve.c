// SPDX-License-Identifier: Apache-2.0
// How the curve is walked: the points of a path stand in its own order, from (1, 0) over growing
// shares of p to (0, 1). On it x never rises and y never falls, so no point needs to be sorted.
#include "measure/mauve.h"

#include "base/misuse.h"
#include "measure/pca.h"
#include "measure/samples.h"
#include "measure/scratch.h"
#include "measure/stream.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	MIXTURES = 25,
	POINTS = MIXTURES + 2, /* with both ends */
	TEXTS_PER_CLUSTER = 20,
};

#define LEAST_WEIGHT 1e-6 /* of p in the first mixture, and of q in the last */
#define NEAR_EQUAL 0.25   /* (p - q) / (p + q) up to which the frontier's term is a series */

struct point {
	double x; /* 1 where r is q */
	double y; /* 1 where r is p */
};

size_t mauve_clusters(size_t texts) {
	return texts / TEXTS_PER_CLUSTER > 2 ? texts / TEXTS_PER_CLUSTER : 2;
}

/* to[width] = from[width], brought to length one. */
static void make_unit(const float *from, size_t width, double *to) {
	double square = 0.0;
	for (size_t j = 0; j < width; j++) square += (double)from[j] * (double)from[j];
	const double length = sqrt(square);
	for (size_t j = 0; j < width; j++) to[j] = length > 0.0 ? (double)from[j] / length : 0.0;
}

/* Sets the points of rows [count][width] on the axes; those are not changed. */
static bool apply_axes(const struct pca *pca, const float *rows, size_t count, size_t width,
                       struct mauve_points *points) {
	double *unit = scratch_make(count * width, sizeof *unit);
	points->count = count;
	points->axes = pca_axes(pca);
	points->rows = scratch_make(count * points->axes, sizeof *points->rows);
	const bool ok = unit && points->rows;
	for (size_t i = 0; i < count && ok; i++)
		make_unit(rows + i * width, width, unit + i * width);
	if (ok) pca_apply(pca, unit, count, points->rows);
	scratch_free(unit);
	return ok;
}

bool mauve_project_onto(const float *rows, size_t count, size_t width, double share,
                        const float *others, size_t other_count, struct mauve_points *points,
                        struct mauve_points *other_points) {
	*points = *other_points = (struct mauve_points){0};
	double *unit = scratch_make(count * width, sizeof *unit);
	if (!unit) return false;
	for (size_t i = 0; i < count; i++) make_unit(rows + i * width, width, unit + i * width);
	struct pca *pca;
	bool ok = pca_fit(unit, count, width, share, &pca);
	scratch_free(unit);
	ok = ok && apply_axes(pca, rows, count, width, points) &&
	     apply_axes(pca, others, other_count, width, other_points);
	pca_free(pca);
	return ok;
}

bool mauve_project(const float *rows, size_t count, size_t width, double share,
                   struct mauve_points *points) {
	struct mauve_points none;
	const bool ok = mauve_project_onto(rows, count, width, share, rows, 0, points, &none);
	mauve_points_free(&none);
	return ok;
}

void mauve_points_free(struct mauve_points *points) {
	scratch_free(points->rows);
	*points = (struct mauve_points){0};
}

void mauve_count(const uint32_t *labels, size_t count, size_t clusters, uint32_t *counts) {
	memset(counts, 0, clusters * sizeof *counts);
	for (size_t i = 0; i < count; i++) {
		REQUIRE(labels[i] < clusters);
		counts[labels[i]]++;
	}
}

void mauve_shares(const uint32_t *counts, size_t clusters, double extra, double *shares) {
	double sum = 0.0;
	for (size_t i = 0; i < clusters; i++) sum += counts[i] + extra;
	for (size_t i = 0; i < clusters; i++) shares[i] = (counts[i] + extra) / sum;
}

static void walk_path(const double *p, const double *q, size_t clusters, double scale,
                      struct point path[POINTS]) {
	path[0] = (struct point){1.0, 0.0};
	for (int j = 0; j < MIXTURES; j++) {
		const double w = LEAST_WEIGHT + j * (1.0 - 2.0 * LEAST_WEIGHT) / (MIXTURES - 1);
		double of_q = 0.0, of_p = 0.0;
		for (size_t i = 0; i < clusters; i++) {
			const double r = w * p[i] + (1.0 - w) * q[i];
			if (q[i] > 0.0) of_q += q[i] * log(q[i] / r);
			if (p[i] > 0.0) of_p += p[i] * log(p[i] / r);
		}
		path[1 + j] = (struct point){exp(-scale * of_q), exp(-scale * of_p)};
	}
	path[POINTS - 1] = (struct point){0.0, 1.0};
}

double mauve_score(const double *p, const double *q, size_t clusters, double scale) {
	struct point path[POINTS];
	walk_path(p, q, clusters, scale, path);
	double area = 0.0;
	for (int j = 0; j + 1 < POINTS; j++)
		area += (path[j].x - path[j + 1].x) * (path[j].y + path[j + 1].y) / 2.0;
	return area;
}

/* Insertion keeps the order of equal points: what mauve-text's number depends on. */
static void sort_points(struct point *points, bool by_y) {
	for (int i = 1; i < POINTS; i++)
		for (int j = i; j > 0; j--) {
			const struct point left = points[j - 1], right = points[j];
			if (by_y ? left.y <= right.y : left.x <= right.x) break;
			points[j - 1] = right;
			points[j] = left;
		}
}

double mauve_score_sorted(const double *p, const double *q, size_t clusters, double scale) {
	struct point by_x[POINTS], by_y[POINTS];
	walk_path(p, q, clusters, scale, by_x);
	memcpy(by_y, by_x, sizeof by_y);
	sort_points(by_x, false);
	sort_points(by_y, true);
	double under = 0.0, beside = 0.0;
	for (int j = 0; j + 1 < POINTS; j++) {
		under += (by_x[j + 1].x - by_x[j].x) * (by_x[j].y + by_x[j + 1].y) / 2.0;
		beside += (by_y[j + 1].y - by_y[j].y) * (by_y[j].x + by_y[j + 1].x) / 2.0;
	}
	return (under + beside) / 2.0;
}

/* With s = (p - q) / (p + q) a term is (p + q) / 4 times 1 - (1 - s^2) atanh(s) / s, which is the
 * series 2 s^2 / 3 + 2 s^4 / 15 + ... + 2 s^2k / (4 k^2 - 1): no cancellation for small s. */
static double frontier_term(double p, double q) {
	if (p == 0.0 || q == 0.0) return (p + q) / 4.0;
	const double s = (p - q) / (p + q), square = s * s;
	if (fabs(s) > NEAR_EQUAL) return (p + q) / 4.0 - p * q * log(p / q) / (2.0 * (p - q));
	double power = 1.0, sum = 0.0;
	for (int k = 1; k <= 14; k++) sum += 2.0 * (power *= square) / (4.0 * k * k - 1.0);
	return (p + q) / 4.0 * sum;
}

double mauve_frontier(const double *p, const double *q, size_t clusters) {
	double sum = 0.0;
	for (size_t i = 0; i < clusters; i++) sum += frontier_term(p[i], q[i]);
	return 2.0 * sum;
}

/* Sums counts up to ends. Returns whether there is any. */
static bool sum_ends(const uint32_t *counts, size_t clusters, uint32_t *ends) {
	uint32_t sum = 0;
	for (size_t i = 0; i < clusters; i++) ends[i] = sum += counts[i];
	return sum > 0;
}

/* What resampling works on. */
struct resampling {
	uint32_t *p_ends; /* [clusters] */
	uint32_t *q_ends; /* [clusters] */
	uint32_t *p;      /* [clusters], counts of one resample */
	uint32_t *q;      /* [clusters] */
	double *p_shares; /* [clusters] */
	double *q_shares; /* [clusters] */
	double *scores;   /* [resamples] */
	double *stars;    /* [resamples] */
};

static double score_counts(const uint32_t *p, const uint32_t *q, size_t clusters, double scale,
                           double extra, const struct resampling *s) {
	mauve_shares(p, clusters, extra, s->p_shares);
	mauve_shares(q, clusters, extra, s->q_shares);
	return mauve_score(s->p_shares, s->q_shares, clusters, scale);
}

static void fill_result(const uint32_t *p, const uint32_t *q, size_t clusters, double scale,
                        size_t resamples, uint64_t seed, const struct resampling *s,
                        struct mauve *result) {
	REQUIRE(sum_ends(p, clusters, s->p_ends) && sum_ends(q, clusters, s->q_ends));
	result->star = score_counts(p, q, clusters, scale, 0.5, s);
	result->frontier_star = mauve_frontier(s->p_shares, s->q_shares, clusters);
	result->score = score_counts(p, q, clusters, scale, 0.0, s);
	result->sorted = mauve_score_sorted(s->p_shares, s->q_shares, clusters, scale);
	result->frontier = mauve_frontier(s->p_shares, s->q_shares, clusters);
	struct stream stream = stream_of(seed, 0);
	for (size_t i = 0; i < resamples; i++) {
		stream_recount(&stream, s->p_ends, clusters, s->p);
		stream_recount(&stream, s->q_ends, clusters, s->q);
		s->scores[i] = score_counts(s->p, s->q, clusters, scale, 0.0, s);
		s->stars[i] = score_counts(s->p, s->q, clusters, scale, 0.5, s);
	}
	result->deviation = samples_deviation(s->scores, resamples);
	result->star_deviation = samples_deviation(s->stars, resamples);
}

bool mauve_measure(const uint32_t *p, const uint32_t *q, size_t clusters, double scale,
                   size_t resamples, uint64_t seed, struct mauve *result) {
	REQUIRE(clusters >= 1 && scale > 0.0 && resamples != 1);
	const struct resampling s = {
	    .p_ends = scratch_make(clusters, sizeof *s.p_ends),
	    .q_ends = scratch_make(clusters, sizeof *s.q_ends),
	    .p = scratch_make(clusters, sizeof *s.p),
	    .q = scratch_make(clusters, sizeof *s.q),
	    .p_shares = scratch_make(clusters, sizeof *s.p_shares),
	    .q_shares = scratch_make(clusters, sizeof *s.q_shares),
	    .scores = scratch_make(resamples, sizeof *s.scores),
	    .stars = scratch_make(resamples, sizeof *s.stars),
	};
	const bool ok =
	    s.p_ends && s.q_ends && s.p && s.q && s.p_shares && s.q_shares && s.scores && s.stars;
	if (ok) fill_result(p, q, clusters, scale, resamples, seed, &s, result);
	scratch_free(s.p_ends);
	scratch_free(s.q_ends);
	scratch_free(s.p);
	scratch_free(s.q);
	scratch_free(s.p_shares);
	scratch_free(s.q_shares);
	scratch_free(s.scores);
	scratch_free(s.stars);
	return ok;
}
