// SPDX-License-Identifier: Apache-2.0
// Measures how well the mechanism predicts real texts, for each way to spend the privacy budget.
// The measure is the mean log-likelihood per token. Each text has a batch of references of its own,
// and is itself in no batch. Nothing is drawn. The output is not private: use data that may be
// shown.
//
// usage: likelihood MODEL DATA.jsonl KIND B T FEWER TEXTS LENGTH
//   B       references of a text, at most 31
//   T       private tokens per batch
//   FEWER   the same, for the two ways with a lower -n, which have free tokens
//   TEXTS   texts that are measured
//   LENGTH  tokens of each text that are measured, at most
// The first two records are public examples. Then come B + 1 records for each text: the text itself
// and its references.
//
// Prints a line for each epsilon and way, with these columns between tabs: epsilon, way, T, clip,
// mean number of candidates in V+, share of tokens that are in V+, mean log-likelihood of those,
// its difference to "--center none" and the standard error of that, share of free tokens, its
// difference to "public prompt alone" and the standard error of that.
#include "dp/invisibleink.h"
#include "engine/cuttle/text.h"
#include "engine/run/plan.h"
#include "engine/forward/lockstep.h"
#include "io/records.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_BATCH = 31,      /* references of one text, at most */
	EXAMPLES = 2,         /* public examples in each prompt */
	CONTEXT = 2048,       /* tokens of one context, at most */
	MOST_REFERENCE = 256, /* tokens of one reference, at most */
	MOST_VOCAB = 1 << 17, /* tokens of the model's vocabulary, at most */
	MOST_BYTES = 1 << 16  /* bytes of a text, below this */
};
static const double EPSILONS[] = {1, 3, 10};
enum { EPSILON_COUNT = sizeof EPSILONS / sizeof *EPSILONS };

/* There is one plan, with its mechanism, for each epsilon and kind. */
enum plan_kind { PLAIN, CENTERED, GAINED, FEWER, FEWER_CENTERED, PLAN_KINDS };
static const struct {
	bool fewer; /* tokens: FEWER instead of T */
	bool center;
	double gain;
} PLAN[PLAN_KINDS] = {[PLAIN] = {false, false, 1},
                      [CENTERED] = {false, true, 1},
                      [GAINED] = {false, true, 2},
                      [FEWER] = {true, false, 1},
                      [FEWER_CENTERED] = {true, true, 1}};
/* The ways to spend that are compared. Each uses the plan of one kind. */
enum mode {
	MODE_ALONE,
	MODE_PLAIN,
	MODE_CENTER,
	MODE_GAIN,
	MODE_WHEN_90,
	MODE_WHEN_50,
	MODE_FEWER,
	MODE_ALL,
	MODES
};
static const struct {
	const char *name;
	enum plan_kind plan;
	uint32_t sure; /* of --public-when, in millionths; 0: no free tokens */
} MODE[MODES] = {
    {"public prompt alone", PLAIN, 0},
    {"--center none", PLAIN, 0},
    {"--center median", CENTERED, 0},
    {"that and --gain 2", GAINED, 0},
    {"--public-when 0.9", PLAIN, 900000},
    {"--public-when 0.5", PLAIN, 500000},
    {"--public-when 0.5, lower -n", FEWER, 500000},
    {"all that, --center median", FEWER_CENTERED, 500000},
};

struct likelihood_bench {
	struct cuttle_model *model;
	struct cuttle_plan *plans[EPSILON_COUNT][PLAN_KINDS];
	struct records *records;
	struct lockstep *lockstep;
	size_t batch;                     /* references of a text */
	double sum[EPSILON_COUNT][MODES]; /* log-likelihoods */
	double candidates[EPSILON_COUNT]; /* tokens in V+, summed over steps */
	/* Differences to MODE_PLAIN, then to MODE_ALONE; and their squares. */
	double over[2][EPSILON_COUNT][MODES];
	double over_squared[2][EPSILON_COUNT][MODES];
	size_t within[EPSILON_COUNT]; /* tokens that were in V+ */
	size_t tokens;                /* steps */
	size_t free[MODES];           /* steps that cost nothing */
};

static void stop_bench(const char *what) {
	fprintf(stderr, "likelihood: %s\n", what);
	exit(1);
}

static void make_bench_plans(struct likelihood_bench *b, const char *kind,
                             const char *const *examples, const uint32_t *tokens) {
	struct cuttle_error error;
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int k = 0; k < PLAN_KINDS; k++) {
			struct cuttle_plan_params params;
			cuttle_plan_params_default(&params);
			params.epsilon = EPSILONS[e];
			params.batch = (uint32_t)b->batch;
			params.tokens = tokens[PLAN[k].fewer];
			params.kind = kind;
			params.examples = examples;
			params.example_count = EXAMPLES;
			params.savings.center = PLAN[k].center;
			params.gain = PLAN[k].gain;
			params.context = CONTEXT;
			if (cuttle_plan_make(b->model, &params, &b->plans[e][k], &error))
				stop_bench(error.message);
		}
}

