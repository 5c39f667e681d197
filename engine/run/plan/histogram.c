// SPDX-License-Identifier: Apache-2.0
// histogram.c: see histogram.h and cuttle/histogram.h. Each function checks what it is given and
// asks dp/histogram.h, dp/histogram_account.h or dp/seats.h.
#include "engine/run/plan/histogram.h"

#include "base/misuse.h"
#include "dp/amplify.h"
#include "dp/histogram.h"
#include "dp/seats.h"
#include "engine/run/plan/lots.h"
#include "engine/run/plan/seeded.h"
#include "engine/status.h"

#include <math.h>
#include <stdlib.h>

_Static_assert(CUTTLE_NO_CLUSTER == DP_NO_CLUSTER && CUTTLE_MOST_CLUSTERS == DP_MOST_CLUSTERS,
               "the public header has dp's numbers");

#define MOST_RECORDS (UINT64_C(1) << 40)

enum cuttle_status histogram_check(const struct cuttle_histogram *histogram,
                                   struct cuttle_error *error) {
	if (histogram->scale < 1 || histogram->scale > DP_MOST_SCALE || histogram->clusters < 1 ||
	    histogram->clusters > DP_MOST_CLUSTERS || histogram->texts < 1)
		return status_fail(error, CUTTLE_USAGE,
		                   "a histogram has 1 to %d clusters, noise of a scale from 1 to "
		                   "2^20, and texts",
		                   DP_MOST_CLUSTERS);
	return CUTTLE_OK;
}

/* Turns a status of dp/ into the engine's; `what` is what BAD_PARAMETER means. */
static enum cuttle_status histogram_status(enum dp_status status, const char *what,
                                           struct cuttle_error *error) {
	if (status == DP_OK) return CUTTLE_OK;
	if (status == DP_BAD_PARAMETER) return status_fail(error, CUTTLE_USAGE, "%s", what);
	return status_fail(error, status == DP_NO_MEMORY ? CUTTLE_NOMEM : CUTTLE_INTERNAL, "%s",
	                   dp_status_text(status));
}

enum cuttle_status cuttle_histogram_make(double epsilon, uint32_t clusters, uint64_t texts,
                                         uint64_t records, uint32_t batch,
                                         struct cuttle_histogram *histogram,
                                         struct cuttle_lots *lots, struct cuttle_error *error) {
	REQUIRE(histogram && lots);
	struct cuttle_histogram made = {.scale = 1, .clusters = clusters, .texts = (uint32_t)texts};
	const enum cuttle_status status = histogram_check(&made, error);
	if (status) return status;
	if (texts > UINT32_MAX || records > MOST_RECORDS || batch < 1)
		return status_fail(error, CUTTLE_USAGE,
		                   "the number of texts, records or references is out of range");
	if (!isnormal(epsilon) || epsilon <= 0.0 || dp_histogram_scale(epsilon, &made.scale))
		return status_fail(error, CUTTLE_USAGE,
		                   "private clusters need epsilon, of 0.00003 or more: the noise "
		                   "of their counts follows from it");
	const struct dp_share share = dp_seats_share(texts, clusters, records, batch);
	*histogram = made;
	*lots = (struct cuttle_lots){.records = records, .batches = share.den, .used = share.num};
	return CUTTLE_OK;
}

enum cuttle_status cuttle_histogram_count(const struct cuttle_histogram *histogram,
                                          const uint32_t *cluster, size_t records,
                                          const uint64_t *seed, int64_t *noisy,
                                          struct cuttle_error *error) {
	REQUIRE(histogram && noisy && (cluster || !records));
	struct seeded seeded = {.seed = seed ? *seed : 0, .heading = SEEDED_COUNTS};
	const struct dp_random random = seed ? seeded_random(&seeded) : dp_random_system();
	return histogram_status(
	    dp_histogram(cluster, records, histogram->clusters, histogram->scale, &random, noisy),
	    "", error);
}

uint64_t cuttle_histogram_deal(const struct cuttle_histogram *histogram,
                               const struct cuttle_lots *lots, uint32_t batch, const int64_t *noisy,
                               struct cuttle_lots *clusters) {
	REQUIRE(histogram && lots && noisy && clusters && lots->used && batch);
	REQUIRE(histogram->clusters <= DP_MOST_CLUSTERS);
	uint64_t batches[DP_MOST_CLUSTERS] = {0}, used[DP_MOST_CLUSTERS], dealt = 0;
	const uint32_t count = histogram->clusters;
	/* Rounded up there are more batches, and so seats for more texts. */
	for (int up = 0; up < 2 && dealt < histogram->texts; up++) {
		for (uint32_t c = 0; c < count; c++)
			batches[c] = dp_seats_batches(noisy[c], batch, histogram->scale, up);
		dealt = dp_seats_deal(batches, count, histogram->texts,
		                      (struct dp_share){lots->used, lots->batches}, used);
	}
	for (uint32_t c = 0; c < count; c++)
		clusters[c] = (struct cuttle_lots){.records = noisy[c] > 0 ? (uint64_t)noisy[c] : 0,
		                                   .batches = batches[c],
		                                   .used = used[c]};
	return dealt;
}

/* A cluster with the fewest batches has the most records a batch beyond its count, so that it needs
 * the largest cap. But no batch has more rows than its cluster has records: where that bounds the
 * cap, one with a batch more has more records and may need more. From where the cap does not grow
 * it falls, as then the odds of lots bound it. So it is made for texts that are all written from
 * clusters with the fewest batches, then with one more, until it does not grow. One row more, for
 * the record that is null in the other world: it has no row there, so that the others must fit
 * beside it. Example: B = 15, epsilon 10, 100 texts: 237 for one batch, 243 for two, 189 for three.
 */
