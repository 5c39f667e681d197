// SPDX-License-Identifier: Apache-2.0
// rewrite.c: from the caller's parameters to a rewriter, see rewrite.h. The steps of
// cuttle_rewriter_make:
//   check_rewrite_params  every number is in its range
//   choose_lengths        how many tokens a text may have, and how many of them are free
//   plan_divergences      epsilons -> order and divergences, for each number of rows
//   prompt_write_document the prompt; fit_document: what room is left for a document
//   prepare_mechanism     what all its mechanisms have in common; one is built, to be checked
#include "engine/run/plan/rewrite.h"

#include "base/misuse.h"
#include "dp/account.h"
#include "engine/params.h"
#include "engine/run/plan/capacity.h"
#include "engine/run/plan/grammars.h"
#include "engine/run/plan/plan.h"
#include "engine/run/plan/savings.h"
#include "engine/status.h"

#include <math.h>
#include <stdlib.h>

_Static_assert(REWRITE_MOST_GROUPS == CUTTLE_MOST_GROUPS, "the public number is the same");

/* Lambda of CUTTLE_MIX_CAPPED, in units of 2^-16: no share is above one half. */
enum { CAPPED_MOST_SHARE = 1 << 15 };

void cuttle_rewrite_params_default(struct cuttle_rewrite_params *params) {
	*params = (struct cuttle_rewrite_params){.struct_size = sizeof *params,
	                                         .epsilon = NAN,
	                                         .divergence = NAN,
	                                         .delta = 1e-5,
	                                         .groups = 1,
	                                         .tokens = 200,
	                                         .temperature = 1.0,
	                                         .top_k = 200,
	                                         .form = CUTTLE_INSTRUCT};
}

static enum cuttle_status check_rewrite_params(const struct cuttle_rewrite_params *p,
                                               struct cuttle_error *error) {
	if (isnan(p->epsilon) == isnan(p->divergence))
		return status_fail(error, CUTTLE_USAGE,
		                   "give epsilon or divergence, not both and not neither");
	if (p->groups < 1 || p->groups > REWRITE_MOST_GROUPS)
		return status_fail(error, CUTTLE_USAGE, "%u groups are outside 1..%d", p->groups,
		                   REWRITE_MOST_GROUPS);
	if (p->group_epsilons && (p->mix != CUTTLE_MIX_AVERAGE || isnan(p->epsilon)))
		return status_fail(error, CUTTLE_USAGE,
		                   "groups have epsilons of their own with the mix average only, "
		                   "beside the epsilon of the others");
	if (p->savings.center || p->savings.token_bank)
		return status_fail(error, CUTTLE_USAGE,
		                   "a rewriter has no center and no token bank");
	if (p->grammar && (p->stops.given || p->max_length))
		return status_fail(error, CUTTLE_USAGE, "a grammar and %s exclude each other",
		                   p->stops.given ? "stops" : "a length");
	const enum cuttle_status status = savings_check(&p->savings, p->grammar != NULL, error);
	return status ? status : capacity_check(p->parallel, p->prompt_chunk, error);
}

/* Chooses U and the free tokens. Example: T 200, savings on, nothing else given: 200 free tokens
 * and U 400. U 300 given: up to 300 free tokens, in a text of 300. */
static enum cuttle_status choose_lengths(struct cuttle_rewriter *r,
                                         const struct cuttle_rewrite_params *p,
                                         struct cuttle_error *error) {
	struct cuttle_rewrite_guarantee *g = &r->guarantee;
	g->tokens = p->tokens;
	g->savings = savings_used(&p->savings, p->max_length ? p->max_length : p->tokens);
	r->grammar = p->grammar;
	const enum cuttle_status status =
	    p->grammar ? grammars_room(&p->grammar, 1, r->model, p->tokens, p->savings.free_tokens,
	                               &g->savings.free_tokens, error)
	               : CUTTLE_OK;
	if (status) return status;
	g->max_length = p->max_length ? p->max_length : p->tokens + g->savings.free_tokens;
	if (g->max_length < p->tokens || g->max_length > 2 * REWRITE_MOST_TOKENS)
		return status_fail(error, CUTTLE_USAGE,
		                   "a length of %u tokens is outside %u..%d: the private tokens "
		                   "count, too",
		                   g->max_length, p->tokens, 2 * REWRITE_MOST_TOKENS);
	return CUTTLE_OK;
}

/* The epsilon of one group; NaN where the divergence is given. */
static double epsilon_of_group(const struct cuttle_rewrite_params *p, uint32_t group) {
	const double own = p->group_epsilons ? p->group_epsilons[group] : NAN;
	return isnan(own) ? p->epsilon : own;
}

/* Finds the order, by the smallest epsilon, and then the divergence of each group for each number
 * of rows. */
