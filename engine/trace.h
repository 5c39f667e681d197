// SPDX-License-Identifier: Apache-2.0
// The trace of a job: what single steps looked like inside, for researchers. PRIVATE: unlike what a job's other callbacks are given, these
// numbers are computed from the references without protection, and no guarantee covers them.
#ifndef CUTTLE_TRACE_H
#define CUTTLE_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* One step: the public law is that of the public logits over V+ at the plan's temperature, the law is the one the token was drawn from. */
struct cuttle_trace_step {
	size_t text;
	uint32_t step;
	int32_t token;                          /* drawn */
	uint32_t candidates;                    /* |V+| */
	uint32_t private_rows;                  /* references read that are not null; 0 where the public row alone draws */
	double effective_k;                     /* e^entropy of the law: the number of equally likely tokens that would be as uncertain */
	double public_top;                      /* the greatest probability of the public law */
	double public_probability, probability; /* of the token, in the public law and in the law */
	uint32_t public_rank, rank;             /* of the token, from 1, likewise */
	double clipped; /* share of those rows' logit differences, centred if the plan says so, that lie at the clip */
};

/* struct cuttle_job's `trace`: called for each token that is drawn, after `token`, never for replayed ones. Nonzero stops the job with
 * PARTIAL. */
struct cuttle_trace {
	int (*step)(void *user, const struct cuttle_trace_step *step);
	void *user;
};

#endif
