// SPDX-License-Identifier: Apache-2.0
// plan.c: from the caller's parameters to a plan, see plan.h. The steps of cuttle_plan_make:
//   check_plan_params  every number is in its range
//   savings_used       how many free tokens, and when a public row is sure (savings.c)
//   grammars_check     how many free tokens the texts of a grammar need (grammars.c)
//   choose_ink         of InvisibleInk: epsilon or clip -> integers; with lots by what a batch may
//                      cost (lots.c); and how many references a text may have
//   choose_method      of the others: their parameters (methods.h)
//   write_prompts      the prompts under each heading (prompt.c)
//   fit_context        what room is left for a reference
//   make_ink, build_method  the mechanism, and from its claim what it guarantees
//   capacity_slots, cuttle_plan_fits  how many texts are in flight, and whether memory is enough
#include "engine/run/plan/plan.h"

#include "base/misuse.h"
#include "dp/account.h"
#include "dp/amplify.h"
#include "dp/invisibleink.h"
#include "dp/weights.h"
#include "dp/zcdp.h"
#include "engine/params.h"
#include "engine/cuttle/lots.h"
#include "engine/machine/memory.h"
#include "engine/run/plan/capacity.h"
#include "engine/run/plan/grammars.h"
#include "engine/run/plan/histogram.h"
#include "engine/run/plan/lots.h"
#include "engine/run/plan/savings.h"
#include "engine/status.h"

#include <math.h>
#include <stdlib.h>

enum {
	MAX_BATCH = 4096,                /* private rows per text */
	MAX_TOKENS = SAVINGS_MOST_TOKENS /* T times spread */
};

void cuttle_budget_none(struct cuttle_budget *budget) {
	*budget = (struct cuttle_budget){
	    .epsilon = NAN, .delta = NAN, .rho = NAN, .clip = NAN, .temperature = NAN};
}

static enum dp_accountant accountant_of(enum cuttle_accountant accountant) {
	return accountant == CUTTLE_EXACT ? DP_EXACT : DP_ZCDP;
}

enum cuttle_status cuttle_budget_solve(struct cuttle_budget *budget, enum cuttle_unknown unknown,
                                       struct cuttle_error *error) {
	REQUIRE(budget);
	struct dp_budget inner = {.epsilon = budget->epsilon,
	                          .delta = budget->delta,
	                          .rho = budget->rho,
	                          .clip = budget->clip,
	                          .temperature = budget->temperature,
	                          .batch = budget->batch,
	                          .tokens = budget->tokens,
	                          .accountant = accountant_of(budget->accountant),
	                          .grid = budget->grid,
	                          .group = budget->group,
	                          .spread = budget->spread};
	static const enum dp_unknown unknowns[] = {
	    [CUTTLE_CLIP] = DP_CLIP,   [CUTTLE_EPSILON] = DP_EPSILON, [CUTTLE_RHO] = DP_RHO,
	    [CUTTLE_DELTA] = DP_DELTA, [CUTTLE_TOKENS] = DP_TOKENS,   [CUTTLE_BATCH] = DP_BATCH};
	const char *reason = "";
	const enum dp_status status = dp_budget_solve(&inner, unknowns[unknown], &reason);
	if (status)
		return status_fail(error, status == DP_NO_MEMORY ? CUTTLE_NOMEM : CUTTLE_USAGE,
		                   "%s", reason);
	budget->epsilon = inner.epsilon;
	budget->delta = inner.delta;
	budget->rho = inner.rho;
	budget->clip = inner.clip;
	budget->batch = inner.batch;
	budget->tokens = inner.tokens;
	return CUTTLE_OK;
}

void cuttle_plan_params_default(struct cuttle_plan_params *params) {
	*params = (struct cuttle_plan_params){.struct_size = sizeof *params,
	                                      .epsilon = NAN,
	                                      .clip = NAN,
	                                      .delta = 1e-6,
	                                      .temperature = 1.0,
	                                      .batch = 7,
	                                      .tokens = 200,
	                                      .spread = 1,
	                                      .top_k = 100,
	                                      .accountant = CUTTLE_EXACT,
	                                      .savings = {.center = true},
	                                      .kind = "text",
	                                      .shots = 1};
	cuttle_method_params_none(&params->method_params);
}

