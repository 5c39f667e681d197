// SPDX-License-Identifier: Apache-2.0
// job.c: what the loop of generate.h reads of a plan and its job, see job.h. All batches have the
// plan's mechanism and its places: B, or with lots as many as a batch may have rows.
#include "engine/run/loop/job.h"

#include "base/misuse.h"
#include "engine/forward/lockstep.h"
#include "engine/params.h"
#include "engine/run/loop/diagnosis.h"
#include "engine/run/loop/generate.h"
#include "engine/status.h"

#include <string.h>

/* One job of a plan. */
struct plan_job {
	struct cuttle_plan *plan;
	const struct cuttle_job *job;
	struct prompt own; /* of the text whose contexts were written last, if it has its own */
};

static struct batch_terms terms_of_plan(void *self, size_t batch) {
	const struct plan_job *of = self;
	const struct cuttle_plan *plan = of->plan;
	(void)batch;
	return (struct batch_terms){.mechanism = &plan->mechanism,
	                            .places = plan->places,
	                            .grammar =
	                                plan->grammars ? plan->grammars[of->job->heading] : NULL};
}

/* Whether contexts with this prompt fit as those of the plan do. */
static bool fits_plan(const struct cuttle_plan *plan, const struct prompt *prompt) {
	const size_t room = plan->guarantee.context - plan->caps.length;
	return prompt->whole.count <= room &&
	       prompt->head.count + prompt->tail.count + plan->reference_tokens <= room;
}

/* Writes the prompt that the job has for this text. The plan's room is enough for it by what
 * prompt_write counted; should that ever be wrong, fewer drawn texts are shown. */
static enum cuttle_status write_own_prompt(struct plan_job *of, size_t index,
                                           struct cuttle_error *error) {
	const struct prompt *planned = &of->plan->prompts[of->job->heading];
	struct cuttle_plan_params params;
	struct cuttle_drawn drawn = {0};
	const char *heading = NULL;
	cuttle_plan_params_default(&params);
	of->job->prompt(of->job->user, index, &params, &heading);
	params.shots = of->plan->guarantee.shots;
	if (params.drawn) drawn = *params.drawn;
	params.drawn = drawn.texts && drawn.count ? &drawn : NULL;
	REQUIRE(!params.drawn || drawn.count < drawn.places);
	for (;; drawn.count--) {
		prompt_free(&of->own);
		const enum cuttle_status status =
		    prompt_write(of->plan->model, &params, heading, &of->own, error);
		if (status) return status;
		if (fits_plan(of->plan, &of->own)) break;
		REQUIRE(params.drawn && drawn.count);
	}
	REQUIRE(of->own.shared >= planned->fixed &&
	        !memcmp(of->own.whole.ids, planned->whole.ids,
	                planned->fixed * sizeof *planned->whole.ids));
	return CUTTLE_OK;
}

/* Writes the contexts of a batch. A reference that cannot be read becomes null, without an error:
 * an error would tell something about it. */
static enum cuttle_status write_reference_contexts(void *self, size_t index, bool alone,
                                                   int32_t *ids, struct tokens *public_context,
                                                   struct place_context *places,
                                                   struct cuttle_error *error) {
	struct plan_job *of = self;
	const struct cuttle_plan *plan = of->plan;
	const struct prompt *prompt = &plan->prompts[of->job->heading];
	const size_t limit = plan->reference_tokens, per_row = plan->guarantee.shots,
	             capacity = prompt_row_capacity(prompt, per_row, limit);
	if (of->job->prompt) {
		const enum cuttle_status status = write_own_prompt(of, index, error);
		if (status) return status;
		prompt = &of->own;
	}
	*public_context = prompt->whole;
	for (size_t i = 0; i < plan->places && !alone; i++) {
		const size_t row = index * plan->places + i;
		struct prompt_shot shots[CUTTLE_MOST_SHOTS];
		for (size_t j = 0; j < per_row; j++) {
			shots[j] = (struct prompt_shot){0};
			of->job->reference(of->job->user, row * per_row + j, &shots[j].text,
			                   &shots[j].size);
		}
		struct place_context *place = &places[i];
		place->shared = plan->share ? prompt->shared : 0;
		place->tokens.ids = ids + i * capacity;
		place->tokens.count =
		    prompt_private(plan->model, prompt, shots, per_row, limit, place->tokens.ids);
	}
	return CUTTLE_OK;
}

