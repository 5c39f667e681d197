// SPDX-License-Identifier: Apache-2.0
// cuttle bench: measures how fast each combination of settings runs on this machine, and compares
// that with the most the machine can do.
//
// The model is opened once for each number of threads. Then the two ceilings are measured: reading
// from DRAM, and multiply-adds in registers. Then every combination of prompt length, batch and
// texts in flight is measured several times. The contexts hold random tokens, so no private data
// passes through. tools/report/bench_table.h prints what was found.
#include "tools/report/bench_table.h"

#include "io/disk/fail.h"
#include "tools/common/load.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	MOST_ITEMS = 32,        /* most numbers in one list, as in -B 7,31 */
	MOST_REPETITIONS = 100, /* most measurements of one combination of settings */
	GROUP_ROWS = 1          /* -B or --groups: private rows of a text */
};

struct bench_values {
	struct model_values open; /* its threads are unused: the list below says them */
	const char *prompts;      /* list: tokens in each context before the first step */
	const char *batches;      /* list: references per text (B) */
	const char *groups; /* list: groups of a document with marks, instead of batches; or NULL */
	const char *parallels; /* list: texts in flight, 0 = as many as generate would take */
	const char *threads;   /* list: worker threads, 0 = the cores this process may use */
	uint64_t shared;       /* tokens that begin every context */
	uint64_t steps;        /* private tokens per text */
	uint64_t repetitions;  /* measurements of each combination */
	int format;            /* enum bench_format */
	bool no_ceilings;      /* the machine's ceilings are not measured */
};

// clang-format off
#define VALUE(member) OPTION(struct bench_values, member)
static const struct option_entry OPTIONS[] = {
	{.name = "model", .letter = 'm', VALUE(open.model), .argument = "FILE",
	 .help = "the model, a GGUF file"},
	{.name = "prompt", .letter = 'p', VALUE(prompts), .argument = "TOKENS,...",
	 .help = "tokens in each context before the first step (default 400)"},
	{.name = "shared", VALUE(shared), .argument = "TOKENS", .most = UINT32_MAX,
	 .help = "of the prompt's tokens, how many all contexts begin with (default 0)"},
	{.name = "steps", .letter = 'n', VALUE(steps), .argument = "STEPS", .least = 1,
	 .most = UINT32_MAX,
	 .help = "private tokens per text (default 64)"},
	{.name = "batch-size", .letter = 'B', .group = GROUP_ROWS, VALUE(batches),
	 .argument = "B,...",
	 .help = "references per text; 0 is the public context alone (default 7)"},
	{.name = "groups", .group = GROUP_ROWS, VALUE(groups), .argument = "M,...",
	 .help = "rewrite documents whose marks have so many groups, instead of -B"},
	{.name = "parallel", .letter = 'G', VALUE(parallels), .argument = "G,...",
	 .help = "texts in flight; 0 is as many as generate would take (default 1)"},
	{.name = "threads", .letter = 't', VALUE(threads), .argument = "COUNT,...",
	 .help = "worker threads; 0 is the cores this process may use (default 0)"},
	{.name = "repetitions", .letter = 'r', VALUE(repetitions), .argument = "COUNT", .least = 1,
	 .most = MOST_REPETITIONS,
	 .help = "of each setting (default 3)"},
	{.name = "format", .letter = 'o', VALUE(format), .argument = "md|json|csv",
	 .help = "of standard output, which the shell can put into a file (default md)"},
	{.name = "no-ceilings", VALUE(no_ceilings),
	 .help = "do not measure what the machine can do at most, which takes 512 MB and a "
	         "second or two"},
	{.name = "isa", VALUE(open.isa), .argument = "NAME",
	 .help = "kernels: auto, or the name of a tier; all but blas give the same bits"},
	{.name = "cpu-mask", .letter = 'C', VALUE(open.cpu_mask), .argument = "HEX",
	 .help = "run on these processors only, e.g. 3 for the first two"},
	KV_OPTION(struct bench_values),
	{.name = "mlock", VALUE(open.mlock), .help = "keep the weights in memory"},
};

static const char ABOUT[] =
	"Measures every combination of the lists. Each text has one public and B private "
	"contexts of random tokens. They share the first --shared of them, which are computed "
	"once, in sixteens, as a run's instructions are. A step is a real one: public logits, "
	"candidates (k = 100), private logits, clipping and an exact draw. The draw takes the "
	"system's randomness (epsilon 10, delta 1e-6), and its token is appended to every "
	"context. With --groups each text has one private context a group, and a step is "
	"DP-Fusion's. It has k = 200, one private row's logits, and the draw.\n"
	"step is the median of the steps of one repetition, p10 and p90 are percentiles there. "
	"min and max are over the repetitions. The repetition shown is the middle one by its "
	"step. The parts are milliseconds per step: gemm, attention, rows (norms, rotation, "
	"quantisation), head, dclip, draw (candidates, weights, draw), other.\n"
	"DRAM % is the weights' bytes per step over the time of gemm and head. It is a share "
	"of the best read of a large buffer by the same threads. int8 % is the multiply-adds, "
	"as a share of what the kernels' instructions do with everything in registers. More "
	"than 100 % of DRAM means that weights stay in the cache. Other processes make "
	"everything slower: what they took of the processors is warned of.\n";
