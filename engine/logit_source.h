// SPDX-License-Identifier: Apache-2.0
// What the generation loop needs of a model: the next-token logits of one public and up to B private contexts that grow by the same tokens.
// lockstep.h is the real one; tests put stubs behind it.
#ifndef CUTTLE_ENGINE_LOGIT_SOURCE_H
#define CUTTLE_ENGINE_LOGIT_SOURCE_H

#include "engine/prompt.h"

/* Asked now and then during long work; true = stop as soon as it is safe. Knows public quantities only. */
struct interruption {
	bool (*wanted)(void *user);
	void *user;
};

struct logit_source {
	void *self;
	size_t vocab;
	/* Starts a batch: references[batch], of which a count of 0 is null; then appends already[already_count] to every context.
	 * PARTIAL: interrupted. Nothing else can fail. */
	enum cuttle_status (*begin)(void *self, const struct tokens *references, size_t batch, const struct tokens *already,
	                            const struct interruption *interruption);
	const float *(*public_logits)(void *self); /* [vocab], valid until append */
	/* Logits of the private rows for candidates[count], which are ascending; afterwards row(i) gives those of the i-th reference that
	 * is not null, i < rows(). */
	void (*private_logits)(void *self, const uint32_t *candidates, size_t count);
	size_t (*rows)(void *self);
	const float *(*row)(void *self, size_t index);
	void (*append)(void *self, int32_t token); /* to every context */
};

#endif
