// SPDX-License-Identifier: Apache-2.0
// The prompts of a plan, as tokens. Public and private prompt are written from the same public words; only the place of the reference
// differs. Pieces are tokenised one by one, so a reference can never change the tokens around it; what the pieces before it end in, which
// is public, decides whether its first word has a space.
#ifndef CUTTLE_ENGINE_PROMPT_H
#define CUTTLE_ENGINE_PROMPT_H

#include "engine/model.h"

struct tokens {
	int32_t *ids;
	size_t count;
};

struct prompt {
	struct tokens whole;      /* the public prompt */
	struct tokens head, tail; /* the private prompt: head + reference + tail */
	enum vocab_lead lead;     /* of the reference */
	size_t shared;            /* tokens that both begin with and no row needs logits of; a multiple of 16 */
	const char *stop;         /* text ends before this string; NULL = none */
	char *canonical;          /* both prompts in words, "{reference}" in the private one; public */
};

/* Writes the prompts, under a heading or none (NULL). USAGE: a form the model cannot do, a missing or contradictory field. NOMEM. On
 * failure *prompt is empty. */
enum cuttle_status prompt_write(const struct model *model, const struct cuttle_plan_params *params, const char *heading,
                                struct prompt *prompt, struct cuttle_error *error);
void prompt_free(struct prompt *prompt);

/* Most tokens of one reference: reads one text, trims white space, and cuts it by this rule, which knows nothing but `limit`:
 * the first 16 * limit bytes at most, cut at a character, then the first `limit` tokens. Returns the number of tokens; 0 is the null
 * reference: NULL, blank, not UTF-8. ids[prompt_reference_capacity(limit)]. A failed allocation also reads as null: an error would tell. */
size_t prompt_reference(const struct model *model, const struct prompt *prompt, const char *text, size_t size, size_t limit, int32_t *ids);
size_t prompt_reference_capacity(size_t limit);
size_t prompt_reference_bytes(size_t limit);

#endif
