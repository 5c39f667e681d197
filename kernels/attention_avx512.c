// SPDX-License-Identifier: Apache-2.0
#define TIER(name) name##_avx512
#define TILES                                                                                                                              \
	{ 0, 4, 4, 4, 4 }
#include "kernels/attention_body.h"
