// SPDX-License-Identifier: Apache-2.0
// Measures how well each method of cuttle generate predicts real texts at the same epsilon: what
// bench/likelihood.c does for the ways to spend a budget. Each text has a batch of references of
// its own, and is itself in no batch. Nothing that is drawn is kept. The output is not private: use
// data that may be shown.
//
// usage: methods MODEL DATA.jsonl KIND B T TEXTS LENGTH [K [FIRST]]
//   B       references of a text, at most 127; methods of one reference read the first of them
//   T       private tokens per batch
//   TEXTS   texts that are measured
//   LENGTH  tokens of each text that are measured, at most
//   K       candidates of the public row (default 100)
//   FIRST   the first text that is measured (default 0): so bench/methods.sh goes on
// The first two records are public examples. After them come B + 1 for each text: the text itself
// and its references.
//
// A text goes through each mechanism token by token, and ln P of its next token is read off the
// integers. A method may draw noise that decides which law a token has: then it is the law that
// was decided for (Amin: paid or free), or the mean over all places (mixtures). Only tokens among
// the K likeliest of the public row count, and laws are of these: so all methods have the same
// tokens.
// Prints a line for each text, epsilon and method, with tabs between: text, epsilon, method, mean
// ln P, its difference to the public prompt alone, share of private tokens, tokens. Where there are
// no parameters the line has `none` and the reason. bench/methods.sh makes a table of them.
#include "dp/amin.h"
#include "dp/fusion.h"
#include "dp/invisibleink.h"
#include "engine/cuttle/text.h"
#include "engine/forward/lockstep.h"
#include "engine/run/plan/plan.h"
#include "io/records/records.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_ROWS = 127,
	MOST_TOKENS = 512, /* of a text and of a reference */
	MOST_WORDS = 1 << 17,
	MOST_SIZE = 1 << 16,
	ROOM = 2048,
	PUBLIC_TEXTS = 2
};
static const double EPSILONS[] = {1, 3, 10};
enum { EPSILON_COUNT = sizeof EPSILONS / sizeof *EPSILONS };

/* The methods, a row each. */
static const struct {
	const char *name;
	enum cuttle_method method;
	uint32_t batch;  /* 0 = B */
	uint32_t order;  /* of pmixed */
	bool center;     /* of invisibleink; with it gain auto, else gain 1 */
	bool no_epsilon; /* measured once */
	uint32_t units;  /* of amin: every T / 4 is one; 0 = none */
} ROWS[] = {
    {.name = "invisibleink", .method = CUTTLE_INVISIBLEINK, .center = true},
    {.name = "invisibleink --center none --gain 1", .method = CUTTLE_INVISIBLEINK},
    {.name = "pmixed, order infinity", .method = CUTTLE_PMIXED, .order = CUTTLE_ORDER_INFINITE},
    {.name = "pmixed, order 4", .method = CUTTLE_PMIXED, .order = 4},
    {.name = "pmixed, order 16", .method = CUTTLE_PMIXED, .order = 16},
    {.name = "amin", .method = CUTTLE_AMIN, .units = 4},
    {.name = "dp-prompt", .method = CUTTLE_DP_PROMPT, .batch = 1},
    {.name = "dp-decoding", .method = CUTTLE_DP_DECODING, .batch = 1},
    {.name = "none", .method = CUTTLE_NONE, .no_epsilon = true},
};
enum { ROW_COUNT = sizeof ROWS / sizeof *ROWS };

/* What one method did on all texts. */
struct method_result {
	struct cuttle_plan *plan; /* NULL: it has no parameters */
	struct cuttle_error why;
	uint32_t batch;
	double sum;     /* of ln P, of the text in progress; so all below */
	size_t paid;    /* tokens that private rows decided */
	uint32_t spent; /* units */
	bool fresh;     /* it has no token yet */
};

struct methods_bench {
	struct cuttle_model *model;
	struct records *records;
	size_t batch, vocab, within; /* within: tokens of the text in progress that count */
	struct method_result results[EPSILON_COUNT][ROW_COUNT];
	float *rows;   /* [batch][vocab] private logits of the step */
	uint32_t *all; /* [vocab] every token */
	double *ln_p;  /* [vocab] */
	double alone;  /* ln P of the text in progress, by the public prompt */
};

static void stop_methods(const char *what) {
	fprintf(stderr, "methods: %s\n", what);
	exit(1);
}