/* Writes the private contexts of records first .. first+B-1, the references of one text. */
static void write_contexts(const struct likelihood_bench *b, size_t first,
                           struct place_context *places, int32_t *ids, size_t capacity,
                           size_t limit) {
	const struct prompt *prompt = b->plans[0][0]->prompts;
	for (size_t i = 0; i < b->batch; i++) {
		size_t size;
		const char *text = records_text(b->records, first + i, &size);
		int32_t *list = ids + i * capacity;
		places[i] = (struct place_context){
		    {list, prompt_private(&b->model->model, prompt, text, size, limit, list)},
		    prompt->shared};
	}
}

/* The log-likelihood of `token`: ln of its weight over the sum of all weights in V+. The weight is
 * A * E, or A if `alone`: the public and the private factor of dp/PRIVACY.md. NaN: the token is not
 * in V+. */
static double compute_log_likelihood(const struct dp_invisibleink *mechanism,
                                     const uint32_t *candidates, size_t count, uint32_t token,
                                     bool alone) {
	long double whole = 0, its = NAN;
	for (size_t i = 0; i < count; i++) {
		long double weight = (long double)dp_invisibleink_public_weight(mechanism, i);
		if (!alone) weight *= (long double)dp_invisibleink_private_weight(mechanism, i);
		whole += weight;
		if (candidates[i] == token) its = weight;
	}
	return (double)logl(its / whole);
}

/* Measures `token` under all plans. The plan `widest` has the largest V+, which holds every other
 * plan's V+. So its private logits serve all plans. */
static void measure_step(struct likelihood_bench *b, const struct logit_source *source,
                         uint32_t token) {
	static float row[MOST_VOCAB];
	static uint32_t wide[MOST_VOCAB];
	const float *public_row = source->public_row(source->self, 0);
	struct dp_invisibleink *widest = b->plans[EPSILON_COUNT - 1][FEWER]->mechanism.self;
	const uint32_t *candidates;
	size_t wide_count, count;
	bool alone[MODES] = {[MODE_ALONE] = true};
	dp_invisibleink_begin(widest, 0);
	if (dp_invisibleink_public(widest, public_row, &candidates, &wide_count))
		stop_bench("public logits");
	memcpy(wide, candidates, wide_count * sizeof *wide);
	source->private_logits(source->self, 0, 0, b->batch, wide, wide_count);
	for (size_t e = 0; e < EPSILON_COUNT; e++) {
		double found[MODES];
		for (int k = 0; k < PLAN_KINDS; k++) {
			struct dp_invisibleink *m = b->plans[e][k]->mechanism.self;
			dp_invisibleink_begin(m, 0);
			if (dp_invisibleink_public(m, public_row, &candidates, &count))
				stop_bench("public logits");
			for (int mode = 0; mode < MODES && e == 0 && k == PLAIN; mode++) {
				if (!MODE[mode].sure) continue;
				alone[mode] = dp_invisibleink_sure(m, MODE[mode].sure);
				dp_invisibleink_begin(m, 0);
				if (dp_invisibleink_public(m, public_row, &candidates, &count))
					stop_bench("public logits");
			}
			if (k == PLAIN) b->candidates[e] += (double)count;
			for (size_t place = 0; place < b->batch; place++) {
				const float *logits = source->row(source->self, place);
				if (!logits) continue;
				for (size_t i = 0, at = 0; i < count; i++, at++) {
					while (wide[at] != candidates[i]) at++;
					row[i] = logits[at];
				}
				dp_invisibleink_private(m, row);
			}
			for (int mode = 0; mode < MODES; mode++)
				if (MODE[mode].plan == (enum plan_kind)k)
					found[mode] = compute_log_likelihood(m, candidates, count,
					                                     token, alone[mode]);
		}
		if (isnan(found[MODE_PLAIN])) continue;
		b->within[e]++;
		for (int mode = 0; mode < MODES; mode++) {
			b->sum[e][mode] += found[mode];
			for (int i = 0; i < 2; i++) {
				const double over =
				    found[mode] - found[i ? MODE_ALONE : MODE_PLAIN];
				b->over[i][e][mode] += over;
				b->over_squared[i][e][mode] += over * over;
			}
		}
	}
	b->tokens++;
	for (int mode = 0; mode < MODES; mode++) b->free[mode] += alone[mode];
}

