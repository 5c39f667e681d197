// SPDX-License-Identifier: Apache-2.0
// Measures what a schema is worth: how likely real records are through the mechanism, with it and
// without, at the same epsilon. Nothing is drawn. The output is not private: use records that may
// be shown.
//
// usage: records MODEL DATA.jsonl SCHEMA EXAMPLES.jsonl KIND B T WHOLE RECORDS
//   B        private rows of a record, one reference each
//   T        paid tokens of a record with the schema
//   WHOLE    the same without it: enough for all tokens of a record
//   RECORDS  records that are measured; each has the B behind it as its references
// All records are in the schema's form (io/schema/record.h), in the prompts too, and each token of
// the vocabulary is a candidate. Without a schema a record is cut into tokens as a whole. With one
// it is cut as engine/run/loop/guide.h does it: what must follow is free and certain. Where the
// paid tokens are spent the public prompt writes on.
//
// Prints a line for each epsilon and way, with these columns between tabs: epsilon, way, paid
// tokens there may be, clip, tokens of a record, those of them that are paid, log-likelihood of a
// record in nats, its difference to "no schema, references" and the standard error of that.
// Standard errors are over records.
#include "bench/weights.h"
#include "engine/forward/lockstep.h"
#include "engine/run/loop/guide.h"
#include "engine/run/plan/plan.h"
#include "io/records/records.h"
#include "workflow/grammar_choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	EPSILON_COUNT = 3,
	MOST_BATCH = 64,      /* rows of one record, at most */
	CONTEXT = 2048,       /* tokens of one context, at most */
	MOST_TOKENS = 1024,   /* of one record, at most */
	MOST_REFERENCE = 256, /* tokens of one reference, at most */
	FREE = 1 << 20        /* free tokens: more than any record needs */
};
static const double EPSILONS[EPSILON_COUNT] = {1, 3, 10};

/* What is compared. The second is what the others are compared with. */
static const struct {
	const char *name;
	bool shaped; /* with the schema */
	bool alone;  /* the public prompt, without references */
	bool fewer;  /* paid tokens: T instead of WHOLE */
} WAY[] = {{"no schema, public prompt alone", .alone = true},
           {"no schema, references", .shaped = false},
           {"schema, public prompt alone", .shaped = true, .alone = true},
           {"schema, references, all paid for", .shaped = true},
           {"schema, references", .shaped = true, .fewer = true}};
enum { WAYS = sizeof WAY / sizeof *WAY, BASE = 1 };

struct records_bench {
	struct cuttle_model *model;
	struct cuttle_plan *plans[EPSILON_COUNT][2]; /* [fewer] */
	struct records *records, *examples;
	struct grammar_choice choice;
	struct guide *guide;
	struct lockstep *lockstep;
	size_t batch;
	uint32_t *all;     /* [vocabulary] every token */
	float *row;        /* [vocabulary] */
	int32_t *contexts; /* [batch][capacity] */
	size_t capacity;   /* tokens of a private prompt, at most */
	/* Of the record that is measured, and of all. */
	double nats[EPSILON_COUNT][WAYS];
	double sum[EPSILON_COUNT][WAYS], over[EPSILON_COUNT][WAYS], squared[EPSILON_COUNT][WAYS];
	double tokens[2], paid[2]; /* [shaped] */
	size_t measured;
};

static void stop_records(const char *what) {
	fprintf(stderr, "records: %s\n", what);
	exit(1);
}

static struct records *read_objects(const char *path, const struct schema *schema) {
	struct records *records;
	struct cuttle_error error;
	const struct records_request request = {.path = path, .limit = SIZE_MAX, .schema = schema};
	if (records_read(&request, &records, &error)) stop_records(error.message);
	return records;
}

static void make_records_plans(struct records_bench *b, const char *kind, const uint32_t *tokens) {
	const size_t count = records_count(b->examples);
	const char **texts = calloc(count + 1, sizeof *texts);
	struct cuttle_error error;
	size_t size;
	if (!texts) stop_records("out of memory");
	for (size_t i = 0; i < count; i++)
		if (!(texts[i] = records_text(b->examples, i, &size)))
			stop_records("an example does not fit the schema");
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int fewer = 0; fewer < 2; fewer++) {
			struct cuttle_plan_params params;
			cuttle_plan_params_default(&params);
			params.epsilon = EPSILONS[e];
			params.batch = (uint32_t)b->batch;
			params.tokens = tokens[fewer];
			params.kind = kind;
			params.examples = texts;
			params.example_count = count;
			params.savings.center = true;
			params.context = CONTEXT;
			params.top_k = 0;
			if (cuttle_plan_make(b->model, &params, &b->plans[e][fewer], &error))
				stop_records(error.message);
		}
	free(texts);
}

