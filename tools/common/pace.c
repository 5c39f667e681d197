// SPDX-License-Identifier: Apache-2.0
// A measurement is a short run of cuttle_bench. A probe of one context comes first: its speed says
// how many tokens fit into SECONDS. An estimate of time scales the measurement by rows
// and by the length of the contexts. Memory is what the plan of such a run says.
#include "tools/common/pace.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	MOST_BENCH = 1 << 24,     /* bytes of a file from cuttle bench */
	PROBE_PROMPT = 32,        /* tokens of the probe's prompt */
	PROBE_STEPS = 2,          /* tokens that the probe draws */
	LEAST_PROMPT = 16,        /* tokens of the measurement's prompts, at least */
	LEAST_STEPS = 6,          /* tokens that the measurement draws, at least */
	MOST_STEPS = 32,          /* and at most */
	PROGRAM_BYTES = 16 << 20, /* without a model, rounded up */
	TOKEN_BYTES = 768         /* of the vocabulary and its lookups, for each token: the same */
};
static const double SECONDS = 1.5; /* planned for the prompts, and as much for the steps */

double pace_kv_bytes(const struct cuttle_model_info *info) {
	// Keys and values: two vectors per layer and head, of head_size numbers of two bytes, or of
	// one and a scale of four. A layer that convolves keeps floats.
	const double attending = info->layers - info->convolving;
	return 2.0 * attending * info->kv_heads *
	           (info->kv_type == CUTTLE_KV_Q8 ? info->head_size + 4.0 : 2.0 * info->head_size) +
	       4.0 * info->convolving * info->width;
}

static double clamp_between(double least, double value, double most) {
	return fmax(least, fmin(value, most));
}

enum cuttle_status pace_measure(struct cuttle_model *model, uint32_t batch, uint32_t parallel,
                                struct pace *pace, struct cuttle_error *error) {
	struct cuttle_bench_params params = {.struct_size = sizeof params,
	                                     .parallel = 1,
	                                     .prompt = PROBE_PROMPT,
	                                     .steps = PROBE_STEPS};
	struct cuttle_bench_result result;
	struct cuttle_model_info info;
	cuttle_model_describe(model, &info);
	// The probe: one text's public context alone.
	enum cuttle_status status = cuttle_bench(model, &params, &result, error);
	if (status) return status;
	params.batch = batch < PACE_MOST_BATCH ? batch : PACE_MOST_BATCH;
	params.parallel = parallel;
	const double rows = fmax(CUTTLE_STEP_ROWS, (params.batch + 1.0) * parallel);
	const double step_s = fmax(result.step_ms / 1e3, rows / result.prompt_tokens_per_s);
	params.steps = (uint32_t)clamp_between(LEAST_STEPS, SECONDS / step_s, MOST_STEPS);
	const double room = fmin(PACE_PROMPT, (double)info.context - params.steps);
	params.prompt = (uint32_t)clamp_between(LEAST_PROMPT,
	                                        SECONDS * result.prompt_tokens_per_s / rows, room);
	status = cuttle_bench(model, &params, &result, error);
	if (status) return status;
	*pace = (struct pace){.batch = params.batch,
	                      .parallel = result.parallel,
	                      .threads = result.threads,
	                      .prompt = params.prompt,
	                      .steps = params.steps,
	                      .prompt_tokens_per_s = result.prompt_tokens_per_s,
	                      .rows_per_s = result.rows_per_s,
	                      .attention_share = clamp_between(
	                          0, result.parts_ms[CUTTLE_ATTENTION] / result.step_ms, 1),
	                      .rss_bytes = NAN,
	                      .kv_bytes = NAN};
	return CUTTLE_OK;
}

/* ---- from a file ----------------------------------------------------------------------------- */

/* The member's number; NaN: it is absent, not a number, below `least` or above 1e15. */
static double read_member_number(const json_t *object, const char *key, double least) {
	const json_t *member = json_object_get(object, key);
	const double value = json_number_value(member);
	return json_is_number(member) && value >= least && value <= 1e15 ? value : (double)NAN;
}

static bool read_pace(const json_t *run, double kv_bytes, struct pace *pace) {
	const double least = 1e-9;
	*pace = (struct pace){
	    .batch = read_member_number(run, "batch", 0),
	    .parallel = read_member_number(run, "parallel", 1),
	    .threads = read_member_number(run, "threads", 1),
	    .prompt = read_member_number(run, "prompt", 0),
	    .steps = read_member_number(run, "steps", 1),
	    .prompt_tokens_per_s = read_member_number(run, "prompt_tokens_per_s", least),
	    .rows_per_s = read_member_number(run, "rows_per_s", least),
	    .attention_share =
	        read_member_number(json_object_get(run, "parts_ms"), "attention", 0) /
	        read_member_number(run, "step_ms", least),
	    .rss_bytes = read_member_number(run, "rss_bytes", least),
	    .kv_bytes = kv_bytes};
	// Shared tokens are in memory once, so it does not follow from the tokens of all contexts.
	if (read_member_number(run, "shared", 1) >= 1) pace->rss_bytes = (double)NAN;
	pace->attention_share = isnan(pace->attention_share) ? 0 : fmin(pace->attention_share, 1);
	return !isnan(pace->batch + pace->prompt + pace->prompt_tokens_per_s + pace->rows_per_s);
}

