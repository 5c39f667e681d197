// SPDX-License-Identifier: Apache-2.0
// attention over int8 with AVX2: see attention_body.h.
#define ATTENTION_Q8
#define TIER(name) name##_q8_avx2
#define TILES                                                                                      \
	{ 0, 4, 2, 2, 1, 1, 1 }
#include "kernels/attention_body.h"
