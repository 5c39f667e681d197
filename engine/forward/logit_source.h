// SPDX-License-Identifier: Apache-2.0
// logit_source.h: what the generation loop asks of a model, as a table of functions.
// Called by: run/generate.c, run/bench.c and run/diagnosis.c. lockstep.h is the real source; tests
// put stubs behind the same table.
// Private data: begin() takes references; row() gives logits computed from them.
// How: one text has one public context and up to B private ones. All of them receive the same next
// token. A slot is a place that holds the contexts of one text; several texts are in flight, a slot
// each. One turn of the loop: public_logits(); then for each busy slot public_row(slot),
// private_logits(slot, candidates), row(0) .. row(rows(slot) - 1); then append(tokens).
// Rule: texts in different slots never influence each other.
#ifndef CUTTLE_ENGINE_LOGIT_SOURCE_H
#define CUTTLE_ENGINE_LOGIT_SOURCE_H

#include "engine/run/prompt.h"

/* How long work asks whether it should stop. */
struct interruption {
	/* Called now and then. true = stop as soon as it is safe. It knows public things only. */
	bool (*wanted)(void *user);
	void *user; /* argument of wanted */
};

struct logit_source {
	void *self;   /* first argument of every function below */
	size_t vocab; /* tokens of the vocabulary */
	size_t slots; /* texts in flight, at most */

	/* Starts a text in a slot. It builds the contexts of references[batch], where a reference
	 * with count 0 is null. Then it appends the tokens `already` to every context.
	 * PARTIAL: it was interrupted, and the slot stays idle. Nothing else can fail. */
	enum cuttle_status (*begin)(void *self, size_t slot, const struct tokens *references,
	                            size_t batch, const struct tokens *already,
	                            const struct interruption *interruption);

	/* Ends the slot's text: the slot is idle from here on. */
	void (*end)(void *self, size_t slot);

	/* Drops the slot's private contexts, for the rest of its text draws from the public row
	 * alone. rows(slot) is 0 from here on. */
	void (*alone)(void *self, size_t slot);

	/* Computes the public logits of every slot that is not idle. */
	void (*public_logits)(void *self);

	/* The slot's public logits, [vocab]. They are valid until append. */
	const float *(*public_row)(void *self, size_t slot);

	/* Computes the logits of the slot's private rows for candidates[count] alone. The
	 * candidates are ascending token numbers. */
	void (*private_logits)(void *self, size_t slot, const uint32_t *candidates, size_t count);

	/* The slot's private rows: one for each reference that is not null. */
	size_t (*rows)(void *self, size_t slot);

	/* What private_logits computed last: [count] logits of the i-th reference that is not null,
	 * i < rows(slot). Example: references 0 and 2 of three are not null, so row(1) belongs to
	 * reference 2. */
	const float *(*row)(void *self, size_t index);

	/* Appends tokens[slot] to every context of each slot. Idle slots' tokens are not read. */
	void (*append)(void *self, const int32_t *tokens);
};

#endif