static enum cuttle_status check_plan_params(const struct cuttle_plan_params *p,
                                            struct cuttle_error *error) {
	if (p->method == CUTTLE_INVISIBLEINK && isnan(p->epsilon) == isnan(p->clip))
		return status_fail(error, CUTTLE_USAGE,
		                   "give epsilon or clip, not both and not neither");
	if (p->batch < 1 || p->batch > MAX_BATCH)
		return status_fail(error, CUTTLE_USAGE, "batch size %u is outside 1..%d", p->batch,
		                   MAX_BATCH);
	if (p->shots < 1 || p->shots > CUTTLE_MOST_SHOTS)
		return status_fail(error, CUTTLE_USAGE, "%u shots are outside 1..%d", p->shots,
		                   CUTTLE_MOST_SHOTS);
	if (p->gain != 0.0 && !(p->gain >= 1.0 && p->gain <= DP_GAIN_MOST / 100.0))
		return status_fail(error, CUTTLE_USAGE, "the gain must be in 1..3");
	if ((unsigned)p->accountant > CUTTLE_EXACT)
		return status_fail(error, CUTTLE_USAGE, "there is no such accountant");
	if (p->tokens < 1 || p->tokens > MAX_TOKENS)
		return status_fail(error, CUTTLE_USAGE, "%u tokens are outside 1..%d", p->tokens,
		                   MAX_TOKENS);
	if (p->spread < 1 || p->spread > MAX_TOKENS / p->tokens)
		return status_fail(
		    error, CUTTLE_USAGE,
		    "%u texts of one person, %u tokens each, are outside 1..%d tokens", p->spread,
		    p->tokens, MAX_TOKENS);
	if (p->lot_count && p->spread > 1)
		return status_fail(error, CUTTLE_USAGE,
		                   "lots are for persons with one reference each");
	if (p->histogram && p->shots > 1)
		return status_fail(error, CUTTLE_USAGE,
		                   "private clusters and shots exclude each other");
	if (p->histogram && (p->lot_count != 1 || isnan(p->epsilon)))
		return status_fail(error, CUTTLE_USAGE,
		                   "private clusters need epsilon, and one entry of lots");
	if (p->drawn && (!p->drawn->count || p->drawn->count >= p->drawn->places))
		return status_fail(error, CUTTLE_USAGE,
		                   "drawn texts leave at least one place to an example");
	enum cuttle_status status = p->histogram ? histogram_check(p->histogram, error) : CUTTLE_OK;
	if (!status) status = savings_check(&p->savings, p->grammar_count, error);
	if (!status) status = method_check(p, error);
	return status ? status : capacity_check(p->parallel, p->prompt_chunk, error);
}

/* Finds the integers that the mechanism is built with. They follow from epsilon, or from the clip
 * when epsilon is not given. The clip must be one that the weight table can hold. Epsilon is about
 * all texts that one person's references stand in: here integers->tokens is T times spread.
 * Example: T = 200, spread 3: 600. */
