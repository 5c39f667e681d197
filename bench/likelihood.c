// SPDX-License-Identifier: Apache-2.0
// Measures how well the mechanism predicts real texts, for each way to spend the privacy budget.
// The measure is the mean log-likelihood per token. Each text has a batch of references of its own,
// and is itself in no batch. Nothing is drawn. The output is not private: use data that may be
// shown.
//
// usage: likelihood MODEL DATA.jsonl KIND B T FEWER TEXTS LENGTH [FIELD|- [Q [plain]]]
//   B       references of a text, at most 31
//   T       private tokens per batch
//   FEWER   the same, for the two ways with a lower -n, which have free tokens
//   TEXTS   texts that are measured
//   LENGTH  tokens of each text that are measured, at most
//   FIELD   category: the references of a text are of its category, among the ten largest, and so
//           are its examples; the prompts name it. -: no categories
//   plain   the prompts do not name the category, and the examples are those without one
//   Q       share of secret lots that are used: what epsilon buys then, of batches of B references
// The first two records are public examples, or the first four of each category. After four records
// come B + 1 for each text: the text itself and its references.
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
	MOST_BATCH = 31,       /* references of one text, at most */
	EXAMPLES = 2,          /* public examples in each prompt, without categories */
	EXAMPLES_OF_GROUP = 4, /* the same of a category */
	MOST_GROUPS = 10,      /* categories that are measured, at most */
	CONTEXT = 2048,        /* tokens of one context, at most */
	MOST_REFERENCE = 256,  /* tokens of one reference, at most */
	MOST_VOCAB = 1 << 17,  /* tokens of the model's vocabulary, at most */
	MOST_BYTES = 1 << 16   /* bytes of a text, below this */
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
	bool plain;                       /* prompts show nothing of the category */
	double share;                     /* of secret lots that are used, 0 < share <= 1 */
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

/* Records of one category, in the order of the file; or all records, with a NULL name. */
struct record_group {
	const char *name;
	size_t name_size;
	size_t *records; /* [count] numbers */
	size_t count;
};

/* A category's line in the prompts, and its public examples below the same line. */
struct group_prompt {
	char *heading; /* NULL: no category */
	char *examples[EXAMPLES_OF_GROUP];
	size_t example_count;
};

/* The private epsilon of a batch is larger when secret lots hide who is in it: useful.md 1.3. */
static void make_bench_plans(struct likelihood_bench *b, const char *kind,
                             const struct group_prompt *shown, const uint32_t *tokens) {
	struct cuttle_error error;
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int k = 0; k < PLAN_KINDS; k++) {
			struct cuttle_plan_params params;
			cuttle_plan_params_default(&params);
			params.epsilon = log1p(expm1(EPSILONS[e]) / b->share);
			params.delta /= b->share;
			params.batch = (uint32_t)b->batch;
			params.tokens = tokens[PLAN[k].fewer];
			params.kind = kind;
			params.examples = (const char *const *)shown->examples;
			params.example_count = shown->example_count;
			params.headings = (const char *const *)&shown->heading;
			params.heading_count = shown->heading != NULL;
			params.savings.center = PLAN[k].center;
			params.gain = PLAN[k].gain;
			params.context = CONTEXT;
			if (cuttle_plan_make(b->model, &params, &b->plans[e][k], &error))
				stop_bench(error.message);
		}
}