enum cuttle_status paces_read(const char *path, struct paces *paces, struct cuttle_error *error) {
	char *bytes;
	size_t size;
	*paces = (struct paces){0};
	const enum cuttle_status status = file_read(path, MOST_BENCH, &bytes, &size, error);
	if (status) return status;
	json_t *root = json_loadb(bytes, size, 0, NULL);
	free(bytes);
	const json_t *runs = json_object_get(root, "runs"), *model = json_object_get(root, "model");
	const size_t count = json_array_size(runs);
	paces->all = calloc(count + 1, sizeof *paces->all);
	paces->model_bytes = read_member_number(model, "file_bytes", 1);
	const double kv_bytes = read_member_number(model, "kv_bytes_per_token", 1);
	while (paces->all && paces->count < count &&
	       read_pace(json_array_get(runs, paces->count), kv_bytes, &paces->all[paces->count]))
		paces->count++;
	const bool whole = count > 0 && paces->count == count;
	json_decref(root);
	if (!paces->all) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return whole ? CUTTLE_OK
	             : io_fail(error, CUTTLE_INPUT, "%s: not what cuttle bench -o json prints",
	                       file_shown(path));
}

void paces_free(struct paces *paces) {
	free(paces->all);
	*paces = (struct paces){0};
}

const struct pace *paces_nearest(const struct paces *paces, double batch) {
	const struct pace *nearest = paces->all;
	for (const struct pace *pace = paces->all; pace < paces->all + paces->count; pace++) {
		const double farther = fabs(pace->batch - batch) - fabs(nearest->batch - batch);
		if (farther < 0 || (farther == 0 && pace->rows_per_s > nearest->rows_per_s))
			nearest = pace;
	}
	return nearest;
}

/* ---- estimates ------------------------------------------------------------------------------- */

/* A step's time has two parts. One is the same for every context; the other, attention_share, grows
 * with the mean length of the contexts. Example: measured with 100 + 20 / 2 tokens, wanted for 400
 * + 40 / 2. That part takes 420 / 110 times as long. */

double pace_seconds(const struct pace *pace, double texts, double batch, double prompt,
                    double tokens) {
	const double share = pace->attention_share;
	const double grown =
	    share > 0 ? (prompt + tokens / 2) / (pace->prompt + pace->steps / 2) : 1;
	const double step = (1 - share + share * grown) / pace->rows_per_s;
	const double read =
	    isnan(pace->prompt_tokens_per_s) ? 0 : prompt / pace->prompt_tokens_per_s;
	return texts * (batch + 1) * (tokens * step + read);
}

double pace_process_bytes(const struct cuttle_model_info *model, uint64_t job_bytes) {
	return PROGRAM_BYTES + (double)model->vocab * TOKEN_BYTES + (double)model->packed_bytes +
	       (double)job_bytes;
}

enum cuttle_status pace_memory(struct cuttle_model *model, double batch, double context,
                               double *bytes, struct cuttle_error *error) {
	struct cuttle_plan_params params;
	struct cuttle_model_info info;
	struct cuttle_guarantee guarantee;
	struct cuttle_plan *plan;
	cuttle_model_describe(model, &info);
	cuttle_plan_params_default(&params);
	// A plan of one token is made fast. Only batch and context matter to its job's memory.
	params.epsilon = 1;
	params.tokens = 1;
	params.batch = (uint32_t)batch;
	params.context = (uint32_t)fmin(context, info.context);
	params.form = CUTTLE_CUSTOM;
	params.prompt_public = "a";
	params.prompt_private = "{reference}";
	params.any_memory = true;
	*bytes = NAN;
	const enum cuttle_status status = cuttle_plan_make(model, &params, &plan, error);
	if (status == CUTTLE_USAGE) return CUTTLE_OK;
	if (status) return status;
	cuttle_plan_describe(plan, &guarantee);
	cuttle_plan_free(&plan);
	*bytes = pace_process_bytes(&info, guarantee.job_bytes);
	return CUTTLE_OK;
}

double pace_memory_there(const struct pace *pace, double batch, double context) {
	const double parallel = fmax(1, floor(CUTTLE_STEP_ROWS / (batch + 1)));
	const double measured = pace->parallel * (pace->batch + 1) * (pace->prompt + pace->steps);
	return pace->rss_bytes + pace->kv_bytes * (parallel * (batch + 1) * context - measured);
}

double pace_machine_memory(void) {
	const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	return pages > 0 && page > 0 ? (double)pages * (double)page : (double)NAN;
}

void pace_print_memory(double bytes, const char *beside, const char *lower) {
	const double has = pace_machine_memory();
	printf("memory        ");
	if (isnan(bytes)) printf("unknown: the system does not say\n");
	else if (bytes > has)
		printf("at most %.2f GB of this machine's %.2f GB%s: TOO MUCH, lower %s\n",
		       bytes / 1e9, has / 1e9, beside, lower);
	else
		printf("at most %.2f GB of this machine's %.2f GB%s\n", bytes / 1e9, has / 1e9,
		       beside);
}