static enum cuttle_status choose_clip(struct cuttle_plan *plan, const struct cuttle_plan_params *p,
                                      struct dp_integers *integers, struct cuttle_error *error) {
	integers->batch = p->batch;
	integers->tokens = p->tokens * p->spread;
	integers->gain = p->gain == 0.0 ? DP_GAIN_NONE : (unsigned)lround(p->gain * 100.0);
	if (dp_temperature_ratio(p->temperature, &integers->temperature_num,
	                         &integers->temperature_den))
		return status_fail(error, CUTTLE_USAGE, "temperature must be in 0.000001..1000");
	if (!(p->delta >= 1e-300 && p->delta < 1.0))
		return status_fail(error, CUTTLE_USAGE, "delta must be above 0 and below 1");
	enum cuttle_status took = lots_ratio(p->lots, p->lot_count, &plan->ratio, error);
	plan->batch_delta = plan->guarantee.delta_if_known = p->delta;
	if (!took && p->lot_count)
		took = cuttle_lots_delta(p->lots, p->lot_count, p->delta, &plan->batch_delta,
		                         &plan->guarantee.delta_if_known, error);
	if (took) return took;
	double least, most;
	if (dp_clip_range(integers, &least, &most))
		return status_fail(error, CUTTLE_USAGE,
		                   "there is no clip for a batch of %u at this temperature; change "
		                   "-B or --temperature",
		                   p->batch);
	if (isnan(p->epsilon)) {
		if (!(p->clip >= least && p->clip <= most) ||
		    dp_fraction_bits(p->batch, p->clip, &integers->fraction_bits))
			return status_fail(error, CUTTLE_USAGE,
			                   "with a batch of %u at this temperature the clip must "
			                   "lie between %.4f and %.4f",
			                   p->batch, ceil(least * 1e4) / 1e4,
			                   floor(most * 1e4) / 1e4);
		integers->clip_fixed = dp_clip_fixed(p->clip, integers->fraction_bits);
		return CUTTLE_OK;
	}
	if (p->gain == 0.0) integers->gain = DP_GAIN_AUTO;
	const char *reason = "epsilon is out of range";
	enum dp_status status = DP_OK;
	// With lots epsilon is the run's, and the clip follows from what a batch may cost.
	const double epsilon = p->lot_count && isnormal(p->epsilon) && p->epsilon > 0.0
	                           ? dp_batch_epsilon(p->epsilon, plan->ratio)
	                           : p->epsilon;
	if (p->accountant == CUTTLE_EXACT)
		status = dp_calibrate_exact(integers, epsilon, plan->batch_delta, &reason);
	else status = dp_calibrate(integers, epsilon, plan->batch_delta, &reason);
	if (status)
		return status_fail(error, status == DP_NO_MEMORY ? CUTTLE_NOMEM : CUTTLE_USAGE,
		                   "%s", reason);
	// The counts of private clusters take some of the clip.
	if (!took && p->histogram)
		took = histogram_lower(p->histogram, plan->ratio, accountant_of(p->accountant),
		                       p->epsilon, dp_rows_delta(p->delta), integers, error);
	if (took) return took;
	plan->guarantee.clip_capped =
	    dp_clip_range(integers, &least, &most) == DP_OK &&
	    integers->clip_fixed == dp_clip_fixed(most, integers->fraction_bits);
	return CUTTLE_OK;
}

/* With lots the cap of a batch's rows. It is that of the epsilon by zCDP, the larger of the two
 * that a receipt tells, so that it is enough for both. */
static enum cuttle_status choose_places(struct cuttle_plan *plan,
                                        const struct cuttle_plan_params *p,
                                        const struct dp_integers *integers,
                                        struct cuttle_error *error) {
	plan->batch = plan->places = p->batch;
	if (!p->lot_count) return CUTTLE_OK;
	if (p->histogram) {
		const struct dp_claim claim = dp_integers_claim(integers);
		double epsilon;
		const enum cuttle_status status =
		    histogram_epsilon(p->histogram, plan->ratio, DP_ZCDP, &claim,
		                      dp_rows_delta(p->delta), &epsilon, error);
		return status ? status
		              : cuttle_histogram_rows(p->histogram, p->batch, epsilon, p->delta,
		                                      &plan->places, error);
	}
	const double batch_epsilon = dp_guarantee_epsilon(integers, plan->batch_delta);
	return cuttle_lots_rows(p->lots, p->lot_count, dp_run_epsilon(batch_epsilon, plan->ratio),
	                        p->delta, &plan->places, error);
}

/* The epsilon of the run by one accountant, and that against who knows the batch of a record. */
static enum cuttle_status account_by(const struct cuttle_plan *plan,
                                     const struct cuttle_plan_params *p,
                                     enum dp_accountant accountant, const struct dp_claim *claim,
                                     double *epsilon, double *known, struct cuttle_error *error) {
	enum dp_status answer = DP_OK;
	if (accountant == DP_ZCDP) *known = dp_claim_epsilon(claim, plan->batch_delta);
	else answer = dp_claim_exact(claim, plan->batch_delta, known);
	if (answer == DP_BAD_PARAMETER)
		return status_fail(error, CUTTLE_USAGE,
		                   "this is out of range of the exact accountant; use zcdp");
	enum cuttle_status status = plan_status(answer, error);
	if (status) return status;
	*epsilon = p->lot_count ? dp_run_epsilon(*known, plan->ratio) : *known;
	if (!p->histogram) return CUTTLE_OK;
	status = histogram_epsilon(p->histogram, plan->ratio, accountant, claim,
	                           dp_rows_delta(p->delta), epsilon, error);
	return status ? status
	              : histogram_epsilon(p->histogram, 1.0L, accountant, claim, plan->batch_delta,
	                                  known, error);
}

/* Computes what both accountants say about the mechanism's claim. The guarantee is about all texts
 * that one person's references stand in, so it counts the units of `spread` batches. Beyond its
 * limits the exact accountant has no number: epsilon_exact is then NaN. That is an error only when
 * the exact one was asked for. With lots the claim is a batch's, and the guarantee the run's. */
