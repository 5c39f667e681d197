// SPDX-License-Identifier: Apache-2.0
// job.c: what the loop of generate.h reads of a plan and its job, see job.h. All batches have the
// plan's mechanism and its places: B, or with lots as many as a batch may have rows.
#include "engine/run/job.h"

#include "base/misuse.h"
#include "engine/forward/lockstep.h"
#include "engine/params.h"
#include "engine/run/diagnosis.h"
#include "engine/run/generate.h"
#include "engine/status.h"

/* One job of a plan. */
struct plan_job {
	struct cuttle_plan *plan;
	const struct cuttle_job *job;
};

static struct batch_terms terms_of_plan(void *self, size_t batch) {
	const struct plan_job *of = self;
	(void)batch;
	return (struct batch_terms){.mechanism = &of->plan->mechanism, .places = of->plan->places};
}

/* Writes the contexts of a batch. A reference that cannot be read becomes null, without an error:
 * an error would tell something about it. */
static enum cuttle_status write_reference_contexts(void *self, size_t index, bool alone,
                                                   int32_t *ids, struct tokens *public_context,
                                                   struct place_context *places,
                                                   struct cuttle_error *error) {
	const struct plan_job *of = self;
	const struct cuttle_plan *plan = of->plan;
	const struct prompt *prompt = &plan->prompts[of->job->heading];
	const size_t limit = plan->reference_tokens,
	             capacity = prompt_private_capacity(prompt, limit);
	(void)error;
	*public_context = prompt->whole;
	for (size_t i = 0; i < plan->places && !alone; i++) {
		const char *words = NULL;
		size_t size = 0;
		of->job->reference(of->job->user, index * plan->places + i, &words, &size);
		struct place_context *place = &places[i];
		place->shared = plan->share ? prompt->shared : 0;
		place->tokens.ids = ids + i * capacity;
		place->tokens.count =
		    prompt_private(plan->model, prompt, words, size, limit, place->tokens.ids);
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
	struct plan_job of = {plan, job};
	const struct cuttle_savings *savings = &plan->guarantee.savings;
	const struct generation generation = {
	    .model = plan->model,
	    .rules = {.vocab = plan->model->vocab,
	              .stop = plan->prompts->stop,
	              .tokens = plan->guarantee.tokens,
	              .free_tokens = savings->free_tokens,
	              .length = plan->guarantee.tokens + savings->free_tokens,
	              .bank = savings->token_bank,
	              .completes = savings->complete},
	    .texts = job->texts,
	    .places = plan->places,
	    .context_tokens = plan->places * prompt_private_capacity(&plan->prompts[job->heading],
	                                                             plan->reference_tokens),
	    .seeded = &plan->seeded,
	    .self = &of,
	    .terms = terms_of_plan,
	    .contexts = write_reference_contexts,
	    .trace = job->trace ? report_traced_step : NULL,
	    .user = job->user,
	    .drawn = job->drawn,
	    .token = job->token,
	    .text = job->text,
	    .progress = job->progress};
	return generate_run(&generation, source, error);
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
	REQUIRE(job->reference && job->text);
	if (job->heading >= plan->prompt_count)
		return status_fail(error, CUTTLE_USAGE, "the plan has no such heading");
	plan->seeded.heading = job->heading;
	const struct prompt *prompt = &plan->prompts[job->heading];
	const struct lockstep_params params = {
	    .prefix = {prompt->whole.ids, plan->share ? prompt->shared : 0},
	    .batch = plan->places,
	    .slots = job->texts && job->texts < plan->slots ? job->texts : plan->slots,
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
