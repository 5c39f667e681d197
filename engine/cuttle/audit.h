// SPDX-License-Identifier: Apache-2.0
// audit.h: what an auditor asks of a plan: the odds of each token with a reference and without it.
// It is for programs that test a promise. A run that is published calls none of this.
// PRIVATE: these numbers are computed from the references without protection. No guarantee covers
// them, unless all references are public or invented.
// Words: P is the law that the plan draws a token from. P' is the same with null in one place. The
// proof says that ln(P/P') lies, over all tokens, in an interval of length eta; or, of a method
// whose account is at one Renyi order, that both divergences of that order are at most some number.
#ifndef CUTTLE_AUDIT_H
#define CUTTLE_AUDIT_H

#include "status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cuttle_plan;     /* plan.h */
struct cuttle_job;      /* job.h */
struct cuttle_rewriter; /* rewrite.h */

/* In place of a place: each of them in turn. */
#define CUTTLE_EVERY_PLACE UINT32_MAX

/* What one step says of one place. */
struct cuttle_odds {
	size_t text;        /* number of the text, as in the job's `token` callback */
	uint32_t step;      /* likewise, from 0 */
	uint32_t place;     /* which one is null in P', from 0 within the text */
	bool candidate;     /* the step's token is one that may be drawn */
	double ratio;       /* ln(P/P') of what came: of the step's token, 0 when it is no
	                       candidate, and of the answer that it is paid or free */
	double least, most; /* of ln(P/P') over all candidates; 0 for a free token */
	double loss;    /* of a paid token: most - least, or the larger divergence of P and P' */
	double answers; /* ln(P/P') of all answers since the last paid token, this one included;
	                   0 where no private row decides what is paid */
};

struct cuttle_audit {
	size_t struct_size; /* set by the default function */

	/* The place that is compared, or CUTTLE_EVERY_PLACE. Example: with B = 7, 6 is the last. */
	uint32_t place;

	/* true: this text is drawn from P', as if that place were null. Not with
	 * CUTTLE_EVERY_PLACE. NULL = all texts are drawn from P. */
	bool (*without)(void *user, size_t text);

	/* Returns the token of this step, below the model's vocabulary, or -1 for one that is
	 * drawn. So a text that stands already is gone through again. NULL = all are drawn. */
	int32_t (*forced)(void *user, size_t text, uint32_t step);

	/* Called behind each paid token, for each place that is compared and not null in P. Free
	 * tokens follow from no reference, and there is nothing to say of them; but of a method
	 * that answers whether a token is free this is called for them, too. Not NULL. */
	void (*odds)(void *user, const struct cuttle_odds *odds);

	void *user; /* first argument of the three above */

	/* Renyi order of `loss`, above 1; 0 = it is the range. See cuttle_audit_order. */
	double order;
};

/* Sets all members to 0 and NULL, except struct_size. */
CUTTLE_API void cuttle_audit_default(struct cuttle_audit *audit);

/* Runs the job as cuttle_job_run does, and tells the odds of each token beside. The laws are taken
 * from the mechanism itself, in double: what is told is right to about 1e-14.
 * The answers of method amin are right to 1e-6 of their own. Of adapmixed they are the odds of who
 * knows the noise of its screen, too; where its text is forced, and of amin, that noise and those
 * answers are drawn. The job has no trace. USAGE: the place is none of the plan, or the mechanism
 * has no law in closed form (pmixed with a record filter). Else as cuttle_job_run. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_audit_run(struct cuttle_plan *plan,
                                                              const struct cuttle_job *job,
                                                              const struct cuttle_audit *audit,
                                                              struct cuttle_error *error);

/* What `loss` of a paid token may be at most, in nats: eta of the plan's claim, or the divergence
 * of cuttle_audit_order. 0: the plan claims no such bound. */
CUTTLE_API double cuttle_audit_range(const struct cuttle_plan *plan);

/* The Renyi order of that divergence; 0: it is a range. */
CUTTLE_API double cuttle_audit_order(const struct cuttle_plan *plan);

/* What `answers` may be at most, either way round, in nats. 0: it is always 0. */
CUTTLE_API double cuttle_audit_answers(const struct cuttle_plan *plan);

/* An attacker from outside, who knows model, prompts and a guess of a reference. */
struct cuttle_attacker;

/* Makes an attacker on texts of the plan, which must outlive it. cuttle_attacker_free frees it.
 * USAGE when --mlock is refused. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_attacker_make(const struct cuttle_plan *plan,
                                                                  struct cuttle_attacker **attacker,
                                                                  struct cuttle_error *error);

/* The same on texts of a rewriter: a guess is a whole document, with the contents that are guessed.
 */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_attacker_make_rewritten(const struct cuttle_rewriter *rewriter,
                               struct cuttle_attacker **attacker, struct cuttle_error *error);

/* Wipes it, frees it, and sets the handle to NULL. A NULL handle is fine. */
CUTTLE_API void cuttle_attacker_free(struct cuttle_attacker **attacker);

/* logprobs[i] becomes ln P(ids[i] | the private prompt of text[size], ids before it), under the
 * model alone, without a mechanism. A NULL text stands for the public prompt; of a rewriter there
 * is none. What a reference is cut to holds here, too. USAGE: ids[count] and prompt exceed the
 * context, count is 0, an id is outside the vocabulary, or a document is too long. MODEL: a logit
 * is not finite. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_attacker_read(struct cuttle_attacker *attacker,
                                                                  const char *text, size_t size,
                                                                  const int32_t *ids, size_t count,
                                                                  double *logprobs,
                                                                  struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