/* Begins the contexts of record `index`, whose references are those behind it. */
static void begin_record(const struct records_bench *b, const struct logit_source *source,
                         size_t index) {
	const struct prompt *prompt = b->plans[0][0]->prompts;
	const size_t all = records_count(b->records);
	struct place_context places[MOST_BATCH];
	for (size_t i = 0; i < b->batch; i++) {
		struct prompt_shot shot;
		shot.text = records_text(b->records, (index + 1 + i) % all, &shot.size);
		int32_t *list = b->contexts + i * b->capacity;
		const size_t size =
		    prompt_private(&b->model->model, prompt, &shot, 1, MOST_REFERENCE, list);
		places[i] = (struct place_context){{list, size}, prompt->shared};
	}
	(void)source->begin(source->self, 0, &prompt->whole, places, b->batch, &(struct tokens){0},
	                    NULL);
}

/* Adds what the ways find for a token that is drawn. allowed: of these; NULL = of all. paid: how
 * many tokens of the record were paid before. */
static void measure_drawn(struct records_bench *b, const struct logit_source *source,
                          const uint8_t *allowed, uint32_t token, uint32_t paid) {
	const bool shaped = allowed != NULL;
	const size_t vocabulary = b->model->model.vocab_size;
	source->private_logits(source->self, 0, 0, b->batch, b->all, vocabulary);
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int fewer = 0; fewer <= shaped; fewer++) {
			const struct cuttle_plan *plan = b->plans[e][fewer];
			struct dp_invisibleink *m = plan->mechanism.self;
			const uint32_t *candidates;
			size_t count;
			dp_invisibleink_begin(m, 0);
			if (shaped) dp_invisibleink_allow(m, allowed);
			if (dp_invisibleink_public(m, source->public_row(source->self, 0),
			                           &candidates, &count))
				stop_records("public logits");
			const double alone =
			    weights_log_likelihood(m, candidates, count, token, true);
			for (size_t place = 0; place < b->batch; place++) {
				const float *logits = source->row(source->self, place);
				for (size_t i = 0; logits && i < count; i++)
					b->row[i] = logits[candidates[i]];
				if (logits) dp_invisibleink_private(m, b->row);
			}
			const double both =
			    weights_log_likelihood(m, candidates, count, token, false);
			for (int way = 0; way < WAYS; way++) {
				if (WAY[way].shaped != shaped || WAY[way].fewer != fewer) continue;
				const bool spent = paid >= plan->guarantee.tokens;
				b->nats[e][way] += WAY[way].alone || spent ? alone : both;
			}
		}
}

static int32_t first_token(const struct records_bench *b, const char *text, size_t size) {
	static int32_t ids[1 << 16];
	size_t count = 0;
	if (vocab_tokenize_piece(b->model->model.vocab, VOCAB_TEXT, text, size, false, ids,
	                         sizeof ids / sizeof *ids, &count, NULL) ||
	    !count)
		stop_records("a record without tokens");
	return ids[0];
}

static void measure_whole(struct records_bench *b, const char *text, size_t size) {
	const struct logit_source source = lockstep_source(b->lockstep);
	static int32_t ids[1 << 16];
	size_t count;
	if (cuttle_tokenize(b->model, text, size, false, ids, sizeof ids / sizeof *ids, &count,
	                    NULL))
		stop_records("a record is too long");
	for (size_t i = 0; i < count; i++) {
		source.public_logits(source.self);
		measure_drawn(b, &source, NULL, (uint32_t)ids[i], (uint32_t)i);
		source.append(source.self, &ids[i]);
	}
	b->tokens[0] += (double)count;
	b->paid[0] += (double)count;
}

static void measure_shaped(struct records_bench *b, const char *text, size_t size) {
	const struct logit_source source = lockstep_source(b->lockstep);
	const struct vocab *vocab = b->model->model.vocab;
	struct transcript transcript;
	struct cuttle_error error;
	const struct transcript_rules rules = {.vocab = vocab,
	                                       .tokens = MOST_TOKENS,
	                                       .free_tokens = FREE,
	                                       .length = MOST_TOKENS,
	                                       .exact = true};
	char bytes[1024];
	size_t at = 0, length, paid = 0, all = 0;
	if (transcript_new(&rules, &transcript, &error)) stop_records(error.message);
	transcript_begin(&transcript, false);
	if (!guide_begin(b->guide, 0, b->choice.grammars[0])) stop_records("out of memory");
	while (at < size) {
		struct guide_step step;
		if (!guide_next(b->guide, 0, &transcript, &step)) stop_records("out of memory");
		const int32_t token =
		    step.forced >= 0 ? step.forced : first_token(b, text + at, size - at);
		length = 0;
		vocab_detokenize(vocab, &token, 1, false, bytes, sizeof bytes, &length);
		if (length > size - at || memcmp(text + at, bytes, length) != 0)
			stop_records("a record is not of its grammar");
		source.public_logits(source.self);
		if (step.forced < 0)
			measure_drawn(b, &source, step.allowed, (uint32_t)token, (uint32_t)paid++);
		source.append(source.self, &token);
		guide_took(b->guide, 0, token);
		transcript_add(&transcript, step.forced < 0 ? token : ~token);
		at += length;
		all++;
	}
	b->tokens[1] += (double)all;
	b->paid[1] += (double)paid;
	transcript_free(&transcript);
}

