// SPDX-License-Identifier: Apache-2.0
// The rowwise ops with ASIMD: see rowwise_body.h.
#define TIER(name) name##_neon
#define LANES_NEON
#include "kernels/rowwise_body.h"
