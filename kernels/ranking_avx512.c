// SPDX-License-Identifier: Apache-2.0
// The loops of ranking.h with AVX-512: see ranking_body.h.
#define TIER(name) name##_avx512
#include "kernels/ranking_body.h"
