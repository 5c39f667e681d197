// SPDX-License-Identifier: Apache-2.0
// law.h: a row's law over the tokens that count, and the mean of the head's rows under it.
// Private data: laws of private rows. Its memory is wiped when it is freed.
// How: E is the head as a matrix, a vector e_y of each token y, in fp16. law_read makes p of a row
// of logits, p(y) proportional to exp(logit of y) where y counts, else 0. m is the sum of p(y) e_y.
// If y came next, e_y - m is how the logits' likelihood of y grows with a vector added to the
// state. A text wants the sum of its m only. So its p are added first, and multiplied by E once.
// Rule: a row's p and m are functions of its logits and E alone, bit for bit: with any kernels,
// threads, and rows beside it. So is the sum of a text's rows. No OpenBLAS, and no libm.
#ifndef CUTTLE_ENGINE_LAW_H
#define CUTTLE_ENGINE_LAW_H

#include "engine/model/model.h"

enum { LAW_ROWS = 32 }; /* rows of one call, and texts with a sum, at most */

struct law;

/* counts[vocabulary]: nonzero = the token counts; copied. The model must outlive it. NOMEM; USAGE
 * when --mlock is refused. */
enum cuttle_status law_new(const struct model *model, const uint8_t *counts, struct law **out,
                           struct cuttle_error *error);

/* Wipes and frees it, and sets *law to NULL. *law may be NULL. */
void law_free(struct law **law);

/* Makes p of each row of logits[count], `stride` floats apart; 1 <= count <= LAW_ROWS. A logit that
 * is no number makes all of its p NaN. They stay until the next call.
 *
 *   M = the largest logit of the tokens that count      w(y) = exp(logit - M), in fp32 (law.c)
 *   p(y) = (float)(w(y) / sum of w), the sum in double, in 8 lanes: lane i has y = i, i + 8, ... */
void law_read(struct law *law, const float *logits, size_t stride, size_t count);

/* Sets means[count][width] to m of each row of the last law_read: the sum of p(y) e_y, parts of
 * 2048 tokens, in fp32, each in the order of gemm.h; then added. */
void law_means(struct law *law, float *means);

/* Adds p of each row of the last law_read to the sum of its text, texts[row] < LAW_ROWS, in fp32,
 * in the order of the rows. */
void law_gather(struct law *law, const size_t *texts);

/* Sets means[count][width] to the sum of m of texts 0 .. count - 1: as m, of the gathered sum in
 * the place of p. The sums begin at 0 again. 1 <= count <= LAW_ROWS. */
void law_gathered(struct law *law, size_t count, float *means);

/* The token y, of those with may[y] nonzero, at which the sum of exp(logit) from token 0 on passes
 * `at` times the whole; 0 <= at < 1. A token of the law, if `at` is drawn evenly; -1 where a logit
 * is not finite. logits and may [vocab]. Only for public rows. */
int32_t law_pick(const float *logits, const uint8_t *may, size_t vocab, double at);

/* Adds p of row `row` of the last call to sums[vocabulary]. */
void law_add(const struct law *law, size_t row, double *sums);

/* e[width] = e_y of one token. */
void law_vector(const struct law *law, int32_t token, float *e);

/* Sets moments[width][width]: place (i, j) is the sum over y of weights[y] (e_y[i] - center[i])
 * e_y[j]. weights[vocabulary] are public. Loses what law_read kept. */
void law_moments(struct law *law, const double *weights, const double *center, float *moments);

#endif
