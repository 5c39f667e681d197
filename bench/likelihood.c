// SPDX-License-Identifier: Apache-2.0
// Measures how well the mechanism predicts real texts, for each way to spend the privacy budget.
// The measure is the mean log-likelihood per token. Each text has a batch of references of its own,
// and is itself in no batch. Nothing is drawn. The output is not private: use data that may be
// shown.
//
// usage: likelihood MODEL DATA.jsonl KIND B T FEWER TEXTS LENGTH
//                   [FIELD|@FILE|- [Q [plain|named [SET [K [R]]]]]]
//   B       private rows of a text, at most 128
//   T       private tokens per batch
//   FEWER   the same, for the two ways with a lower -n, which have free tokens
//   TEXTS   texts that are measured
//   LENGTH  tokens of each text that are measured, at most
//   FIELD   category: the references of a text are of its category, among the ten largest, and so
//           are its examples; the prompts name it. -: no categories
//   @FILE   the same with the clusters of a file by cuttle clusters, in place of categories; plain
//   Q       share of secret lots that are used: what epsilon buys then, of batches of B references
//   plain   the prompts do not name the category, and the examples are those without one
//   SET     savings (default): ways to spend; gains: --gain 1 to 3; rows: references of a random
//           number, as lots and noisy counts give it; bias: a learnt bias (dp/learn.h)
//   K       of --top-k; 0 = the whole vocabulary. Default 100. Several, as 50,100,0, have the same
//           texts and rows; not with bias
//   R       references of each row (default 1); not with rows
// The first two records are public examples, or the first four of each category. After four records
// come B R + 1 for each text: the text itself and its references. With `rows` further references of
// a text are those of the next. With `bias` the prompts show four public examples, and the bias is
// of the first 300, 1,000 and 2,500 records that are not measured, or of all where there are fewer:
// stderr says how many. Its numbers are means over three draws of its noise.
//
// Prints a line for each epsilon and way, below a line with K where there are several, with these
// columns between tabs: epsilon, way, T, clip, mean number of candidates in V+, share of tokens
// that are in V+, mean log-likelihood of those, its difference to the set's first way but one and
// the standard error of that, share of free tokens, its difference to "public prompt alone" and the
// standard error of that. Standard errors are over texts.
#include "bench/weights.h"
#include "dp/learn.h"
#include "dp/seats.h"
#include "dp/zcdp.h"
#include "engine/cuttle/text.h"
#include "engine/run/loop/learn.h"
#include "engine/run/plan/plan.h"
#include "engine/forward/lockstep.h"
#include "topics/clusters_file.h"
#include "io/records/records.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_BATCH = 128,      /* rows of one text, at most, but for the set `rows` */
	MOST_ROWS = 128,       /* the same with it */
	MANY_ROWS = 40,        /* that are read, with it */
	RECORDS = 150,         /* of a category, there */
	EXAMPLES = 2,          /* public examples in each prompt, without categories */
	EXAMPLES_OF_GROUP = 4, /* the same of a category */
	MOST_GROUPS = 10,      /* categories that are measured, at most */
	CONTEXT = 2048,        /* tokens of one context, at most */
	MOST_REFERENCE = 256,  /* tokens of one reference, at most */
	MOST_SHOWN = 1536,     /* tokens of the references of a row, at most */
	MOST_VOCAB = 1 << 17,  /* tokens of the model's vocabulary, at most */
	MOST_BYTES = 1 << 16,  /* bytes of a text, below this */
	MOST_TOP_K = 4         /* K, at most */
};
static const double EPSILONS[] = {1, 3, 10};
enum { EPSILON_COUNT = sizeof EPSILONS / sizeof *EPSILONS };

/* What is compared. Each set's ways are printed alone. */
enum set { SAVINGS = 1, GAINS = 2, ROWS = 4, BIAS = 8, ALL_SETS = 15 };
static const struct {
	const char *name;
	enum set set;
} SET[] = {{"savings", SAVINGS}, {"gains", GAINS}, {"rows", ROWS}, {"bias", BIAS}};

