// SPDX-License-Identifier: Apache-2.0
// audit.c: runs a job with a mechanism that tells odds, and scores texts as an attacker would, see
// cuttle/audit.h.
#include "engine/cuttle/audit.h"

#include "base/misuse.h"
#include "engine/cuttle/job.h"
#include "engine/forward/score.h"
#include "engine/machine/region.h"
#include "engine/params.h"
#include "engine/run/plan/plan.h"
#include "engine/run/plan/rewrite.h"
#include "engine/run/loop/worlds.h"
#include "engine/status.h"

#include <stdlib.h>
#include <string.h>

void cuttle_audit_default(struct cuttle_audit *audit) {
	*audit = (struct cuttle_audit){.struct_size = sizeof *audit};
}

double cuttle_audit_range(const struct cuttle_plan *plan) {
	REQUIRE(plan);
	const struct dp_claim *claim = &plan->mechanism.claim;
	if (claim->data_dependent) return 0;
	return claim->event.count ? dp_rdp_loss(&claim->event, 1, claim->event.order)
	                          : (double)claim->eta;
}

double cuttle_audit_answers(const struct cuttle_plan *plan) {
	REQUIRE(plan);
	return (double)plan->mechanism.claim.threshold;
}

double cuttle_audit_order(const struct cuttle_plan *plan) {
	REQUIRE(plan);
	return plan->mechanism.claim.event.count ? plan->mechanism.claim.event.order : 0;
}

enum cuttle_status cuttle_audit_run(struct cuttle_plan *plan, const struct cuttle_job *job,
                                    const struct cuttle_audit *given, struct cuttle_error *error) {
	REQUIRE(plan && job && given && !job->trace);
	struct cuttle_audit audit;
	cuttle_audit_default(&audit);
	enum cuttle_status status =
	    params_take(&audit, sizeof audit, given, "struct cuttle_audit", error);
	if (status) return status;
	REQUIRE(audit.odds && (audit.place != CUTTLE_EVERY_PLACE || !audit.without));
	REQUIRE(audit.order == 0 || audit.order > 1);
	if (audit.place != CUTTLE_EVERY_PLACE && audit.place >= plan->places)
		return status_fail(error, CUTTLE_USAGE, "the plan has no place %u", audit.place);
	// What a mechanism keeps of a batch between its steps would see each step several times.
	if (!plan->mechanism.law || (plan->mechanism.turn && !plan->mechanism.retrace))
		return status_fail(error, CUTTLE_USAGE,
		                   "this method has no law in closed form: a canary is told by "
		                   "--score loss");
	const struct dp_mechanism own = plan->mechanism;
	struct worlds worlds;
	status = worlds_begin(&worlds, &own, plan->model->vocab_size, plan->places, plan->slots,
	                      &audit, &plan->seeded, error);
	if (!status && plan->model->lock) status = region_lock(&worlds.region, error);
	// The loop asks the plan for its mechanism, so that one is exchanged for this call.
	if (!status) {
		plan->mechanism = worlds_mechanism(&worlds);
		status = cuttle_job_run(plan, job, error);
		plan->mechanism = own;
	}
	worlds_end(&worlds);
	return status;
}

/* ---- an attacker from outside ---------------------------------------------------------------- */

struct cuttle_attacker {
	const struct model *model;
	const struct prompt *prompt; /* the plan's or the rewriter's */
	size_t limit;                /* tokens of a reference or document */
	size_t context;              /* tokens of prompt and text */
	bool whole;                  /* a guess is a document, never cut */
	struct scorer *scorer;
	struct region region; /* of the array below, private */
	int32_t *ids;         /* [context + capacity] prompt and text */
	int32_t *top1;        /* [context] which nobody reads */
	size_t capacity;      /* places that a private prompt needs */
};