/* Gives the caller's trace the private numbers of the step. */
static bool report_traced_step(void *self, const struct logit_source *source, size_t slot,
                               size_t batch, uint32_t step, int32_t drawn) {
	const struct plan_job *of = self;
	struct cuttle_trace_step seen = {
	    .text = batch, .step = step, .token = transcript_token(drawn)};
	diagnosis_of(of->plan, source, slot, drawn < 0, &seen);
	return of->job->trace->step(of->job->trace->user, &seen) != 0;
}

enum cuttle_status job_generate(struct cuttle_plan *plan, const struct cuttle_job *job,
                                const struct logit_source *source, struct cuttle_error *error) {
	struct plan_job of = {.plan = plan, .job = job};
	const struct cuttle_savings *savings = &plan->guarantee.savings;
	const struct generation generation = {
	    .model = plan->model,
	    .rules = {.vocab = plan->model->vocab,
	              .stops = &plan->stops,
	              .tokens = plan->caps.paid,
	              .free_tokens = plan->caps.free,
	              .length = plan->caps.length,
	              .thresholds = plan->caps.thresholds,
	              .bank = savings->token_bank,
	              .completes = savings->complete || plan->grammars,
	              .exact = plan->grammars != NULL},
	    .goes_on = savings->complete,
	    .texts = job->texts,
	    .begin = job->begin,
	    .stride = job->stride,
	    .places = plan->places,
	    .context_tokens =
	        plan->places * prompt_row_capacity(&plan->prompts[job->heading],
	                                           plan->guarantee.shots, plan->reference_tokens),
	    .seeded = &plan->seeded,
	    .first = job->first,
	    .self = &of,
	    .terms = terms_of_plan,
	    .contexts = write_reference_contexts,
	    .trace = job->trace ? report_traced_step : NULL,
	    .user = job->user,
	    .drawn = job->drawn,
	    .token = job->token,
	    .text = job->text,
	    .progress = job->progress};
	const enum cuttle_status status = generate_run(&generation, source, error);
	prompt_free(&of.own);
	return status;
}

void cuttle_job_default(struct cuttle_job *job) {
	*job = (struct cuttle_job){.struct_size = sizeof *job};
}

enum cuttle_status cuttle_job_run(struct cuttle_plan *plan, const struct cuttle_job *given,
                                  struct cuttle_error *error) {
	REQUIRE(plan && given);
	struct cuttle_job taken;
	const struct cuttle_job *const job = &taken;
	cuttle_job_default(&taken);
	enum cuttle_status status =
	    params_take(&taken, sizeof taken, given, "struct cuttle_job", error);
	if (status) return status;
	REQUIRE(job->reference && job->text && (!job->prompt || plan->room_for_drawn));
	if (job->trace && !plan->traced)
		return status_fail(error, CUTTLE_USAGE, "only method invisibleink has a trace");
	if (job->trace && plan->grammars)
		return status_fail(error, CUTTLE_USAGE, "a trace and a grammar exclude each other");
	if (job->heading >= plan->prompt_count)
		return status_fail(error, CUTTLE_USAGE, "the plan has no such heading");
	plan->seeded.heading = job->heading;
	const struct prompt *prompt = &plan->prompts[job->heading];
	const size_t batches = generate_count(job->texts, job->begin, job->stride);
	const struct lockstep_params params = {
	    .prefix = {prompt->whole.ids, !plan->share  ? 0
	                                  : job->prompt ? prompt->fixed
	                                                : prompt->shared},
	    .batch = plan->places,
	    .slots = batches && batches < plan->slots ? batches : plan->slots,
	    .context = plan->guarantee.context,
	    .chunk = plan->chunk};
	struct lockstep *lockstep;
	status = lockstep_new(plan->model, &params, &lockstep, error);
	if (status) return status;
	const struct logit_source source = lockstep_source(lockstep);
	status = job_generate(plan, job, &source, error);
	lockstep_free(&lockstep);
	return status;
}
