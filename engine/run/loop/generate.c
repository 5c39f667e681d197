// SPDX-License-Identifier: Apache-2.0
// generate.c: the loop of generate.h.
// A batch is what one text is written from: B references, or one document. With a token bank
// several texts are written from it. One turn of run_texts gives every busy slot one token:
//   fill_slot      an idle slot gets the next batch; tokens of an earlier run are replayed first
//   draw_token     draws the slot's token; the caller records it before anything else sees it
//   deliver_texts  hands out the texts of complete batches, in order
//   append         of the logit source: the token goes to every context of its slot
// Which slot draws, and how, follows from public things alone: the tokens drawn so far, the public
// row and the batch's terms. How a token is drawn, only the mechanism knows (dp/mechanism.h).
#include "engine/run/loop/generate.h"

#include "engine/machine/region.h"
#include "engine/model/model.h"
#include "engine/run/loop/guide.h"
#include "engine/run/plan/plan.h"
#include "engine/status.h"

#include <string.h>

/* One job in progress. Here batches are counted as they start, from 0; with a stride name_batch
 * says which one of the job that is. Batches start in index order, and their texts are handed out
 * in index order. In between several batches are in flight, one per slot. Batch b lives in
 * transcripts[b % ring]. Example: 4 slots give ring 8. While batch 2 is not handed out, batches 2
 * to 9 may have started; batch 10 waits, for its place transcripts[2] is still in use. */
struct job_run {
	const struct generation *job;
	const struct logit_source *source;
	struct cuttle_error *error;
	struct transcript *transcripts; /* [ring] */
	struct transcript reader;       /* reads a complete one again, text by text */
	struct guide *guide;            /* [ring] as transcripts; NULL = any text */
	size_t ring;                    /* batches started but not handed out, at most */
	size_t batches;                 /* how many are generated */
	size_t started;                 /* batches started so far */
	size_t delivered;               /* batches handed out so far */
	size_t texts;                   /* texts handed out so far */
	size_t *slots;                  /* [source->slots] the batch in each slot, or IDLE */
	int32_t *next;                  /* [source->slots] the token just drawn there */
	int32_t *ids;                   /* [job->context_tokens] of the contexts, private */
	struct place_context *places;   /* [job->places] the contexts of the text that begins */
	struct cuttle_progress progress;
};
#define IDLE SIZE_MAX /* this slot holds no batch */

static struct transcript *transcript_of(struct job_run *run, size_t batch) {
	return &run->transcripts[batch % run->ring];
}

/* The number of a batch in its job: with begin 1 and stride 3, batch 2 here is batch 7 there. */
static size_t name_batch(const struct job_run *run, size_t batch) {
	return run->job->begin + batch * (run->job->stride ? run->job->stride : 1);
}

static struct batch_terms terms_of_batch(const struct job_run *run, size_t batch) {
	return run->job->terms(run->job->self, name_batch(run, batch));
}

size_t generate_count(size_t texts, size_t begin, size_t stride) {
	return begin < texts ? (texts - begin - 1) / (stride ? stride : 1) + 1 : 0;
}

/* Tells the caller how far the job is. True when the caller asks to stop. */
static bool report_progress(struct job_run *run, const char *phase) {
	run->progress.phase = phase;
	run->progress.texts_done = run->delivered;
	return run->job->progress && run->job->progress(run->job->user, &run->progress);
}

/* Asked between two passes over the prompts (struct interruption). */
static bool report_prompt_phase(void *user) {
	return report_progress(user, "prompt");
}

static enum cuttle_status fail_stopped(struct job_run *run) {
	return status_fail(run->error, CUTTLE_PARTIAL, "stopped; the same command continues");
}

static enum dp_status next_of_grammar(struct job_run *run, size_t batch, struct guide_step *step) {
	*step = (struct guide_step){.forced = -1};
	if (!run->guide) return DP_OK;
	return guide_next(run->guide, batch % run->ring, transcript_of(run, batch), step)
	           ? DP_OK
	           : DP_NO_MEMORY;
}

