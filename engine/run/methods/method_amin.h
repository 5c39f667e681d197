// SPDX-License-Identifier: Apache-2.0
// method_amin.h: method amin, whose thresholds say which tokens are drawn from the references.
// Private data: none here. The mechanism that is built is dp/amin.h's; it takes private rows.
// How: the clip follows from epsilon less what the thresholds cost (dp/amin_account.h). Parameters
// that were not given are those of the paper: a unit for four tokens, sigma 0.3, theta 0.7, public
// tokens at temperature 1.
// Example: -B 127 -T 400 -e 10 --units 100 has thresholds for rho 0.138 of 1.539 and the
// clip 21.26.
#ifndef CUTTLE_ENGINE_RUN_METHODS_METHOD_AMIN_H
#define CUTTLE_ENGINE_RUN_METHODS_METHOD_AMIN_H

#include "engine/run/methods/methods.h"

/* The functions of struct method. */
enum cuttle_status method_amin_choose(const struct cuttle_plan_params *params,
                                      struct cuttle_guarantee *guarantee,
                                      struct cuttle_error *error);
enum dp_status method_amin_claim(const struct cuttle_guarantee *guarantee, struct dp_claim *claim);
void method_amin_caps(const struct cuttle_guarantee *guarantee, struct method_caps *caps);
enum dp_status method_amin_build(const struct method_parts *parts, struct dp_mechanism *out);

#endif
