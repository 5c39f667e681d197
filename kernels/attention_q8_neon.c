// SPDX-License-Identifier: Apache-2.0
// attention over int8 with ASIMD: see attention_body.h.
#define LANES_NEON
#define ATTENTION_Q8
#define TIER(name) name##_q8_neon
#define TILES                                                                                      \
	{ 0, 4, 2, 1, 1, 1, 1 }
#include "kernels/attention_body.h"
