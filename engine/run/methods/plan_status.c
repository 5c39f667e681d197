// SPDX-License-Identifier: Apache-2.0
// plan_status.c: see plan_status.h.
#include "engine/run/methods/plan_status.h"

#include "engine/status.h"

enum cuttle_status plan_status(enum dp_status status, struct cuttle_error *error) {
	switch (status) {
	case DP_OK:
		return CUTTLE_OK;
	case DP_BAD_PARAMETER:
		return status_fail(error, CUTTLE_USAGE, "%s", dp_status_text(status));
	case DP_NO_MEMORY:
		return status_fail(error, CUTTLE_NOMEM, "%s", dp_status_text(status));
	case DP_PUBLIC_NOT_FINITE:
		return status_fail(error, CUTTLE_MODEL, "%s", dp_status_text(status));
	default:
		return status_fail(error, CUTTLE_INTERNAL, "%s", dp_status_text(status));
	}
}