static void make_method_plans(struct methods_bench *b, const char *kind,
                              const char *const *examples, uint32_t tokens, uint32_t top_k) {
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (size_t r = 0; r < ROW_COUNT; r++) {
			struct method_result *result = &b->results[e][r];
			struct cuttle_plan_params params;
			cuttle_plan_params_default(&params);
			params.method = ROWS[r].method;
			if (!ROWS[r].no_epsilon) params.epsilon = EPSILONS[e];
			params.batch = result->batch =
			    ROWS[r].batch ? ROWS[r].batch : (uint32_t)b->batch;
			params.tokens = tokens;
			params.top_k = top_k;
			params.kind = kind;
			params.examples = examples;
			params.example_count = PUBLIC_TEXTS;
			params.savings.center = ROWS[r].center;
			if (ROWS[r].method == CUTTLE_INVISIBLEINK && !ROWS[r].center)
				params.gain = 1;
			params.method_params.order = ROWS[r].order;
			if (ROWS[r].units)
				params.method_params.units =
				    (tokens + ROWS[r].units - 1) / ROWS[r].units;
			params.method_params.not_private = !cuttle_method_promises(params.method);
			params.context = ROOM;
			if (ROWS[r].no_epsilon && e + 1 < EPSILON_COUNT) continue;
			if (cuttle_plan_make(b->model, &params, &result->plan, &result->why))
				result->plan = NULL; /* its row says why */
		}
}

/* ln of the share of `token` in laws of `count` candidates, whose natural logarithms are in ln_p.
 * Only candidates that stand in common[] count. */
static double share_of(const uint32_t *candidates, const double *ln_p, size_t count,
                       const uint8_t *common, uint32_t token) {
	double most = -INFINITY, sum = 0, its = -INFINITY;
	for (size_t i = 0; i < count; i++)
		if (common[candidates[i]]) most = fmax(most, ln_p[i]);
	for (size_t i = 0; i < count; i++) {
		if (!common[candidates[i]]) continue;
		sum += exp(ln_p[i] - most);
		if (candidates[i] == token) its = ln_p[i] - most;
	}
	return its - log(sum);
}

static void give_rows(const struct methods_bench *b, const struct method_result *result,
                      const struct dp_wanted *wanted) {
	static float row[MOST_WORDS];
	const struct dp_mechanism *m = &result->plan->mechanism;
	for (uint32_t place = 0; place < result->batch; place++) {
		if (wanted->place != DP_EVERY_PLACE && wanted->place != place) continue;
		for (size_t i = 0; i < wanted->count; i++)
			row[i] = b->rows[place * b->vocab + wanted->tokens[i]];
		m->row(m->self, place, row);
	}
}

/* The mean over all places of a mixture: opened again until each place has had its turn. */
static double measure_mixture(struct methods_bench *b, const struct method_result *result,
                              const float *public_row, const uint8_t *common, uint32_t token) {
	const struct dp_mechanism *m = &result->plan->mechanism;
	bool seen[MOST_ROWS] = {false};
	static double law[MOST_WORDS];
	static uint32_t candidates[MOST_WORDS];
	size_t count = 0;
	for (uint32_t left = result->batch; left;) {
		struct dp_wanted wanted;
		m->begin(m->self, result->batch, 0);
		if (m->open(m->self, public_row, false, &wanted)) stop_methods("a mixture");
		if (seen[wanted.place]) continue;
		seen[wanted.place] = true;
		give_rows(b, result, &wanted);
		const struct dp_fusion_step step = dp_fusion_inspect(m->self);
		if (left-- == result->batch) {
			count = step.count;
			memcpy(candidates, step.candidates, count * sizeof *candidates);
			memset(law, 0, count * sizeof *law);
		}
		for (size_t i = 0; i < count; i++)
			law[i] += (65536.0 - step.share) * (double)step.a[i] +
			          (double)step.share * (double)step.b[i];
	}
	for (size_t i = 0; i < count; i++) law[i] = log(law[i]);
	return share_of(candidates, law, count, common, token);
}

/* The law that the test decided for. */
static double measure_amin(struct methods_bench *b, struct method_result *result,
                           const float *public_row, const uint8_t *common, uint32_t token) {
	const struct dp_mechanism *m = &result->plan->mechanism;
	static uint32_t candidates[MOST_WORDS];
	static double paid[MOST_WORDS], free_law[MOST_WORDS];
	struct dp_wanted wanted;
	uint32_t drawn;
	enum dp_fate fate = DP_FREE;
	size_t count = 0;
	m->turn(m->self, 0, result->fresh);
	result->fresh = false;
	m->begin(m->self, result->batch, result->spent);
	if (m->open(m->self, public_row, true, &wanted)) stop_methods("amin");
	if (wanted.count) give_rows(b, result, &wanted);
	const struct dp_amin_step step = dp_amin_inspect(m->self);
	for (count = 0; count < step.count; count++) {
		candidates[count] = step.candidates[count];
		paid[count] = log((double)dp_amin_weight(m->self, step.sum[count]));
		free_law[count] = log((double)step.public_law[count]);
	}
	if (m->draw(m->self, &drawn, &fate)) stop_methods("amin");
	result->spent = dp_amin_units(m->self);
	result->paid += fate == DP_PAID;
	return share_of(candidates, fate == DP_PAID ? paid : free_law, count, common, token);
}

