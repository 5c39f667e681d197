// SPDX-License-Identifier: Apache-2.0
// text.h: turns text into tokens and tokens into text, and scores tokens.
// A job does all this by itself.
// Private data: the text and the tokens may be private. So is what is computed from them.
// Example: "Hello" has at most cuttle_tokens_bound(5) tokens.
#ifndef CUTTLE_TEXT_H
#define CUTTLE_TEXT_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuttle_model; /* model.h */

/* The most tokens that `bytes` bytes of text can become, BOS included. */
CUTTLE_API size_t cuttle_tokens_bound(size_t bytes);

/* Writes the tokens of text[size] to ids[capacity], and their number to *count. Text is never
 * parsed for special tokens: "</s>" becomes the tokens of these four characters. BOS is put first
 * only when the model's file says so and with_bos is true.
 * USAGE: capacity is too small; cuttle_tokens_bound(size) is always enough. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_tokenize(const struct cuttle_model *model, const char *text, size_t size, bool with_bos,
                int32_t *ids, size_t capacity, size_t *count, struct cuttle_error *error);

/* Writes the bytes that ids[count] spell to text, at most `capacity` of them, without a NUL. *size
 * becomes the number of all their bytes, also when they do not fit. They may end inside a UTF-8
 * character. Control tokens have no text.
 * USAGE: an id is outside the vocabulary. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_detokenize(const struct cuttle_model *model, const int32_t *ids, size_t count, char *text,
                  size_t capacity, size_t *size, struct cuttle_error *error);

/* Sets logprobs[i] = ln P(ids[i+1] | ids[0..i]), natural logarithm, for i in 0 .. count-2. top1[i]
 * becomes the likeliest token there. Both arrays have count-1 places. Example: 3 tokens give 2
 * numbers, for the second token and for the third.
 * USAGE: count is below 2 or above the model's context; an id is outside the vocabulary; the model
 * has no weights; the system refuses to lock memory.
 * MODEL: a logit is not finite. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_score(struct cuttle_model *model,
                                                          const int32_t *ids, size_t count,
                                                          double *logprobs, int32_t *top1,
                                                          struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
