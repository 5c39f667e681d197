// SPDX-License-Identifier: Apache-2.0
// What a setting costs: the real prefill and the real private step, timed, and the two ceilings of the machine they run against.
#include "engine/lockstep.h"
#include "engine/plan.h"
#include "engine/status.h"

#include "base/misuse.h"
#include "kernels/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PROMPT_LEAST = 4, SEED = 1 };
static const double EPSILON = 10.0, NS_PER_MS = 1e6, NS_PER_S = 1e9;

struct step {
	uint64_t total, parts[CUTTLE_PARTS]; /* nanoseconds */
};

struct bench {
	const struct model *model;
	struct cuttle_bench_params params;
	struct cuttle_plan *plan; /* for its mechanism and its choices; its prompts stay unused */
	struct lockstep *lockstep;
	struct prompt prompt;
	struct tokens *references; /* [max(B, 1)] */
	int32_t *drawable, *ids, *next;
	size_t drawable_count;
	struct step *steps;
	double private_groups; /* of 16 channels of the head, over all steps and texts */
	struct cuttle_error *error;
};

static uint64_t now(void) {
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

/* ---- one setting --------------------------------------------------------------------------------------------------------------------- */

/* The plan of a private run of this size, which checks the numbers on the way. */
static enum cuttle_status make_plan(struct bench *b, struct cuttle_model *model) {
	const struct cuttle_bench_params *p = &b->params;
	struct cuttle_plan_params params;
	uint32_t context;
	if (p->prompt < PROMPT_LEAST || !p->steps || __builtin_add_overflow(p->prompt, p->steps, &context))
		return status_fail(b->error, CUTTLE_USAGE, "a bench needs prompts of at least %d tokens, and at least one step",
		                   PROMPT_LEAST);
	cuttle_plan_params_default(&params);
	params.epsilon = EPSILON;
	params.batch = p->batch ? p->batch : 1;
	params.tokens = p->steps;
	params.context = context;
	params.form = CUTTLE_CUSTOM;
	params.prompt_public = "a";
	params.prompt_private = "{reference}";
	params.parallel = p->parallel;
	return cuttle_plan_make(model, &params, &b->plan, b->error);
}

/* What is mapped without being backed ends in a killed process, not in an error. */
static enum cuttle_status check_memory(const struct bench *b) {
	const size_t rows = b->plan->slots * (b->params.batch + 1), tokens = kv_capacity(b->params.prompt + (size_t)b->params.steps);
	const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	const size_t memory = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
	size_t bytes;
	if (kv_bytes(b->model, rows * tokens, &bytes) && bytes < memory) return CUTTLE_OK;
	return status_fail(b->error, CUTTLE_NOMEM, "%zu contexts of %zu tokens are more than this machine's memory", rows, tokens);
}

static enum cuttle_status allocate(struct bench *b) {
	const size_t batch = b->plan->integers.batch, prompt = b->params.prompt, slots = b->plan->slots;
	b->references = calloc(batch, sizeof *b->references);
	b->drawable = calloc(b->model->vocab_size, sizeof *b->drawable);
	b->ids = calloc(batch + 1, prompt * sizeof *b->ids);
	b->next = calloc(slots, sizeof *b->next);
	b->steps = calloc(b->params.steps, sizeof *b->steps);
	if (!b->references || !b->drawable || !b->ids || !b->next || !b->steps) return status_fail(b->error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < b->model->vocab_size; i++)
		if (vocab_drawable(b->model->vocab, (int32_t)i)) b->drawable[b->drawable_count++] = (int32_t)i;
	b->prompt.whole = (struct tokens){b->ids, prompt};
	const struct lockstep_params params = {.prompt = &b->prompt,
	                                       .batch = batch,
	                                       .slots = slots,
	                                       .context = prompt + b->params.steps,
	                                       .chunk = b->plan->chunk,
	                                       .share = false,
	                                       .resident = true};
	return lockstep_new(b->model, &params, &b->lockstep, b->error);
}

/* Random tokens in every context; the time of the prefill of all. */
static uint64_t prefill(struct bench *b) {
	const struct logit_source source = lockstep_source(b->lockstep);
	struct seeded seeded = {.seed = SEED};
	const struct dp_random random = seeded_random(&seeded);
	const size_t batch = b->params.batch, prompt = b->params.prompt;
	uint64_t spent = 0;
	for (size_t slot = 0; slot < source.slots; slot++) {
		for (size_t i = slot ? prompt : 0; i < (batch + 1) * prompt; i++) { // all texts have one public prompt
			uint64_t word;
			(void)random.fill(random.user, &word, sizeof word);
			b->ids[i] = b->drawable[word % b->drawable_count];
		}
		for (size_t i = 0; i < batch; i++) b->references[i] = (struct tokens){b->ids + (i + 1) * prompt, prompt};
		const uint64_t start = now();
		(void)source.begin(source.self, slot, b->references, b->plan->integers.batch, &(struct tokens){0}, NULL);
		spent += now() - start;
	}
	return spent;
}

static size_t groups_of(const uint32_t *candidates, size_t count) {
	size_t groups = 0;
	for (size_t i = 0; i < count; i++) groups += !i || candidates[i] / GEMM_GROUP != candidates[i - 1] / GEMM_GROUP;
	return groups;
}

/* As the generation loop does it. */
static enum cuttle_status draw_token(struct bench *b, const struct logit_source *source, size_t slot, uint32_t number, struct step *step) {
	struct dp_invisibleink *mechanism = b->plan->mechanism;
	const uint32_t *candidates;
	uint32_t token;
	size_t count;
	const uint64_t start = now();
	dp_invisibleink_begin(mechanism, number);
	enum dp_status status = dp_invisibleink_public(mechanism, source->public_row(source->self, slot), &candidates, &count);
	if (status) return plan_status(status, b->error);
	step->parts[CUTTLE_DRAW] += now() - start;
	source->private_logits(source->self, slot, candidates, count);
	const uint64_t clip = now();
	const size_t rows = source->rows(source->self, slot);
	for (size_t i = 0; i < rows; i++) dp_invisibleink_private(mechanism, source->row(source->self, i));
	const uint64_t draw = now();
	step->parts[CUTTLE_DCLIP] += draw - clip;
	if ((status = dp_invisibleink_draw(mechanism, &token))) return plan_status(status, b->error);
	step->parts[CUTTLE_DRAW] += now() - draw;
	if (rows) b->private_groups += (double)groups_of(candidates, count);
	b->next[slot] = (int32_t)token;
	return CUTTLE_OK;
}

static enum cuttle_status decode(struct bench *b) {
	const struct logit_source source = lockstep_source(b->lockstep);
	for (uint32_t number = 0; number < b->params.steps; number++) {
		struct step *step = &b->steps[number];
		const struct forward_time before = lockstep_time(b->lockstep);
		const uint64_t start = now();
		source.public_logits(source.self);
		for (size_t slot = 0; slot < source.slots; slot++) {
			const enum cuttle_status status = draw_token(b, &source, slot, number, step);
			if (status) return status;
		}
		source.append(source.self, b->next);
		step->total = now() - start;
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

static int by_total(const void *a, const void *b) {
	const uint64_t x = ((const struct step *)a)->total, y = ((const struct step *)b)->total;
	return (x > y) - (x < y);
}

/* Adds what multiplying `groups` groups of the matrix by `rows` rows reads and does. */
static void add_work(struct cuttle_bench_result *result, const struct packed_matrix *w, double groups, double rows) {
	size_t weights = 0, scales = 0, minima = 0;
	(void)pack_sizes(w->type, w->channels, w->k, &weights, &scales, &minima); // the matrix is there, so nothing overflows
	const double all = (double)((w->channels + GEMM_GROUP - 1) / GEMM_GROUP);
	result->weight_bytes += (double)(weights + scales + minima) * groups / all;
	if (!packed_is_float(w->type)) result->multiply_adds += groups * GEMM_GROUP * (double)w->k * rows;
}

static void count_work(const struct bench *b, struct cuttle_bench_result *result) {
	const struct model *m = b->model;
	const double slots = (double)b->plan->slots, rows = slots * (b->params.batch + 1.0);
	for (size_t i = 0; i < m->layers; i++) {
		const struct layer *layer = &m->layer[i];
		const struct packed_matrix *const matrices[] = {&layer->query, &layer->key, &layer->value, &layer->output,
		                                                &layer->gate,  &layer->up,  &layer->down};
		for (size_t t = 0; t < sizeof matrices / sizeof *matrices; t++)
			add_work(result, matrices[t], (double)((matrices[t]->channels + GEMM_GROUP - 1) / GEMM_GROUP), rows);
	}
	add_work(result, &m->head, (double)((m->vocab_size + GEMM_GROUP - 1) / GEMM_GROUP), slots);
	add_work(result, &m->head, b->private_groups / b->params.steps, b->params.batch);
}

static void sum_up(struct bench *b, uint64_t prefill_ns, struct cuttle_bench_result *result) {
	const size_t count = b->params.steps, from = count / 4, to = count - from;
	const double slots = (double)b->plan->slots, rows = slots * (b->params.batch + 1.0);
	qsort(b->steps, count, sizeof *b->steps, by_total);
	const double median = ((double)b->steps[(count - 1) / 2].total + (double)b->steps[count / 2].total) / 2.0;
	*result = (struct cuttle_bench_result){.parallel = (uint32_t)b->plan->slots, .threads = threads_count(b->model->threads)};
	result->prompt_tokens_per_s = rows * b->params.prompt * NS_PER_S / (double)prefill_ns;
	result->step_ms = median / NS_PER_MS;
	result->step_p10_ms = (double)b->steps[(count - 1) / 10].total / NS_PER_MS;
	result->step_p90_ms = (double)b->steps[count - 1 - (count - 1) / 10].total / NS_PER_MS;
	result->rows_per_s = rows * NS_PER_S / median;
	result->tokens_per_s = slots * NS_PER_S / median;
	for (size_t i = from; i < to; i++)
		for (int part = 0; part < CUTTLE_PARTS; part++)
			result->parts_ms[part] += (double)b->steps[i].parts[part] / NS_PER_MS / (double)(to - from);
	count_work(b, result);
	result->rss_bytes = cuttle_bench_rss();
}

static void release(struct bench *b) {
	if (b->lockstep) lockstep_free(&b->lockstep);
	cuttle_plan_free(&b->plan);
	free(b->references);
	free(b->drawable);
	free(b->ids);
	free(b->next);
	free(b->steps);
}

enum cuttle_status cuttle_bench(struct cuttle_model *model, const struct cuttle_bench_params *params, struct cuttle_bench_result *result,
                                struct cuttle_error *error) {
	REQUIRE(model && params && result);
	*result = (struct cuttle_bench_result){0};
	if (params->struct_size != sizeof *params) return status_fail(error, CUTTLE_USAGE, "bench params of another library version");
	struct bench b = {.model = &model->model, .params = *params, .error = error};
	enum cuttle_status status;
	if (!(status = make_plan(&b, model)) && !(status = check_memory(&b)) && !(status = allocate(&b))) {
		const uint64_t spent = prefill(&b);
		if (!(status = decode(&b))) sum_up(&b, spent, result);
	}
	release(&b);
	return status;
}
