// SPDX-License-Identifier: Apache-2.0
// The loops of ranking.h with AVX2: see ranking_body.h.
#define TIER(name) name##_avx2
#include "kernels/ranking_body.h"
