// SPDX-License-Identifier: Apache-2.0
// The rowwise ops with AVX-512: see rowwise_body.h.
#define TIER(name) name##_avx512
#include "kernels/rowwise_body.h"