static void measure_record(struct records_bench *b, size_t index) {
	const struct logit_source source = lockstep_source(b->lockstep);
	size_t size;
	const char *text = records_text(b->records, index, &size);
	if (!text) return;
	memset(b->nats, 0, sizeof b->nats);
	begin_record(b, &source, index);
	measure_whole(b, text, size);
	source.end(source.self, 0);
	begin_record(b, &source, index);
	measure_shaped(b, text, size);
	source.end(source.self, 0);
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int way = 0; way < WAYS; way++) {
			const double more = b->nats[e][way] - b->nats[e][BASE];
			b->sum[e][way] += b->nats[e][way];
			b->over[e][way] += more;
			b->squared[e][way] += more * more;
		}
	b->measured++;
}

static void print_ways(const struct records_bench *b) {
	const double n = (double)b->measured;
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int way = 0; way < WAYS; way++) {
			const struct cuttle_guarantee *g = &b->plans[e][WAY[way].fewer]->guarantee;
			const double mean = b->over[e][way] / n,
			             spread = b->squared[e][way] / n - mean * mean;
			printf("%g\t%s\t%u\t%.3f\t%.1f\t%.1f\t%.2f\t%+.2f\t%.2f\n", EPSILONS[e],
			       WAY[way].name, g->tokens, g->clip, b->tokens[WAY[way].shaped] / n,
			       b->paid[WAY[way].shaped] / n, b->sum[e][way] / n, mean,
			       sqrt(fmax(0, spread) / fmax(1, n - 1)));
		}
}

/* Allocates what depends on the model and the prompts. */
static void make_contexts(struct records_bench *b) {
	const struct prompt *prompt = b->plans[0][0]->prompts;
	const size_t vocabulary = b->model->model.vocab_size;
	struct cuttle_error error;
	const struct lockstep_params params = {.prefix = {prompt->whole.ids, prompt->shared},
	                                       .batch = (uint32_t)b->batch,
	                                       .slots = 1,
	                                       .context = CONTEXT,
	                                       .chunk = 256};
	b->capacity = prompt_row_capacity(prompt, 1, MOST_REFERENCE);
	b->all = calloc(vocabulary, sizeof *b->all);
	b->row = calloc(vocabulary, sizeof *b->row);
	b->contexts = calloc(b->batch * b->capacity, sizeof *b->contexts);
	if (!b->all || !b->row || !b->contexts) stop_records("out of memory");
	for (size_t y = 0; y < vocabulary; y++) b->all[y] = (uint32_t)y;
	if (lockstep_new(&b->model->model, &params, &b->lockstep, &error) ||
	    guide_new(b->model->model.vocab, 1, true, &b->guide, &error))
		stop_records(error.message);
}

static void free_records_bench(struct records_bench *b) {
	for (size_t e = 0; e < EPSILON_COUNT; e++)
		for (int fewer = 0; fewer < 2; fewer++) cuttle_plan_free(&b->plans[e][fewer]);
	guide_free(&b->guide);
	lockstep_free(&b->lockstep);
	grammar_choice_free(&b->choice);
	cuttle_model_free(&b->model);
	records_free(&b->records);
	records_free(&b->examples);
	free(b->all);
	free(b->row);
	free(b->contexts);
}

int main(int argc, char **argv) {
	static struct records_bench b;
	struct cuttle_error error;
	if (argc != 10)
		stop_records("usage: records MODEL DATA.jsonl SCHEMA EXAMPLES.jsonl KIND B T WHOLE "
		             "RECORDS");
	const uint32_t tokens[] = {(uint32_t)atoi(argv[8]), (uint32_t)atoi(argv[7])};
	const size_t wanted = (size_t)atoi(argv[9]);
	b.batch = (size_t)atoi(argv[6]);
	if (b.batch < 1 || b.batch > MOST_BATCH) stop_records("B is 1 to 64");
	if (grammar_choice_read(NULL, argv[3], &b.choice, &error)) stop_records(error.message);
	b.records = read_objects(argv[2], b.choice.schema);
	b.examples = read_objects(argv[4], b.choice.schema);
	if (wanted * (b.batch + 1) > records_count(b.records)) stop_records("too few records");
	if (cuttle_model_open(argv[1], NULL, &b.model, &error)) stop_records(error.message);
	make_records_plans(&b, argv[5], tokens);
	make_contexts(&b);
	for (size_t i = 0; i < wanted; i++) measure_record(&b, i * (b.batch + 1));
	if (!b.measured) stop_records("no record fits the schema");
	print_ways(&b);
	free_records_bench(&b);
	return 0;
}