/* Adds a token to the batch, and to what its grammar knows of it. */
static void add_token(struct job_run *run, size_t batch, int32_t drawn) {
	struct transcript *transcript = transcript_of(run, batch);
	if (run->guide) {
		guide_took(run->guide, batch % run->ring, transcript_token(drawn));
		transcript->cut = guide_cut(run->guide, batch % run->ring);
	}
	transcript_add(transcript, drawn);
}

/* Whether the grammar has this token next, and as a free one where it is the only one. */
static bool fits_grammar(const struct guide_step *step, int32_t drawn) {
	if (step->forced >= 0) return drawn == ~step->forced;
	return !step->allowed || step->allowed[transcript_token(drawn)];
}

/* Puts the tokens that an earlier run drew for this batch back into its transcript. */
static enum cuttle_status replay_batch(struct job_run *run, size_t index) {
	struct transcript *transcript = transcript_of(run, index);
	const int32_t *ids = NULL;
	const size_t count =
	    run->job->drawn ? run->job->drawn(run->job->user, name_batch(run, index), &ids) : 0;
	const struct batch_terms terms = terms_of_batch(run, index);
	transcript_begin(transcript, terms.unpaid);
	if (run->guide && !guide_begin(run->guide, index % run->ring, terms.grammar))
		return status_fail(run->error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < count && !transcript->complete; i++) {
		struct guide_step step;
		const enum dp_status status = next_of_grammar(run, index, &step);
		if (status) return plan_status(status, run->error);
		if ((size_t)transcript_token(ids[i]) >= run->source->vocab ||
		    !transcript_may_add(transcript, ids[i]) || !fits_grammar(&step, ids[i]))
			return status_fail(run->error, CUTTLE_MODEL,
			                   "the journal holds tokens of another model");
		add_token(run, index, ids[i]);
	}
	transcript_resume(transcript);
	run->progress.tokens_done += transcript->count;
	return CUTTLE_OK;
}

/* Hands out the texts of complete batches, in order, up to the first batch that is not complete. */
static enum cuttle_status deliver_texts(struct job_run *run) {
	for (; run->delivered < run->started && transcript_of(run, run->delivered)->complete;
	     run->delivered++) {
		const struct transcript *transcript = transcript_of(run, run->delivered);
		transcript_begin(&run->reader, transcript->unpaid);
		for (size_t i = 0; i < transcript->count; i++) {
			transcript_add(&run->reader, transcript->drawn[i]);
			if (i + 1 == transcript->count) transcript_resume(&run->reader);
			if (!run->reader.ended) continue;
			const size_t batch = name_batch(run, run->delivered), text = run->texts++;
			struct cuttle_text done = {.index = run->job->rules.bank ? text : batch,
			                           .batch = batch,
			                           .ids = run->reader.ids,
			                           .tokens = (uint32_t)run->reader.length,
			                           .free_tokens = run->reader.free_tokens,
			                           .finish = run->reader.finish};
			if (transcript->cut) done.finish = CUTTLE_FINISH_CLOSED;
			done.text = transcript_text(&run->reader, &done.size);
			if (run->job->text(run->job->user, &done)) return fail_stopped(run);
		}
	}
	return CUTTLE_OK;
}

/* Builds the contexts for the batch in a slot: for its first text, for its next one, or for a text
 * that an earlier run left half-way. Once T tokens are spent nothing private is read. */
static enum cuttle_status begin_text(struct job_run *run, size_t slot) {
	const struct transcript *transcript = transcript_of(run, run->slots[slot]);
	const struct interruption interruption = {report_prompt_phase, run};
	const struct tokens already = {transcript->ids, transcript->ended ? 0 : transcript->length};
	const uint32_t places = terms_of_batch(run, run->slots[slot]).places;
	struct tokens public_context;
	if (report_progress(run, "prompt")) return fail_stopped(run);
	memset(run->places, 0, run->job->places * sizeof *run->places);
	const enum cuttle_status status = run->job->contexts(
	    run->job->self, name_batch(run, run->slots[slot]), transcript_is_spent(transcript),
	    run->ids, &public_context, run->places, run->error);
	if (status) return status;
	if (run->source->begin(run->source->self, slot, &public_context, run->places, places,
	                       &already, &interruption))
		return fail_stopped(run);
	return CUTTLE_OK;
}

