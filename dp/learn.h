// SPDX-License-Identifier: Apache-2.0
// learn.h: what all records say together about a model: the sum of one bounded vector of each
// record, with Gaussian noise. All in integers.
//
// A record's vector is private; the noisy sum may be told once, and what is made of it costs
// nothing more. The clean sum is held nowhere: each place of the answer begins as its noise.
// Example: width 2, records (0.5, 0), (3, 4) and a null one. Their integers are (32, 0), (38, 51)
// and (0, 0): the second was clipped to length 64. The sum is (70, 51) plus noise.
//   dp_learn_begin draws all noise; dp_learn_add comes once for each record, null ones too, in any
//   order; dp_learn_end tells the answer.
// Rule: a record's vector is a function of that record and of public data.
#ifndef CUTTLE_DP_LEARN_H
#define CUTTLE_DP_LEARN_H

#include <stddef.h>
#include <stdint.h>
#include "dp/entropy.h"
#include "dp/status.h"
#include "dp/votes.h"

enum {
	DP_LEARN_CLIP = 64, /* S: the length of a record's integers, at most */
	DP_LEARN_SQUARE =
	    DP_LEARN_CLIP * DP_LEARN_CLIP, /* for dp_votes_rho and dp_votes_variance */
	DP_LEARN_MOST_WIDTH = 1 << 16,
	DP_LEARN_MOST_RECORDS = 1 << 25 /* so that records times S is at most 2^31 */
};

/* Sets q[width] to the integers of one record. u[width] is its vector, in units of the clip: a
 * length of 1 is 64 in integers. NULL is a null record.
 *
 *   q_j = the integer nearest to 64 u_j, ties to even, within -2^20 .. 2^20
 *   where |q|^2 > 64^2:  q_j = q_j 64 / ceil(|q|), rounded towards 0
 *   where |q|^2 > 64^2 still:  q = 0. This cannot be; it is asked all the same.
 *
 * So |q|^2 <= 64^2, whatever u holds. A vector with a NaN or an infinity is a null record, whose q
 * is 0: nobody is told. */
void dp_learn_round(const double *u, size_t width, int32_t *q);

/* The answer in the making. */
struct dp_learn;

/* Begins an answer of `width` numbers over at most `records` records, each number as noise of its
 * own: discrete Gaussian of variance num / den (dp/noise.h). No record is looked at before.
 * Privacy: where one record becomes null, the sum moves by an integer vector of length 64 at most;
 * that costs dp_votes_rho(DP_LEARN_SQUARE, 1, variance) in zCDP (dp/PRIVACY.md, step 55).
 * 1 <= width <= DP_LEARN_MOST_WIDTH, records <= DP_LEARN_MOST_RECORDS.
 * DP_NO_ENTROPY, DP_NO_MEMORY: nothing was drawn, and *out is NULL. */
enum dp_status dp_learn_begin(size_t width, size_t records, struct dp_variance variance,
                              const struct dp_random *random, struct dp_learn **out);

/* Adds the integers of one record. One call more than `records` is a caller bug. */
void dp_learn_add(struct dp_learn *learn, const double *u);

/* Tells x[width], the answer, wipes the rest and sets *learn to NULL. */
void dp_learn_end(struct dp_learn **learn, int64_t *x);

/* How much of x[width], a part of an answer of `whole` numbers, is what records say, and not noise:
 * 1 - (width sigma^2 + records 64^2 width / whole) / |x|^2, at least 0. Of the whole answer records
 * 64^2 is the most that another draw of the records would change; a part is given its even share.
 * `records` is the number of places, null ones counted: it is public. So is the result. */
double dp_learn_share(const int64_t *x, size_t width, size_t whole, size_t records,
                      struct dp_variance variance);

#endif