static enum cuttle_status account_budget(struct cuttle_plan *plan,
                                         const struct cuttle_plan_params *p,
                                         struct cuttle_error *error) {
	struct cuttle_guarantee *g = &plan->guarantee;
	const bool exact = p->accountant == CUTTLE_EXACT;
	double known, known_exact = (double)NAN;
	g->accountant = p->accountant;
	g->delta = p->delta;
	g->epsilon_exact = (double)NAN;
	struct dp_claim claim = plan->mechanism.claim;
	claim.units *= p->spread;
	g->rho = dp_claim_rho(&claim);
	if (p->histogram) g->rho = histogram_rho(p->histogram, g->rho);
	enum cuttle_status status =
	    account_by(plan, p, DP_ZCDP, &claim, &g->epsilon, &known, error);
	if (!status)
		status =
		    account_by(plan, p, DP_EXACT, &claim, &g->epsilon_exact, &known_exact, error);
	g->epsilon_if_known = exact ? known_exact : known;
	return status == CUTTLE_USAGE && !exact ? CUTTLE_OK : status;
}

uint8_t *plan_allowed_tokens(const struct model *model) {
	uint8_t *allowed = malloc(model->vocab_size);
	for (size_t i = 0; allowed && i < model->vocab_size; i++)
		allowed[i] = vocab_drawable(model->vocab, (int32_t)i);
	return allowed;
}

/* Sets what every method's guarantee says of the parameters. */
static void describe_params(struct cuttle_plan *plan, const struct cuttle_plan_params *p) {
	struct cuttle_guarantee *g = &plan->guarantee;
	g->savings = savings_used(&p->savings, p->tokens);
	g->batch = p->batch;
	g->shots = p->shots;
	g->tokens = p->tokens;
	g->spread = p->spread;
	g->top_k = p->top_k;
	g->method = p->method;
	g->method_params = p->method_params;
	g->private_output = !p->insecure && method_of(p->method)->promises;
}

/* The parameters and places of any method but InvisibleInk. */
static enum cuttle_status choose_method(struct cuttle_plan *plan,
                                        const struct cuttle_plan_params *p,
                                        struct cuttle_error *error) {
	struct cuttle_guarantee *g = &plan->guarantee;
	int64_t num, den;
	if (dp_temperature_ratio(p->temperature, &num, &den))
		return status_fail(error, CUTTLE_USAGE, "temperature must be in 0.000001..1000");
	if (!(p->delta >= 1e-300 && p->delta < 1.0))
		return status_fail(error, CUTTLE_USAGE, "delta must be above 0 and below 1");
	for (size_t i = 0; i < plan->model->vocab_size; i++)
		g->vocabulary += vocab_drawable(plan->model->vocab, (int32_t)i);
	g->temperature = (double)num / (double)den;
	g->gain = 1.0;
	g->delta = p->delta;
	g->accountant = p->accountant;
	g->savings.center = false;
	plan->batch = plan->places = p->batch;
	plan->ratio = 1.0L;
	plan->batch_delta = p->delta;
	const enum cuttle_status status = method_of(p->method)->choose(p, g, error);
	if (!status) plan->caps = method_caps_of(g);
	return status;
}

static enum cuttle_status build_method(struct cuttle_plan *plan, const struct cuttle_plan_params *p,
                                       struct cuttle_error *error) {
	uint8_t *allowed = plan_allowed_tokens(plan->model);
	if (!allowed) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	plan->seeded = (struct seeded){.seed = p->insecure_seed};
	const struct method_parts parts = {.guarantee = &plan->guarantee,
	                                   .vocab = plan->model->vocab_size,
	                                   .allowed = allowed,
	                                   .random = p->insecure ? seeded_random(&plan->seeded)
	                                                         : dp_random_system()};
	const enum dp_status status = method_of(p->method)->build(&parts, &plan->mechanism);
	free(allowed);
	return status ? plan_status(status, error)
	              : method_account(&plan->mechanism.claim, &plan->guarantee, error);
}

