// SPDX-License-Identifier: Apache-2.0
#define TIER(name) name##_avx2
#include "kernels/rowwise_body.h"
