// SPDX-License-Identifier: Apache-2.0
#include "engine/generate.h"

#include "base/misuse.h"
#include "engine/lockstep.h"
#include "engine/status.h"
#include "engine/transcript.h"

#include <stdlib.h>
#include <string.h>

struct run {
	struct cuttle_plan *plan;
	const struct cuttle_job *job;
	const struct logit_source *source;
	struct cuttle_error *error;
	struct transcript transcript;
	int32_t *reference_ids;    /* [B][reference capacity], private */
	struct tokens *references; /* [B] */
	struct cuttle_progress progress;
};

static bool report(struct run *run, const char *phase) {
	run->progress.phase = phase;
	run->progress.tokens_done = (uint32_t)run->transcript.count;
	return run->job->progress && run->job->progress(run->job->user, &run->progress);
}

static bool wanted(void *user) {
	return report(user, "prompt");
}

static enum cuttle_status stopped(struct run *run) {
	return status_fail(run->error, CUTTLE_PARTIAL, "stopped; the same command continues");
}

/* Tokens an earlier run drew for this text go back into the transcript. */
static enum cuttle_status replay(struct run *run, size_t text) {
	const int32_t *ids = NULL;
	const size_t count = run->job->drawn ? run->job->drawn(run->job->user, text, &ids) : 0;
	transcript_begin(&run->transcript);
	for (size_t i = 0; i < count && !run->transcript.complete; i++) {
		if (ids[i] < 0 || (size_t)ids[i] >= run->source->vocab)
			return status_fail(run->error, CUTTLE_MODEL, "the journal holds tokens of another model");
		transcript_add(&run->transcript, ids[i]);
	}
	return CUTTLE_OK;
}

/* The references of a text in their places; what cannot be read is null and says nothing. */
static void read_references(struct run *run, size_t text) {
	const uint32_t batch = run->plan->integers.batch;
	const size_t limit = run->plan->reference_tokens, capacity = prompt_reference_capacity(limit);
	for (size_t i = 0; i < batch; i++) {
		const char *words = NULL;
		size_t size = 0;
		run->job->reference(run->job->user, text * batch + i, &words, &size);
		struct tokens *tokens = &run->references[i];
		tokens->ids = run->reference_ids + i * capacity;
		tokens->count = prompt_reference(run->plan->model, words, size, limit, tokens->ids);
	}
}

static enum cuttle_status draw_token(struct run *run, size_t text) {
	struct dp_invisibleink *mechanism = run->plan->mechanism;
	const struct logit_source *source = run->source;
	const uint32_t *candidates;
	size_t count;
	uint32_t token;
	run->plan->seeded.text = text;
	run->plan->seeded.step = run->transcript.count;
	run->plan->seeded.counter = 0;
	enum dp_status status = dp_invisibleink_public(mechanism, source->public_logits(source->self), &candidates, &count);
	if (status) return plan_status(status, run->error);
	source->private_logits(source->self, candidates, count);
	for (size_t i = 0; i < source->rows(source->self); i++) dp_invisibleink_private(mechanism, source->row(source->self, i));
	if ((status = dp_invisibleink_draw(mechanism, &token))) return plan_status(status, run->error);
	const uint32_t step = (uint32_t)run->transcript.count;
	if (run->job->token && run->job->token(run->job->user, text, step, (int32_t)token)) return stopped(run);
	transcript_add(&run->transcript, (int32_t)token);
	return CUTTLE_OK;
}

static enum cuttle_status write_text(struct run *run, size_t text) {
	enum cuttle_status status = replay(run, text);
	if (!status && !run->transcript.complete) {
		if (report(run, "prompt")) return stopped(run);
		const struct interruption interruption = {wanted, run};
		const struct tokens already = {run->transcript.ids, run->transcript.count};
		read_references(run, text);
		dp_invisibleink_begin(run->plan->mechanism, (uint32_t)already.count);
		if (run->source->begin(run->source->self, run->references, run->plan->integers.batch, &already, &interruption))
			return stopped(run);
		for (;;) {
			if ((status = draw_token(run, text)) || run->transcript.complete) break;
			if (report(run, "decode")) return stopped(run);
			run->source->append(run->source->self, run->transcript.ids[run->transcript.count - 1]);
		}
	}
	if (status) return status;
	struct cuttle_text done = {.index = text, .tokens = (uint32_t)run->transcript.count, .finish = run->transcript.finish};
	done.text = transcript_text(&run->transcript, &done.size);
	return run->job->text(run->job->user, &done) ? stopped(run) : CUTTLE_OK;
}

enum cuttle_status generate_run(struct cuttle_plan *plan, const struct cuttle_job *job, const struct logit_source *source,
                                struct cuttle_error *error) {
	struct run run = {.plan = plan, .job = job, .source = source, .error = error, .progress = {.texts = job->texts}};
	struct region region = {0};
	size_t total = 0;
	const size_t batch = plan->integers.batch, capacity = prompt_reference_capacity(plan->reference_tokens);
	enum cuttle_status status = transcript_new(plan->model->vocab, plan->prompt.stop, plan->integers.tokens, &run.transcript, error);
	if (!status && (!region_add(&total, batch * capacity, sizeof(int32_t)) || !region_add(&total, batch, sizeof(struct tokens)) ||
	                !region_map(&region, total, true)))
		status = status_fail(error, CUTTLE_NOMEM, "out of memory for %zu references", batch);
	if (!status) {
		run.reference_ids = region_carve(&region, batch * capacity * sizeof(int32_t));
		run.references = region_carve(&region, batch * sizeof(struct tokens));
	}
	for (size_t text = 0; text < job->texts && !status; text++) {
		status = write_text(&run, text);
		run.progress.texts_done = text + 1;
	}
	if (!status) report(&run, "done");
	region_unmap(&region, true);
	transcript_free(&run.transcript);
	return status;
}

void cuttle_job_default(struct cuttle_job *job) {
	*job = (struct cuttle_job){.struct_size = sizeof *job};
}

enum cuttle_status cuttle_job_run(struct cuttle_plan *plan, const struct cuttle_job *job, struct cuttle_error *error) {
	REQUIRE(plan && job && job->reference && job->text);
	if (job->struct_size != sizeof *job) return status_fail(error, CUTTLE_USAGE, "job of another library version");
	const struct lockstep_params params = {.prompt = &plan->prompt,
	                                       .batch = plan->integers.batch,
	                                       .context = plan->guarantee.context,
	                                       .chunk = plan->chunk,
	                                       .share = plan->share};
	struct lockstep *lockstep;
	enum cuttle_status status = lockstep_new(plan->model, &params, &lockstep, error);
	if (status) return status;
	const struct logit_source source = lockstep_source(lockstep);
	status = generate_run(plan, job, &source, error);
	lockstep_free(&lockstep);
	return status;
}