/* There is one plan, with its mechanism, for each epsilon and kind of the set. */
enum plan_kind {
	PLAIN,
	CENTERED,
	GAINED,
	GAINED_15,
	GAINED_25,
	GAINED_3,
	FEWER,
	FEWER_CENTERED,
	AUTO_ROWS,
	AUTO_EXACT,
	AUTO_ZCDP,
	BIASED,
	LEFT_75,
	LEFT_50,
	PLAN_KINDS
};
static const struct {
	enum set set;
	bool fewer; /* tokens: FEWER instead of T */
	bool center;
	double gain; /* 0: auto */
	double
	    left; /* share of rho that a bias leaves, by the accountant zcdp; 0: by the default */
} PLAN[PLAN_KINDS] = {[PLAIN] = {ALL_SETS, .gain = 1},
                      [CENTERED] = {SAVINGS | GAINS, .center = true, .gain = 1},
                      [GAINED] = {SAVINGS | GAINS, .center = true, .gain = 2},
                      [GAINED_15] = {GAINS, .center = true, .gain = 1.5},
                      [GAINED_25] = {GAINS, .center = true, .gain = 2.5},
                      [GAINED_3] = {GAINS, .center = true, .gain = 3},
                      [FEWER] = {SAVINGS, .fewer = true, .gain = 1},
                      [FEWER_CENTERED] = {SAVINGS, .fewer = true, .center = true, .gain = 1},
                      [AUTO_ROWS] = {ROWS, .center = true},
                      [AUTO_EXACT] = {BIAS, .center = true},
                      [AUTO_ZCDP] = {BIAS, .center = true, .left = 1},
                      [BIASED] = {BIAS, .gain = 1},
                      [LEFT_75] = {BIAS, .center = true, .left = 0.75},
                      [LEFT_50] = {BIAS, .center = true, .left = 0.5}};
/* How many references a text has: B, a number by chance, or all that were read. */
enum row_law { EXACTLY_B, BY_LOTS, BY_COUNTS, BY_COUNTS_UP, ROW_LAWS };
/* The ways that are compared. Each uses the plan of one kind. The second of a set is what the
 * others are compared with. */
static const struct {
	enum set set;
	const char *name;
	enum plan_kind plan;
	uint32_t sure; /* of --public-when, in millionths; 0: no free tokens */
	bool alone;    /* the public weights alone */
	enum row_law rows;
	size_t learnt; /* records of its bias; 0: it has none */
	double share;  /* of rho that the bias has; 0: no noise */
} MODE[] = {
    {ALL_SETS, "public prompt alone", PLAIN, .alone = true},
    {SAVINGS | GAINS, "--center none", PLAIN, .sure = 0},
    {SAVINGS | GAINS, "--center median", CENTERED, .sure = 0},
    {SAVINGS, "that and --gain 2", GAINED, .sure = 0},
    {SAVINGS, "--public-when 0.9", PLAIN, .sure = 900000},
    {SAVINGS, "--public-when 0.5", PLAIN, .sure = 500000},
    {SAVINGS, "--public-when 0.5, lower -n", FEWER, .sure = 500000},
    {SAVINGS, "all that, --center median", FEWER_CENTERED, .sure = 500000},
    {GAINS, "that and --gain 1.5", GAINED_15, .sure = 0},
    {GAINS, "that and --gain 2", GAINED, .sure = 0},
    {GAINS, "that and --gain 2.5", GAINED_25, .sure = 0},
    {GAINS, "that and --gain 3", GAINED_3, .sure = 0},
    {ROWS, "B references", AUTO_ROWS, .sure = 0},
    {ROWS, "by lots", AUTO_ROWS, .rows = BY_LOTS},
    {ROWS, "by lots of noisy counts", AUTO_ROWS, .rows = BY_COUNTS},
    {ROWS, "the same, rounded up", AUTO_ROWS, .rows = BY_COUNTS_UP},
    {BIAS, "references, exact", AUTO_EXACT, .sure = 0},
    {BIAS, "references, zcdp", AUTO_ZCDP, .sure = 0},
    {BIAS, "bias of 2,500, no noise", BIASED, .alone = true, .learnt = 2500},
    {BIAS, "bias of 300", BIASED, .alone = true, .learnt = 300, .share = 1},
    {BIAS, "bias of 1,000", BIASED, .alone = true, .learnt = 1000, .share = 1},
    {BIAS, "bias of 2,500", BIASED, .alone = true, .learnt = 2500, .share = 1},
    {BIAS, "bias of 300, .25; references", LEFT_75, .learnt = 300, .share = 0.25},
    {BIAS, "bias of 1,000, .25; references", LEFT_75, .learnt = 1000, .share = 0.25},
    {BIAS, "bias of 2,500, .25; references", LEFT_75, .learnt = 2500, .share = 0.25},
    {BIAS, "bias of 300, .50; references", LEFT_50, .learnt = 300, .share = 0.5},
    {BIAS, "bias of 1,000, .50; references", LEFT_50, .learnt = 1000, .share = 0.5},
    {BIAS, "bias of 2,500, .50; references", LEFT_50, .learnt = 2500, .share = 0.5},
};
enum { MODES = sizeof MODE / sizeof *MODE, DRAWS = 3 /* of a bias's noise */ };