static enum cuttle_status make_mechanism(struct cuttle_plan *plan,
                                         const struct cuttle_plan_params *p,
                                         const struct dp_integers *integers,
                                         struct cuttle_error *error) {
	uint8_t *allowed = plan_allowed_tokens(plan->model);
	if (!allowed) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	plan->seeded = (struct seeded){.seed = p->insecure_seed};
	const struct dp_invisibleink_params params = {
	    .batch = p->batch,
	    .rows = plan->places,
	    .top_k = p->top_k,
	    .tokens = p->tokens,
	    .vocab = plan->model->vocab_size,
	    .temperature_num = integers->temperature_num,
	    .temperature_den = integers->temperature_den,
	    .clip_fixed = integers->clip_fixed,
	    .fraction_bits = integers->fraction_bits,
	    .gain = integers->gain,
	    .center = p->savings.center,
	    .sure = savings_sure(&p->savings),
	    .allowed = allowed,
	    .random = p->insecure ? seeded_random(&plan->seeded) : dp_random_system()};
	const enum dp_status status = dp_invisibleink_mechanism(&params, &plan->mechanism);
	plan->traced = plan->mechanism.self;
	free(allowed);
	return plan_status(status, error);
}

/* Of InvisibleInk: clip, places and caps. */
static enum cuttle_status choose_ink(struct cuttle_plan *plan, const struct cuttle_plan_params *p,
                                     struct dp_integers *integers, struct cuttle_error *error) {
	struct cuttle_guarantee *g = &plan->guarantee;
	enum cuttle_status status = choose_clip(plan, p, integers, error);
	if (!status) status = choose_places(plan, p, integers, error);
	if (status) return status;
	g->clip = ldexp(integers->clip_fixed, -(int)integers->fraction_bits);
	g->temperature = (double)integers->temperature_num / (double)integers->temperature_den;
	g->gain = integers->gain / 100.0;
	g->clip_fixed = integers->clip_fixed;
	g->fraction_bits = integers->fraction_bits;
	plan->caps = method_caps_of(g);
	return CUTTLE_OK;
}

/* Of InvisibleInk: the mechanism, and its guarantee. */
static enum cuttle_status make_ink(struct cuttle_plan *plan, const struct cuttle_plan_params *p,
                                   const struct dp_integers *integers, struct cuttle_error *error) {
	enum cuttle_status status = make_mechanism(plan, p, integers, error);
	if (!status) status = account_budget(plan, p, error);
	if (!status) method_describe(&plan->mechanism.claim, &plan->guarantee);
	return status;
}

static size_t larger_of(size_t a, size_t b) {
	return a > b ? a : b;
}

static enum cuttle_status write_prompts(struct cuttle_plan *plan,
                                        const struct cuttle_plan_params *p,
                                        struct cuttle_error *error) {
	const size_t count = p->heading_count ? p->heading_count : 1;
	plan->prompts = calloc(count, sizeof *plan->prompts);
	if (!plan->prompts)
		return status_fail(error, CUTTLE_NOMEM, "out of memory writing the prompts");
	for (; plan->prompt_count < count; plan->prompt_count++) {
		const size_t number = plan->prompt_count;
		const char *heading = p->heading_count ? p->headings[number] : NULL;
		struct cuttle_plan_params one = *p;
		if (heading && p->heading_examples) {
			one.examples = p->heading_examples[number];
			for (one.example_count = 0; one.examples[one.example_count];)
				one.example_count++;
		}
		if (p->drawn && one.example_count > p->drawn->places)
			return status_fail(error, CUTTLE_USAGE,
			                   "there are more examples than places for examples");
		enum cuttle_status status =
		    prompt_write(plan->model, &one, heading, &plan->prompts[number], error);
		if (status) return status;
	}
	return CUTTLE_OK;
}

static enum cuttle_status keep_grammars(struct cuttle_plan *plan,
                                        const struct cuttle_plan_params *p,
                                        struct cuttle_error *error) {
	if (!p->grammar_count) return CUTTLE_OK;
	plan->grammars = calloc(plan->prompt_count, sizeof *plan->grammars);
	if (!plan->grammars) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < plan->prompt_count; i++)
		plan->grammars[i] = p->grammars[p->grammar_count == 1 ? 0 : i];
	return CUTTLE_OK;
}

/* Sets how long contexts and references may get: the same under all headings. Example: context
 * 4096, longest head + tail 60, T = 200, no free tokens: a reference is cut to 3836 tokens. */
