// SPDX-License-Identifier: Apache-2.0
// renyi.c: between a Renyi loss at one order and (epsilon, delta), see cuttle/budget.h.
// No private data: all numbers are public. dp/rdp.c computes; here the arguments are checked,
// because users type them.
#include "engine/cuttle/budget.h"

#include "base/misuse.h"
#include "dp/rdp.h"
#include "dp/rounding.h"
#include "engine/status.h"

static enum cuttle_status check_renyi(uint32_t order, const char *what, double value, double delta,
                                      struct cuttle_error *error) {
	if (order < 2)
		return status_fail(error, CUTTLE_USAGE,
		                   "the order of a Renyi loss must be 2 or above");
	if (!positive(value))
		return status_fail(error, CUTTLE_USAGE, "%s must be positive and finite", what);
	if (!probability(delta))
		return status_fail(error, CUTTLE_USAGE, "delta must be between 0 and 1");
	return CUTTLE_OK;
}

enum cuttle_status cuttle_renyi_epsilon(uint32_t order, double loss, double delta, double *epsilon,
                                        struct cuttle_error *error) {
	REQUIRE(epsilon);
	const enum cuttle_status status = check_renyi(order, "the Renyi loss", loss, delta, error);
	if (!status) *epsilon = dp_rdp_epsilon_at(loss, order, delta);
	return status;
}

enum cuttle_status cuttle_renyi_loss(uint32_t order, double epsilon, double delta, double *loss,
                                     struct cuttle_error *error) {
	REQUIRE(loss);
	const enum cuttle_status status = check_renyi(order, "epsilon", epsilon, delta, error);
	if (status) return status;
	const double largest = dp_rdp_loss_at(epsilon, order, delta);
	if (!positive(largest))
		return status_fail(error, CUTTLE_USAGE,
		                   "at order %u and delta %g no Renyi loss gives epsilon %g: it "
		                   "must be above %.6g",
		                   (unsigned)order, delta, epsilon,
		                   dp_rdp_epsilon_at(0, order, delta));
	*loss = largest;
	return CUTTLE_OK;
}