static enum cuttle_status plan_divergences(struct cuttle_rewriter *r,
                                           const struct cuttle_rewrite_params *p,
                                           struct cuttle_error *error) {
	r->terms = (struct rewrite_terms){p->mix, p->alpha, p->tokens, p->delta};
	enum cuttle_status status = rewrite_check_terms(&r->terms, error);
	if (status) return status;
	const uint32_t most_rows = rewrite_rows(&r->terms, p->groups);
	double least = epsilon_of_group(p, 0);
	for (uint32_t group = 1; group < p->groups; group++)
		least = fmin(least, epsilon_of_group(p, group));
	if ((status = rewrite_choose_alpha(&r->terms, least, most_rows, error))) return status;
	for (uint32_t rows = 1; rows <= most_rows; rows++)
		for (uint32_t group = 0; group < p->groups; group++) {
			double *c = &r->divergences[rows - 1][group];
			*c = isnan(p->epsilon)
			         ? p->divergence
			         : rewrite_divergence(&r->terms, epsilon_of_group(p, group), rows);
			if (!rewrite_may_diverge(&r->terms, *c))
				return status_fail(
				    error, CUTTLE_USAGE,
				    "epsilon or divergence is out of range at alpha %u",
				    r->terms.alpha);
		}
	return CUTTLE_OK;
}

/* Example: context 4096, head and tail 60, U = 400: a document has at most 3636 tokens. */
static enum cuttle_status fit_document(struct cuttle_rewriter *r, uint32_t asked,
                                       struct cuttle_error *error) {
	struct cuttle_rewrite_guarantee *g = &r->guarantee;
	const size_t fixed = r->prompt.head.count + r->prompt.tail.count;
	size_t context;
	const enum cuttle_status status = capacity_context(r->model, asked, &context, error);
	if (status) return status;
	if (fixed + g->max_length >= context)
		return status_fail(
		    error, CUTTLE_USAGE,
		    "prompt (%zu tokens) and text (%u) leave no room for a document in "
		    "a context of %zu",
		    fixed, g->max_length, context);
	g->context = (uint32_t)context;
	g->document_tokens = (uint32_t)(context - fixed - g->max_length);
	g->document_bytes = (uint32_t)prompt_reference_bytes(g->document_tokens);
	g->shared_prefix = (uint32_t)r->prompt.shared;
	return CUTTLE_OK;
}

/* States what all mechanisms of the rewriter have in common. One is built and freed: so what it
 * refuses is refused here, where nothing is charged yet. */
static enum cuttle_status prepare_mechanism(struct cuttle_rewriter *r,
                                            const struct cuttle_rewrite_params *p,
                                            struct cuttle_error *error) {
	struct dp_fusion_params *m = &r->mechanism;
	if (!(r->allowed = plan_allowed_tokens(r->model)))
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	*m = (struct dp_fusion_params){.rule = p->mix == CUTTLE_MIX_CAPPED ? DP_FUSION_CAPPED
	                                                                   : DP_FUSION_BOUNDED,
	                               .order = r->terms.alpha,
	                               .least_places = 1,
	                               .most_places = 1,
	                               .divergences = r->divergences[0],
	                               .most_share = CAPPED_MOST_SHARE,
	                               .top_k = p->top_k,
	                               .tokens = p->tokens,
	                               .sure = savings_sure(&p->savings),
	                               .vocab = r->model->vocab_size,
	                               .allowed = r->allowed};
	r->seeded = (struct seeded){.seed = p->insecure_seed};
	m->random = p->insecure ? seeded_random(&r->seeded) : dp_random_system();
	struct dp_mechanism mechanism = {0};
	enum dp_status status =
	    dp_temperature_ratio(p->temperature, &m->temperature_num, &m->temperature_den);
	if (!status) status = dp_fusion_mechanism(m, &mechanism);
	if (mechanism.self) mechanism.free(mechanism.self);
	if (status == DP_BAD_PARAMETER)
		return status_fail(
		    error, CUTTLE_USAGE,
		    "temperature must be in 0.000001..16, and the vocabulary have at "
		    "most %d tokens",
		    1 << 18);
	return status ? plan_status(status, error) : CUTTLE_OK;
}

struct lockstep_params rewrite_lockstep(const struct cuttle_rewriter *rewriter, uint32_t rows,
                                        size_t slots) {
	return (struct lockstep_params){
	    .prefix = {rewriter->prompt.head.ids, rewriter->share ? rewriter->prompt.shared : 0},
	    .batch = rows,
	    .slots = slots,
	    .context = rewriter->guarantee.context,
	    .chunk = rewriter->chunk};
}

enum cuttle_status cuttle_rewriter_room(const struct cuttle_rewriter *rewriter,
                                        struct cuttle_error *error) {
	REQUIRE(rewriter);
	const struct lockstep_params params = rewrite_lockstep(
	    rewriter, rewrite_rows(&rewriter->terms, rewriter->guarantee.groups), rewriter->slots);
	return capacity_fits(
	    rewriter->guarantee.job_bytes, &params,
	    "; make it less with a smaller --ctx-size or --parallel, or with fewer "
	    "groups",
	    error);
}

