// SPDX-License-Identifier: Apache-2.0
// method_mixture.h: methods pmixed and dp-decoding, which draw from means of mixtures.
// No private data: parameters are public. The mechanism (dp/fusion.h) takes it in later.
// How: pmixed is dp/fusion.h with references for groups. Of order A its claim is a Renyi loss, of
// order infinity a bounded range. dp-decoding has one reference and a fixed share, in units of
// 2^-16. Formulas are those of dp/fusion_account.h and dp/mixture_account.h.
// Example: pmixed, epsilon 10, delta 1e-6, 500 tokens, 7 references: order infinity, b = 0.4075.
#ifndef CUTTLE_ENGINE_RUN_METHODS_METHOD_MIXTURE_H
#define CUTTLE_ENGINE_RUN_METHODS_METHOD_MIXTURE_H

#include "engine/run/methods/methods.h"

/* The functions of struct method. */
enum cuttle_status method_pmixed_choose(const struct cuttle_plan_params *params,
                                        struct cuttle_guarantee *guarantee,
                                        struct cuttle_error *error);
enum dp_status method_pmixed_claim(const struct cuttle_guarantee *guarantee,
                                   struct dp_claim *claim);
enum dp_status method_pmixed_build(const struct method_parts *parts, struct dp_mechanism *out);

enum cuttle_status method_decoding_choose(const struct cuttle_plan_params *params,
                                          struct cuttle_guarantee *guarantee,
                                          struct cuttle_error *error);
enum dp_status method_decoding_claim(const struct cuttle_guarantee *guarantee,
                                     struct dp_claim *claim);
double method_decoding_pair(const struct cuttle_guarantee *guarantee);
enum dp_status method_decoding_build(const struct method_parts *parts, struct dp_mechanism *out);

#endif
