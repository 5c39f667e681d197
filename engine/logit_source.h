// SPDX-License-Identifier: Apache-2.0
// What the generation loop needs of a model: the next-token logits of one public and up to B private contexts that grow by the same tokens,
// for several texts at once.
// lockstep.h is the real one; tests put stubs behind it.
#ifndef CUTTLE_ENGINE_LOGIT_SOURCE_H
#define CUTTLE_ENGINE_LOGIT_SOURCE_H

#include "engine/prompt.h"

/* Asked now and then during long work; true = stop as soon as it is safe. Knows public quantities only. */
struct interruption {
	bool (*wanted)(void *user);
	void *user;
};

/* A slot holds the contexts of one text; texts in different slots never influence each other. */
struct logit_source {
	void *self;
	size_t vocab, slots;
	/* Starts a batch in a slot: references[batch], of which a count of 0 is null; then appends already[already_count] to every context.
	 * PARTIAL: interrupted, the slot stays idle. Nothing else can fail. */
	enum cuttle_status (*begin)(void *self, size_t slot, const struct tokens *references, size_t batch, const struct tokens *already,
	                            const struct interruption *interruption);
	void (*end)(void *self, size_t slot);                /* the slot is idle */
	void (*alone)(void *self, size_t slot);              /* its private contexts are needed no more: rows(slot) is 0 from here on */
	void (*public_logits)(void *self);                   /* of every slot that is not idle */
	const float *(*public_row)(void *self, size_t slot); /* [vocab], valid until append */
	/* Logits of the slot's private rows for candidates[count], which are ascending; afterwards row(i) gives those of the i-th reference
	 * that is not null, i < rows(slot). */
	void (*private_logits)(void *self, size_t slot, const uint32_t *candidates, size_t count);
	size_t (*rows)(void *self, size_t slot);
	const float *(*row)(void *self, size_t index);
	void (*append)(void *self, const int32_t *tokens); /* tokens[slot] to every context of the slot; idle slots' are not read */
};

#endif
