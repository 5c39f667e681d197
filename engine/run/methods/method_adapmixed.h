// SPDX-License-Identifier: Apache-2.0
// method_adapmixed.h: method adapmixed, whose loss follows from the references. NOT PRIVATE.
// It is a baseline: what it adds up is no promise that was made before the run, and when it turns
// to the public row tells of the references.
// Private data: the mechanism that is built here takes in all rows, and keeps a loss per text.
// How, at order 15 (AdaPMixED, arXiv 2410.02016). A token is public where the noisy mean of the
// rows' laws, at weight 1e-4, is too far from the public one. Otherwise it comes from the mean of
// the laws, each mixed so far as the divergence allows (dp/share.h). It pays the largest divergence
// that leaving out one row makes. What would be above -e is public.
// Example: B 7, T 500, divergence 4.5, delta 1e-6: epsilon 2250.7 at worst.
#ifndef CUTTLE_ENGINE_RUN_METHODS_METHOD_ADAPMIXED_H
#define CUTTLE_ENGINE_RUN_METHODS_METHOD_ADAPMIXED_H

#include "engine/run/methods/methods.h"

/* The functions of struct method. */
enum cuttle_status method_adapmixed_choose(const struct cuttle_plan_params *params,
                                           struct cuttle_guarantee *guarantee,
                                           struct cuttle_error *error);
enum dp_status method_adapmixed_claim(const struct cuttle_guarantee *guarantee,
                                      struct dp_claim *claim);
enum dp_status method_adapmixed_build(const struct method_parts *parts, struct dp_mechanism *out);

#endif
