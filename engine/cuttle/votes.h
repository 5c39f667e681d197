// SPDX-License-Identifier: Apache-2.0
// votes.h: what many private records say together, with noise: counts of votes, sums of numbers.
// Nothing is written from them: they say which public text is nearest, or how long they are. No
// model is needed.
// Private data: what each record votes for or contributes. Noisy answers are public, but only once:
// a caller keeps them before they are used. No clean answer leaves the library.
// Example: two queries that share epsilon 1, votes with 8 parts and a sum with 2:
//     struct cuttle_query queries[2] = {{.square = 1, .times = 1, .parts = 8},
//                                       {.square = 256 * 256, .times = 1, .parts = 2}};
//     cuttle_queries_solve(queries, 2, 1.0, 1e-6, &error);      variances
//     cuttle_votes_count(&queries[0], votes, records, 1, 50, NULL, 0, noisy, &error);
#ifndef CUTTLE_VOTES_H
#define CUTTLE_VOTES_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUTTLE_NO_VOTE UINT32_MAX /* of a record that votes for nobody, as a null one */
#define CUTTLE_MOST_CANDIDATES (UINT32_C(1) << 20)
#define CUTTLE_MOST_VOTES 16                 /* of one record */
#define CUTTLE_MOST_REACH (INT32_C(1) << 20) /* of one record in a sum */

/* Answers of one kind, and their noise: discrete Gaussian of variance num / den. */
struct cuttle_query {
	/* The largest sum of squares by which one record moves an answer: K for counts of K votes
	 * a record, S^2 for a sum of numbers within -S .. S. */
	uint64_t square;
	uint32_t times; /* how many such answers there are */
	uint32_t parts; /* of rho, for all of them together: of the sum of all queries' parts */
	uint32_t num;   /* cuttle_queries_solve sets num and den */
	uint32_t den;
};

/* Sets the variances so that all answers together are (epsilon, delta)-DP where one record becomes
 * null: rho of epsilon and delta (Canonne, Kamath & Steinke 2020) is shared by parts.
 * USAGE: a number is out of range; epsilon is so small that a variance would be above 2^32. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_queries_solve(struct cuttle_query *queries,
                                                                  size_t count, double epsilon,
                                                                  double delta,
                                                                  struct cuttle_error *error);

/* What they cost with the variances that they have: rho, the sum of times square den / (2 num), and
 * epsilon at delta; both rounded up. USAGE: a number is out of range. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_queries_cost(const struct cuttle_query *queries,
                                                                 size_t count, double delta,
                                                                 double *rho, double *epsilon,
                                                                 struct cuttle_error *error);

/* noisy[candidates] = how many records vote for each + noise (dp/votes.h). votes[records][each] has
 * numbers below `candidates`, or CUTTLE_NO_VOTE; a number that stands twice in a record counts
 * once. each is the query's square. seed NULL: random bits of the system; else NOT PRIVATE: the
 * noise follows from the seed and `which`, the number of this answer.
 * INTERNAL: there are no random bits; nothing was drawn. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_votes_count(const struct cuttle_query *query, const uint32_t *votes, size_t records,
                   uint32_t each, uint32_t candidates, const uint64_t *seed, uint64_t which,
                   int64_t *noisy, struct cuttle_error *error);

/* *noisy = the sum of values[records], each clamped to [-reach, reach], + noise. The query's square
 * is reach^2. Else as cuttle_votes_count. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_votes_sum(const struct cuttle_query *query,
                                                              const int32_t *values, size_t records,
                                                              int32_t reach, const uint64_t *seed,
                                                              uint64_t which, int64_t *noisy,
                                                              struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
