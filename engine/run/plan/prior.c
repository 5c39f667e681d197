// SPDX-License-Identifier: Apache-2.0
// prior.c: see cuttle/prior.h. Records become tokens as references do (prompt.h);
// dp/prior.h counts them, and what follows from the noisy counts goes to the mechanism as a shift
// of the public logits (dp_invisibleink_shift).
#include "engine/cuttle/prior.h"

#include "base/misuse.h"
#include "dp/invisibleink.h"
#include "dp/prior.h"
#include "engine/run/plan/plan.h"
#include "engine/run/plan/prior_budget.h"
#include "engine/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far a token's weight goes: its share to the fifth root, at most 4 times more or less. */
#define MOST_LEAN 4.0
#define LEAN_ROOT 5.0

/* ---- counts ---------------------------------------------------------------------------------- */

/* The records of cuttle_prior_draw as dp/prior.h asks for them. */
struct prior_records {
	const struct cuttle_plan *plan;
	void (*reference)(void *user, size_t index, const char **text, size_t *size);
	void *user;
	int32_t *ids; /* of the record that was asked for last; private */
};

static size_t give_prior_tokens(void *self, size_t record, const int32_t **ids) {
	const struct prior_records *of = self;
	const char *text = NULL;
	size_t size = 0;
	of->reference(of->user, record, &text, &size);
	*ids = of->ids;
	return prompt_reference(of->plan->model, of->plan->prompts, text, size,
	                        of->plan->reference_tokens, of->ids);
}

static enum cuttle_status need_prior(const struct cuttle_plan *plan, struct cuttle_error *error) {
	return plan->guarantee.token_prior > 0.0
	           ? CUTTLE_OK
	           : status_fail(error, CUTTLE_USAGE, "the plan has no token prior");
}

/* Lists the tokens with a count. */
static enum cuttle_status list_kept(const int64_t *noisy, size_t vocab,
                                    struct cuttle_prior_token **kept, size_t *count,
                                    struct cuttle_error *error) {
	size_t some = 0;
	for (size_t y = 0; y < vocab; y++) some += noisy[y] > 0;
	*kept = calloc(some + 1, sizeof **kept);
	if (!*kept) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t y = 0; y < vocab; y++)
		if (noisy[y] > 0)
			(*kept)[(*count)++] = (struct cuttle_prior_token){(int32_t)y, noisy[y]};
	return CUTTLE_OK;
}

enum cuttle_status
cuttle_prior_draw(const struct cuttle_plan *plan, size_t records,
                  void (*reference)(void *user, size_t index, const char **text, size_t *size),
                  void *user, const uint64_t *seed, struct cuttle_prior_token **kept, size_t *count,
                  struct cuttle_error *error) {
	REQUIRE(plan && reference && kept && count);
	*kept = NULL;
	*count = 0;
	enum cuttle_status status = need_prior(plan, error);
	if (status) return status;
	struct seeded seeded = {.seed = seed ? *seed : 0, .heading = SEEDED_PRIOR};
	const struct dp_random random = seed ? seeded_random(&seeded) : dp_random_system();
	const size_t vocab = plan->model->vocab_size,
	             capacity = prompt_reference_capacity(plan->reference_tokens);
	uint8_t *allowed = plan_allowed_tokens(plan->model);
	int64_t *noisy = calloc(vocab, sizeof *noisy);
	struct prior_records of = {.plan = plan,
	                           .reference = reference,
	                           .user = user,
	                           .ids = calloc(capacity, sizeof *of.ids)};
	const struct dp_prior_records all = {
	    .count = records, .tokens = give_prior_tokens, .user = &of};
	status =
	    allowed && noisy && of.ids
	        ? plan_status(dp_prior(&all, allowed, vocab,
	                               prior_parts(plan->guarantee.token_prior), &random, noisy),
	                      error)
	        : status_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = list_kept(noisy, vocab, kept, count, error);
	if (of.ids) explicit_bzero(of.ids, capacity * sizeof *of.ids);
	free(of.ids);
	free(noisy);
	free(allowed);
	return status;
}

