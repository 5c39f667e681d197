// SPDX-License-Identifier: Apache-2.0
// complete_draw.h: draws a token from one row of logits. NO GUARANTEE: it is a mechanism in form
// alone, so that the loop of generate.h can call it.
// Private data: the row, and the token drawn. Its memory is wiped when freed.
// How: `open` takes the public row, which is here the row of a private prompt, and wants no other.
// `draw` answers the likeliest token, or draws from the row's law at the temperature, exactly, in
// integers (dp/rowlaw.h, dp/draw.h). So all tiers draw the same from the same random bits.
#ifndef CUTTLE_ENGINE_RUN_LOOP_COMPLETE_DRAW_H
#define CUTTLE_ENGINE_RUN_LOOP_COMPLETE_DRAW_H

#include "dp/entropy.h"
#include "dp/mechanism.h"
#include "engine/model/model.h"

/* Builds it. Temperature 0: of the likeliest tokens the first; else a temperature of rowlaw.h. Only
 * tokens that a mechanism may draw are drawn. A logit that is not finite counts as the least of the
 * row, and nothing tells so. The model must outlive it. `free` of the table frees it.
 * USAGE: the temperature is out of range, or the vocabulary too large for it; the system refuses to
 * lock memory. NOMEM. */
enum cuttle_status complete_draw_new(const struct model *model, double temperature,
                                     const struct dp_random *random, struct dp_mechanism *mechanism,
                                     struct cuttle_error *error);

#endif