/* A difference between two ways, summed over tokens. */
struct difference {
	double sum;
	double text;    /* of the text that is measured */
	double squared; /* of the texts so far */
	double product; /* of each text's sum and its number of tokens */
};

struct likelihood_bench {
	struct cuttle_model *model;
	struct cuttle_plan *plans[EPSILON_COUNT][PLAN_KINDS];
	struct records *records;
	struct lockstep *lockstep;
	enum set set;
	int first;    /* mode that the others are compared with */
	size_t batch; /* references of a text */
	size_t rows;  /* the same, that are read: more with ROWS */
	size_t shots; /* references of a row */
	double law[EPSILON_COUNT][ROW_LAWS][MOST_ROWS + 1]; /* probability of that many */
	bool plain;                       /* prompts show nothing of the category */
	uint32_t top_k;                   /* candidates, about */
	double share;                     /* of secret lots that are used, 0 < share <= 1 */
	double sum[EPSILON_COUNT][MODES]; /* log-likelihoods */
	double candidates[EPSILON_COUNT]; /* tokens in V+, summed over steps */
	struct difference over[2][EPSILON_COUNT][MODES]; /* to `first`; to the public prompt */
	size_t within[EPSILON_COUNT];                    /* tokens that were in V+ */
	size_t text_within[EPSILON_COUNT];    /* the same, of the text that is measured */
	double within_squared[EPSILON_COUNT]; /* of the texts so far */
	size_t texts;
	int32_t *shifts[EPSILON_COUNT][MODES][DRAWS]; /* [vocabulary] of each bias */
	size_t tokens;                                /* steps */
	size_t free[MODES];                           /* steps that cost nothing */
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

/* What a category of RECORDS has in one of its lots, B on average: of all its records each with
 * probability 1 / M. By counts, M is that of a count with noise, and a count that gives more lots
 * has more texts (dp/seats.h). */
static void fill_row_law(double *law, size_t batch, uint32_t scale, enum row_law by) {
	double whole = 0;
	const int most = by == BY_LOTS ? 0 : 40 * (int)scale;
	for (int noise = -most; noise <= most; noise++) {
		const uint64_t seats =
		    dp_seats_batches(RECORDS + noise, (uint32_t)batch, scale, by == BY_COUNTS_UP);
		if (by != BY_LOTS && !seats) continue;
		const double lots = by == BY_LOTS ? ceil((double)RECORDS / (double)batch)
		                                  : (double)seats,
		             p = 1 / lots, weight = lots * exp(-(double)abs(noise) / scale);
		whole += weight;
		for (int n = 0; n <= RECORDS; n++)
			law[n < MANY_ROWS ? n : MANY_ROWS] +=
			    weight * exp(lgamma(RECORDS + 1.0) - lgamma(n + 1.0) -
			                 lgamma(RECORDS - n + 1.0) + n * log(p) +
			                 (RECORDS - n) * log1p(-fmin(p, 1 - 1e-12)));
	}
	for (size_t n = 0; n <= MOST_ROWS; n++) law[n] /= whole;
}

static void fill_row_laws(struct likelihood_bench *b) {
	for (size_t e = 0; e < EPSILON_COUNT; e++) {
		struct cuttle_histogram histogram;
		struct cuttle_lots lots;
		struct cuttle_error error;
		if (cuttle_histogram_make(EPSILONS[e], MOST_GROUPS, MOST_GROUPS,
		                          (uint64_t)RECORDS * MOST_GROUPS, (uint32_t)b->batch,
		                          &histogram, &lots, &error))
			stop_bench(error.message);
		b->law[e][EXACTLY_B][b->batch] = 1;
		for (enum row_law by = BY_LOTS; by < ROW_LAWS; by++)
			fill_row_law(b->law[e][by], b->batch, histogram.scale, by);
	}
}

/* The private epsilon of a batch is larger when secret lots hide who is in it: step 39. */
static void make_bench_plans(struct likelihood_bench *b, const char *kind,
                             const struct group_prompt *shown, const uint32_t *tokens) {
	struct cuttle_error error;
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int k = 0; k < PLAN_KINDS; k++) {
			if (!(PLAN[k].set & b->set)) continue;
			const struct cuttle_lots lots = {RECORDS, RECORDS / b->batch,
			                                 RECORDS / b->batch};
			struct cuttle_plan_params params;
			cuttle_plan_params_default(&params);
			params.epsilon = log1p(expm1(EPSILONS[e]) / b->share);
			params.delta /= b->share;
			params.batch = (uint32_t)b->batch;
			params.shots = (uint32_t)b->shots;
			params.tokens = tokens[PLAN[k].fewer];
			params.kind = kind;
			params.examples = (const char *const *)shown->examples;
			params.example_count = shown->example_count;
			params.headings = (const char *const *)&shown->heading;
			params.heading_count = shown->heading != NULL;
			params.savings.center = PLAN[k].center;
			params.gain = PLAN[k].gain;
			params.context = CONTEXT;
			params.top_k = b->top_k;
			if (PLAN[k].left > 0) {
				const double rho = dp_rho_of_epsilon(EPSILONS[e], params.delta);
				params.accountant = CUTTLE_ZCDP;
				params.epsilon =
				    dp_epsilon_of_rho(rho * PLAN[k].left, params.delta);
			}
			if (k == AUTO_ROWS) {
				params.lots = &lots;
				params.lot_count = 1;
			}
			if (cuttle_plan_make(b->model, &params, &b->plans[e][k], &error))
				stop_bench(error.message);
		}
}

