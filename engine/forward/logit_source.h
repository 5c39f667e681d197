// SPDX-License-Identifier: Apache-2.0
// logit_source.h: what the generation loop asks of a model, as a table of functions.
// lockstep.h is the real source; tests put stubs behind the same table.
// Private data: begin() takes private contexts; row() gives logits computed from them.
// How: one text has one public context and one for each of its B places that is not null. All of
// them receive the same next token. A slot is where the contexts of one text are in memory; several
// texts are in flight, a slot each. One turn of the loop: public_logits(); then for each busy slot
// public_row(slot), private_logits(slot, places, candidates), row(place) for each of these places;
// then append(tokens).
// Rule: texts in different slots never influence each other.
#ifndef CUTTLE_ENGINE_LOGIT_SOURCE_H
#define CUTTLE_ENGINE_LOGIT_SOURCE_H

#include "engine/cuttle.h"
#include "engine/text/tokens.h"

#include <stdbool.h>

/* How long work asks whether it should stop. */
struct interruption {
	/* Called now and then. true = stop as soon as it is safe. It knows public things only. */
	bool (*wanted)(void *user);
	void *user; /* argument of wanted */
};

/* The private context of one place. */
struct place_context {
	struct tokens tokens; /* all of it; count 0 = the place is null and has no context */

	/* Tokens that it has in common with the public context, and may share with it: a multiple
	 * of 16, less than either one's count. Example: a document of 300 tokens whose first mark
	 * is in token 250 shares 240. */
	size_t shared;
};

struct logit_source {
	void *self;   /* first argument of every function below */
	size_t vocab; /* tokens of the vocabulary */
	size_t slots; /* texts in flight, at most */

	/* Starts a text in a slot. It builds the public context, of at least one token, and those
	 * of places[count]. Then it appends the tokens `already` to every context. The lists are
	 * read in this call alone. PARTIAL: it was interrupted, and the slot stays idle. Nothing
	 * else can fail. */
	enum cuttle_status (*begin)(void *self, size_t slot, const struct tokens *public_context,
	                            const struct place_context *places, size_t count,
	                            const struct tokens *already,
	                            const struct interruption *interruption);

	/* Ends the slot's text: the slot is idle from here on. */
	void (*end)(void *self, size_t slot);

	/* Drops the slot's private contexts, for the rest of its text draws from the public row
	 * alone. All its places are null from here on. */
	void (*alone)(void *self, size_t slot);

	/* Computes the public logits of every slot that is not idle. */
	void (*public_logits)(void *self);

	/* The slot's public logits, [vocab]. They are valid until append. */
	const float *(*public_row)(void *self, size_t slot);

	/* Computes the logits of the slot's private rows for candidates[count] alone: those of
	 * places first_place to first_place + places - 1. The candidates are ascending token
	 * numbers. */
	void (*private_logits)(void *self, size_t slot, size_t first_place, size_t places,
	                       const uint32_t *candidates, size_t count);

	/* What private_logits computed last for this place: [count] logits. NULL: the place is null
	 * or was not among those asked for. */
	const float *(*row)(void *self, size_t place);

	/* Appends tokens[slot] to every context of each slot. Idle slots' tokens are not read. */
	void (*append)(void *self, const int32_t *tokens);
};

#endif
