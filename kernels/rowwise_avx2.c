// SPDX-License-Identifier: Apache-2.0
// The rowwise ops with AVX2: see rowwise_body.h.
#define TIER(name) name##_avx2
#include "kernels/rowwise_body.h"
