// SPDX-License-Identifier: Apache-2.0
// lots.h: what a plan takes from its lots beside cuttle/lots.h: the ratio q.
// No private data: all numbers are public. dp/amplify.h has the formulas.
#ifndef CUTTLE_ENGINE_RUN_PLAN_LOTS_H
#define CUTTLE_ENGINE_RUN_PLAN_LOTS_H

#include "engine/cuttle/lots.h"

#include <stddef.h>

/* The largest share of batches that a cluster uses; 1 without lots. USAGE: a number of the lots is
 * out of range. */
enum cuttle_status lots_ratio(const struct cuttle_lots *lots, size_t count, long double *ratio,
                              struct cuttle_error *error);

#endif
