// SPDX-License-Identifier: Apache-2.0
// method_none.h: method none, which protects nothing. NOT PRIVATE.
// Audits run it as their positive control: an audit that does not catch it has no power.
// Private data: the mechanism that is built here adds private logits without any clip, and draws.
// How: InvisibleInk without a clip. The token is drawn at temperature tau from the mean of the B
// rows' logits, where a null row counts as the public one. Candidates are all allowed tokens.
// Example: B 2, one row null: logits of (public + private) / 2.
#ifndef CUTTLE_ENGINE_RUN_METHODS_METHOD_NONE_H
#define CUTTLE_ENGINE_RUN_METHODS_METHOD_NONE_H

#include "engine/run/methods/methods.h"

/* The functions of struct method. */
enum cuttle_status method_none_choose(const struct cuttle_plan_params *params,
                                      struct cuttle_guarantee *guarantee,
                                      struct cuttle_error *error);
enum dp_status method_none_claim(const struct cuttle_guarantee *guarantee, struct dp_claim *claim);
enum dp_status method_none_build(const struct method_parts *parts, struct dp_mechanism *out);

#endif