/* Writes the private contexts of a text's references. */
static void write_contexts(const struct likelihood_bench *b, const size_t *references,
                           struct place_context *places, int32_t *ids, size_t capacity,
                           size_t limit) {
	const struct prompt *prompt = b->plans[0][0]->prompts;
	for (size_t i = 0; i < b->batch; i++) {
		size_t size;
		const char *text = records_text(b->records, references[i], &size);
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

/* Measures record chosen[0] with records chosen[1] to chosen[B] as its references. */
static void measure_text(struct likelihood_bench *b, const size_t *chosen, size_t length) {
	static int32_t ids[2 * MOST_BYTES];
	const struct cuttle_plan *plan = b->plans[0][0];
	const struct logit_source source = lockstep_source(b->lockstep);
	const size_t capacity = prompt_private_capacity(plan->prompts, MOST_REFERENCE);
	struct place_context places[MOST_BATCH];
	size_t size, count;
	const char *text = records_text(b->records, chosen[0], &size);
	if (!text || size >= MOST_BYTES ||
	    cuttle_tokenize(b->model, text, size, false, ids, 2 * MOST_BYTES, &count, NULL))
		return;
	int32_t *place_ids = malloc(b->batch * capacity * sizeof *place_ids);
	if (!place_ids) stop_bench("out of memory");
	write_contexts(b, chosen + 1, places, place_ids, capacity, MOST_REFERENCE);
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

/* Parts the records by their category; at most MOST_GROUPS, the largest first. */
static size_t part_records(const struct records *records, bool by_category,
                           struct record_group *groups) {
	const size_t all = records_count(records);
	size_t count = 0, room = 64;
	struct record_group *found = calloc(room, sizeof *found);
	for (size_t i = 0; found && i < all; i++) {
		size_t size = 0, g = 0;
		const char *name = by_category ? records_label(records, i, 0, &size) : NULL;
		if (by_category && !name) continue;
		while (g < count && (found[g].name_size != size ||
		                     (name && memcmp(found[g].name, name, size) != 0)))
			g++;
		if (g == room) stop_bench("too many categories");
		if (g == count) {
			found[count++] = (struct record_group){
			    name, size, calloc(all, sizeof *found[g].records), 0};
			if (!found[g].records) stop_bench("out of memory");
		}
		found[g].records[found[g].count++] = i;
	}
	if (!found) stop_bench("out of memory");
	size_t kept = 0;
	while (kept < MOST_GROUPS && kept < count) {
		size_t largest = 0;
		for (size_t g = 1; g < count; g++)
			if (found[g].count > found[largest].count) largest = g;
		groups[kept++] = found[largest];
		found[largest].records = NULL;
		found[largest].count = 0;
	}
	for (size_t g = 0; g < count; g++) free(found[g].records);
	free(found);
	return kept;
}

static struct group_prompt show_group(const struct likelihood_bench *b,
                                      const struct record_group *group, const char *field) {
	const bool named = group->name && !b->plain;
	struct group_prompt shown = {.example_count = named ? EXAMPLES_OF_GROUP : EXAMPLES};
	const char *line = "";
	if (named) {
		if (asprintf(&shown.heading, "%s: %.*s", field, (int)group->name_size,
		             group->name) < 0)
			stop_bench("out of memory");
		line = shown.heading;
	}
	for (size_t i = 0; i < shown.example_count; i++) {
		size_t size;
		const char *text = records_text(b->records, named ? group->records[i] : i, &size);
		if (asprintf(&shown.examples[i], "%s%s%.*s", line, *line ? "\n" : "",
		             text ? (int)size : 0, text ? text : "") < 0)
			stop_bench("out of memory");
	}
	return shown;
}

/* Measures `texts` texts of the group, each with a batch of its own. */
static void measure_group(struct likelihood_bench *b, const char *kind, const char *field,
                          const struct record_group *group, size_t texts, size_t length,
                          const uint32_t *tokens) {
	struct cuttle_error error;
	struct group_prompt shown = show_group(b, group, field);
	make_bench_plans(b, kind, &shown, tokens);
	const struct prompt *prompt = b->plans[0][0]->prompts;
	const struct lockstep_params params = {.prefix = {prompt->whole.ids, prompt->shared},
	                                       .batch = (uint32_t)b->batch,
	                                       .slots = 1,
	                                       .context = CONTEXT,
	                                       .chunk = 256};
	if (lockstep_new(&b->model->model, &params, &b->lockstep, &error))
		stop_bench(error.message);
	for (size_t i = 0; i < texts; i++)
		measure_text(b, &group->records[EXAMPLES_OF_GROUP + i * (b->batch + 1)], length);
	lockstep_free(&b->lockstep);
	for (size_t i = 0; i < shown.example_count; i++) free(shown.examples[i]);
	free(shown.heading);
}

static void free_bench_plans(struct likelihood_bench *b) {
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int k = 0; k < PLAN_KINDS; k++) cuttle_plan_free(&b->plans[e][k]);
}

int main(int argc, char **argv) {
	static struct likelihood_bench b;
	struct cuttle_error error;
	if (argc < 9 || argc > 12)
		stop_bench("usage: likelihood MODEL DATA.jsonl KIND B T FEWER TEXTS LENGTH "
		           "[FIELD|- [Q [plain]]]");
	const uint32_t tokens[] = {(uint32_t)atoi(argv[5]), (uint32_t)atoi(argv[6])};
	const size_t texts = (size_t)atoi(argv[7]), length = (size_t)atoi(argv[8]);
	const char *field = argc > 9 && strcmp(argv[9], "-") != 0 ? argv[9] : NULL;
	b.batch = (size_t)atoi(argv[4]);
	b.plain = argc > 11;
	b.share = argc > 10 ? atof(argv[10]) : 1;
	if (b.batch < 1 || b.batch > MOST_BATCH) stop_bench("B is 1 to 31");
	if (!(b.share > 0 && b.share <= 1)) stop_bench("Q is above 0 and at most 1");
	const struct records_request request = {.path = argv[2],
	                                        .field = "text",
	                                        .limit = SIZE_MAX,
	                                        .labels = &field,
	                                        .label_count = field != NULL};
	if (records_read(&request, &b.records, &error)) stop_bench(error.message);
	if (cuttle_model_open(argv[1], NULL, &b.model, &error)) stop_bench(error.message);
	if (b.model->model.vocab_size > MOST_VOCAB)
		stop_bench("a vocabulary this large does not fit");
	struct record_group groups[MOST_GROUPS];
	const size_t count = part_records(b.records, field != NULL, groups);
	size_t records = 0, measured = 0;
	for (size_t g = 0; g < count; g++) records += groups[g].count;
	for (size_t g = 0; g < count; g++) {
		const size_t examples = EXAMPLES_OF_GROUP,
		             most = groups[g].count < examples
		                        ? 0
		                        : (groups[g].count - examples) / (b.batch + 1),
		             wanted = (texts * groups[g].count + records - 1) / records,
		             its = wanted < most ? wanted : most;
		free_bench_plans(&b);
		if (its) measure_group(&b, argv[3], field, &groups[g], its, length, tokens);
		measured += its;
	}
	if (!measured || (!field && measured < texts)) stop_bench("too few records");
	print_results(&b);
	free_bench_plans(&b);
	cuttle_model_free(&b.model);
	records_free(&b.records);
	for (size_t g = 0; g < count; g++) free(groups[g].records);
	return 0;
}
