// SPDX-License-Identifier: Apache-2.0
// public.c: scorers and public jobs, see cuttle/public.h.
// To the loop of generate.h each text of a public job is a batch that may pay nothing: the plan's
// mechanism is told that all of T is spent, so every token comes from the public row alone.
#include "engine/cuttle/public.h"

#include "base/misuse.h"
#include "engine/forward/lockstep.h"
#include "engine/forward/score.h"
#include "engine/params.h"
#include "engine/run/plan/capacity.h"
#include "engine/run/loop/generate.h"
#include "engine/run/loop/learn.h"
#include "engine/run/plan/plan.h"
#include "engine/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ln p is rounded to so many parts of a nat. So sums are exact and have no order, and the last
 * digit of a mathematical library decides nothing. */
#define LOGPROB_PARTS 65536.0

/* ---- scoring --------------------------------------------------------------------------------- */

struct cuttle_scorer {
	const struct model *model;
	struct scorer *scorer;
	size_t context;   /* tokens of a prompt and its text, at most */
	int32_t *shift;   /* [vocabulary] what a bias adds to the logits, or NULL */
	char *prompt;     /* the last one, as cuttle_plan_template says it */
	int32_t *ids;     /* of it and its text */
	int32_t *top1;    /* [context] */
	double *logprobs; /* [context] */
};

