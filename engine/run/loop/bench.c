// SPDX-License-Identifier: Apache-2.0
// bench.c: cuttle_bench, what a setting costs. It times the real prefill and the real private step.
// The contexts hold random tokens, the same in every bench (SEED). They share what is asked for.
// Tokens are drawn as the generation loop draws them, but an end token ends no text. With groups a
// text is a document with marks: its mechanism is a rewriter's, which wants one row a step.
// The result counts the bytes of weights read and the multiply-adds of one step. A reader can
// compare them with the machine's two limits (ceilings.c).
#include "engine/cuttle/bench.h"
#include "engine/forward/lockstep.h"
#include "engine/params.h"
#include "engine/run/plan/capacity.h"
#include "engine/run/plan/plan.h"
#include "engine/run/plan/rewrite.h"
#include "engine/status.h"

#include "base/misuse.h"
#include "kernels/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	PROMPT_LEAST = 4, /* tokens of a context */
	SEED = 1          /* of the random tokens */
};
static const double EPSILON = 10.0, DIVERGENCE = 0.01, NS_PER_MS = 1e6, NS_PER_S = 1e9;

/* Nanoseconds of one step. */
struct step_time {
	uint64_t total;
	uint64_t parts[CUTTLE_PARTS];
};

struct bench_run {
	const struct model *model;
	struct cuttle_bench_params params;
	// One of the two, for its mechanism and its choices, not for its prompts.
	struct cuttle_plan *plan;
	struct cuttle_rewriter *rewriter;
	struct dp_mechanism own;              /* with a rewriter: its mechanism; else empty */
	const struct dp_mechanism *mechanism; /* the plan's, or own */
	size_t slots;                         /* texts in flight */
	uint32_t rows; /* private rows of a text: B or the groups; 0 = the public one alone */
	uint32_t place_count; /* max(rows, 1); with no rows the one is null */
	struct lockstep *lockstep;
	struct place_context *places; /* [place_count] private contexts */
	int32_t *drawable;            /* [drawable_count] tokens that the mechanism may draw */
	int32_t *ids;  /* [place_count + 1][prompt] public context, then private ones */
	int32_t *next; /* [slots] the token just drawn there */
	size_t drawable_count;
	struct step_time *steps; /* [steps] */

	/* Groups of 16 channels of the head that private rows multiplied: summed over all steps and
	 * texts. */
	double private_groups;
	struct cuttle_error *error;
};

/* Nanoseconds. */
static uint64_t read_bench_clock(void) {
	struct timespec clock;
	clock_gettime(CLOCK_MONOTONIC, &clock);
	return (uint64_t)clock.tv_sec * 1000000000u + (uint64_t)clock.tv_nsec;
}

