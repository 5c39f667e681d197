// SPDX-License-Identifier: Apache-2.0
// learn.h: a bias, by which a model's texts are more like many private records. It is bought once:
// what follows from it, on any machine, costs nothing more.
// Private data: records go into cuttle_learner_read. The answer that comes out is noisy, and public
// once it was paid for; a caller keeps it before it is used. All else here is public.
// How: cuttle_learner_make writes public texts behind a plan's public prompt, and measures by them
// how the model's law turns with its state. cuttle_learner_read asks each record in which direction
// its own tokens would be likelier, adds up, and adds noise. cuttle_learner_bias makes one vector
// of the answer, cuttle_bias_use gives it to plans, and cuttle_scorer_bias to scorers (public.h).
// Example:
//     struct cuttle_query query = {.square = CUTTLE_LEARN_SQUARE, .times = 1, .parts = 1};
//     cuttle_queries_solve(&query, 1, 1.0, 1e-6, &error);                    votes.h
//     cuttle_learner_make(plan, &params, &learner, &error);
//     cuttle_learner_read(learner, records, give, NULL, &file, &query, NULL, answer,
//                         &error);
//     double share = cuttle_learner_bias(learner, answer, records, &query, bias);
//     cuttle_bias_use(other_plan, bias, &error);
#ifndef CUTTLE_LEARN_H
#define CUTTLE_LEARN_H

#include "status.h"
#include "votes.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuttle_plan;    /* plan.h */
struct cuttle_learner; /* for one caller at a time; the plan's model must outlive it */

enum {
	CUTTLE_LEARN_SQUARE = 64 * 64, /* of cuttle_query: what one record moves the answer by */
	CUTTLE_LEARN_RECORDS = 1 << 25 /* at most */
};

struct cuttle_learn_params {
	uint32_t texts;  /* public texts that are written; default 160 */
	uint32_t tokens; /* of a record, and of a public text, at most 256; default 40 */
	/* Called now and then with how many texts were read since, public ones first; nonzero: stop
	 * with PARTIAL. When it is called follows from how long records are. NULL = nobody is. */
	int (*progress)(void *user, size_t texts);
	void *user; /* first argument of progress */
};

CUTTLE_API void cuttle_learn_params_default(struct cuttle_learn_params *params);

/* What a learner knows, all of it public. */
struct cuttle_learner_info {
	size_t width;       /* numbers of an answer and of a bias: the model's width */
	double mean_tokens; /* of a public text */
	double clip;        /* the length of a record's vector that counts whole */
};

/* Writes the public texts behind the plan's public prompt (its first heading's), always the same
 * ones, each of one token at least, and measures with them:
 *
 *   p_t      the model's law before token t, without tokens that end a text or a line
 *   g        of a text: the sum over its tokens of e_y - E' p_t; E is the model's head (law.h)
 *   F        the mean over public tokens of E' diag(p_t) E - (E' p_t)(E' p_t)'
 *   A        (F + trace(F) / (10 width) I)^(-1/2), in the basis of F's eigenvectors, that of the
 *            largest eigenvalue first
 *   clip     0.85 times the median of |A g| over the public texts
 *
 * USAGE: a number is out of range; prompt and tokens exceed the model's context; --mlock is
 * refused. MODEL: it writes nothing behind this prompt, or its numbers are not finite. PARTIAL:
 * progress said stop. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_learner_make(const struct cuttle_plan *plan, const struct cuttle_learn_params *params,
                    struct cuttle_learner **out, struct cuttle_error *error);

/* Wipes and frees it, and sets *learner to NULL. *learner may be NULL. */
CUTTLE_API void cuttle_learner_free(struct cuttle_learner **learner);

CUTTLE_API struct cuttle_learner_info cuttle_learner_describe(const struct cuttle_learner *learner);

/* answer[width] = the sum over all records of A g / clip, each cut to length 1 and rounded to parts
 * of 1/64, and noise of the query's variance (dp/learn.h). g is of the record's first tokens behind
 * the public prompt. `reference` sets *text and *size to record number `index`, each once, in their
 * order; NULL is null. A record that is null, cannot be read or gives no finite number adds 0: no
 * record can make an error. ends: whether record `index` is its owner's last one, where those of an
 * owner stand together; the sum over them is then what is cut to length 1. NULL: each record is an
 * owner's only one. query: of square CUTTLE_LEARN_SQUARE, one time. seed NULL: random bits
 * of the system; else NOT PRIVATE. Never ask twice for one payment.
 * A record's part depends on it alone, bit for bit, with any kernels, threads, and records beside
 * it. USAGE: there are too many records. INTERNAL: there are no random bits. PARTIAL: progress
 * said stop. NOMEM. On failure nothing is told. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_learner_read(struct cuttle_learner *learner, size_t records,
                    void (*reference)(void *user, size_t index, const char **text, size_t *size),
                    bool (*ends)(void *user, size_t index), void *user,
                    const struct cuttle_query *query, const uint64_t *seed, int64_t *answer,
                    struct cuttle_error *error);

/* The least share of an answer that is not told as 0: that of |x|^2 three deviations above what
 * noise has on average. For 576 numbers .15. width > 0. */
CUTTLE_API double cuttle_learn_least_share(size_t width);

/* bias[width] = what is to be added to the state before the head: 0.6 / 0.85 times the mean over
 * records and tokens, A' answer clip / (64 records mean_tokens). Before, each sixteenth of the
 * answer is multiplied by its own share that is no noise (dp_learn_share): directions in which the
 * model's law varies most have more to say.
 * Behind that the mean is cut to the length of the clip: records have no longer one, and noise of
 * few records does. Returns the share of the whole answer, 0 to 1. Below cuttle_learn_least_share
 * it is 0, and so is the bias: so little was paid for so few records that noise may be all there
 * is. `records` counts null ones, too. */
CUTTLE_API double cuttle_learner_bias(const struct cuttle_learner *learner, const int64_t *answer,
                                      size_t records, const struct cuttle_query *query,
                                      double *bias);

/* From now on the plan's texts are drawn with e_y . bias added to the logit of each token y, in
 * its public weights alone. bias[width] must be public.
 * USAGE: the plan's method is not InvisibleInk; a number is not finite. NOMEM. On failure the plan
 * is as before. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_bias_use(struct cuttle_plan *plan, const double *bias, struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
