// SPDX-License-Identifier: Apache-2.0
// The rowwise ops without special instructions: see rowwise_body.h.
#define TIER(name) name##_scalar
#include "kernels/rowwise_body.h"
