// SPDX-License-Identifier: Apache-2.0
// votes.c: see cuttle/votes.h. Each function checks what it is given and asks dp/votes.h.
#include "engine/cuttle/votes.h"

#include "base/misuse.h"
#include "dp/votes.h"
#include "dp/zcdp.h"
#include "engine/run/plan/seeded.h"
#include "engine/status.h"

#include <math.h>

_Static_assert(CUTTLE_NO_VOTE == DP_NO_VOTE && CUTTLE_MOST_CANDIDATES == DP_MOST_CANDIDATES &&
                   CUTTLE_MOST_VOTES == DP_MOST_VOTES && CUTTLE_MOST_REACH == DP_MOST_REACH,
               "the public header has dp's numbers");

static bool is_probability(double delta) {
	return isnormal(delta) && delta > 0.0 && delta < 1.0;
}

static enum cuttle_status check_queries(const struct cuttle_query *queries, size_t count,
                                        double delta, struct cuttle_error *error) {
	if (!is_probability(delta))
		return status_fail(error, CUTTLE_USAGE, "delta must be above 0 and below 1");
	bool good = count >= 1;
	for (size_t i = 0; i < count; i++) good &= queries[i].square >= 1 && queries[i].times >= 1;
	return good ? CUTTLE_OK : status_fail(error, CUTTLE_USAGE, "a query is empty");
}

static struct dp_variance variance_of(const struct cuttle_query *query) {
	return (struct dp_variance){query->num, query->den};
}

enum cuttle_status cuttle_queries_solve(struct cuttle_query *queries, size_t count, double epsilon,
                                        double delta, struct cuttle_error *error) {
	REQUIRE(queries);
	enum cuttle_status status = check_queries(queries, count, delta, error);
	if (status) return status;
	if (!isnormal(epsilon) || epsilon <= 0.0)
		return status_fail(error, CUTTLE_USAGE, "epsilon is not positive and finite");
	const double rho = dp_rho_of_epsilon(epsilon, delta);
	double sum = 0.0;
	for (size_t i = 0; i < count; i++) sum += queries[i].parts;
	for (size_t i = 0; i < count; i++) {
		struct dp_variance variance;
		/* A little less than the share: the sum is then below rho, however it rounds. */
		const double share = rho * (queries[i].parts / sum) * (1.0 - 0x1p-40);
		if (!isnormal(share) || share <= 0.0 ||
		    dp_votes_variance(queries[i].square, queries[i].times, share, &variance))
			return status_fail(error, CUTTLE_USAGE,
			                   "epsilon is too small: so much noise would leave "
			                   "nothing of the answers");
		queries[i].num = variance.num;
		queries[i].den = variance.den;
	}
	return CUTTLE_OK;
}

enum cuttle_status cuttle_queries_cost(const struct cuttle_query *queries, size_t count,
                                       double delta, double *rho, double *epsilon,
                                       struct cuttle_error *error) {
	REQUIRE(queries && rho && epsilon);
	const enum cuttle_status status = check_queries(queries, count, delta, error);
	if (status) return status;
	double sum = 0.0;
	for (size_t i = 0; i < count; i++) {
		if (!queries[i].num || !queries[i].den)
			return status_fail(error, CUTTLE_USAGE, "a query has no variance");
		const double one =
		    dp_votes_rho(queries[i].square, queries[i].times, variance_of(&queries[i]));
		/* A sum of two doubles is rounded once, so the next one up is not below it. */
		sum = sum > 0.0 ? nextafter(sum + one, (double)INFINITY) : one;
	}
	if (!isnormal(sum))
		return status_fail(error, CUTTLE_USAGE, "the queries' rho is out of range");
	*rho = sum;
	*epsilon = dp_epsilon_of_rho(sum, delta);
	return CUTTLE_OK;
}

static enum cuttle_status answer_status(enum dp_status status, struct cuttle_error *error) {
	return status == DP_OK ? CUTTLE_OK
	                       : status_fail(error, CUTTLE_INTERNAL, "%s", dp_status_text(status));
}

enum cuttle_status cuttle_votes_count(const struct cuttle_query *query, const uint32_t *votes,
                                      size_t records, uint32_t each, uint32_t candidates,
                                      const uint64_t *seed, uint64_t which, int64_t *noisy,
                                      struct cuttle_error *error) {
	REQUIRE(query && noisy && (votes || !records) && query->square == each);
	struct seeded seeded = {.seed = seed ? *seed : 0, .heading = SEEDED_ANSWERS, .text = which};
	const struct dp_random random = seed ? seeded_random(&seeded) : dp_random_system();
	return answer_status(
	    dp_votes(votes, records, each, candidates, variance_of(query), &random, noisy), error);
}

enum cuttle_status cuttle_votes_sum(const struct cuttle_query *query, const int32_t *values,
                                    size_t records, int32_t reach, const uint64_t *seed,
                                    uint64_t which, int64_t *noisy, struct cuttle_error *error) {
	REQUIRE(query && noisy && (values || !records));
	REQUIRE(query->square == (uint64_t)reach * (uint64_t)reach);
	struct seeded seeded = {.seed = seed ? *seed : 0, .heading = SEEDED_ANSWERS, .text = which};
	const struct dp_random random = seed ? seeded_random(&seeded) : dp_random_system();
	return answer_status(
	    dp_votes_sum(values, records, reach, variance_of(query), &random, noisy), error);
}