static enum cuttle_status fit_context(struct cuttle_plan *plan, const struct cuttle_plan_params *p,
                                      struct cuttle_error *error) {
	struct cuttle_guarantee *g = &plan->guarantee;
	size_t private_fixed = 0, longest = 0, whole = 0, shared = SIZE_MAX;
	for (const struct prompt *prompt = plan->prompts;
	     prompt < plan->prompts + plan->prompt_count; prompt++) {
		private_fixed = larger_of(private_fixed,
		                          prompt->head.count + prompt->spare + prompt->tail.count);
		whole = larger_of(whole, prompt->whole.count + prompt->spare);
		longest = larger_of(private_fixed, whole);
		shared = prompt->fixed < shared ? prompt->fixed : shared;
	}
	size_t context;
	const enum cuttle_status status =
	    capacity_context(plan->model, p->context, &context, error);
	if (status) return status;
	const size_t text = plan->caps.length;
	if (longest + text >= context)
		return status_fail(error, CUTTLE_USAGE,
		                   "prompt (%zu tokens) and text (%zu) leave no room for a "
		                   "reference in a context of %zu",
		                   longest, text, context);
	plan->reference_tokens = context - private_fixed - text;
	g->context = (uint32_t)context;
	g->reference_tokens = (uint32_t)plan->reference_tokens;
	g->reference_bytes = (uint32_t)prompt_reference_bytes(plan->reference_tokens);
	g->shared_prefix = (uint32_t)shared;
	g->public_tokens = (uint32_t)whole;
	return CUTTLE_OK;
}

/* What the contexts of a job are like. */
static struct lockstep_params lockstep_of(const struct cuttle_plan *plan) {
	const struct cuttle_guarantee *g = &plan->guarantee;
	return (struct lockstep_params){.prefix = {NULL, plan->share ? g->shared_prefix : 0},
	                                .batch = plan->places,
	                                .slots = plan->slots,
	                                .context = g->context,
	                                .chunk = plan->chunk};
}

/* Bytes that a job needs where `slots` texts of `places` places are in flight. */
static uint64_t count_bytes_of(const struct cuttle_plan *plan, size_t slots, size_t places) {
	struct lockstep_params params = lockstep_of(plan);
	size_t place_tokens = 0;
	params.slots = slots;
	params.batch = places;
	for (size_t i = 0; i < plan->prompt_count; i++) {
		const size_t tokens = prompt_row_capacity(&plan->prompts[i], plan->guarantee.shots,
		                                          plan->reference_tokens);
		if (place_tokens < tokens) place_tokens = tokens;
	}
	return capacity_bytes(plan->model, &params, place_tokens);
}

/* With lots all places of all slots are mapped, and most of them are never touched: that every
 * batch in flight has as many rows as one may have is still less likely. So memory is counted for
 * one text at the cap, and for what all texts in flight have together at most, by the same bound.
 * Example: B = 15, two in flight: one may have 56 rows, both together 86, so 43 each. Of private
 * clusters the cap has room for records that noise may have hidden from the count, 300 and more;
 * there, too, memory is counted for the 56. */
static uint64_t count_job_bytes(const struct cuttle_plan *plan,
                                const struct cuttle_plan_params *p) {
	uint64_t most = 0;
	uint32_t cap = plan->places, rows = 0;
	if (p->histogram &&
	    !cuttle_lots_rows(p->lots, 1, plan->guarantee.epsilon, p->delta, &rows, NULL) &&
	    rows < cap)
		cap = rows;
	for (size_t i = 0; i < p->lot_count; i++) {
		struct cuttle_lots together = p->lots[i];
		if (__builtin_mul_overflow(together.records, plan->slots, &together.records) ||
		    cuttle_lots_rows(&together, 1, plan->guarantee.epsilon, p->delta, &rows, NULL))
			return UINT64_MAX;
		if (rows > most) most = rows;
	}
	if (!most) return count_bytes_of(plan, plan->slots, plan->places);
	size_t each = (size_t)(most + plan->slots - 1) / plan->slots;
	if (each > cap) each = cap;
	const uint64_t all = count_bytes_of(plan, plan->slots, each),
	               one = count_bytes_of(plan, 1, cap), less = count_bytes_of(plan, 1, each);
	uint64_t sum;
	return all == UINT64_MAX || one == UINT64_MAX ||
	               __builtin_add_overflow(all, one - less, &sum)
	           ? UINT64_MAX
	           : sum;
}

enum cuttle_status cuttle_plan_fits(const struct cuttle_plan *plan, struct cuttle_error *error) {
	REQUIRE(plan);
	const struct lockstep_params params = lockstep_of(plan);
	return capacity_fits(plan->guarantee.job_bytes, &params,
	                     "; make it less with a smaller --ctx-size, --parallel or --batch-size",
	                     error);
}

