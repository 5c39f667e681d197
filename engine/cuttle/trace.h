// SPDX-License-Identifier: Apache-2.0
// trace.h: the trace of a job, what each step looked like inside, for researchers.
// A job has one where struct cuttle_job's `trace` is set (job.h).
// PRIVATE: these numbers are computed from the references without protection, unlike what a job's
// other callbacks are given. No guarantee covers them.
// Words: the public law is the probabilities of the candidates V+ under the public logits, at the
// plan's temperature. The law is the probabilities that the token was drawn from.
#ifndef CUTTLE_TRACE_H
#define CUTTLE_TRACE_H

#include <stddef.h>
#include <stdint.h>

/* One step. */
struct cuttle_trace_step {
	size_t text;         /* number of the text, as in the job's `token` callback */
	uint32_t step;       /* likewise, from 0 */
	int32_t token;       /* the token drawn, always as t */
	uint32_t candidates; /* tokens in V+ */

	/* References that are not null. 0 when the public row alone drew the token. */
	uint32_t private_rows;

	/* e^entropy of the law: so many equally likely tokens would be as uncertain. Example: four
	 * tokens of probability 1/4 give 4. */
	double effective_k;

	double public_top;         /* the greatest probability in the public law */
	double public_probability; /* the token's probability in the public law */
	double probability;        /* the token's probability in the law */
	uint32_t public_rank;      /* the token's rank in the public law, from 1 */
	uint32_t rank;             /* the token's rank in the law, from 1 */

	/* Share of the private rows' logit differences over V+ that lie at the clip. They are
	 * centred if the plan says so. */
	double clipped;
};

/* Set it in struct cuttle_job's `trace`. */
struct cuttle_trace {
	/* Called for each token that is drawn, after `token`, and never for replayed tokens.
	 * Nonzero stops the job with PARTIAL. */
	int (*step)(void *user, const struct cuttle_trace_step *step);
	void *user; /* first argument of step */
};

#endif
