// SPDX-License-Identifier: Apache-2.0
// plan_status.h: a status of dp/ as the engine's, with the message that belongs to it.
// No private data.
// Example: DP_BAD_PARAMETER becomes CUTTLE_USAGE.
#ifndef CUTTLE_ENGINE_RUN_METHODS_PLAN_STATUS_H
#define CUTTLE_ENGINE_RUN_METHODS_PLAN_STATUS_H

#include "dp/status.h"
#include "engine/cuttle/status.h"

/* Turns a status of dp/ into the engine's status, and writes the message that belongs to it. */
enum cuttle_status plan_status(enum dp_status status, struct cuttle_error *error);

#endif