/* The records that a bias is of: all behind the public ones, but those measured. */
struct bias_reading {
	const struct likelihood_bench *bench;
	const size_t *records; /* [count] */
	size_t count;
	double *vectors; /* [count][width] u of each */
	size_t taken, width;
};

static void give_bias_record(void *self, size_t index, const char **text, size_t *size) {
	const struct bias_reading *of = self;
	*text = records_text(of->bench->records, of->records[index], size);
}

static void keep_bias_vector(void *self, const double *u) {
	struct bias_reading *of = self;
	memcpy(of->vectors + of->taken++ * of->width, u, of->width * sizeof *u);
}

/* The shifts of one way's bias. Their noise follows from epsilon, way and draw alone. */
static void draw_biases(struct likelihood_bench *b, const struct cuttle_learner *learner,
                        const struct bias_reading *of, size_t e, int mode) {
	const struct cuttle_plan *plan = b->plans[e][MODE[mode].plan];
	const size_t count = MODE[mode].learnt < of->count ? MODE[mode].learnt : of->count;
	struct cuttle_query query = {.square = CUTTLE_LEARN_SQUARE, .times = 1, .parts = 1};
	struct dp_variance variance = {1, 1u << 31};
	double share = 0, *bias = calloc(of->width, sizeof *bias);
	int64_t *answer = calloc(of->width, sizeof *answer);
	if (!bias || !answer) stop_bench("out of memory");
	if (MODE[mode].share > 0 &&
	    dp_votes_variance(DP_LEARN_SQUARE, 1,
	                      MODE[mode].share * dp_rho_of_epsilon(EPSILONS[e], 1e-6), &variance))
		stop_bench("there is no such noise");
	query.num = variance.num;
	query.den = variance.den;
	for (uint64_t draw = 0; draw < DRAWS; draw++) {
		struct seeded seeded = {.seed = 1, .text = draw, .step = e * MODES + (size_t)mode};
		const struct dp_random random = seeded_random(&seeded);
		struct dp_learn *learn;
		if (dp_learn_begin(of->width, count, variance, &random, &learn))
			stop_bench("no noise");
		for (size_t i = 0; i < count; i++) dp_learn_add(learn, of->vectors + i * of->width);
		dp_learn_end(&learn, answer);
		share += cuttle_learner_bias(learner, answer, count, &query, bias) / DRAWS;
		int32_t *shift = calloc(b->model->model.vocab_size, sizeof *shift);
		b->shifts[e][mode][draw] = shift;
		if (!shift || learner_shift(&b->model->model, bias, plan->guarantee.fraction_bits,
		                            shift, NULL))
			stop_bench("out of memory");
	}
	fprintf(stderr, "epsilon %g, %s: %zu records, share %.3f\n", EPSILONS[e], MODE[mode].name,
	        count, share);
	free(bias);
	free(answer);
}

/* Reads the records once, and draws the biases of all ways. */
static void learn_biases(struct likelihood_bench *b, const struct record_group *group,
                         size_t public_count, size_t texts) {
	struct cuttle_learner *learner;
	struct cuttle_learn_params params;
	struct cuttle_error error;
	size_t most = 0, *records = calloc(group->count, sizeof *records);
	if (!records) stop_bench("out of memory");
	cuttle_learn_params_default(&params);
	if (cuttle_learner_make(b->plans[0][PLAIN], &params, &learner, &error))
		stop_bench(error.message);
	const struct cuttle_learner_info info = cuttle_learner_describe(learner);
	struct bias_reading of = {b, records, .width = info.width};
	for (int mode = 0; mode < MODES; mode++)
		most = MODE[mode].learnt > most ? MODE[mode].learnt : most;
	for (size_t i = 0; public_count + i < group->count && of.count < most; i++)
		if (i % (b->batch * b->shots + 1) != 0 || i / (b->batch * b->shots + 1) >= texts)
			records[of.count++] = group->records[public_count + i];
	of.vectors = calloc(of.count * info.width, sizeof *of.vectors);
	if (!of.vectors) stop_bench("out of memory");
	fprintf(stderr, "public texts: %.1f tokens, clip %.3f\n", info.mean_tokens, info.clip);
	(void)learner_read(learner, of.count, give_bias_record, &of, keep_bias_vector, &of);
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int mode = 0; mode < MODES; mode++)
			if (MODE[mode].learnt) draw_biases(b, learner, &of, e, mode);
	cuttle_learner_free(&learner);
	free(of.vectors);
	free(records);
}