static void require_strings(const char *const *strings, size_t count) {
	REQUIRE(strings || !count);
	for (size_t i = 0; i < count; i++) REQUIRE(strings[i]);
}

enum cuttle_status cuttle_plan_make(struct cuttle_model *model,
                                    const struct cuttle_plan_params *given,
                                    struct cuttle_plan **out, struct cuttle_error *error) {
	REQUIRE(model && given && out);
	*out = NULL;
	struct cuttle_plan_params taken;
	const struct cuttle_plan_params *const params = &taken;
	cuttle_plan_params_default(&taken);
	enum cuttle_status status =
	    params_take(&taken, sizeof taken, given, "struct cuttle_plan_params", error);
	if (status) return status;
	require_strings(params->examples, params->example_count);
	require_strings(params->headings, params->heading_count);
	if ((status = check_plan_params(params, error)) ||
	    (status = model_needs_weights(&model->model, error)))
		return status;
	struct cuttle_plan *plan = calloc(1, sizeof *plan);
	if (!plan) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	plan->model = &model->model;
	plan->chunk = params->prompt_chunk ? params->prompt_chunk : CAPACITY_CHUNK;
	plan->share = !params->no_sharing;
	plan->room_for_drawn = params->drawn != NULL;
	struct dp_integers integers = {0};
	const bool ink = params->method == CUTTLE_INVISIBLEINK;
	describe_params(plan, params);
	// Accounting takes longest, so what these others refuse is refused before it.
	if ((status = grammars_check(params, plan->model, &plan->guarantee.savings.free_tokens,
	                             error)) ||
	    (status = ink ? choose_ink(plan, params, &integers, error)
	                  : choose_method(plan, params, error)) ||
	    (status = stops_copy(&params->stops,
	                         params->form == CUTTLE_CONTINUE && !params->grammar_count,
	                         &plan->stops, error)) ||
	    (status = write_prompts(plan, params, error)) ||
	    (status = keep_grammars(plan, params, error)) ||
	    (status = fit_context(plan, params, error)) ||
	    (status = ink ? make_ink(plan, params, &integers, error)
	                  : build_method(plan, params, error))) {
		cuttle_plan_free(&plan);
		return status;
	}
	plan->slots =
	    capacity_slots(plan->model, plan->batch, plan->guarantee.context, params->parallel);
	plan->guarantee.job_bytes = count_job_bytes(plan, params);
	while (params->lot_count && !params->parallel && plan->slots > 1 &&
	       plan->guarantee.job_bytes > memory_available() / 2) {
		plan->slots--;
		plan->guarantee.job_bytes = count_job_bytes(plan, params);
	}
	plan->guarantee.parallel = (uint32_t)plan->slots;
	if (!params->any_memory && (status = cuttle_plan_fits(plan, error))) {
		cuttle_plan_free(&plan);
		return status;
	}
	plan->guarantee.places = plan->places;
	*out = plan;
	return CUTTLE_OK;
}

void cuttle_plan_free(struct cuttle_plan **plan) {
	if (!plan || !*plan) return;
	if ((*plan)->mechanism.self) (*plan)->mechanism.free((*plan)->mechanism.self);
	for (size_t i = 0; i < (*plan)->prompt_count; i++) prompt_free(&(*plan)->prompts[i]);
	free((*plan)->prompts);
	stops_free(&(*plan)->stops);
	free((*plan)->grammars);
	free(*plan);
	*plan = NULL;
}

uint64_t cuttle_guarantee_references(const struct cuttle_guarantee *guarantee) {
	REQUIRE(guarantee);
	return (uint64_t)guarantee->batch * guarantee->shots;
}

uint64_t cuttle_guarantee_asked(const struct cuttle_guarantee *guarantee) {
	REQUIRE(guarantee);
	return (uint64_t)guarantee->places * guarantee->shots;
}

void cuttle_plan_describe(const struct cuttle_plan *plan, struct cuttle_guarantee *guarantee) {
	REQUIRE(plan && guarantee);
	*guarantee = plan->guarantee;
}

const char *cuttle_plan_template(const struct cuttle_plan *plan, size_t heading) {
	REQUIRE(plan);
	return heading < plan->prompt_count ? plan->prompts[heading].canonical : NULL;
}