enum cuttle_status cuttle_scorer_make(struct cuttle_model *model, uint32_t context,
                                      struct cuttle_scorer **out, struct cuttle_error *error) {
	REQUIRE(model && out);
	struct cuttle_scorer *made = *out = calloc(1, sizeof *made);
	if (!made) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	made->model = &model->model;
	enum cuttle_status status = model_needs_weights(made->model, error);
	if (!status) status = capacity_context(made->model, context, &made->context, error);
	// Without OpenBLAS: its bits would depend on what stands in the cache already.
	if (!status) status = scorer_new(made->model, made->context, false, &made->scorer, error);
	if (!status) {
		made->top1 = calloc(made->context, sizeof *made->top1);
		made->logprobs = calloc(made->context, sizeof *made->logprobs);
		if (!made->top1 || !made->logprobs)
			status = status_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	if (status) cuttle_scorer_free(out);
	return status;
}

void cuttle_scorer_free(struct cuttle_scorer **scorer) {
	struct cuttle_scorer *s = scorer ? *scorer : NULL;
	if (!s) return;
	scorer_free(&s->scorer);
	free(s->shift);
	free(s->prompt);
	free(s->ids);
	free(s->top1);
	free(s->logprobs);
	free(s);
	*scorer = NULL;
}

enum cuttle_status cuttle_scorer_bias(struct cuttle_scorer *scorer, const double *bias,
                                      struct cuttle_error *error) {
	REQUIRE(scorer);
	const struct model *m = scorer->model;
	int32_t *shift;
	const enum cuttle_status status =
	    learner_shift_make(m, bias, SCORER_SHIFT_BITS, &shift, error);
	if (status) return status;
	free(scorer->shift);
	scorer->shift = shift;
	scorer_shift(scorer->scorer, shift);
	return CUTTLE_OK;
}

/* Writes the tokens of a text behind those of its prompt. *count becomes those of both. */
static enum cuttle_status append_scored_text(struct cuttle_scorer *s, const struct tokens *prompt,
                                             const char *text, size_t size, size_t *count,
                                             struct cuttle_error *error) {
	const struct vocab *vocab = s->model->vocab;
	const size_t capacity = prompt->count + cuttle_tokens_bound(size);
	free(s->ids);
	s->ids = calloc(capacity, sizeof *s->ids);
	if (!s->ids) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	memcpy(s->ids, prompt->ids, prompt->count * sizeof *s->ids);
	*count = prompt->count;
	return vocab_tokenize_piece(vocab, vocab_lead_after(vocab, s->ids[*count - 1]), text, size,
	                            false, s->ids, capacity, count, error);
}

/* Scores a text behind a prompt that was written. */
static enum cuttle_status score_behind(struct cuttle_scorer *s, const struct tokens *prompt,
                                       uint32_t most, const char *text, size_t size,
                                       struct cuttle_scores *scores, struct cuttle_error *error) {
	size_t count;
	if (prompt->count >= s->context)
		return status_fail(error, CUTTLE_USAGE,
		                   "a prompt of %zu tokens leaves no room for a text in a context "
		                   "of %zu",
		                   prompt->count, s->context);
	enum cuttle_status status = append_scored_text(s, prompt, text, size, &count, error);
	if (status) return status;
	*scores = (struct cuttle_scores){.ids = s->ids + prompt->count,
	                                 .logprobs = s->logprobs,
	                                 .top1 = s->top1,
	                                 .whole = count - prompt->count};
	if (count > s->context) count = s->context;
	scores->count = count - prompt->count < most ? count - prompt->count : most;
	if (!scores->count) return CUTTLE_OK;
	status = scorer_read(s->scorer, s->ids, prompt->count + scores->count, prompt->count,
	                     s->logprobs, s->top1, error);
	for (size_t i = 0; i < scores->count && !status; i++)
		s->logprobs[i] = (double)llround(s->logprobs[i] * LOGPROB_PARTS) / LOGPROB_PARTS;
	return status;
}

enum cuttle_status cuttle_scorer_read(struct cuttle_scorer *scorer,
                                      const struct cuttle_plan_params *given, const char *heading,
                                      const char *text, size_t size, struct cuttle_scores *scores,
                                      struct cuttle_error *error) {
	REQUIRE(scorer && given && text && scores);
	struct cuttle_plan_params params;
	struct prompt prompt;
	cuttle_plan_params_default(&params);
	enum cuttle_status status =
	    params_take(&params, sizeof params, given, "struct cuttle_plan_params", error);
	if (!status) status = prompt_write(scorer->model, &params, heading, &prompt, error);
	if (status) return status;
	status = score_behind(scorer, &prompt.whole, params.tokens, text, size, scores, error);
	free(scorer->prompt);
	scores->prompt = scorer->prompt = prompt.canonical;
	prompt.canonical = NULL;
	prompt_free(&prompt);
	return status;
}

enum cuttle_status cuttle_scorer_mean(struct cuttle_scorer *scorer,
                                      const struct cuttle_plan_params *params, const char *heading,
                                      const char *text, size_t size, double *mean,
                                      struct cuttle_error *error) {
	REQUIRE(mean);
	struct cuttle_scores scores;
	double sum = 0;
	const enum cuttle_status status =
	    cuttle_scorer_read(scorer, params, heading, text, size, &scores, error);
	if (status) return status;
	for (size_t i = 0; i < scores.count; i++) sum += scores.logprobs[i];
	*mean = scores.count ? sum / (double)scores.count : (double)NAN;
	return CUTTLE_OK;
}

/* ---- a public job ---------------------------------------------------------------------------- */

struct public_run {
	struct cuttle_plan *plan;
	const struct cuttle_public_job *job;
	struct prompt prompt; /* of the text whose context was written last */
};

static struct batch_terms terms_of_public(void *self, size_t text) {
	const struct public_run *run = self;
	const struct cuttle_grammar **grammars = run->plan->grammars;
	const size_t heading =
	    grammars && run->job->heading ? run->job->heading(run->job->user, text) : 0;
	REQUIRE(heading < run->plan->prompt_count);
	return (struct batch_terms){.mechanism = &run->plan->mechanism,
	                            .unpaid = true,
	                            .grammar = grammars ? grammars[heading] : NULL};
}

/* Tokens of a text, at most. What a grammar leaves no choice about comes besides T. */
static uint32_t longest_public(const struct cuttle_plan *plan) {
	return plan->grammars ? plan->caps.length : plan->guarantee.tokens;
}

static enum cuttle_status write_public_context(void *self, size_t text, bool alone, int32_t *ids,
                                               struct tokens *context, struct place_context *places,
                                               struct cuttle_error *error) {
	struct public_run *run = self;
	const struct cuttle_guarantee *g = &run->plan->guarantee;
	const uint32_t most = longest_public(run->plan);
	struct cuttle_plan_params params;
	const char *heading = NULL;
	(void)alone;
	(void)ids;
	(void)places;
	cuttle_plan_params_default(&params);
	run->job->prompt(run->job->user, text, &params, &heading);
	prompt_free(&run->prompt);
	const enum cuttle_status status =
	    prompt_write(run->plan->model, &params, heading, &run->prompt, error);
	if (status) return status;
	*context = run->prompt.whole;
	return context->count + most <= g->context
	           ? CUTTLE_OK
	           : status_fail(error, CUTTLE_USAGE,
	                         "prompt (%zu tokens) and text (%u) exceed a context of %u",
	                         (size_t)context->count, most, g->context);
}

static enum cuttle_status generate_public(struct public_run *run, const struct logit_source *source,
                                          struct cuttle_error *error) {
	struct cuttle_plan *plan = run->plan;
	const struct cuttle_public_job *job = run->job;
	const struct generation generation = {.model = plan->model,
	                                      .rules = {.vocab = plan->model->vocab,
	                                                .stops = &plan->stops,
	                                                .tokens = plan->guarantee.tokens,
	                                                .length = longest_public(plan),
	                                                .exact = plan->grammars != NULL},
	                                      .texts = job->texts,
	                                      .seeded = &plan->seeded,
	                                      .self = run,
	                                      .terms = terms_of_public,
	                                      .contexts = write_public_context,
	                                      .user = job->user,
	                                      .drawn = job->drawn,
	                                      .token = job->token,
	                                      .text = job->text,
	                                      .progress = job->progress};
	return generate_run(&generation, source, error);
}

void cuttle_public_job_default(struct cuttle_public_job *job) {
	*job = (struct cuttle_public_job){.struct_size = sizeof *job};
}

enum cuttle_status cuttle_public_run(struct cuttle_plan *plan,
                                     const struct cuttle_public_job *given,
                                     struct cuttle_error *error) {
	REQUIRE(plan && given);
	struct cuttle_public_job job;
	struct lockstep *lockstep;
	cuttle_public_job_default(&job);
	enum cuttle_status status =
	    params_take(&job, sizeof job, given, "struct cuttle_public_job", error);
	if (!status) status = capacity_check(job.parallel, 0, error);
	if (status) return status;
	REQUIRE(job.prompt && job.text && !plan->guarantee.private_output);
	const size_t context = plan->guarantee.context,
	             slots = capacity_slots(plan->model, 0, context, job.parallel);
	const struct lockstep_params params = {.slots = job.texts && job.texts < slots ? job.texts
	                                                                               : slots,
	                                       .context = context,
	                                       .chunk = plan->chunk};
	status = capacity_fits(capacity_bytes(plan->model, &params, 0), &params,
	                       "lower --ctx-size or --parallel", error);
	if (!status) status = lockstep_new(plan->model, &params, &lockstep, error);
	if (status) return status;
	struct public_run run = {.plan = plan, .job = &job};
	const struct logit_source source = lockstep_source(lockstep);
	plan->seeded = (struct seeded){.seed = job.seed};
	status = generate_public(&run, &source, error);
	prompt_free(&run.prompt);
	lockstep_free(&lockstep);
	return status;
}