/* Writes the private contexts of a text's references. */
static void write_contexts(const struct likelihood_bench *b, const size_t *references,
                           struct place_context *places, int32_t *ids, size_t capacity,
                           size_t limit) {
	const struct prompt *prompt = b->plans[0][0]->prompts;
	for (size_t i = 0; i < b->rows; i++) {
		struct prompt_shot shots[CUTTLE_MOST_SHOTS];
		for (size_t j = 0; j < b->shots; j++)
			shots[j].text =
			    records_text(b->records, references[i * b->shots + j], &shots[j].size);
		int32_t *list = ids + i * capacity;
		places[i] = (struct place_context){
		    {list, prompt_private(&b->model->model, prompt, shots, b->shots, limit, list)},
		    prompt->shared};
	}
}

/* Writes the tokens that are in V+ of any plan, ascending, and returns their number. Plans round
 * logits to different places, so none of them has all. */
static size_t find_wide(const struct likelihood_bench *b, const float *public_row, uint32_t *wide) {
	static bool within[MOST_VOCAB];
	size_t count = 0;
	memset(within, 0, sizeof within);
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int k = 0; k < PLAN_KINDS; k++) {
			const uint32_t *candidates;
			size_t its;
			if (!b->plans[e][k]) continue;
			struct dp_invisibleink *m = b->plans[e][k]->mechanism.self;
			dp_invisibleink_begin(m, 0);
			if (dp_invisibleink_public(m, public_row, &candidates, &its))
				stop_bench("public logits");
			for (size_t i = 0; i < its; i++) within[candidates[i]] = true;
		}
	for (uint32_t y = 0; y < MOST_VOCAB; y++)
		if (within[y]) wide[count++] = y;
	return count;
}

/* Adds the row of a place, of which `wide` has the tokens. */
static void add_private_row(struct dp_invisibleink *m, const struct logit_source *source,
                            size_t place, const uint32_t *wide, size_t wide_count,
                            const uint32_t *candidates, size_t count) {
	static float row[MOST_VOCAB];
	const float *logits = source->row(source->self, place);
	for (size_t i = 0, at = 0; logits && i < count; i++, at++) {
		while (at < wide_count && wide[at] != candidates[i]) at++;
		if (at == wide_count) stop_bench("a candidate has no row");
		row[i] = logits[at];
	}
	if (logits) dp_invisibleink_private(m, row);
}

/* What one plan finds at a step: found[mode] for each of its modes. `wide` are the tokens of the
 * private rows. */
static void measure_plan(struct likelihood_bench *b, const struct logit_source *source, size_t e,
                         int k, const uint32_t *wide, size_t wide_count, uint32_t token,
                         const bool *alone, double *found) {
	struct dp_invisibleink *m = b->plans[e][k]->mechanism.self;
	const uint32_t *candidates;
	size_t count;
	dp_invisibleink_begin(m, 0);
	if (dp_invisibleink_public(m, source->public_row(source->self, 0), &candidates, &count))
		stop_bench("public logits");
	if (k == PLAIN) b->candidates[e] += (double)count;
	for (int mode = 0; mode < MODES; mode++)
		if (MODE[mode].plan == (enum plan_kind)k) found[mode] = 0;
	const size_t rows = k == AUTO_ROWS ? b->rows : b->batch;
	for (size_t place = 0; place <= rows; place++) {
		for (int mode = 0; mode < MODES; mode++) {
			const double weight = b->law[e][MODE[mode].rows][place];
			if (MODE[mode].plan != (enum plan_kind)k || !(MODE[mode].set & b->set) ||
			    MODE[mode].learnt || weight == 0)
				continue;
			found[mode] += weight * weights_log_likelihood(m, candidates, count, token,
			                                               alone[mode]);
		}
		if (place < rows)
			add_private_row(m, source, place, wide, wide_count, candidates, count);
	}
}

