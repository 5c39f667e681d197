// SPDX-License-Identifier: Apache-2.0
// method_prompt.h: method dp-prompt, one reference whose logits are clipped to a width.
// dp/width.h has the mechanism.
// No private data: all numbers are public.
// Example: --clip-width 5 at temperature 1.5: epsilon 6.67 a token between any two texts.
#ifndef CUTTLE_ENGINE_RUN_METHODS_METHOD_PROMPT_H
#define CUTTLE_ENGINE_RUN_METHODS_METHOD_PROMPT_H

#include "engine/run/methods/methods.h"

/* The functions of struct method. */
enum cuttle_status method_prompt_choose(const struct cuttle_plan_params *params,
                                        struct cuttle_guarantee *guarantee,
                                        struct cuttle_error *error);
enum dp_status method_prompt_claim(const struct cuttle_guarantee *guarantee,
                                   struct dp_claim *claim);
double method_prompt_pair(const struct cuttle_guarantee *guarantee);
enum dp_status method_prompt_build(const struct method_parts *parts, struct dp_mechanism *out);

#endif
