// SPDX-License-Identifier: Apache-2.0
// The loops of ranking.h in plain C: see ranking_body.h.
#define TIER(name) name##_scalar
#include "kernels/ranking_body.h"
