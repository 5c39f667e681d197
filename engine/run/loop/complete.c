// SPDX-License-Identifier: Apache-2.0
// complete.c: from the caller's parameters to a completer, and what the loop of generate.h reads of
// it and its job. See complete.h.
#include "engine/run/loop/complete.h"

#include "base/misuse.h"
#include "engine/params.h"
#include "engine/run/plan/capacity.h"
#include "engine/run/loop/complete_draw.h"
#include "engine/run/loop/generate.h"
#include "engine/status.h"

#include <stdlib.h>

enum { MOST_TOKENS = 4096 }; /* of a completion */

void cuttle_complete_params_default(struct cuttle_complete_params *params) {
	*params = (struct cuttle_complete_params){.struct_size = sizeof *params,
	                                          .tokens = 100,
	                                          .stop_at_blank = true,
	                                          .form = CUTTLE_CONTINUE};
}

/* Example: context 4096, head, middle and tail 60, T = 100: both texts have 3936 tokens. */
static enum cuttle_status fit_completion(struct cuttle_completer *c,
                                         const struct cuttle_complete_params *p,
                                         struct cuttle_error *error) {
	const struct prompt *prompt = &c->prompt;
	const size_t fixed = prompt->head.count + prompt->middle.count + prompt->tail.count;
	size_t context;
	const enum cuttle_status status = capacity_context(c->model, p->context, &context, error);
	if (status) return status;
	if (fixed + p->tokens >= context)
		return status_fail(
		    error, CUTTLE_USAGE,
		    "prompt (%zu tokens) and text (%u) leave no room for a document in "
		    "a context of %zu",
		    fixed, p->tokens, context);
	c->limits.context = (uint32_t)context;
	c->limits.room = (uint32_t)(context - fixed - p->tokens);
	c->limits.room_bytes = (uint32_t)prompt_reference_bytes(c->limits.room);
	c->limits.shared_prefix = (uint32_t)prompt->shared;
	return CUTTLE_OK;
}

static struct lockstep_params completion_lockstep(const struct cuttle_completer *c, size_t slots) {
	return (struct lockstep_params){
	    .prefix = {c->prompt.head.ids, c->share ? c->prompt.shared : 0},
	    .slots = slots,
	    .context = c->limits.context,
	    .chunk = c->chunk};
}

static struct dp_random random_of_completer(struct cuttle_completer *c) {
	return c->insecure ? seeded_random(&c->seeded) : dp_random_system();
}

/* Builds what draws the tokens, and frees it. So what it refuses is refused before a job. */
static enum cuttle_status check_drawing(struct cuttle_completer *c, struct cuttle_error *error) {
	const struct dp_random random = random_of_completer(c);
	struct dp_mechanism mechanism;
	const enum cuttle_status status =
	    complete_draw_new(c->model, c->limits.temperature, &random, &mechanism, error);
	if (!status) mechanism.free(mechanism.self);
	return status;
}

static enum cuttle_status prepare_completer(struct cuttle_completer *c,
                                            const struct cuttle_complete_params *p,
                                            struct cuttle_error *error) {
	static const char *const blank_line[] = {"\n\n"};
	const struct cuttle_stops stops = {blank_line, p->stop_at_blank, p->stop_at_blank};
	if (p->tokens < 1 || p->tokens > MOST_TOKENS)
		return status_fail(error, CUTTLE_USAGE, "%u tokens are outside 1..%d", p->tokens,
		                   MOST_TOKENS);
	enum cuttle_status status = model_needs_weights(c->model, error);
	if (!status) status = capacity_check(p->parallel, p->prompt_chunk, error);
	if (!status) status = stops_copy(&stops, false, &c->stops, error);
	if (!status) status = prompt_write_completion(c->model, p, &c->prompt, error);
	if (!status) status = fit_completion(c, p, error);
	if (!status) status = check_drawing(c, error);
	if (status) return status;
	c->slots = capacity_slots(c->model, 0, c->limits.context, p->parallel);
	const struct lockstep_params widest = completion_lockstep(c, c->slots);
	const size_t tokens = prompt_completion_capacity(&c->prompt, c->limits.room);
	c->limits.job_bytes = capacity_bytes(c->model, &widest, 0);
	if (__builtin_add_overflow(c->limits.job_bytes, tokens * sizeof(int32_t),
	                           &c->limits.job_bytes))
		c->limits.job_bytes = UINT64_MAX;
	return p->any_memory ? CUTTLE_OK : cuttle_completer_room(c, error);
}

enum cuttle_status cuttle_completer_make(struct cuttle_model *model,
                                         const struct cuttle_complete_params *given,
                                         struct cuttle_completer **out,
                                         struct cuttle_error *error) {
	REQUIRE(model && given && out);
	struct cuttle_complete_params params;
	*out = NULL;
	cuttle_complete_params_default(&params);
	enum cuttle_status status =
	    params_take(&params, sizeof params, given, "struct cuttle_complete_params", error);
	if (status) return status;
	struct cuttle_completer *c = calloc(1, sizeof *c);
	if (!c) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	c->model = &model->model;
	c->seeded = (struct seeded){.seed = params.insecure_seed};
	c->insecure = params.insecure;
	c->share = !params.no_sharing;
	c->chunk = params.prompt_chunk ? params.prompt_chunk : CAPACITY_CHUNK;
	c->limits.tokens = params.tokens;
	c->limits.temperature = params.temperature;
	status = prepare_completer(c, &params, error);
	if (status) cuttle_completer_free(&c);
	*out = c;
	return status;
}