/* Gets the slot ready for a step. A batch whose text has ended begins its next text. An idle slot
 * takes the next batch that still needs tokens, if there is one and the ring has room. */
static enum cuttle_status fill_slot(struct job_run *run, size_t slot) {
	if (run->slots[slot] != IDLE)
		return transcript_of(run, run->slots[slot])->ended ? begin_text(run, slot)
		                                                   : CUTTLE_OK;
	while (run->slots[slot] == IDLE && run->started < run->batches &&
	       run->started < run->delivered + run->ring) {
		const size_t index = run->started;
		enum cuttle_status status = replay_batch(run, index);
		if (status) return status;
		run->started++;
		if (!transcript_of(run, index)->complete) {
			run->slots[slot] = index;
			return begin_text(run, slot);
		}
		if ((status = deliver_texts(run))) return status;
	}
	return CUTTLE_OK;
}

/* Draws one token as the mechanism wants it. The one token that a grammar leaves is not drawn: no
 * row is read, and it is free. Any other free token is allowed where the transcript may add
 * one, which is public. *drawn is what the transcript writes of the token (transcript.h). */
static enum dp_status draw_step(struct job_run *run, size_t slot,
                                const struct transcript *transcript, int32_t *drawn) {
	const struct batch_terms terms = terms_of_batch(run, run->slots[slot]);
	const struct dp_mechanism *mechanism = terms.mechanism;
	const struct logit_source *source = run->source;
	struct guide_step step;
	struct dp_wanted wanted;
	enum dp_fate fate;
	uint32_t token;
	enum dp_status status = next_of_grammar(run, run->slots[slot], &step);
	if (status) return status;
	if (step.forced >= 0) {
		*drawn = ~step.forced;
		return DP_OK;
	}
	// One mechanism serves all batches in flight. Each time it is told what this batch has
	// spent, and it refuses to draw beyond T. A batch that may pay nothing has spent all.
	if (mechanism->turn)
		mechanism->turn(mechanism->self, (uint32_t)slot,
		                transcript->count == transcript->replayed);
	mechanism->begin(mechanism->self, terms.places,
	                 terms.unpaid ? transcript->rules.tokens : transcript->spent);
	if (step.allowed) mechanism->allow(mechanism->self, step.allowed);
	status = mechanism->open(mechanism->self, source->public_row(source->self, slot),
	                         transcript_may_add(transcript, -1), &wanted);
	if (status) return status;
	if (wanted.count) {
		const bool every = wanted.place == DP_EVERY_PLACE;
		const uint32_t first = every ? 0 : wanted.place,
		               end = every ? terms.places : wanted.place + 1;
		source->private_logits(source->self, slot, first, end - first, wanted.tokens,
		                       wanted.count);
		for (uint32_t place = first; place < end; place++) {
			const float *logits = source->row(source->self, place);
			if (logits) mechanism->row(mechanism->self, place, logits);
		}
	}
	if ((status = mechanism->draw(mechanism->self, &token, &fate))) return status;
	*drawn = transcript_marked(transcript, fate == DP_FREE ? ~(int32_t)token : (int32_t)token);
	return DP_OK;
}

/* Draws the slot's next token and has it recorded. The order matters: the token callback comes
 * first, so a token that anything else has seen is always on record. */
