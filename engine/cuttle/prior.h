// SPDX-License-Identifier: Apache-2.0
// prior.h: the token prior: which tokens more or fewer records begin with than public texts do. A
// plan that has one draws by it, so that texts have the records' words.
// It is drawn between making a plan with `token_prior` and running its jobs.
// Private data: references go into cuttle_prior_draw. What comes out is public, and paid for by the
// plan's guarantee, once.
// How: cuttle_prior_draw counts the tokens of all records, with noise, and keeps what stands out.
// The caller keeps that where a resumed run finds it. Then cuttle_prior_use compares it with public
// texts. Example: of 3000 records 900 have "patient", of 100 public texts 10: three times as many,
// so the public weight of that token is 3^(1/5) = 1.25 times what it was.
#ifndef CUTTLE_PRIOR_H
#define CUTTLE_PRIOR_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuttle_plan; /* plan.h */

enum {
	/* With fewer records than this nothing is gained; a caller refuses them. */
	CUTTLE_PRIOR_RECORDS = 3000,

	/* Public texts, at least. A token of no public text counts as one of half a text: with so
	 * many, that is about as few as the noise leaves of 3000 records at rho 0.05. */
	CUTTLE_PRIOR_TEXTS = 20
};

/* A token that records have, and how many of them, with noise. */
struct cuttle_prior_token {
	int32_t token;
	int64_t count; /* above 0 */
};

/* Draws the noisy counts of the first 64 distinct tokens of each record (dp/prior.h). `reference`
 * sets *text and *size to record number `index`, each once, in their order; it gives NULL for what
 * is null. One record of each owner, if owners are what is protected. seed NULL: random bits of the
 * system; else NOT PRIVATE. *kept is a list of *count tokens, ascending; the caller frees it. It is
 * public, but only once: keep it before it is used, and never draw again for the same run.
 * USAGE: the plan has no token prior. INTERNAL: there are no random bits. NOMEM. On failure *kept
 * is NULL and nothing was drawn. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_prior_draw(const struct cuttle_plan *plan, size_t records,
                  void (*reference)(void *user, size_t index, const char **text, size_t *size),
                  void *user, const uint64_t *seed, struct cuttle_prior_token **kept, size_t *count,
                  struct cuttle_error *error);

/* The jobs of the plan draw by kept[count] from now on. texts[text_count] are public texts of the
 * same kind, at least CUTTLE_PRIOR_TEXTS. With f a token's share of all counts that were kept, and
 * g its share among the same tokens of public texts, half a text added to each, the public weight
 * of the token becomes (f / g)^(1/5) times what it was; f / g counts as 1/4 to 4. Other tokens stay
 * as they are. No number of records or owners goes into it.
 * USAGE: the plan has no token prior, there are too few texts, or a token is none of the model's
 * that may be drawn, out of order or without a count. NOMEM. On failure the plan is as before. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_prior_use(struct cuttle_plan *plan, const struct cuttle_prior_token *kept, size_t count,
                 const char *const *texts, size_t text_count, struct cuttle_error *error);

/* rho of batches, `rho`, and of a token prior of `token_prior` together, rounded up. */
CUTTLE_API double cuttle_prior_rho(double token_prior, double rho);

#ifdef __cplusplus
}
#endif

#endif