/* ---- what follows from them ------------------------------------------------------------------ */

static void give_public_text(void *user, size_t index, const char **text, size_t *size) {
	const char *const *texts = user;
	*text = texts[index];
	*size = strlen(texts[index]);
}

/* Counts the tokens of public texts as dp_prior counts those of records, without noise. */
static enum cuttle_status count_public_texts(const struct cuttle_plan *plan, const uint8_t *allowed,
                                             const char *const *texts, size_t count,
                                             int64_t *counts, struct cuttle_error *error) {
	const size_t vocab = plan->model->vocab_size;
	struct prior_records of = {
	    .plan = plan,
	    .reference = give_public_text,
	    .user = (void *)(uintptr_t)texts, // the callback only reads
	    .ids = calloc(prompt_reference_capacity(plan->reference_tokens), sizeof *of.ids)};
	uint64_t *last = calloc(vocab, sizeof *last);
	for (size_t i = 0; of.ids && last && i < count; i++) {
		const int32_t *ids;
		const size_t size = give_prior_tokens(&of, i, &ids);
		dp_prior_add(ids, size, allowed, vocab, i + 1, last, counts);
	}
	const bool made = of.ids && last;
	free(of.ids);
	free(last);
	return made ? CUTTLE_OK : status_fail(error, CUTTLE_NOMEM, "out of memory");
}

/* Sets shift[vocab] to tau 2^F ln(weight) of each kept token, as the mechanism takes it. Example:
 * four times as often, tau 1 and F 10: 1024 ln(4) / 5 = 284. */
static void set_shift(const struct cuttle_plan *plan, const struct cuttle_prior_token *kept,
                      size_t count, const int64_t *counts, int32_t *shift) {
	const struct cuttle_guarantee *g = &plan->guarantee;
	double noisy = 0, open = 0;
	for (size_t i = 0; i < count; i++) {
		noisy += (double)kept[i].count;
		open += (double)counts[kept[i].token] + 0.5;
	}
	for (size_t i = 0; i < count; i++) {
		const double share = (double)kept[i].count / noisy,
		             expected = ((double)counts[kept[i].token] + 0.5) / open,
		             ratio = fmin(MOST_LEAN, fmax(1 / MOST_LEAN, share / expected));
		shift[kept[i].token] = (int32_t)lround(
		    ldexp(g->temperature, (int)g->fraction_bits) * log(ratio) / LEAN_ROOT);
	}
}

enum cuttle_status cuttle_prior_use(struct cuttle_plan *plan, const struct cuttle_prior_token *kept,
                                    size_t count, const char *const *texts, size_t text_count,
                                    struct cuttle_error *error) {
	REQUIRE(plan && (kept || !count) && (texts || !text_count));
	enum cuttle_status status = need_prior(plan, error);
	if (status) return status;
	if (text_count < CUTTLE_PRIOR_TEXTS)
		return status_fail(error, CUTTLE_USAGE,
		                   "a token prior compares with %d public texts or more, and there "
		                   "are %zu",
		                   CUTTLE_PRIOR_TEXTS, text_count);
	const size_t vocab = plan->model->vocab_size;
	uint8_t *allowed = plan_allowed_tokens(plan->model);
	int64_t *counts = calloc(vocab, sizeof *counts);
	int32_t *shift = calloc(vocab, sizeof *shift);
	status = allowed && counts && shift ? CUTTLE_OK
	                                    : status_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; !status && i < count; i++)
		if (kept[i].token < 0 || (size_t)kept[i].token >= vocab ||
		    !allowed[kept[i].token] || kept[i].count < 1 ||
		    (i && kept[i].token <= kept[i - 1].token))
			status =
			    status_fail(error, CUTTLE_USAGE, "these are no counts of this model");
	if (!status) status = count_public_texts(plan, allowed, texts, text_count, counts, error);
	if (!status) {
		set_shift(plan, kept, count, counts, shift);
		status = plan_status(dp_invisibleink_shift(plan->traced, shift), error);
	}
	free(allowed);
	free(counts);
	free(shift);
	return status;
}