/* Makes one that has these members. */
static enum cuttle_status make_attacker(const struct cuttle_attacker *as,
                                        struct cuttle_attacker **out, struct cuttle_error *error) {
	struct cuttle_attacker *made = *out = calloc(1, sizeof *made);
	if (!made) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	const size_t context = as->context;
	size_t total = 0;
	*made = *as;
	made->capacity = prompt_private_capacity(as->prompt, as->limit);
	enum cuttle_status status = CUTTLE_OK;
	if (region_add(&total, context + made->capacity, sizeof *made->ids) &&
	    region_add(&total, context, sizeof *made->top1) &&
	    region_map(&made->region, total, true)) {
		made->ids =
		    region_carve(&made->region, (context + made->capacity) * sizeof *made->ids);
		made->top1 = region_carve(&made->region, context * sizeof *made->top1);
	} else {
		status = status_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	// Without OpenBLAS: its bits would depend on what stands in the cache already.
	if (!status) status = scorer_new(as->model, context, false, &made->scorer, error);
	if (status) cuttle_attacker_free(out);
	return status;
}

enum cuttle_status cuttle_attacker_make(const struct cuttle_plan *plan,
                                        struct cuttle_attacker **out, struct cuttle_error *error) {
	REQUIRE(plan && out);
	return make_attacker(&(struct cuttle_attacker){.model = plan->model,
	                                               .prompt = plan->prompts,
	                                               .limit = plan->reference_tokens,
	                                               .context = plan->guarantee.context},
	                     out, error);
}

enum cuttle_status cuttle_attacker_make_rewritten(const struct cuttle_rewriter *rewriter,
                                                  struct cuttle_attacker **out,
                                                  struct cuttle_error *error) {
	REQUIRE(rewriter && out);
	return make_attacker(&(struct cuttle_attacker){.model = rewriter->model,
	                                               .prompt = &rewriter->prompt,
	                                               .limit = rewriter->guarantee.document_tokens,
	                                               .context = rewriter->guarantee.context,
	                                               .whole = true},
	                     out, error);
}

void cuttle_attacker_free(struct cuttle_attacker **attacker) {
	struct cuttle_attacker *old = attacker ? *attacker : NULL;
	if (!old) return;
	scorer_free(&old->scorer);
	region_unmap(&old->region, true);
	free(old);
	*attacker = NULL;
}

/* Writes the prompt of a guess, and its number of tokens. */
static enum cuttle_status write_guess(struct cuttle_attacker *attacker, const char *text,
                                      size_t size, size_t *count, struct cuttle_error *error) {
	const struct prompt *prompt = attacker->prompt;
	if (attacker->whole)
		return prompt_document(attacker->model, prompt, text, size, attacker->limit,
		                       attacker->ids, count, error);
	*count = prompt_private(attacker->model, prompt, &(struct prompt_shot){text, size}, 1,
	                        attacker->limit, attacker->ids);
	if (!*count) {
		// A null reference has no context of its own: the public one is all there is.
		*count = prompt->whole.count;
		memcpy(attacker->ids, prompt->whole.ids, *count * sizeof *attacker->ids);
	}
	return CUTTLE_OK;
}

enum cuttle_status cuttle_attacker_read(struct cuttle_attacker *attacker, const char *text,
                                        size_t size, const int32_t *ids, size_t count,
                                        double *logprobs, struct cuttle_error *error) {
	REQUIRE(attacker && ids && logprobs && (text || !attacker->whole));
	const size_t context = attacker->context, vocab = attacker->model->vocab_size;
	size_t before;
	const enum cuttle_status status = write_guess(attacker, text, size, &before, error);
	if (status) return status;
	if (!count || count > context || before > context - count)
		return status_fail(error, CUTTLE_USAGE,
		                   "prompt (%zu tokens) and text (%zu) exceed a context of %zu",
		                   before, count, context);
	for (size_t i = 0; i < count; i++)
		if (ids[i] < 0 || (size_t)ids[i] >= vocab)
			return status_fail(error, CUTTLE_USAGE,
			                   "a token is outside the vocabulary");
	memcpy(attacker->ids + before, ids, count * sizeof *ids);
	return scorer_read(attacker->scorer, attacker->ids, before + count, before, logprobs,
	                   attacker->top1, error);
}