// clang-format on

struct bench_list {
	uint32_t values[MOST_ITEMS];
	size_t count;
};

static bool parse_list(const char *text, struct bench_list *list) {
	list->count = 0;
	for (;;) {
		const size_t size = strcspn(text, ",");
		char word[16];
		uint64_t value;
		if (size >= sizeof word || list->count == MOST_ITEMS) return false;
		memcpy(word, text, size);
		word[size] = 0;
		if (!options_count(word, UINT32_MAX, &value)) return false;
		list->values[list->count++] = (uint32_t)value;
		if (!text[size]) return true;
		text += size + 1;
	}
}

struct bench_state {
	const struct verb *verb;
	const struct bench_values *values;
	struct bench_list prompts;   /* tokens */
	struct bench_list batches;   /* B, or groups */
	struct bench_list parallels; /* texts in flight */
	struct bench_list threads;   /* worker threads */
	struct bench_table table;
	size_t settings; /* combinations to be measured: the product of the four counts */
};

static double read_table_clock(void) {
	struct timespec clock;
	clock_gettime(CLOCK_MONOTONIC, &clock);
	return (double)clock.tv_sec + (double)clock.tv_nsec * 1e-9;
}

static int compare_steps(const void *a, const void *b) {
	const double x = ((const struct cuttle_bench_result *)a)->step_ms,
	             y = ((const struct cuttle_bench_result *)b)->step_ms;
	return (x > y) - (x < y);
}

static int compare_prompts(const void *a, const void *b) {
	const double x = ((const struct cuttle_bench_result *)a)->prompt_tokens_per_s,
	             y = ((const struct cuttle_bench_result *)b)->prompt_tokens_per_s;
	return (x > y) - (x < y);
}

/* Sorts results[count]. The run shown is the middle one by its step: of 3 the second, of 4 the
 * second too. */
static struct measurement summarize_repetitions(const struct cuttle_bench_params *params,
                                                struct cuttle_bench_result *results, size_t count,
                                                const struct ceilings *ceilings) {
	const size_t middle = (count - 1) / 2;
	struct measurement run = {.batch = params->batch,
	                          .groups = params->groups,
	                          .prompt = params->prompt,
	                          .shared = params->shared,
	                          .steps = params->steps,
	                          .repetitions = (double)count,
	                          .ceilings = ceilings};
	qsort(results, count, sizeof *results, compare_prompts);
	run.prompt_tokens_per_s = results[middle].prompt_tokens_per_s;
	run.prompt_least = results[0].prompt_tokens_per_s;
	run.prompt_most = results[count - 1].prompt_tokens_per_s;
	qsort(results, count, sizeof *results, compare_steps);
	const struct cuttle_bench_result *result = &results[middle];
	run.parallel = result->parallel;
	run.threads = result->threads;
	run.step_ms = result->step_ms;
	run.step_least = results[0].step_ms;
	run.step_most = results[count - 1].step_ms;
	run.step_p10 = result->step_p10_ms;
	run.step_p90 = result->step_p90_ms;
	run.rows_per_s = result->rows_per_s;
	run.tokens_per_s = result->tokens_per_s;
	memcpy(run.parts, result->parts_ms, sizeof run.parts);
	run.weight_bytes = result->weight_bytes;
	run.multiply_adds = result->multiply_adds;
	const double busy = (result->parts_ms[CUTTLE_GEMM] + result->parts_ms[CUTTLE_HEAD]) / 1e3;
	run.dram_share = result->weight_bytes / busy / ceilings->bytes_per_s;
	run.int8_share = result->multiply_adds / busy / ceilings->multiply_adds_per_s;
	run.rss_bytes = (double)result->rss_bytes;
	return run;
}

static int measure_setting(struct bench_state *bench, struct cuttle_model *model,
                           const struct cuttle_bench_params *params) {
	struct cuttle_bench_result results[MOST_REPETITIONS];
	struct cuttle_error error;
	struct bench_table *table = &bench->table;
	const size_t count = (size_t)bench->values->repetitions;
	for (size_t i = 0; i < count; i++) {
		const enum cuttle_status status = cuttle_bench(model, params, &results[i], &error);
		if (status) return verb_fail(bench->verb, status, &error);
	}
	struct measurement *run = &table->runs[table->run_count++];
	*run = summarize_repetitions(params, results, count,
	                             &table->ceilings[table->ceilings_count - 1]);
	fprintf(stderr,
	        "cuttle bench: %zu of %zu: B %.0f, parallel %.0f, prompt %.0f, threads %.0f: %.2f "
	        "ms a step, %.0f prompt tokens/s\n",
	        table->run_count, bench->settings, run->batch, run->parallel, run->prompt,
	        run->threads, run->step_ms, run->prompt_tokens_per_s);
	return CUTTLE_OK;
}

