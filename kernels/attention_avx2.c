// SPDX-License-Identifier: Apache-2.0
// attention with AVX2: see attention_body.h.
#define TIER(name) name##_avx2
#define TILES                                                                                      \
	{ 0, 4, 2, 2, 1, 1, 1 }
#include "kernels/attention_body.h"