enum cuttle_status cuttle_histogram_rows(const struct cuttle_histogram *histogram, uint32_t batch,
                                         double epsilon, double delta, uint32_t *rows,
                                         struct cuttle_error *error) {
	REQUIRE(histogram && rows);
	const enum cuttle_status status = histogram_check(histogram, error);
	if (status) return status;
	if (!isnormal(epsilon) || epsilon <= 0.0 || !(delta >= 1e-300 && delta < 1.0) || batch < 1)
		return status_fail(error, CUTTLE_USAGE,
		                   "epsilon, delta or references are out of range");
	const uint32_t twice = 2 * histogram->scale, least = batch > twice ? batch : twice;
	const uint64_t texts = histogram->texts,
	               fewest = dp_seats_batches(least, batch, histogram->scale, false),
	               full = texts / fewest + (texts % fewest != 0),
	               count = full > histogram->clusters ? full : histogram->clusters;
	int64_t *noisy = calloc(count, sizeof *noisy);
	uint64_t *batches = calloc(count, sizeof *batches), *used = calloc(count, sizeof *used);
	enum dp_status answer = noisy && batches && used ? DP_OK : DP_NO_MEMORY;
	uint32_t most = 0, cap = 1;
	for (uint64_t each = fewest; answer == DP_OK && cap > most; each++) {
		uint64_t left = texts;
		most = each == fewest ? 0 : cap;
		for (uint64_t c = 0; c < full; c++) {
			used[c] = left < each ? left : each;
			left -= used[c];
			batches[c] = used[c] ? each : 0;
			noisy[c] = (int64_t)dp_seats_records(each, batch);
		}
		answer = dp_seats_cap(noisy, batches, used, (uint32_t)count, histogram->scale,
		                      epsilon, delta, &cap);
	}
	*rows = most;
	free(noisy);
	free(batches);
	free(used);
	if (answer == DP_OK) *rows += 1;
	return histogram_status(answer, "a batch would have too many rows", error);
}

/* ---- accounts -------------------------------------------------------------------------------- */

enum cuttle_status histogram_epsilon(const struct cuttle_histogram *histogram, long double ratio,
                                     enum dp_accountant accountant, const struct dp_claim *claim,
                                     double delta, double *epsilon, struct cuttle_error *error) {
	const struct dp_histogram_terms terms = {
	    .accountant = accountant, .q = ratio, .t = histogram->scale};
	return histogram_status(dp_histogram_epsilon(&terms, claim, delta, epsilon),
	                        "this is out of range of the exact accountant; use zcdp", error);
}

double histogram_rho(const struct cuttle_histogram *histogram, double rho) {
	return nextafter(rho + dp_histogram_rho(histogram->scale), (double)INFINITY);
}

enum cuttle_status histogram_lower(const struct cuttle_histogram *histogram, long double ratio,
                                   enum dp_accountant accountant, double epsilon, double delta,
                                   struct dp_integers *integers, struct cuttle_error *error) {
	const struct dp_histogram_terms terms = {
	    .accountant = accountant, .q = ratio, .t = histogram->scale};
	if (!((long double)epsilon > 1.0L / histogram->scale))
		return status_fail(error, CUTTLE_USAGE,
		                   "the counts of the clusters alone cost epsilon 1/%u",
		                   histogram->scale);
	return histogram_status(
	    dp_histogram_lower(&terms, epsilon, delta, integers),
	    "epsilon is so small that beside the counts of the clusters no clip "
	    "is left",
	    error);
}

enum cuttle_status cuttle_histogram_solve(const struct cuttle_histogram *histogram,
                                          const struct cuttle_lots *lots, bool known,
                                          struct cuttle_budget *budget,
                                          struct cuttle_error *error) {
	REQUIRE(histogram && lots && budget);
	struct dp_budget rho = {.epsilon = (double)NAN,
	                        .delta = (double)NAN,
	                        .rho = (double)NAN,
	                        .clip = budget->clip,
	                        .temperature = budget->temperature,
	                        .batch = budget->batch,
	                        .tokens = budget->tokens};
	long double ratio = 1.0L;
	double epsilon, batch_delta = budget->delta, known_delta;
	const char *reason;
	enum cuttle_status status = histogram_check(histogram, error);
	if (!status) status = lots_ratio(lots, 1, &ratio, error);
	if (!status)
		status =
		    cuttle_lots_delta(lots, 1, budget->delta, &batch_delta, &known_delta, error);
	if (status) return status;
	const enum dp_status answer = dp_budget_solve(&rho, DP_RHO, &reason);
	if (answer) return histogram_status(answer, reason, error);
	/* The claim of a batch: eta = 2 C / (B tau), a little more as this rounds. */
	const struct dp_claim claim = {.null = DP_NULL_IS_NOTHING,
	                               .units = budget->tokens,
	                               .eta = 2.0L * (long double)budget->clip / budget->batch /
	                                      (long double)budget->temperature * (1.0L + 0x1p-59L)};
	status =
	    histogram_epsilon(histogram, known ? 1.0L : ratio,
	                      budget->accountant == CUTTLE_EXACT ? DP_EXACT : DP_ZCDP, &claim,
	                      known ? batch_delta : dp_rows_delta(budget->delta), &epsilon, error);
	if (status) return status;
	budget->epsilon = epsilon;
	budget->rho = histogram_rho(histogram, rho.rho);
	return CUTTLE_OK;
}