/* Opens the model with this number of threads and measures everything that is asked for with it. */
static int measure_threads(struct bench_state *bench, uint32_t threads) {
	struct model_values open = bench->values->open;
	struct cuttle_model *model;
	struct cuttle_error error;
	struct ceilings *ceilings = &bench->table.ceilings[bench->table.ceilings_count++];
	open.threads = threads;
	const double start = read_table_clock();
	int code = verb_open(bench->verb, &open, &model);
	if (code) return code;
	ceilings->load_s = read_table_clock() - start;
	ceilings->loaded_rss_bytes = (double)cuttle_bench_rss();
	cuttle_model_describe(model, &bench->table.model);
	ceilings->bytes_per_s = ceilings->multiply_adds_per_s = (double)NAN;
	enum cuttle_status status = CUTTLE_OK;
	if (!bench->values->no_ceilings)
		status = cuttle_bench_ceilings(model, &ceilings->bytes_per_s,
		                               &ceilings->multiply_adds_per_s, &error);
	if (status) code = verb_fail(bench->verb, status, &error);
	for (size_t p = 0; p < bench->prompts.count; p++)
		for (size_t b = 0; b < bench->batches.count; b++)
			for (size_t g = 0; g < bench->parallels.count && !code; g++) {
				const uint32_t rows = bench->batches.values[b];
				const bool groups = bench->values->groups != NULL;
				const struct cuttle_bench_params params = {
				    .struct_size = sizeof params,
				    .batch = groups ? 0 : rows,
				    .groups = groups ? rows : 0,
				    .parallel = bench->parallels.values[g],
				    .prompt = bench->prompts.values[p],
				    .steps = (uint32_t)bench->values->steps,
				    .shared = (uint32_t)bench->values->shared};
				code = measure_setting(bench, model, &params);
			}
	cuttle_model_free(&model);
	if (!code) ceilings->threads = bench->table.runs[bench->table.run_count - 1].threads;
	return code;
}

static int run_bench_verb(const struct verb *verb, int argc, char **argv) {
	struct bench_values values = {.prompts = "400",
	                              .batches = "7",
	                              .parallels = "1",
	                              .threads = "0",
	                              .steps = 64,
	                              .repetitions = 3};
	struct bench_state bench = {.verb = verb, .values = &values};
	struct cuttle_error error;
	int code;
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	const struct {
		const char *option, *text;
		struct bench_list *list;
	} lists[] = {{"--prompt", values.prompts, &bench.prompts},
	             {values.groups ? "--groups" : "--batch-size",
	              values.groups ? values.groups : values.batches, &bench.batches},
	             {"--parallel", values.parallels, &bench.parallels},
	             {"--threads", values.threads, &bench.threads}};
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		if (parse_list(lists[i].text, lists[i].list)) continue;
		(void)io_fail(
		    &error, CUTTLE_USAGE,
		    "%s: \"%.40s\" is not a list of up to %d whole numbers with commas, as in 7,31",
		    lists[i].option, lists[i].text, MOST_ITEMS);
		return verb_fail(verb, CUTTLE_USAGE, &error);
	}
	bench.settings =
	    bench.prompts.count * bench.batches.count * bench.parallels.count * bench.threads.count;
	bench.table.ceilings = calloc(bench.threads.count, sizeof *bench.table.ceilings);
	bench.table.runs = calloc(bench.settings, sizeof *bench.table.runs);
	if (!bench.table.ceilings || !bench.table.runs)
		code = verb_refuse(verb, CUTTLE_NOMEM, "out of memory");
	struct load load;
	load_begin(&load);
	for (size_t i = 0; i < bench.threads.count && !code; i++)
		code = measure_threads(&bench, bench.threads.values[i]);
	bench.table.others_share = load_of_others(&load);
	if (!code) load_warn(verb->name, bench.table.others_share);
	bench_table_machine(&bench.table);
	bench.table.isa = cuttle_isa();
	if (!code) code = bench_table_print(verb, &bench.table, (enum bench_format)values.format);
	free(bench.table.ceilings);
	free(bench.table.runs);
	return code;
}

const struct verb bench_verb = {
    .name = "bench",
    .usage = "-m MODEL [-p LIST] [-B LIST] [-t LIST] [OPTION]...",
    .summary = "what settings cost on this machine, and how near that is to its ceilings",
    .example = "-m MODEL.gguf -p 400 -n 64 -B 0,7,31 -t 2 -o json > bench.json",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run_bench_verb,
};