/* What a way with a bias finds: the mean over the draws of the bias. */
static double measure_biased(struct likelihood_bench *b, const struct logit_source *source,
                             size_t e, int mode, const uint32_t *wide, size_t wide_count,
                             uint32_t token) {
	struct dp_invisibleink *m = b->plans[e][MODE[mode].plan]->mechanism.self;
	double found = 0;
	for (int draw = 0; draw < DRAWS; draw++) {
		const uint32_t *candidates;
		size_t count;
		dp_invisibleink_begin(m, 0);
		if (dp_invisibleink_shift(m, b->shifts[e][mode][draw]) ||
		    dp_invisibleink_public(m, source->public_row(source->self, 0), &candidates,
		                           &count))
			stop_bench("public logits");
		for (size_t place = 0; !MODE[mode].alone && place < b->batch; place++)
			add_private_row(m, source, place, wide, wide_count, candidates, count);
		found += weights_log_likelihood(m, candidates, count, token, MODE[mode].alone);
	}
	return found / DRAWS;
}

/* Which ways draw the token for nothing. */
static void find_alone(struct likelihood_bench *b, const float *public_row, bool *alone) {
	struct dp_invisibleink *m = b->plans[0][PLAIN]->mechanism.self;
	const uint32_t *candidates;
	size_t count;
	for (int mode = 0; mode < MODES; mode++) {
		alone[mode] = MODE[mode].alone;
		if (!MODE[mode].sure) continue;
		dp_invisibleink_begin(m, 0);
		if (dp_invisibleink_public(m, public_row, &candidates, &count))
			stop_bench("public logits");
		alone[mode] = dp_invisibleink_sure(m, MODE[mode].sure);
	}
}

/* Measures `token` under all plans. Private logits are computed once, for all of them. */
static void measure_step(struct likelihood_bench *b, const struct logit_source *source,
                         uint32_t token) {
	static uint32_t wide[MOST_VOCAB];
	const float *public_row = source->public_row(source->self, 0);
	const size_t wide_count = find_wide(b, public_row, wide);
	bool alone[MODES];
	source->private_logits(source->self, 0, 0, b->rows, wide, wide_count);
	find_alone(b, public_row, alone);
	for (size_t e = 0; e < EPSILON_COUNT; e++) {
		double found[MODES] = {0};
		bool within = true;
		for (int k = 0; k < PLAN_KINDS; k++)
			if (b->plans[e][k])
				measure_plan(b, source, e, k, wide, wide_count, token, alone,
				             found);
		for (int mode = 0; mode < MODES; mode++) {
			if (MODE[mode].learnt && b->set == BIAS)
				found[mode] =
				    measure_biased(b, source, e, mode, wide, wide_count, token);
			within &= !isnan(found[mode]);
		}
		if (!within) continue;
		b->text_within[e]++;
		for (int mode = 0; mode < MODES; mode++) {
			b->sum[e][mode] += found[mode];
			for (int i = 0; i < 2; i++)
				b->over[i][e][mode].text += found[mode] - found[i ? 0 : b->first];
		}
	}
	b->tokens++;
	for (int mode = 0; mode < MODES; mode++) b->free[mode] += alone[mode];
}

/* Adds up what a text was measured at. */
static void end_text(struct likelihood_bench *b) {
	b->texts++;
	for (size_t e = 0; e < EPSILON_COUNT; e++) {
		const double tokens = (double)b->text_within[e];
		b->within[e] += b->text_within[e];
		b->within_squared[e] += tokens * tokens;
		b->text_within[e] = 0;
		for (int i = 0; i < 2 * MODES; i++) {
			struct difference *d = &b->over[i / MODES][e][i % MODES];
			d->sum += d->text;
			d->squared += d->text * d->text;
			d->product += d->text * tokens;
			d->text = 0;
		}
	}
}

/* Measures record chosen[0] with the records behind it as its references, with each of b[0 ..
 * top_ks - 1]. */
