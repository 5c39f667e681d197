// SPDX-License-Identifier: Apache-2.0
// attention with ASIMD: see attention_body.h.
#define LANES_NEON
#define TIER(name) name##_neon
#define TILES                                                                                      \
	{ 0, 4, 2, 1, 1, 1, 1 }
#include "kernels/attention_body.h"