static double measure_closed(struct methods_bench *b, struct method_result *result,
                             const float *public_row, const uint8_t *common, uint32_t token) {
	const struct dp_mechanism *m = &result->plan->mechanism;
	struct dp_wanted wanted;
	m->begin(m->self, result->batch, 0);
	if (m->open(m->self, public_row, false, &wanted)) stop_methods("public logits");
	give_rows(b, result, &wanted);
	m->law(m->self, b->ln_p);
	result->paid++;
	return share_of(wanted.tokens, b->ln_p, wanted.count, common, token);
}

static double measure_method(struct methods_bench *b, size_t row, struct method_result *result,
                             const float *public_row, const uint8_t *common, uint32_t token) {
	if (ROWS[row].method == CUTTLE_AMIN)
		return measure_amin(b, result, public_row, common, token);
	if (ROWS[row].method != CUTTLE_PMIXED && ROWS[row].method != CUTTLE_DP_DECODING)
		return measure_closed(b, result, public_row, common, token);
	result->paid++;
	return measure_mixture(b, result, public_row, common, token);
}

/* The K likeliest tokens of the public row that may be drawn, and their law at temperature 1. */
static double measure_public(struct methods_bench *b, const float *row, size_t top_k,
                             const uint8_t *allowed, uint8_t *common, uint32_t token) {
	memset(common, 0, b->vocab);
	for (size_t i = 0; i < top_k; i++) {
		size_t best = SIZE_MAX;
		for (size_t y = 0; y < b->vocab; y++)
			if (allowed[y] && !common[y] && (best == SIZE_MAX || row[y] > row[best]))
				best = y;
		if (best == SIZE_MAX) break;
		common[best] = 1;
	}
	for (size_t y = 0; y < b->vocab; y++) b->ln_p[y] = row[y];
	return share_of(b->all, b->ln_p, b->vocab, common, token);
}

static void measure_methods_token(struct methods_bench *b, const struct logit_source *source,
                                  size_t top_k, const uint8_t *allowed, uint32_t token) {
	static uint8_t common[MOST_WORDS];
	const float *public_row = source->public_row(source->self, 0);
	const double alone = measure_public(b, public_row, top_k, allowed, common, token);
	if (!common[token]) return;
	source->private_logits(source->self, 0, 0, b->batch, b->all, b->vocab);
	for (size_t place = 0; place < b->batch; place++) {
		const float *logits = source->row(source->self, place);
		if (!logits) stop_methods("a reference has no text");
		memcpy(b->rows + place * b->vocab, logits, b->vocab * sizeof *logits);
	}
	b->within++;
	b->alone += alone;
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (size_t r = 0; r < ROW_COUNT; r++) {
			struct method_result *result = &b->results[e][r];
			if (!result->plan) continue;
			result->sum += measure_method(b, r, result, public_row, common, token);
		}
}

/* Prints what one text has found, and forgets it. */
static void end_measured_text(struct methods_bench *b, size_t text) {
	const double n = (double)b->within;
	if (b->within)
		printf("%zu\t-\tpublic prompt alone\t%.6f\t0\t0\t%zu\n", text, b->alone / n,
		       b->within);
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (size_t r = 0; r < ROW_COUNT; r++) {
			struct method_result *result = &b->results[e][r];
			if (b->within && (!ROWS[r].no_epsilon || e + 1 == EPSILON_COUNT)) {
				printf("%zu\t%g\t%s\t", text,
				       ROWS[r].no_epsilon ? INFINITY : EPSILONS[e], ROWS[r].name);
				if (result->plan)
					printf("%.6f\t%+.6f\t%.4f\t%zu\n", result->sum / n,
					       (result->sum - b->alone) / n,
					       (double)result->paid / n, b->within);
				else printf("none\t%s\n", result->why.message);
			}
			result->sum = 0;
			result->paid = 0;
			result->spent = 0;
			result->fresh = true;
		}
	fflush(stdout);
	b->within = 0;
	b->alone = 0;
}

static size_t list_text(const struct methods_bench *b, size_t record, int32_t *ids) {
	size_t size, count = 0;
	const char *text = records_text(b->records, record, &size);
	if (!text || size >= MOST_SIZE ||
	    cuttle_tokenize(b->model, text, size, false, ids, 2 * MOST_SIZE, &count, NULL))
		stop_methods("a record is no text");
	return count < MOST_TOKENS ? count : MOST_TOKENS;
}

