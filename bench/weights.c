// SPDX-License-Identifier: Apache-2.0
// weights.c: see weights.h.
#include "bench/weights.h"

#include <math.h>

double weights_log_likelihood(const struct dp_invisibleink *mechanism, const uint32_t *candidates,
                              size_t count, uint32_t token, bool alone) {
	long double whole = 0, its = NAN;
	for (size_t i = 0; i < count; i++) {
		long double weight = (long double)dp_invisibleink_public_weight(mechanism, i);
		if (!alone) weight *= (long double)dp_invisibleink_private_weight(mechanism, i);
		whole += weight;
		if (candidates[i] == token) its = weight;
	}
	return (double)logl(its / whole);
}
