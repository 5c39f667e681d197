// SPDX-License-Identifier: Apache-2.0
// savings.c: see savings.h.
#include "engine/run/plan/savings.h"

#include "engine/status.h"

#include <math.h>

enum cuttle_status savings_check(const struct cuttle_savings *savings, bool forced,
                                 struct cuttle_error *error) {
	if (savings->free_tokens > SAVINGS_MOST_TOKENS)
		return status_fail(error, CUTTLE_USAGE, "%u free tokens are above %d",
		                   savings->free_tokens, SAVINGS_MOST_TOKENS);
	if (savings->public_when != 0.0 &&
	    !(savings->public_when >= 1e-6 && savings->public_when <= 1.0))
		return status_fail(error, CUTTLE_USAGE,
		                   "the public top probability must be in 0.000001..1");
	if (savings->free_tokens && !forced && !savings->complete && savings->public_when == 0.0)
		return status_fail(error, CUTTLE_USAGE,
		                   "there are no free tokens without public completion or a public "
		                   "top probability");
	return CUTTLE_OK;
}

uint32_t savings_sure(const struct cuttle_savings *savings) {
	return (uint32_t)lround(savings->public_when * 1e6);
}

struct cuttle_savings savings_used(const struct cuttle_savings *asked, uint32_t most) {
	struct cuttle_savings used = *asked;
	const uint32_t sure = savings_sure(asked);
	used.public_when = sure / 1e6;
	if (!asked->free_tokens && (asked->complete || sure)) used.free_tokens = most;
	return used;
}
