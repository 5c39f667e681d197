// SPDX-License-Identifier: Apache-2.0
// weights.h: how likely a token is through InvisibleInk, for the programs here that draw nothing.
// No secret: use texts that may be shown.
// Example: of candidates 3 and 8 with weights 1 and 3, token 8 has ln 0.75.
#ifndef CUTTLE_BENCH_WEIGHTS_H
#define CUTTLE_BENCH_WEIGHTS_H

#include "dp/invisibleink.h"

/* ln of the token's weight over the sum of all weights in V+, candidates[count]. The weight is
 * A * E, or A if `alone`: the public and the private factor of dp/PRIVACY.md. NaN: the token is not
 * in V+. */
double weights_log_likelihood(const struct dp_invisibleink *mechanism, const uint32_t *candidates,
                              size_t count, uint32_t token, bool alone);

#endif