static void measure_text(struct likelihood_bench *b, size_t number, size_t length) {
	static int32_t ids[2 * MOST_BYTES];
	const struct cuttle_plan *plan = b->plans[0][0];
	const struct logit_source source = lockstep_source(b->lockstep);
	const size_t first = EXAMPLES + number * (b->batch + 1),
	             capacity = prompt_private_capacity(plan->prompts, MOST_REFERENCE);
	struct place_context places[MOST_BATCH];
	size_t size, count;
	const char *text = records_text(b->records, first, &size);
	if (!text || size >= MOST_BYTES ||
	    cuttle_tokenize(b->model, text, size, false, ids, 2 * MOST_BYTES, &count, NULL))
		return;
	int32_t *place_ids = malloc(b->batch * capacity * sizeof *place_ids);
	if (!place_ids) stop_bench("out of memory");
	write_contexts(b, first + 1, places, place_ids, capacity, MOST_REFERENCE);
	(void)source.begin(source.self, 0, &plan->prompts->whole, places, b->batch,
	                   &(struct tokens){0}, NULL);
	for (size_t i = 0; i < count && i < length; i++) {
		source.public_logits(source.self);
		measure_step(b, &source, (uint32_t)ids[i]);
		source.append(source.self, &ids[i]);
	}
	source.end(source.self, 0);
	free(place_ids);
}

/* The mean of the differences under one mode, and its standard error. */
static void mean_over(const struct likelihood_bench *b, int base, size_t e, int mode, double *mean,
                      double *error) {
	const double n = (double)b->within[e];
	*mean = b->over[base][e][mode] / n;
	*error = sqrt(fmax(0, b->over_squared[base][e][mode] / n - *mean * *mean) / n);
}

static void print_results(const struct likelihood_bench *b) {
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int mode = 0; mode < MODES; mode++) {
			const struct cuttle_guarantee *g = &b->plans[e][MODE[mode].plan]->guarantee;
			const double n = (double)b->within[e];
			double mean[2], error[2];
			for (int i = 0; i < 2; i++) mean_over(b, i, e, mode, &mean[i], &error[i]);
			const double free_share =
			    MODE[mode].sure ? (double)b->free[mode] / (double)b->tokens : 0;
			printf(
			    "%g\t%s\t%u\t%.3f\t%.1f\t%.4f\t%.4f\t%+.4f\t%.4f\t%.3f\t%+.4f\t%.4f\n",
			    EPSILONS[e], MODE[mode].name, g->tokens, g->clip,
			    b->candidates[e] / (double)b->tokens, n / (double)b->tokens,
			    b->sum[e][mode] / n, mean[0], error[0], free_share, mean[1], error[1]);
		}
}

int main(int argc, char **argv) {
	static struct likelihood_bench b;
	struct cuttle_error error;
	if (argc != 9) stop_bench("usage: likelihood MODEL DATA.jsonl KIND B T FEWER TEXTS LENGTH");
	const uint32_t tokens[] = {(uint32_t)atoi(argv[5]), (uint32_t)atoi(argv[6])};
	const size_t texts = (size_t)atoi(argv[7]), length = (size_t)atoi(argv[8]);
	b.batch = (size_t)atoi(argv[4]);
	if (b.batch < 1 || b.batch > MOST_BATCH) stop_bench("B is 1 to 31");
	const struct records_request request = {
	    .path = argv[2], .field = "text", .limit = EXAMPLES + texts * (b.batch + 1)};
	char *examples[EXAMPLES];
	if (records_read(&request, &b.records, &error)) stop_bench(error.message);
	if (records_count(b.records) < request.limit) stop_bench("too few records");
	for (size_t i = 0; i < EXAMPLES; i++) {
		size_t size;
		const char *text = records_text(b.records, i, &size);
		examples[i] = strndup(text ? text : "", size);
	}
	if (cuttle_model_open(argv[1], NULL, &b.model, &error)) stop_bench(error.message);
	if (b.model->model.vocab_size > MOST_VOCAB)
		stop_bench("a vocabulary this large does not fit");
	make_bench_plans(&b, argv[3], (const char *const *)examples, tokens);
	const struct prompt *prompt = b.plans[0][0]->prompts;
	const struct lockstep_params params = {.prefix = {prompt->whole.ids, prompt->shared},
	                                       .batch = (uint32_t)b.batch,
	                                       .slots = 1,
	                                       .context = CONTEXT,
	                                       .chunk = 256};
	if (lockstep_new(&b.model->model, &params, &b.lockstep, &error)) stop_bench(error.message);
	for (size_t i = 0; i < texts; i++) measure_text(&b, i, length);
	print_results(&b);
	lockstep_free(&b.lockstep);
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int k = 0; k < PLAN_KINDS; k++) cuttle_plan_free(&b.plans[e][k]);
	cuttle_model_free(&b.model);
	records_free(&b.records);
	for (size_t i = 0; i < EXAMPLES; i++) free(examples[i]);
	return 0;
}
