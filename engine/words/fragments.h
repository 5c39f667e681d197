// SPDX-License-Identifier: Apache-2.0
// fragments.h: asks a model which of its tokens are no words but beginnings of words, as " kidn".
// No private data.
// How: behind a fixed sentence, the token stands last. When the model expects letters to follow
// without a space, by more than FRAGMENT_SHARE of its law, the token is a fragment. Of 97 fragments
// and 108 words, picked by hand, this puts a fragment above a word 99.8 % of the time, where the
// model is SmolLM2-135M (bench/INFERDPT.md).
// Example: after "... mentioned was kidn" the law has .99 on "ey", "eys"; after "kidney" .07.
#ifndef CUTTLE_ENGINE_FRAGMENTS_H
#define CUTTLE_ENGINE_FRAGMENTS_H

#include "engine/model/model.h"

enum { FRAGMENTS_AT_ONCE = 64 }; /* tokens of one test */
#define FRAGMENT_SHARE 0.6

struct fragments;

/* Runs the sentence through the model, which must outlive the handle. NOMEM; USAGE when --mlock is
 * refused. */
enum cuttle_status fragments_open(const struct model *model, struct fragments **fragments,
                                  struct cuttle_error *error);
void fragments_close(struct fragments **fragments);

/* Sets shares[count] to the share of the law that goes on with a letter, for count tokens, at most
 * FRAGMENTS_AT_ONCE. A share depends on its token alone. MODEL: a logit is not finite. */
enum cuttle_status fragments_test(struct fragments *fragments, const int32_t *tokens, size_t count,
                                  double *shares, struct cuttle_error *error);

#endif