static void measure_held_out(struct methods_bench *b, struct lockstep *lockstep,
                             const struct prompt *prompt, size_t first, size_t length, size_t top_k,
                             const uint8_t *allowed) {
	static int32_t ids[2 * MOST_SIZE];
	const struct logit_source source = lockstep_source(lockstep);
	const size_t capacity = prompt_private_capacity(prompt, MOST_TOKENS / 2);
	struct place_context places[MOST_ROWS];
	int32_t *shown = malloc(b->batch * capacity * sizeof *shown);
	const size_t count = list_text(b, first, ids);
	if (!shown) stop_methods("out of memory");
	for (size_t i = 0; i < b->batch; i++) {
		size_t size;
		const char *text = records_text(b->records, first + 1 + i, &size);
		int32_t *list = shown + i * capacity;
		places[i].tokens.ids = list;
		places[i].tokens.count =
		    prompt_private(&b->model->model, prompt, &(struct prompt_shot){text, size}, 1,
		                   MOST_TOKENS / 2, list);
		places[i].shared = prompt->shared;
	}
	(void)source.begin(source.self, 0, &prompt->whole, places, b->batch, &(struct tokens){0},
	                   NULL);
	for (size_t i = 0; i < count && i < length; i++) {
		source.public_logits(source.self);
		measure_methods_token(b, &source, top_k, allowed, (uint32_t)ids[i]);
		source.append(source.self, &ids[i]);
	}
	source.end(source.self, 0);
	free(shown);
}

int main(int argc, char **argv) {
	static struct methods_bench b;
	struct cuttle_error error;
	if (argc < 8 || argc > 10)
		stop_methods("usage: methods MODEL DATA.jsonl KIND B T TEXTS LENGTH [K [FIRST]]");
	const size_t texts = (size_t)atoi(argv[6]), length = (size_t)atoi(argv[7]);
	const uint32_t top_k = argc > 8 ? (uint32_t)atoi(argv[8]) : 100;
	const size_t first = argc > 9 ? (size_t)atoi(argv[9]) : 0;
	b.batch = (size_t)atoi(argv[4]);
	if (b.batch < 1 || b.batch > MOST_ROWS || top_k < 1)
		stop_methods("B is 1 to 127, K at least 1");
	const struct records_request request = {
	    .path = argv[2], .field = "text", .limit = SIZE_MAX};
	if (records_read(&request, &b.records, &error)) stop_methods(error.message);
	if (records_count(b.records) < PUBLIC_TEXTS + (first + texts) * (b.batch + 1))
		stop_methods("too few records");
	if (cuttle_model_open(argv[1], NULL, &b.model, &error)) stop_methods(error.message);
	b.vocab = b.model->model.vocab_size;
	if (b.vocab > MOST_WORDS) stop_methods("a vocabulary this large does not fit");
	b.rows = calloc(b.batch * b.vocab, sizeof *b.rows);
	b.all = calloc(b.vocab, sizeof *b.all);
	b.ln_p = calloc(b.vocab, sizeof *b.ln_p);
	uint8_t *allowed = plan_allowed_tokens(&b.model->model);
	if (!b.rows || !b.all || !b.ln_p || !allowed) stop_methods("out of memory");
	for (size_t y = 0; y < b.vocab; y++) b.all[y] = (uint32_t)y;
	char *examples[PUBLIC_TEXTS];
	for (size_t i = 0; i < PUBLIC_TEXTS; i++) {
		size_t size;
		const char *text = records_text(b.records, i, &size);
		examples[i] = text ? strndup(text, size) : NULL;
		if (!examples[i]) stop_methods("an example is no text");
	}
	make_method_plans(&b, argv[3], (const char *const *)examples, (uint32_t)atoi(argv[5]),
	                  top_k);
	const struct cuttle_plan *plan = b.results[0][0].plan;
	if (!plan) stop_methods(b.results[0][0].why.message);
	const struct prompt *prompt = plan->prompts;
	const struct lockstep_params params = {.prefix = {prompt->whole.ids, prompt->shared},
	                                       .batch = (uint32_t)b.batch,
	                                       .slots = 1,
	                                       .context = ROOM,
	                                       .chunk = 256};
	struct lockstep *lockstep;
	if (lockstep_new(&b.model->model, &params, &lockstep, &error)) stop_methods(error.message);
	end_measured_text(&b, 0);
	for (size_t i = first; i < first + texts; i++) {
		measure_held_out(&b, lockstep, prompt, PUBLIC_TEXTS + i * (b.batch + 1), length,
		                 top_k, allowed);
		end_measured_text(&b, i);
	}
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (size_t r = 0; r < ROW_COUNT; r++) cuttle_plan_free(&b.results[e][r].plan);
	lockstep_free(&lockstep);
	for (size_t i = 0; i < PUBLIC_TEXTS; i++) free(examples[i]);
	free(allowed);
	free(b.rows);
	free(b.all);
	free(b.ln_p);
	cuttle_model_free(&b.model);
	records_free(&b.records);
	return 0;
}
