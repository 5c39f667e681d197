// SPDX-License-Identifier: Apache-2.0
// generate.h: the generation loop. It draws every token of every text, whatever is written.
// Private data: private contexts and logits pass through. Only drawn tokens come out, and what the
// PRIVATE trace hook tells. A completion's only context is private itself, and so are its tokens.
// How: generate_run(generation, source, error) joins four things: the logit source, the mechanism
// of each batch, one transcript per batch, and the caller's callbacks. Two are given; what differs
// between a plan and a rewriter stands in struct generation.
#ifndef CUTTLE_ENGINE_RUN_LOOP_GENERATE_H
#define CUTTLE_ENGINE_RUN_LOOP_GENERATE_H

#include "dp/mechanism.h"
#include "engine/cuttle/grammar.h"
#include "engine/cuttle/job.h"
#include "engine/forward/logit_source.h"
#include "engine/run/plan/seeded.h"
#include "engine/run/loop/transcript.h"

/* How the tokens of one batch are drawn: public, and the same whenever it is asked for. */
struct batch_terms {
	const struct dp_mechanism *mechanism;
	uint32_t places; /* as the mechanism is told; 0 = the batch is a completion */
	bool unpaid;     /* the batch has no private context: all its tokens are free */
	const struct cuttle_grammar *grammar; /* of its text, where the rules are exact */
};

/* What is generated: batches 0 .. texts - 1. A batch is one text, or several with a token bank. */
struct generation {
	const struct model *model;
	struct transcript_rules rules; /* of every batch */
	size_t texts;                  /* N: batches, those of a stride among them */
	size_t begin;                  /* first one that is generated */
	size_t stride;                 /* from each to the next; 0 = all are */
	uint32_t places;               /* of a batch, at most */
	size_t context_tokens;         /* places that `contexts` needs in ids */
	struct seeded *seeded;         /* told of each draw */
	size_t first;                  /* added to a batch's number there */
	void *self;                    /* first argument of the three functions below */

	/* Where the rules are exact each text is of a grammar. After T tokens it goes on. False: it
	 * is brought to its end. */
	bool goes_on;

	struct batch_terms (*terms)(void *self, size_t batch);

	/* Writes the contexts of a batch: *public_context, and places[terms.places] where `alone`
	 * is false. The lists may point into ids[context_tokens], which is private memory. They are
	 * read before the next call. A failure is one of the public context: a private context
	 * that cannot be written is null. */
	enum cuttle_status (*contexts)(void *self, size_t batch, bool alone, int32_t *ids,
	                               struct tokens *public_context, struct place_context *places,
	                               struct cuttle_error *error);

	/* PRIVATE: called after each draw, while mechanism and source still hold the step. `drawn`
	 * is t or ~t. True stops with PARTIAL. NULL = none. Not with a grammar. */
	bool (*trace)(void *self, const struct logit_source *source, size_t slot, size_t batch,
	              uint32_t step, int32_t drawn);

	// The caller's, as in struct cuttle_job.
	void *user; /* first argument of the four functions below */
	size_t (*drawn)(void *user, size_t text, const int32_t **tokens);
	int (*token)(void *user, size_t text, uint32_t step, int32_t token);
	int (*text)(void *user, const struct cuttle_text *text);
	int (*progress)(void *user, const struct cuttle_progress *progress);
};

/* How many of the numbers begin, begin + stride, ... are below `texts`; stride 0 counts as 1. */
size_t generate_count(size_t texts, size_t begin, size_t stride);

/* Generates everything. Statuses as of cuttle_job_run, and what `contexts` answers. */
enum cuttle_status generate_run(const struct generation *generation,
                                const struct logit_source *source, struct cuttle_error *error);

#endif
