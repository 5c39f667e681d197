// SPDX-License-Identifier: Apache-2.0
// score.h: how likely the model holds each token of a text, given those before it.
// Private data: the tokens may be private, and so is what is computed of them. Memory is wiped.
// How: scorer_new; scorer_read for each text; scorer_free. Keys and values of the last text stay.
// A text that begins with the same tokens is computed from the first other one on.
// Example: two texts of 30 tokens behind a prompt of 800: 830 rows for the first, 30 for the next.
// Rule: no number depends on what was read before. A row is a function of its own tokens.
#ifndef CUTTLE_ENGINE_SCORE_H
#define CUTTLE_ENGINE_SCORE_H

#include "engine/cuttle/text.h"
#include "engine/model/model.h"

struct scorer;

/* Allocates it for texts of at most `most` tokens. by_blas: OpenBLAS multiplies in fp32, whose bits
 * depend on how many rows are computed at a time: only for one text. The model must outlive it.
 * USAGE when --mlock is refused. NOMEM. */
enum cuttle_status scorer_new(const struct model *model, size_t most, bool by_blas,
                              struct scorer **scorer, struct cuttle_error *error);
/* Wipes and frees it, and sets *scorer to NULL. *scorer may be NULL. */
void scorer_free(struct scorer **scorer);

enum { SCORER_SHIFT_BITS = 16 };
/* From now on shift[y] parts of 2^-SCORER_SHIFT_BITS are added to the logit of each token y of the
 * vocabulary. NULL: nothing is, as at first. The array must outlive its use. */
void scorer_shift(struct scorer *scorer, const int32_t *shift);

/* Scores ids[first] .. ids[count - 1], 1 <= first < count <= most, ids below the vocabulary.
 * logprobs[i] becomes ln P(ids[first + i] | all before it), top1[i] the likeliest token there. Both
 * have count - first places. MODEL: a logit is not finite. */
enum cuttle_status scorer_read(struct scorer *scorer, const int32_t *ids, size_t count,
                               size_t first, double *logprobs, int32_t *top1,
                               struct cuttle_error *error);

#endif
