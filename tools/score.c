// SPDX-License-Identifier: Apache-2.0
// cuttle score: prints the log-probability of each token of each text under the model. Each text
// gives one JSON line; the last line is the perplexity of all. The texts given to this verb are not
// treated as private.
#include "tools/common/verbs.h"

#include "io/disk/fail.h"
#include <math.h>
#include <stdlib.h>

struct score_values {
	struct text_values texts;
	uint64_t context; /* tokens of a text that are scored, 0 = the model's context */
};

// clang-format off
static const struct option_entry OPTIONS[] = {
	TEXT_OPTIONS,
	{.name = "ctx-size", .letter = 'c', OPTION(struct score_values, context),
	 .argument = "TOKENS", .most = UINT32_MAX,
	 .help = "score at most this many tokens of a text (default: the model's context)"},
};

static const char ABOUT[] =
	"Prints {\"id\",\"ids\",\"logprobs\",\"top1\",\"perplexity\"} per record and "
	"{\"perplexity\",\"tokens\"} over all as the last line. logprobs[i] is ln P(ids[i+1] | "
	"ids[0..i]), top1[i] the most likely token there. The id is the record's own field id, "
	"else its index. A text longer than the context is scored in its first tokens, and "
	"standard error says how many texts were.\n"
	"The texts given here are not treated as private: their scores are printed as they are.\n";
// clang-format on

struct score_state {
	struct cuttle_model *model;
	size_t context; /* a text is cut to so many tokens */
	double sum;     /* of the log-probabilities of all texts so far */
	size_t tokens;  /* scored so far */
	size_t cut;     /* texts that were longer than the context */
	struct cuttle_error *error;
};

struct text_scores {
	int32_t *ids;     /* [count] tokens of the text */
	int32_t *top1;    /* [count - 1] the likeliest token behind ids[0..i] */
	double *logprobs; /* [count - 1] ln P(ids[i + 1] | ids[0..i]) */
	size_t count;
};

static enum cuttle_status score_text(struct score_state *scoring, const char *text, size_t size,
                                     struct text_scores *scores) {
	size_t capacity = cuttle_tokens_bound(size);
	scores->ids = calloc(capacity + 1, sizeof *scores->ids);
	if (!scores->ids) return io_fail(scoring->error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = cuttle_tokenize(scoring->model, text, size, true, scores->ids,
	                                            capacity, &scores->count, scoring->error);
	if (status) return status;
	if (scores->count > scoring->context) {
		scores->count = scoring->context;
		scoring->cut++;
	}
	if (scores->count < 2) return CUTTLE_OK;
	scores->logprobs = calloc(scores->count, sizeof *scores->logprobs);
	scores->top1 = calloc(scores->count, sizeof *scores->top1);
	if (!scores->logprobs || !scores->top1)
		return io_fail(scoring->error, CUTTLE_NOMEM, "out of memory");
	return cuttle_score(scoring->model, scores->ids, scores->count, scores->logprobs,
	                    scores->top1, scoring->error);
}

/* The line of a record. Adds its numbers to the sums over all records. */
static json_t *encode_scores(struct score_state *scoring, const struct text_scores *scores,
                             json_t *id) {
	size_t scored = scores->count > 1 ? scores->count - 1 : 0;
	double sum = 0;
	json_t *logprobs = json_array();
	for (size_t i = 0; i < scored; i++) {
		sum += scores->logprobs[i];
		if (json_array_append_new(logprobs, jsonout_real(scores->logprobs[i])) == 0)
			continue;
		json_decref(logprobs);
		logprobs = NULL;
	}
	scoring->sum += sum;
	scoring->tokens += scored;
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "id", id, "ids",
	                 jsonout_integers(scores->ids, scores->count), "logprobs", logprobs, "top1",
	                 jsonout_integers(scores->top1, scored), "perplexity",
	                 jsonout_real(exp(-sum / (double)scored)));
}

static enum cuttle_status write_scores(void *user, struct cuttle_model *model,
                                       const struct records *records, struct sink *sink,
                                       struct cuttle_error *error) {
	const struct score_values *values = user;
	struct cuttle_model_info info;
	cuttle_model_describe(model, &info);
	size_t context = values->context && values->context < info.context ? (size_t)values->context
	                                                                   : info.context;
	struct score_state scoring = {.model = model, .context = context, .error = error};
	for (size_t i = 0; i < records_count(records); i++) {
		struct text_scores scores = {0};
		size_t size, id_size;
		const char *text = records_text(records, i, &size),
		           *id = records_id(records, i, &id_size);
		enum cuttle_status status =
		    text ? score_text(&scoring, text, size, &scores) : CUTTLE_OK;
		if (!status) {
			json_t *name =
			    id ? json_loadb(id, id_size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)
			       : json_integer((json_int_t)i);
			status = jsonout_write(sink, encode_scores(&scoring, &scores, name),
			                       JSON_COMPACT, error);
		}
		free(scores.ids);
		free(scores.top1);
		free(scores.logprobs);
		if (status) return status;
	}
	if (scoring.cut)
		fprintf(stderr,
		        "cuttle score: %zu texts are longer than %zu tokens and were scored in "
		        "their first %zu\n",
		        scoring.cut, context, context);
	json_t *perplexity = jsonout_real(exp(-scoring.sum / (double)scoring.tokens));
	return jsonout_write(
	    sink,
	    json_pack("{s:o, s:I}", "perplexity", perplexity, "tokens", (json_int_t)scoring.tokens),
	    JSON_COMPACT, error);
}

static int run_score_verb(const struct verb *verb, int argc, char **argv) {
	struct score_values values = {.texts = TEXT_DEFAULTS};
	int code;
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	return verb_texts(verb, &values.texts, "id", write_scores, &values);
}

const struct verb score_verb = {
    .name = "score",
    .usage = "-m MODEL [-i FILE] [-o FILE] [OPTION]...",
    .summary = "the log-probability of each token of each text",
    .example = "-m MODEL.gguf -i texts.jsonl -o scores.jsonl",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run_score_verb,
};
