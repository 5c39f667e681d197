// SPDX-License-Identifier: Apache-2.0
// attention with AVX-512: see attention_body.h.
#define TIER(name) name##_avx512
#define TILES                                                                                      \
	{ 0, 4, 4, 4, 4, 4, 4 }
#include "kernels/attention_body.h"
