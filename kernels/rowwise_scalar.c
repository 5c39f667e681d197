// SPDX-License-Identifier: Apache-2.0
#define TIER(name) name##_scalar
#include "kernels/rowwise_body.h"
