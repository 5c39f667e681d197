// SPDX-License-Identifier: Apache-2.0
// grammars.h: checks the grammars of a plan's texts, and finds how many free tokens these need.
// No private data: grammars and vocabulary are public.
// What a grammar leaves no choice about is free, and so is a text's way to its end. So a text needs
// free tokens for its shortest way, a token for each byte and one that ends it.
#ifndef CUTTLE_ENGINE_RUN_PLAN_GRAMMARS_H
#define CUTTLE_ENGINE_RUN_PLAN_GRAMMARS_H

#include "engine/cuttle/plan.h"
#include "engine/model/model.h"

/* Checks params->grammars, and sets *free_tokens to U: the one given, or what suits. With none of
 * them it does nothing. USAGE: there are neither one nor as many as headings, something else of the
 * parameters excludes them, or U is too few for a shortest text; the message has the least. MODEL:
 * a grammar cannot do without a byte that is no token (engine/grammar/mask.h). NOMEM. */
enum cuttle_status grammars_check(const struct cuttle_plan_params *params,
                                  const struct model *model, uint32_t *free_tokens,
                                  struct cuttle_error *error);

/* The same of grammars[count] alone: `given` free tokens beside `tokens` others, 0 = what suits. */
enum cuttle_status grammars_room(const struct cuttle_grammar *const *grammars, size_t count,
                                 const struct model *model, uint32_t tokens, uint32_t given,
                                 uint32_t *free_tokens, struct cuttle_error *error);

#endif