uint64_t cuttle_bench_rss(void) {
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (!file) return 0;
	if (fscanf(file, "%*u %llu", &pages) != 1) pages = 0;
	(void)fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- one setting ----------------------------------------------------------------------------- */

/* Makes the rewriter of documents with so many groups, and its mechanism. */
static enum cuttle_status make_bench_rewriter(struct bench_run *b, struct cuttle_model *model,
                                              uint32_t context) {
	struct cuttle_rewrite_params params;
	cuttle_rewrite_params_default(&params);
	params.divergence = DIVERGENCE;
	params.mix = CUTTLE_MIX_AVERAGE;
	params.groups = b->params.groups;
	params.tokens = b->params.steps;
	params.context = context;
	params.form = CUTTLE_CONTINUE;
	params.instruction = "a{document}";
	params.prefill = "";
	params.parallel = b->params.parallel;
	const enum cuttle_status status =
	    cuttle_rewriter_make(model, &params, &b->rewriter, b->error);
	if (status) return status;
	b->slots = b->rewriter->slots;
	struct dp_fusion_params mechanism = b->rewriter->mechanism;
	mechanism.least_places = mechanism.most_places = b->rows;
	mechanism.divergences = b->rewriter->divergences[b->rows - 1];
	b->mechanism = &b->own;
	const enum dp_status made = dp_fusion_mechanism(&mechanism, &b->own);
	return made ? plan_status(made, b->error) : CUTTLE_OK;
}

/* Makes the plan or the rewriter of a private run of this size. That also checks the numbers. */
static enum cuttle_status make_bench_plan(struct bench_run *b, struct cuttle_model *model) {
	const struct cuttle_bench_params *p = &b->params;
	struct cuttle_plan_params params;
	uint32_t context;
	if (p->prompt < PROMPT_LEAST || !p->steps ||
	    __builtin_add_overflow(p->prompt, p->steps, &context))
		return status_fail(
		    b->error, CUTTLE_USAGE,
		    "a bench needs prompts of at least %d tokens, and at least one step",
		    PROMPT_LEAST);
	if (p->shared >= p->prompt)
		return status_fail(
		    b->error, CUTTLE_USAGE,
		    "a bench needs prompts of more tokens than the %u that are shared", p->shared);
	if (p->groups && p->batch)
		return status_fail(b->error, CUTTLE_USAGE,
		                   "a bench is of a batch or of groups, not of both");
	b->rows = p->groups ? p->groups : p->batch;
	b->place_count = b->rows ? b->rows : 1;
	if (p->groups) return make_bench_rewriter(b, model, context);
	cuttle_plan_params_default(&params);
	params.epsilon = EPSILON;
	params.batch = b->place_count;
	params.tokens = p->steps;
	params.context = context;
	params.form = CUTTLE_CUSTOM;
	params.prompt_public = "a";
	params.prompt_private = "{reference}";
	params.parallel = p->parallel;
	const enum cuttle_status status = cuttle_plan_make(model, &params, &b->plan, b->error);
	if (status) return status;
	b->mechanism = &b->plan->mechanism;
	b->slots = b->plan->slots;
	return CUTTLE_OK;
}

/* Tokens that are computed once for all contexts. Example: of 300 shared tokens 288. */
static size_t count_shared_tokens(const struct bench_run *b) {
	return b->params.shared - b->params.shared % ATTENTION_TILE;
}

static enum cuttle_status allocate_bench(struct bench_run *b) {
	const size_t batch = b->place_count, prompt = b->params.prompt, slots = b->slots;
	b->places = calloc(batch, sizeof *b->places);
	b->drawable = calloc(b->model->vocab_size, sizeof *b->drawable);
	b->ids = calloc(batch + 1, prompt * sizeof *b->ids);
	b->next = calloc(slots, sizeof *b->next);
	b->steps = calloc(b->params.steps, sizeof *b->steps);
	if (!b->places || !b->drawable || !b->ids || !b->next || !b->steps)
		return status_fail(b->error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < b->model->vocab_size; i++)
		if (vocab_drawable(b->model->vocab, (int32_t)i))
			b->drawable[b->drawable_count++] = (int32_t)i;
	const struct lockstep_params params = {.prefix = {b->ids, count_shared_tokens(b)},
	                                       .batch = batch,
	                                       .slots = slots,
	                                       .context = prompt + b->params.steps,
	                                       .chunk = CAPACITY_CHUNK,
	                                       .resident = true};
	return lockstep_new(b->model, &params, &b->lockstep, b->error);
}

/* Fills every context with random tokens, and returns the nanoseconds that all prefills took. All
 * texts have the same public prompt, so ids[0 .. prompt - 1] is filled for the first slot only. */
static uint64_t time_prefill(struct bench_run *b) {
	const struct logit_source source = lockstep_source(b->lockstep);
	struct seeded seeded = {.seed = SEED};
	const struct dp_random random = seeded_random(&seeded);
	const size_t batch = b->rows, prompt = b->params.prompt;
	uint64_t spent = 0;
	for (size_t slot = 0; slot < source.slots; slot++) {
		for (size_t i = slot ? prompt : 0; i < (batch + 1) * prompt; i++) {
			uint64_t word;
			(void)random.fill(random.user, &word, sizeof word);
			b->ids[i] = b->drawable[word % b->drawable_count];
		}
		for (size_t i = 0; i < batch; i++) {
			int32_t *ids = b->ids + (i + 1) * prompt;
			memcpy(ids, b->ids, b->params.shared * sizeof *ids);
			b->places[i] =
			    (struct place_context){{ids, prompt}, count_shared_tokens(b)};
		}
		const uint64_t start = read_bench_clock();
		(void)source.begin(source.self, slot, &(struct tokens){b->ids, prompt}, b->places,
		                   b->place_count, &(struct tokens){0}, NULL);
		spent += read_bench_clock() - start;
	}
	return spent;
}

/* Groups of 16 tokens that hold a candidate. Example: candidates 3, 5 and 40 are in 2 groups. */
static size_t count_candidate_groups(const uint32_t *candidates, size_t count) {
	size_t groups = 0;
	for (size_t i = 0; i < count; i++)
		groups += !i || candidates[i] / GEMM_GROUP != candidates[i - 1] / GEMM_GROUP;
	return groups;
}

/* Draws one paid token as the generation loop does, and adds its times to *step. */
static enum cuttle_status time_draw(struct bench_run *b, const struct logit_source *source,
                                    size_t slot, uint32_t number, struct step_time *step) {
	const struct dp_mechanism *mechanism = b->mechanism;
	struct dp_wanted wanted;
	enum dp_fate fate;
	uint32_t token;
	const uint64_t start = read_bench_clock();
	if (mechanism->turn) mechanism->turn(mechanism->self, (uint32_t)slot, number == 0);
	mechanism->begin(mechanism->self, b->place_count, number);
	enum dp_status status = mechanism->open(
	    mechanism->self, source->public_row(source->self, slot), false, &wanted);
	if (status) return plan_status(status, b->error);
	step->parts[CUTTLE_DRAW] += read_bench_clock() - start;
	const bool every = wanted.place == DP_EVERY_PLACE;
	const uint32_t first = every ? 0 : wanted.place,
	               end = every ? b->place_count : wanted.place + 1;
	source->private_logits(source->self, slot, first, end - first, wanted.tokens, wanted.count);
	const double groups = (double)count_candidate_groups(wanted.tokens, wanted.count);
	const uint64_t clip = read_bench_clock();
	bool any = false;
	for (uint32_t place = first; place < end; place++) {
		const float *logits = source->row(source->self, place);
		if (logits) mechanism->row(mechanism->self, place, logits);
		any |= logits != NULL;
	}
	const uint64_t draw = read_bench_clock();
	step->parts[CUTTLE_DCLIP] += draw - clip;
	if ((status = mechanism->draw(mechanism->self, &token, &fate)))
		return plan_status(status, b->error);
	step->parts[CUTTLE_DRAW] += read_bench_clock() - draw;
	if (any) b->private_groups += groups;
	b->next[slot] = (int32_t)token;
	return CUTTLE_OK;
}

/* Runs all steps. CUTTLE_OTHER is a step's total less all parts that were timed. */
static enum cuttle_status time_steps(struct bench_run *b) {
	const struct logit_source source = lockstep_source(b->lockstep);
	for (uint32_t number = 0; number < b->params.steps; number++) {
		struct step_time *step = &b->steps[number];
		const struct forward_time before = lockstep_time(b->lockstep);
		const uint64_t start = read_bench_clock();
		source.public_logits(source.self);
		for (size_t slot = 0; slot < source.slots; slot++) {
			const enum cuttle_status status = time_draw(b, &source, slot, number, step);
			if (status) return status;
		}
		source.append(source.self, b->next);
		step->total = read_bench_clock() - start;
		const struct forward_time after = lockstep_time(b->lockstep);
		step->parts[CUTTLE_GEMM] = after.gemm - before.gemm;
		step->parts[CUTTLE_ATTENTION] = after.attention - before.attention;
		step->parts[CUTTLE_ROWS] = after.rows - before.rows;
		step->parts[CUTTLE_HEAD] = after.head - before.head;
		uint64_t known = 0;
		for (int part = 0; part < CUTTLE_OTHER; part++) known += step->parts[part];
		step->parts[CUTTLE_OTHER] = step->total - known;
	}
	return CUTTLE_OK;
}

static int compare_step_totals(const void *a, const void *b) {
	const uint64_t x = ((const struct step_time *)a)->total,
	               y = ((const struct step_time *)b)->total;
	return (x > y) - (x < y);
}

/* Adds the bytes and the multiply-adds of one product: `groups` groups of 16 channels of the
 * matrix, `rows` rows. Its weights are read once, however many rows there are. Float matrices count
 * no multiply-adds of bytes. */
static void add_product_work(struct cuttle_bench_result *result, const struct packed_matrix *w,
                             double groups, double rows) {
	size_t weights = 0, scales = 0, minima = 0;
	// The matrix is in memory, so its size does not overflow.
	(void)pack_sizes(w->type, w->channels, w->k, &weights, &scales, &minima);
	const double all = (double)((w->channels + GEMM_GROUP - 1) / GEMM_GROUP);
	result->weight_bytes += (double)(weights + scales + minima) * groups / all;
	if (!packed_is_float(w->type))
		result->multiply_adds += groups * GEMM_GROUP * (double)w->k * rows;
}

/* Counts the work of one step: all layers for every row, and the whole head for the public rows.
 * Private rows need only the head's groups with candidates. */
static void count_step_work(const struct bench_run *b, struct cuttle_bench_result *result) {
	const struct model *m = b->model;
	const double slots = (double)b->slots, rows = slots * (b->rows + 1.0);
	for (size_t i = 0; i < m->layers; i++) {
		const struct layer *layer = &m->layer[i];
		const struct packed_matrix *const matrices[] = {
		    &layer->query, &layer->key,  &layer->value,   &layer->output,   &layer->gate,
		    &layer->up,    &layer->down, &layer->in_gate, &layer->out_gate, &layer->state};
		for (size_t t = 0; t < sizeof matrices / sizeof *matrices; t++) {
			const size_t channels = matrices[t]->channels;
			if (!channels) continue; // of the other kind of layer
			add_product_work(result, matrices[t],
			                 (double)((channels + GEMM_GROUP - 1) / GEMM_GROUP), rows);
		}
	}
	add_product_work(result, &m->head, (double)((m->vocab_size + GEMM_GROUP - 1) / GEMM_GROUP),
	                 slots);
	add_product_work(result, &m->head, b->private_groups / b->params.steps,
	                 b->rewriter ? 1 : b->rows);
}

/* Sorts the steps by total time and fills *result. The parts are means over the middle half: of 8
 * steps the third to the sixth. */
static void summarise_steps(struct bench_run *b, uint64_t prefill_ns,
                            struct cuttle_bench_result *result) {
	const size_t count = b->params.steps, from = count / 4, to = count - from;
	const double slots = (double)b->slots, rows = slots * (b->rows + 1.0);
	qsort(b->steps, count, sizeof *b->steps, compare_step_totals);
	const double median =
	    ((double)b->steps[(count - 1) / 2].total + (double)b->steps[count / 2].total) / 2.0;
	*result = (struct cuttle_bench_result){.parallel = (uint32_t)b->slots,
	                                       .threads = threads_count(b->model->threads)};
	const double shared = (double)count_shared_tokens(b),
	             computed = shared + rows * (b->params.prompt - shared);
	result->prompt_tokens_per_s = computed * NS_PER_S / (double)prefill_ns;
	result->step_ms = median / NS_PER_MS;
	result->step_p10_ms = (double)b->steps[(count - 1) / 10].total / NS_PER_MS;
	result->step_p90_ms = (double)b->steps[count - 1 - (count - 1) / 10].total / NS_PER_MS;
	result->rows_per_s = rows * NS_PER_S / median;
	result->tokens_per_s = slots * NS_PER_S / median;
	for (size_t i = from; i < to; i++)
		for (int part = 0; part < CUTTLE_PARTS; part++)
			result->parts_ms[part] +=
			    (double)b->steps[i].parts[part] / NS_PER_MS / (double)(to - from);
	count_step_work(b, result);
	result->rss_bytes = cuttle_bench_rss();
}

static void free_bench(struct bench_run *b) {
	if (b->lockstep) lockstep_free(&b->lockstep);
	if (b->own.self) b->own.free(b->own.self);
	cuttle_plan_free(&b->plan);
	cuttle_rewriter_free(&b->rewriter);
	free(b->places);
	free(b->drawable);
	free(b->ids);
	free(b->next);
	free(b->steps);
}

enum cuttle_status cuttle_bench(struct cuttle_model *model,
                                const struct cuttle_bench_params *params,
                                struct cuttle_bench_result *result, struct cuttle_error *error) {
	REQUIRE(model && params && result);
	*result = (struct cuttle_bench_result){0};
	struct bench_run b = {.model = &model->model, .error = error};
	enum cuttle_status status =
	    params_take(&b.params, sizeof b.params, params, "struct cuttle_bench_params", error);
	if (status) return status;
	if (!(status = make_bench_plan(&b, model)) && !(status = allocate_bench(&b))) {
		const uint64_t spent = time_prefill(&b);
		if (!(status = time_steps(&b))) summarise_steps(&b, spent, result);
	}
	free_bench(&b);
	return status;
}
