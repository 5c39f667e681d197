// SPDX-License-Identifier: Apache-2.0
// lots.c: see lots.h and cuttle/lots.h. Each function checks what it is given and asks
// dp/amplify.h.
#include "engine/run/plan/lots.h"

#include "base/misuse.h"
#include "dp/amplify.h"
#include "engine/cuttle/plan.h"
#include "engine/status.h"

#include <math.h>

enum { MOST_CLUSTERS = 4096 };
#define MOST_RECORDS (UINT64_C(1) << 40)

static bool is_valid_budget(double epsilon, double delta) {
	return isnormal(epsilon) && epsilon > 0.0 && delta >= 1e-300 && delta < 1.0;
}

/* Checks the lots and copies them to copies[count]. */
static enum cuttle_status take_lots(const struct cuttle_lots *lots, size_t count,
                                    struct dp_lots copies[MOST_CLUSTERS],
                                    struct cuttle_error *error) {
	if (count > MOST_CLUSTERS)
		return status_fail(error, CUTTLE_USAGE, "there are more than %d clusters of lots",
		                   MOST_CLUSTERS);
	for (size_t i = 0; i < count; i++) {
		const struct cuttle_lots *of = &lots[i];
		if (of->records > MOST_RECORDS || of->batches < 1 || of->batches > MOST_RECORDS ||
		    of->used > of->batches)
			return status_fail(error, CUTTLE_USAGE,
			                   "the lots are out of range: records up to 2^40, and no "
			                   "more batches used than there are");
		copies[i] = (struct dp_lots){
		    .records = of->records, .batches = of->batches, .used = of->used};
	}
	return CUTTLE_OK;
}

enum cuttle_status lots_ratio(const struct cuttle_lots *lots, size_t count, long double *ratio,
                              struct cuttle_error *error) {
	struct dp_lots copies[MOST_CLUSTERS];
	*ratio = 1.0L;
	if (!count) return CUTTLE_OK;
	REQUIRE(lots);
	const enum cuttle_status status = take_lots(lots, count, copies, error);
	if (status) return status;
	long double most = 0.0L;
	for (size_t i = 0; i < count; i++) {
		if (!copies[i].used) continue;
		const long double q = dp_lots_ratio(copies[i].used, copies[i].batches);
		if (q > most) most = q;
	}
	if (most == 0.0L) return status_fail(error, CUTTLE_USAGE, "the lots use no batch");
	*ratio = most;
	return CUTTLE_OK;
}

enum cuttle_status cuttle_lots_delta(const struct cuttle_lots *lots, size_t count, double delta,
                                     double *batch_delta, double *known,
                                     struct cuttle_error *error) {
	long double ratio;
	REQUIRE(lots && count && batch_delta && known);
	const enum cuttle_status status = lots_ratio(lots, count, &ratio, error);
	if (status) return status;
	if (!is_valid_budget(1.0, delta))
		return status_fail(error, CUTTLE_USAGE, "delta must be above 0 and below 1");
	*batch_delta = dp_batch_delta(dp_rows_delta(delta), ratio);
	*known = dp_known_delta(delta, ratio);
	return *batch_delta < 1.0
	           ? CUTTLE_OK
	           : status_fail(error, CUTTLE_USAGE,
	                         "delta must be less than the share of batches that are used");
}

enum cuttle_status cuttle_lots_epsilon(const struct cuttle_lots *lots, size_t count,
                                       double batch_epsilon, double *epsilon,
                                       struct cuttle_error *error) {
	long double ratio;
	REQUIRE(lots && count && epsilon);
	const enum cuttle_status status = lots_ratio(lots, count, &ratio, error);
	if (status) return status;
	if (!is_valid_budget(batch_epsilon, 0.5))
		return status_fail(error, CUTTLE_USAGE, "epsilon must be above 0");
	*epsilon = dp_run_epsilon(batch_epsilon, ratio);
	return CUTTLE_OK;
}

enum cuttle_status cuttle_amplify(uint64_t used, uint64_t batches, bool inverse, double *epsilon,
                                  double *delta, struct cuttle_error *error) {
	REQUIRE(epsilon && delta);
	if (used < 1 || used > batches || !is_valid_budget(*epsilon, *delta))
		return status_fail(error, CUTTLE_USAGE,
		                   "epsilon must be above 0, delta above 0 and below 1, and q a "
		                   "ratio above 0 and at most 1");
	const long double q = dp_lots_ratio(used, batches);
	const double other = inverse ? dp_batch_delta(*delta, q) : dp_run_delta(*delta, q);
	if (other >= 1.0) return status_fail(error, CUTTLE_USAGE, "delta / q would be 1 or more");
	*epsilon = inverse ? dp_batch_epsilon(*epsilon, q) : dp_run_epsilon(*epsilon, q);
	*delta = other;
	return CUTTLE_OK;
}

enum cuttle_status cuttle_lots_rows(const struct cuttle_lots *lots, size_t count, double epsilon,
                                    double delta, uint32_t *rows, struct cuttle_error *error) {
	struct dp_lots copies[MOST_CLUSTERS];
	REQUIRE(lots && count && rows);
	const enum cuttle_status status = take_lots(lots, count, copies, error);
	if (status) return status;
	if (!is_valid_budget(epsilon, delta))
		return status_fail(error, CUTTLE_USAGE, "epsilon or delta is out of range");
	return dp_rows_cap(copies, count, epsilon, delta, rows)
	           ? status_fail(error, CUTTLE_USAGE, "a batch would have too many rows")
	           : CUTTLE_OK;
}

enum cuttle_status cuttle_lots_pay(const struct cuttle_plan_params *params, bool *pay,
                                   struct cuttle_error *error) {
	struct dp_integers integers = {.batch = params->batch, .tokens = params->tokens};
	const enum dp_accountant accountant =
	    params->accountant == CUTTLE_EXACT ? DP_EXACT : DP_ZCDP;
	const char *reason = "epsilon is out of range";
	long double ratio;
	*pay = false;
	if (isnan(params->epsilon)) return CUTTLE_OK;
	enum cuttle_status status = lots_ratio(params->lots, params->lot_count, &ratio, error);
	if (status) return status;
	if (dp_temperature_ratio(params->temperature, &integers.temperature_num,
	                         &integers.temperature_den) ||
	    params->batch < 1 || params->tokens < 1 ||
	    !is_valid_budget(params->epsilon, params->delta))
		return status_fail(error, CUTTLE_USAGE, "a parameter of the plan is out of range");
	const enum dp_status answer =
	    dp_lots_pay(&integers, accountant, params->epsilon, params->delta, ratio, pay, &reason);
	return answer == DP_OK
	           ? CUTTLE_OK
	           : status_fail(error, answer == DP_NO_MEMORY ? CUTTLE_NOMEM : CUTTLE_USAGE, "%s",
	                         reason);
}
