// SPDX-License-Identifier: Apache-2.0
// attention over int8 with AVX-512: see attention_body.h.
#define ATTENTION_Q8
#define TIER(name) name##_q8_avx512
#define TILES                                                                                      \
	{ 0, 4, 4, 4, 4, 4, 4 }
#include "kernels/attention_body.h"