static void measure_text(struct likelihood_bench *b, size_t top_ks, const size_t *chosen,
                         size_t length) {
	static int32_t ids[2 * MOST_BYTES];
	const struct cuttle_plan *plan = b->plans[0][0];
	const struct logit_source source = lockstep_source(b->lockstep);
	const size_t shown = b->shots * MOST_REFERENCE,
	             limit = shown < MOST_SHOWN ? shown : MOST_SHOWN,
	             capacity = prompt_row_capacity(plan->prompts, b->shots, limit);
	struct place_context places[MOST_ROWS];
	size_t size, count;
	const char *text = records_text(b->records, chosen[0], &size);
	if (!text || size >= MOST_BYTES ||
	    cuttle_tokenize(b->model, text, size, false, ids, 2 * MOST_BYTES, &count, NULL))
		return;
	int32_t *place_ids = malloc(b->rows * capacity * sizeof *place_ids);
	if (!place_ids) stop_bench("out of memory");
	write_contexts(b, chosen + 1, places, place_ids, capacity, limit);
	(void)source.begin(source.self, 0, &plan->prompts->whole, places, b->rows,
	                   &(struct tokens){0}, NULL);
	for (size_t i = 0; i < count && i < length; i++) {
		source.public_logits(source.self);
		for (size_t k = 0; k < top_ks; k++) measure_step(&b[k], &source, (uint32_t)ids[i]);
		source.append(source.self, &ids[i]);
	}
	source.end(source.self, 0);
	for (size_t k = 0; k < top_ks; k++) end_text(&b[k]);
	free(place_ids);
}

/* The mean of the differences of tokens under one mode, and its standard error over texts. */
static void mean_over(const struct likelihood_bench *b, int base, size_t e, int mode, double *mean,
                      double *error) {
	const struct difference *d = &b->over[base][e][mode];
	const double tokens = (double)b->within[e], texts = (double)b->texts;
	*mean = d->sum / tokens;
	const double squares =
	    d->squared - 2 * *mean * d->product + *mean * *mean * b->within_squared[e];
	*error = sqrt(fmax(0, squares) * texts / fmax(1, texts - 1)) / tokens;
}

