// SPDX-License-Identifier: Apache-2.0
// The difference of two runs varies less than both scores do, as each resample's references are the
// same for both.
#include "measure/compare.h"

#include "base/misuse.h"
#include "measure/mauve.h"
#include "measure/samples.h"
#include "measure/scratch.h"
#include "measure/stream.h"

#include <math.h>
#include <stdlib.h>

enum { REFERENCES, ONE, OTHER, SETS };

/* What a comparison works on. */
struct comparison {
	uint32_t *ends[SETS]; /* [clusters], sums of counts */
	uint32_t *drawn;      /* [clusters] */
	double *shares[SETS]; /* [clusters] */
	double *differences;  /* [resamples] */
};

static double subtract_scores(double *const shares[SETS], size_t clusters, double scale) {
	return mauve_score(shares[REFERENCES], shares[ONE], clusters, scale) -
	       mauve_score(shares[REFERENCES], shares[OTHER], clusters, scale);
}

static void resample_runs(const struct comparison *c, size_t clusters, double scale,
                          size_t resamples, uint64_t seed) {
	struct stream stream = stream_of(seed, 0);
	for (size_t i = 0; i < resamples; i++) {
		for (int set = 0; set < SETS; set++) {
			stream_recount(&stream, c->ends[set], clusters, c->drawn);
			mauve_shares(c->drawn, clusters, 0.0, c->shares[set]);
		}
		c->differences[i] = subtract_scores(c->shares, clusters, scale);
	}
}

bool compare_runs(const uint32_t *references, const uint32_t *one, const uint32_t *other,
                  size_t clusters, double scale, size_t resamples, uint64_t seed,
                  struct compare_difference *result) {
	REQUIRE(clusters >= 1 && scale > 0.0 && resamples >= 2);
	const uint32_t *const counts[SETS] = {references, one, other};
	struct comparison c = {
	    .drawn = scratch_make(clusters, sizeof *c.drawn),
	    .differences = scratch_make(resamples, sizeof *c.differences),
	};
	bool ok = c.drawn && c.differences;
	for (int set = 0; set < SETS; set++) {
		c.ends[set] = scratch_make(clusters, sizeof *c.ends[set]);
		c.shares[set] = scratch_make(clusters, sizeof *c.shares[set]);
		ok = ok && c.ends[set] && c.shares[set];
	}
	for (int set = 0; ok && set < SETS; set++) {
		uint32_t sum = 0;
		for (size_t i = 0; i < clusters; i++) c.ends[set][i] = sum += counts[set][i];
		REQUIRE(sum > 0);
		mauve_shares(counts[set], clusters, 0.0, c.shares[set]);
	}
	if (ok) {
		result->difference = subtract_scores(c.shares, clusters, scale);
		resample_runs(&c, clusters, scale, resamples, seed);
		result->deviation = samples_deviation(c.differences, resamples);
		const double size = fabs(result->difference);
		result->p = size > 0.0 ? erfc(size / result->deviation / sqrt(2.0)) : 1.0;
	}
	for (int set = 0; set < SETS; set++) {
		scratch_free(c.ends[set]);
		scratch_free(c.shares[set]);
	}
	scratch_free(c.drawn);
	scratch_free(c.differences);
	return ok;
}

struct ranked {
	double p;
	size_t index;
};

static int order_ranked(const void *a, const void *b) {
	const struct ranked *x = a, *y = b;
	if (x->p != y->p) return (x->p > y->p) - (x->p < y->p);
	return (x->index > y->index) - (x->index < y->index);
}

bool compare_holm(const double *p, size_t count, double *adjusted) {
	struct ranked *ranked = scratch_make(count, sizeof *ranked);
	if (!ranked) return false;
	for (size_t i = 0; i < count; i++) ranked[i] = (struct ranked){p[i], i};
	qsort(ranked, count, sizeof *ranked, order_ranked);
	// The least is multiplied by count, the next by count - 1 ... and none falls below an
	// earlier one.
	double most = 0.0;
	for (size_t i = 0; i < count; i++) {
		const double raised = ranked[i].p * (double)(count - i);
		most = raised > most ? raised : most;
		adjusted[ranked[i].index] = most < 1.0 ? most : 1.0;
	}
	scratch_free(ranked);
	return true;
}