static enum cuttle_status draw_token(struct job_run *run, size_t slot) {
	const struct logit_source *source = run->source;
	struct transcript *transcript = transcript_of(run, run->slots[slot]);
	const uint32_t step = (uint32_t)transcript->count;
	const size_t batch = name_batch(run, run->slots[slot]);
	int32_t drawn;
	run->job->seeded->text = run->job->first + batch;
	run->job->seeded->step = step;
	run->job->seeded->counter = 0;
	const enum dp_status status = draw_step(run, slot, transcript, &drawn);
	if (status) return plan_status(status, run->error);
	if (run->job->token && run->job->token(run->job->user, batch, step, drawn))
		return fail_stopped(run);
	if (run->job->trace && run->job->trace(run->job->self, source, slot, batch, step, drawn))
		return fail_stopped(run);
	add_token(run, run->slots[slot], drawn);
	run->next[slot] = transcript_token(drawn);
	run->progress.tokens_done++;
	if (transcript->ended) source->end(source->self, slot);
	else if (transcript_is_spent(transcript)) source->alone(source->self, slot);
	if (transcript->complete) run->slots[slot] = IDLE;
	return CUTTLE_OK;
}

/* The loop: one turn gives every busy slot one token. */
static enum cuttle_status run_texts(struct job_run *run) {
	const struct logit_source *source = run->source;
	enum cuttle_status status = CUTTLE_OK;
	while (run->delivered < run->batches) {
		for (size_t slot = 0; slot < source->slots; slot++)
			if ((status = fill_slot(run, slot))) return status;
		if (run->delivered == run->batches) break;
		source->public_logits(source->self);
		for (size_t slot = 0; slot < source->slots; slot++)
			if (run->slots[slot] != IDLE && (status = draw_token(run, slot)))
				return status;
		if ((status = deliver_texts(run))) return status;
		if (report_progress(run, "decode")) return fail_stopped(run);
		source->append(source->self, run->next);
	}
	report_progress(run, "done");
	return CUTTLE_OK;
}

static enum cuttle_status make_transcript(const struct generation *job,
                                          struct transcript *transcript,
                                          struct cuttle_error *error) {
	const enum cuttle_status status = transcript_new(&job->rules, transcript, error);
	return !status && job->model->lock ? region_lock(&transcript->region, error) : status;
}

enum cuttle_status generate_run(const struct generation *job, const struct logit_source *source,
                                struct cuttle_error *error) {
	struct job_run run = {.job = job,
	                      .source = source,
	                      .error = error,
	                      .batches = generate_count(job->texts, job->begin, job->stride)};
	struct region region = {0};
	size_t total = 0;
	run.progress.texts = run.batches;
	run.ring = 2 * source->slots;
	if (!region_add(&total, job->context_tokens, sizeof *run.ids) ||
	    !region_add(&total, job->places, sizeof *run.places) ||
	    !region_add(&total, run.ring, sizeof *run.transcripts) ||
	    !region_add(&total, source->slots, sizeof *run.slots) ||
	    !region_add(&total, source->slots, sizeof *run.next) ||
	    !region_map(&region, total, true))
		return status_fail(error, CUTTLE_NOMEM, "out of memory for %u private contexts",
		                   job->places);
	run.ids = region_carve(&region, job->context_tokens * sizeof *run.ids);
	run.places = region_carve(&region, job->places * sizeof *run.places);
	run.transcripts = region_carve(&region, run.ring * sizeof *run.transcripts);
	run.slots = region_carve(&region, source->slots * sizeof *run.slots);
	run.next = region_carve(&region, source->slots * sizeof *run.next);
	for (size_t slot = 0; slot < source->slots; slot++) run.slots[slot] = IDLE;
	enum cuttle_status status = job->model->lock ? region_lock(&region, error) : CUTTLE_OK;
	for (size_t i = 0; i < run.ring && !status; i++)
		status = make_transcript(job, &run.transcripts[i], error);
	if (!status) status = make_transcript(job, &run.reader, error);
	if (!status && job->rules.exact)
		status = guide_new(job->rules.vocab, run.ring, job->goes_on, &run.guide, error);
	if (!status) status = run_texts(&run);
	for (size_t i = 0; i < run.ring; i++) transcript_free(&run.transcripts[i]);
	transcript_free(&run.reader);
	guide_free(&run.guide);
	region_unmap(&region, true);
	return status;
}
