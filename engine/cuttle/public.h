// SPDX-License-Identifier: Apache-2.0
// public.h: what the public prompt alone says: how likely it holds a text, and further texts.
// Texts which a job has handed out are filtered or multiplied by it.
// No private data: prompts, examples and texts are public, or were drawn under a guarantee.
// How: the public prompt is that of a plan: the words around it, and examples. A *scorer* gives the
// log-probability of each of a text's tokens behind it, and their mean. A *public job* draws texts
// from the law of a plan's public row alone, each behind examples of its own. Both are
// post-processing: they cost nothing, whatever texts they are given (dp/PRIVACY.md, steps 38, 43).
// Example: 100 texts were drawn from references; a public job shows four of them for each of 10000.
#ifndef CUTTLE_PUBLIC_H
#define CUTTLE_PUBLIC_H

#include "job.h"
#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuttle_model; /* model.h */

struct cuttle_scorer;

/* Makes a scorer for prompts and texts of together at most `context` tokens, 0 = the model's, at
 * most 4096. The model must outlive it. cuttle_scorer_free frees it.
 * USAGE: the context is above the model's, the model has no weights, or the system refuses to lock
 * memory. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_scorer_make(struct cuttle_model *model,
                                                                uint32_t context,
                                                                struct cuttle_scorer **scorer,
                                                                struct cuttle_error *error);
/* Frees it and sets the handle to NULL. A NULL handle is fine. */
CUTTLE_API void cuttle_scorer_free(struct cuttle_scorer **scorer);

/* From now on e_y . bias is added to the logit of each token y, in parts of 2^-16: bias[width] is a
 * learnt one (learn.h), and public. NULL: nothing is added, as at first.
 * USAGE: a number is not finite. NOMEM. On failure the scorer is as before. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_scorer_bias(struct cuttle_scorer *scorer, const double *bias, struct cuttle_error *error);

/* What a scorer says of a text. The arrays are the scorer's, until it is used again. */
struct cuttle_scores {
	const int32_t *ids;     /* [count] the text's tokens, without the prompt's */
	const double *logprobs; /* [count] ln p of each, in nats, rounded to 2^-16 */
	const int32_t *top1;    /* [count] the likeliest token there */
	size_t count;           /* the first tokens of the text, which are scored */
	size_t whole;           /* all tokens of the text */
	const char *prompt;     /* what it stands behind, as cuttle_plan_template says it */
};

/* Scores text[size]: p is the model's probability of a token, of all tokens, behind the public
 * prompt that a plan makes of `params` under `heading` (NULL = none) and the tokens before it.
 * Scored are its first params->tokens tokens, or fewer where the context ends. It does not depend
 * on the tier, on threads, or on what was scored before. Of params only what makes a prompt and
 * `tokens` is read.
 * USAGE: such a prompt cannot be made, or leaves no room in the context.
 * MODEL: a logit is not finite. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_scorer_read(struct cuttle_scorer *scorer, const struct cuttle_plan_params *params,
                   const char *heading, const char *text, size_t size, struct cuttle_scores *scores,
                   struct cuttle_error *error);
/* Sets *mean to the mean of these ln p; NaN: the text has no token. As cuttle_scorer_read. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_scorer_mean(struct cuttle_scorer *scorer, const struct cuttle_plan_params *params,
                   const char *heading, const char *text, size_t size, double *mean,
                   struct cuttle_error *error);

struct cuttle_public_job {
	size_t struct_size; /* set by the default function */
	size_t texts;       /* N: texts 0 .. N-1 are written */
	uint32_t parallel;  /* texts in flight; 0 = as suits. Results do not depend on it */
	uint64_t seed;      /* text i follows from seed, prompt and i. Any number */
	void *user;         /* first argument of the callbacks */

	/* Sets what makes the public prompt of this text, and *heading, NULL = none. Called again
	 * when the job is resumed, and must then answer the same. Of params no number is read. All
	 * of it stays valid until the next call. Not NULL. */
	void (*prompt)(void *user, size_t text, struct cuttle_plan_params *params,
	               const char **heading);

	/* Which of the plan's headings a text is of, where these have grammars of their own; NULL =
	 * the first. Answers the same whenever it is asked. */
	size_t (*heading)(void *user, size_t text);

	/* As in struct cuttle_job. `token` is given ~t: all tokens are from the public prompt
	 * alone. `text` is not NULL. */
	size_t (*drawn)(void *user, size_t text, const int32_t **tokens);
	int (*token)(void *user, size_t text, uint32_t step, int32_t token);
	int (*text)(void *user, const struct cuttle_text *text);
	int (*progress)(void *user, const struct cuttle_progress *progress);
};
/* Sets all members to 0 and NULL, except struct_size. */
CUTTLE_API void cuttle_public_job_default(struct cuttle_public_job *job);

/* Writes all texts, of at most T tokens each, or of a grammar of the plan with at most T tokens
 * that were a choice, from the law of the plan's public row: its weights A at its temperature over
 * its candidates V+, as where a plan's own tokens are free. No reference is asked for. The plan
 * must have been made with `insecure`: tokens are drawn from the job's seed, so that all of it can
 * be drawn again. Here that is no fault, for nothing private is drawn. USAGE: struct_size is wrong,
 * a prompt cannot be made or leaves no room for T tokens, or the system refuses to lock memory.
 * MODEL: the public logits are not finite, or replayed tokens are wrong. PARTIAL: a callback asked
 * to stop. INTERNAL: no entropy. NOMEM: as cuttle_plan_make. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_public_run(struct cuttle_plan *plan,
                                                               const struct cuttle_public_job *job,
                                                               struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