void cuttle_completer_free(struct cuttle_completer **completer) {
	if (!completer || !*completer) return;
	prompt_free(&(*completer)->prompt);
	stops_free(&(*completer)->stops);
	free(*completer);
	*completer = NULL;
}

void cuttle_completer_describe(const struct cuttle_completer *completer,
                               struct cuttle_completion_limits *limits) {
	REQUIRE(completer && limits);
	*limits = completer->limits;
}

enum cuttle_status cuttle_completer_room(const struct cuttle_completer *completer,
                                         struct cuttle_error *error) {
	REQUIRE(completer);
	const struct lockstep_params params = completion_lockstep(completer, completer->slots);
	return capacity_fits(completer->limits.job_bytes, &params, "lower --ctx-size or --parallel",
	                     error);
}

/* ---- a job ----------------------------------------------------------------------------------- */

struct completion_run {
	struct cuttle_completer *completer;
	const struct cuttle_complete_job *job;
	struct dp_mechanism mechanism;
};

/* Every batch is unpaid: all its tokens come from its one context. */
static struct batch_terms terms_of_completion(void *self, size_t text) {
	const struct completion_run *run = self;
	(void)text;
	return (struct batch_terms){.mechanism = &run->mechanism, .places = 0, .unpaid = true};
}

static struct cuttle_shown ask_shown(const struct completion_run *run, size_t text) {
	struct cuttle_shown shown = {0};
	run->job->show(run->job->user, text, &shown);
	return shown;
}

static enum cuttle_status write_completion_context(void *self, size_t text, bool alone,
                                                   int32_t *ids, struct tokens *context,
                                                   struct place_context *places,
                                                   struct cuttle_error *error) {
	const struct completion_run *run = self;
	const struct cuttle_completer *c = run->completer;
	const struct cuttle_shown shown = ask_shown(run, text);
	(void)alone;
	(void)places;
	(void)error;
	context->ids = ids;
	context->count = prompt_completion(c->model, &c->prompt, &shown, c->limits.room, ids);
	return CUTTLE_OK;
}

/* What the model wrote without a document is dropped here. It was drawn, so that the null document
 * costs as much as another. */
static int deliver_completion(void *user, const struct cuttle_text *text) {
	const struct completion_run *run = user;
	const struct cuttle_shown shown = ask_shown(run, text->index);
	struct cuttle_text told = *text;
	told.free_tokens = 0;
	if (prompt_null_document(&shown)) {
		told.size = told.tokens = 0;
		told.finish = CUTTLE_FINISH_EOS;
	}
	return run->job->text(run->job->user, &told);
}

static int tell_completion_progress(void *user, const struct cuttle_progress *progress) {
	const struct completion_run *run = user;
	return run->job->progress ? run->job->progress(run->job->user, progress) : 0;
}

static enum cuttle_status generate_completions(struct completion_run *run,
                                               const struct logit_source *source,
                                               struct cuttle_error *error) {
	struct cuttle_completer *c = run->completer;
	const struct generation generation = {
	    .model = c->model,
	    .rules = {.vocab = c->model->vocab, .stops = &c->stops, .length = c->limits.tokens},
	    .texts = run->job->texts,
	    .context_tokens = prompt_completion_capacity(&c->prompt, c->limits.room),
	    .seeded = &c->seeded,
	    .self = run,
	    .terms = terms_of_completion,
	    .contexts = write_completion_context,
	    .user = run,
	    .text = deliver_completion,
	    .progress = tell_completion_progress};
	return generate_run(&generation, source, error);
}

enum cuttle_status complete_generate(struct cuttle_completer *c,
                                     const struct cuttle_complete_job *job,
                                     const struct logit_source *source,
                                     struct cuttle_error *error) {
	struct completion_run run = {.completer = c, .job = job};
	struct lockstep *lockstep = NULL;
	struct logit_source own;
	const struct dp_random random = random_of_completer(c);
	enum cuttle_status status =
	    complete_draw_new(c->model, c->limits.temperature, &random, &run.mechanism, error);
	if (status) return status;
	if (!source) {
		const size_t texts = job->texts ? job->texts : 1;
		const struct lockstep_params params =
		    completion_lockstep(c, texts < c->slots ? texts : c->slots);
		status = lockstep_new(c->model, &params, &lockstep, error);
		if (!status) own = lockstep_source(lockstep);
	}
	if (!status) status = generate_completions(&run, source ? source : &own, error);
	lockstep_free(&lockstep);
	run.mechanism.free(run.mechanism.self);
	return status == CUTTLE_PARTIAL
	           ? status_fail(error, status, "stopped; what was handed out is complete")
	           : status;
}

void cuttle_complete_job_default(struct cuttle_complete_job *job) {
	*job = (struct cuttle_complete_job){.struct_size = sizeof *job};
}

enum cuttle_status cuttle_completer_run(struct cuttle_completer *completer,
                                        const struct cuttle_complete_job *given,
                                        struct cuttle_error *error) {
	REQUIRE(completer && given);
	struct cuttle_complete_job job;
	cuttle_complete_job_default(&job);
	const enum cuttle_status status =
	    params_take(&job, sizeof job, given, "struct cuttle_complete_job", error);
	if (status) return status;
	REQUIRE(job.show && job.text);
	return complete_generate(completer, &job, NULL, error);
}