enum cuttle_status cuttle_rewriter_make(struct cuttle_model *model,
                                        const struct cuttle_rewrite_params *given,
                                        struct cuttle_rewriter **out, struct cuttle_error *error) {
	REQUIRE(model && given && out);
	*out = NULL;
	struct cuttle_rewrite_params taken;
	const struct cuttle_rewrite_params *const params = &taken;
	cuttle_rewrite_params_default(&taken);
	enum cuttle_status status =
	    params_take(&taken, sizeof taken, given, "struct cuttle_rewrite_params", error);
	if (status) return status;
	if ((status = check_rewrite_params(params, error)) ||
	    (status = model_needs_weights(&model->model, error)))
		return status;
	struct cuttle_rewriter *r = calloc(1, sizeof *r);
	if (!r) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	r->model = &model->model;
	r->chunk = params->prompt_chunk ? params->prompt_chunk : CAPACITY_CHUNK;
	r->share = !params->no_sharing;
	if ((status = plan_divergences(r, params, error)) ||
	    (status = choose_lengths(r, params, error)) ||
	    (status = stops_copy(&params->stops, false, &r->stops, error)) ||
	    (status = prompt_write_document(r->model, params, &r->prompt, error)) ||
	    (status = fit_document(r, params->context, error)) ||
	    (status = prepare_mechanism(r, params, error))) {
		cuttle_rewriter_free(&r);
		return status;
	}
	struct cuttle_rewrite_guarantee *g = &r->guarantee;
	g->delta = params->delta;
	g->temperature =
	    (double)r->mechanism.temperature_num / (double)r->mechanism.temperature_den;
	g->mix = params->mix;
	g->alpha = r->terms.alpha;
	g->groups = params->groups;
	g->top_k = params->top_k;
	g->private_output = !params->insecure;
	r->slots = capacity_slots(r->model, rewrite_rows(&r->terms, g->groups), g->context,
	                          params->parallel);
	const struct lockstep_params widest =
	    rewrite_lockstep(r, rewrite_rows(&r->terms, g->groups), r->slots);
	g->job_bytes = capacity_bytes(r->model, &widest, g->context);
	if (!params->any_memory && (status = cuttle_rewriter_room(r, error))) {
		cuttle_rewriter_free(&r);
		return status;
	}
	*out = r;
	return CUTTLE_OK;
}

void cuttle_rewriter_free(struct cuttle_rewriter **rewriter) {
	if (!rewriter || !*rewriter) return;
	prompt_free(&(*rewriter)->prompt);
	stops_free(&(*rewriter)->stops);
	free((*rewriter)->allowed);
	free(*rewriter);
	*rewriter = NULL;
}

void cuttle_rewriter_describe(const struct cuttle_rewriter *rewriter,
                              struct cuttle_rewrite_guarantee *guarantee) {
	REQUIRE(rewriter && guarantee);
	*guarantee = rewriter->guarantee;
}

const char *cuttle_rewriter_template(const struct cuttle_rewriter *rewriter) {
	REQUIRE(rewriter);
	return rewriter->prompt.canonical;
}

uint32_t rewrite_groups(const struct cuttle_rewriter *rewriter, uint32_t present,
                        double *divergences) {
	const uint32_t all = (UINT32_C(1) << rewriter->guarantee.groups) - 1;
	REQUIRE(!(present & ~all));
	const uint32_t groups = (uint32_t)__builtin_popcount(present),
	               rows = rewrite_rows(&rewriter->terms, groups);
	if (!rows) return 0;
	for (uint32_t group = 0, row = 0; row < rows; group++)
		if (present >> group & 1)
			divergences[row++] = rewriter->divergences[rows - 1][group];
	return groups;
}

void cuttle_rewriter_cost(const struct cuttle_rewriter *rewriter, uint32_t present, uint32_t group,
                          struct cuttle_rewrite_cost *cost) {
	REQUIRE(rewriter && cost);
	double divergences[REWRITE_MOST_GROUPS];
	const bool every = group == CUTTLE_EVERY_GROUP;
	REQUIRE(every || (group < REWRITE_MOST_GROUPS && present >> group & 1));
	const uint32_t groups = rewrite_groups(rewriter, present, divergences);
	const uint32_t before = every ? 0 : present & ((UINT32_C(1) << group) - 1);
	rewrite_cost(&rewriter->terms, divergences, groups,
	             every ? CUTTLE_EVERY_GROUP : (uint32_t)__builtin_popcount(before), cost);
}

double cuttle_rewriter_loss(const struct cuttle_rewriter *rewriter, uint32_t present) {
	struct cuttle_rewrite_cost cost;
	cuttle_rewriter_cost(rewriter, present, CUTTLE_EVERY_GROUP, &cost);
	return present ? nextafter(cost.loss * rewriter->terms.tokens, INFINITY) : 0.0;
}

enum cuttle_status cuttle_rewriter_fits(const struct cuttle_rewriter *rewriter, const char *text,
                                        size_t size, struct cuttle_error *error) {
	REQUIRE(rewriter && (text || !size));
	const size_t limit = rewriter->guarantee.document_tokens;
	int32_t *ids = malloc(prompt_private_capacity(&rewriter->prompt, limit) * sizeof *ids);
	size_t count;
	if (!ids) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	const enum cuttle_status status = prompt_document(rewriter->model, &rewriter->prompt, text,
	                                                  size, limit, ids, &count, error);
	free(ids);
	return status;
}
