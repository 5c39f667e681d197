// SPDX-License-Identifier: Apache-2.0
#define TIER(name) name##_neon
#define LANES_NEON
#include "kernels/rowwise_body.h"