static void print_results(const struct likelihood_bench *b) {
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int mode = 0; mode < MODES; mode++) {
			if (!(MODE[mode].set & b->set)) continue;
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

/* Finds the name of each record's cluster. NULL: it has none. */
static const char **name_clusters(const struct likelihood_bench *b, const char *path,
                                  struct clusters *clusters) {
	const size_t count = records_count(b->records);
	const char **names = calloc(count, sizeof *names);
	char sha256[HASH_TEXT];
	struct cuttle_error error;
	if (!names) stop_bench("out of memory");
	if (clusters_file_read(path, clusters, sha256, &error)) stop_bench(error.message);
	for (size_t i = 0; i < count; i++) {
		struct hidden_text text;
		uint32_t found;
		text.bytes = records_text(b->records, i, &text.size);
		if (clusters_find(clusters, clusters->by == CLUSTERS_BY_MODEL ? b->model : NULL,
		                  &text, 1, &found, &error))
			stop_bench(error.message);
		if (found != CLUSTERS_NONE) names[i] = clusters->names[found];
	}
	return names;
}

/* Parts the records by their category, or by clusters where these are given; at most MOST_GROUPS,
 * the largest first. */
static size_t part_records(const struct records *records, bool by_category,
                           const char *const *clusters, struct record_group *groups) {
	const size_t all = records_count(records);
	size_t count = 0, room = 64;
	struct record_group *found = calloc(room, sizeof *found);
	for (size_t i = 0; found && i < all; i++) {
		size_t size = 0, g = 0;
		const char *name = by_category ? records_label(records, i, 0, &size) : NULL;
		if (clusters && (name = clusters[i])) size = strlen(name);
		if ((by_category || clusters) && !name) continue;
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
	struct group_prompt shown = {.example_count =
	                                 named || b->set == BIAS ? EXAMPLES_OF_GROUP : EXAMPLES};
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

static void free_bench_plans(struct likelihood_bench *b) {
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int k = 0; k < PLAN_KINDS; k++) cuttle_plan_free(&b->plans[e][k]);
}

/* Measures `texts` texts of the group, each with a batch of its own. */
static void measure_group(struct likelihood_bench *b, size_t top_ks, const char *kind,
                          const char *field, const struct record_group *group, size_t public_count,
                          size_t texts, size_t length, const uint32_t *tokens) {
	struct cuttle_error error;
	struct group_prompt shown = show_group(b, group, field);
	const size_t all = group->count - public_count;
	size_t chosen[MOST_ROWS * CUTTLE_MOST_SHOTS + 1];
	for (size_t k = 0; k < top_ks; k++) {
		free_bench_plans(&b[k]);
		make_bench_plans(&b[k], kind, &shown, tokens);
	}
	if (b->set == BIAS) learn_biases(b, group, public_count, texts);
	const struct prompt *prompt = b->plans[0][0]->prompts;
	const struct lockstep_params params = {.prefix = {prompt->whole.ids, prompt->shared},
	                                       .batch = (uint32_t)b->rows,
	                                       .slots = 1,
	                                       .context = CONTEXT,
	                                       .chunk = 256};
	if (lockstep_new(&b->model->model, &params, &b->lockstep, &error))
		stop_bench(error.message);
	for (size_t i = 0; i < texts; i++) {
		for (size_t j = 0; j <= b->rows * b->shots; j++)
			chosen[j] =
			    group
			        ->records[public_count + (i * (b->batch * b->shots + 1) + j) % all];
		measure_text(b, top_ks, chosen, length);
	}
	lockstep_free(&b->lockstep);
	for (size_t i = 0; i < shown.example_count; i++) free(shown.examples[i]);
	free(shown.heading);
}

int main(int argc, char **argv) {
	static struct likelihood_bench b, many[MOST_TOP_K];
	size_t top_ks = 0;
	struct cuttle_error error;
	if (argc < 9 || argc > 15)
		stop_bench("usage: likelihood MODEL DATA.jsonl KIND B T FEWER TEXTS LENGTH "
		           "[FIELD|@FILE|- [Q [plain|named [SET [K [R]]]]]]");
	const uint32_t tokens[] = {(uint32_t)atoi(argv[5]), (uint32_t)atoi(argv[6])};
	const size_t texts = (size_t)atoi(argv[7]), length = (size_t)atoi(argv[8]);
	const char *by = argc > 9 && strcmp(argv[9], "-") != 0 ? argv[9] : NULL,
	           *clustered = by && by[0] == '@' ? by + 1 : NULL, *field = clustered ? NULL : by;
	b.batch = (size_t)atoi(argv[4]);
	b.plain = argc > 11 && strcmp(argv[11], "plain") == 0;
	for (size_t i = 0; i < sizeof SET / sizeof *SET; i++)
		if (strcmp(argc > 12 ? argv[12] : "savings", SET[i].name) == 0) b.set = SET[i].set;
	if (!b.set) stop_bench("SET is savings, gains, rows or bias");
	if (b.set == BIAS && by) stop_bench("a bias is of all records: give - for FIELD");
	if (clustered && !b.plain) stop_bench("with @FILE the prompts are plain");
	while (b.first == 0 || !(MODE[b.first].set & b.set)) b.first++;
	b.share = argc > 10 ? atof(argv[10]) : 1;
	b.shots = argc > 14 ? (size_t)atoi(argv[14]) : 1;
	if (b.batch < 1 || b.batch > MOST_BATCH) stop_bench("B is 1 to 128");
	if (b.shots < 1 || b.shots > CUTTLE_MOST_SHOTS || (b.set == ROWS && b.shots > 1))
		stop_bench("R is 1 to 64, and 1 with the set rows");
	b.rows = b.set == ROWS ? MANY_ROWS : b.batch;
	fill_row_laws(&b);
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
	const char *list = argc > 13 ? argv[13] : "100";
	while (list && top_ks < MOST_TOP_K) {
		b.top_k = (uint32_t)atoi(list);
		many[top_ks++] = b;
		if ((list = strchr(list, ','))) list++;
	}
	if (list || (top_ks > 1 && b.set == BIAS))
		stop_bench("K is up to four numbers, one with bias");
	struct record_group groups[MOST_GROUPS];
	struct clusters clusters = {0};
	const char **names = clustered ? name_clusters(&b, clustered, &clusters) : NULL;
	const size_t count = part_records(b.records, field != NULL, names, groups);
	size_t records = 0, measured = 0;
	for (size_t g = 0; g < count; g++) records += groups[g].count;
	for (size_t g = 0; g < count; g++) {
		const size_t examples = EXAMPLES_OF_GROUP,
		             most = groups[g].count < examples + b.rows * b.shots + 1
		                        ? 0
		                        : (groups[g].count - examples) / (b.batch * b.shots + 1),
		             wanted = (texts * groups[g].count + records - 1) / records,
		             its = wanted < most ? wanted : most;
		if (its == 0) continue;
		measure_group(many, top_ks, argv[3], field, &groups[g], examples, its, length,
		              tokens);
		measured += its;
	}
	if (!measured || (!by && measured < texts)) stop_bench("too few records");
	for (size_t k = 0; k < top_ks; k++) {
		if (top_ks > 1) printf("top-k\t%u\n", many[k].top_k);
		print_results(&many[k]);
		free_bench_plans(&many[k]);
	}
	for (size_t i = 0; i < EPSILON_COUNT * MODES * DRAWS; i++)
		free(many[0].shifts[i / (MODES * DRAWS)][i / DRAWS % MODES][i % DRAWS]);
	cuttle_model_free(&b.model);
	records_free(&b.records);
	for (size_t g = 0; g < count; g++) free(groups[g].records);
	free(names);
	clusters_free(&clusters);
	return 0;
}
