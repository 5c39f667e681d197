// SPDX-License-Identifier: Apache-2.0
// mauve.h: how near two sets of texts are to each other, by shares of joint clusters.
//
// Rows of references are private: scratch is wiped. The numbers that come out follow from the
// references without protection; the caller stamps them.
// Sources: MAUVE: Pillutla et al. 2021 (arXiv 2102.02454), sections 2 and 3; MAUVE* and the
// frontier integral: Pillutla et al. 2023 (arXiv 2212.14578) and Liu et al. 2021 (arXiv
// 2106.07898). The way from embeddings to a number, with references and any number of runs:
//   mauve_project     all rows, stacked: unit length, then the axes with .9 of the variance
//   kmeans_fit        all rows at once, mauve_clusters(N) clusters; labels of one set follow those
//                     of another, as the rows do
//   mauve_count       labels of one set to counts
//   mauve_measure     counts of references and of a run to scores, with their error
// The same with MAUVE_SEEDS seeds of k-means says how much the scores move with the seed.
// Numbers compare only with the same embeddings, N, clusters and scale; otherwise they order runs.
#ifndef CUTTLE_MEASURE_MAUVE_H
#define CUTTLE_MEASURE_MAUVE_H

#include "measure/kmeans.h"

#define MAUVE_SHARE 0.9       /* of the variance, which the kept axes reach */
#define MAUVE_SCALE_PAPER 0.9 /* c of InvisibleInk's tables; scores near 1 say little there */
#define MAUVE_SCALE_FINE 5.0  /* c of Pillutla et al. 2021 */

enum {
	MAUVE_RESTARTS = 5,
	MAUVE_ROUNDS = 500,
	MAUVE_RESAMPLES = 200,
	MAUVE_SEEDS = 5,
};

/* Rows along the kept axes. */
struct mauve_points {
	double *rows; /* [count][axes] */
	size_t count;
	size_t axes;
};

/* Clusters for sets of `texts` texts each, the smaller set's number: max(2, texts / 20). */
size_t mauve_clusters(size_t texts);

/* Sets *points from rows [count][width], each brought to length one; a row of zeros stays. False:
 * out of memory, or a row is not finite. The points must be freed in any case. */
bool mauve_project(const float *rows, size_t count, size_t width, double share,
                   struct mauve_points *points);
/* The same, and brings others [other_count][width] to the axes of rows, which alone decide them. A
 * point of the others depends on its own row and the axes. Both must be freed in any case. */
bool mauve_project_onto(const float *rows, size_t count, size_t width, double share,
                        const float *others, size_t other_count, struct mauve_points *points,
                        struct mauve_points *other_points);
void mauve_points_free(struct mauve_points *points);

/* counts[clusters] = how often each label occurs in labels[count]. */
void mauve_count(const uint32_t *labels, size_t count, size_t clusters, uint32_t *counts);

/* shares = (counts + extra) / their sum, which must be above 0. */
void mauve_shares(const uint32_t *counts, size_t clusters, double extra, double *shares);

/* MAUVE of two histograms that each sum to 1, with c = `scale`. Of 25 mixtures r = w p + (1 - w) q,
 * w from 1e-6 to 1 - 1e-6 in equal steps, the points
 *   x = exp(-c KL(q, r)),  y = exp(-c KL(p, r))
 * lead from (1, 0) to (0, 1). The score is the area under this path, in its own order. */
double mauve_score(const double *p, const double *q, size_t clusters, double scale);
/* The number that mauve-text 0.4.0 gives. It sorts the points by x, and again by y, and takes the
 * mean of both areas. Where points share an x or y, sorting mixes their order up. So equal
 * histograms have .75 here, where mauve_score has 1. */
double mauve_score_sorted(const double *p, const double *q, size_t clusters, double scale);
/* The frontier integral: 0 for equal histograms, 1 for such without a common cluster.
 *   2 sum of (p + q) / 4 - p q ln(p / q) / (2 (p - q)),  its limit (p + q) / 4 where one is 0,
 *   and 0 where both are equal */
double mauve_frontier(const double *p, const double *q, size_t clusters);

struct mauve {
	double score;          /* mauve_score of the shares */
	double deviation;      /* its standard deviation over resamples of both histograms */
	double star;           /* MAUVE*: of (counts + 1/2) / their sum */
	double star_deviation; /* as for score */
	double sorted;         /* mauve_score_sorted of the shares: beside other people's figures */
	double frontier;       /* frontier integral of the shares */
	double frontier_star;  /* of (counts + 1/2) / their sum */
};

/* All of it for the counts p, references, and q, a run, with c = scale. Each resample draws both
 * histograms anew, as many texts as they have, by stream_recount. Near 1 the deviation is several
 * times too large (methods: three to seven), never too small in what was measured. resamples is 0,
 * for deviations of 0, or at least 2. Neither histogram is empty. False: out of memory. */
bool mauve_measure(const uint32_t *p, const uint32_t *q, size_t clusters, double scale,
                   size_t resamples, uint64_t seed, struct mauve *result);

#endif
