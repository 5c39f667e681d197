// SPDX-License-Identifier: Apache-2.0
#define TIER(name) name##_avx2
#define TILES                                                                                                                              \
	{ 0, 4, 2, 2, 1 }
#include "kernels/attention_body.h"
