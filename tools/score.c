// SPDX-License-Identifier: Apache-2.0
// cuttle score: prints the log-probability of each token of each text under the model, alone or
// behind the public prompt of generate. Each text gives one JSON line; the last line is about all.
// The texts given to this verb are not treated as private.
#include "tools/common/verbs.h"

#include "engine/cuttle/public.h"
#include "io/disk/fail.h"
#include "workflow/setup.h"
#include "workflow/warnings.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct score_values {
	struct text_values texts;        /* first: TEXT_OPTIONS takes offsets in it */
	struct generate_request request; /* what a prompt follows from; its kind NULL = not given */
	int form;                        /* --template: 0 continue, 1 instruct, CHOICE_NONE */
	uint64_t context; /* tokens of a text that are scored, 0 = as many as the context holds */
};

#define VALUE(member) OPTION(struct score_values, member)
// clang-format off
static const struct option_entry OPTIONS[] = {
	TEXT_OPTIONS,
	KV_OPTION(struct text_values),
	{.name = "ctx-size", .letter = 'c', VALUE(context),
	 .argument = "TOKENS", .most = UINT32_MAX,
	 .help = "score at most this many tokens of a text (default: as many as the model's "
	         "context holds)"},
	{.name = "kind", VALUE(request.plan.kind), .argument = "NOUN",
	 .help = "what a document is, as it is told to cuttle generate (default text)"},
	{.name = "public-examples", VALUE(request.public_examples), .argument = "FILE",
	 .help = "the public texts that cuttle generate puts before everything"},
	{.name = "examples-per-text", VALUE(request.examples_per_text), .argument = "E",
	 .least = 1, .most = 1024,
	 .help = "show the first E of them alone (default: all)"},
	{.name = "examples-field", VALUE(request.examples_field), .argument = "NAME",
	 .help = "field of the public examples (default: that of the texts)"},
	CHAT_OPTIONS(struct score_values),
	{.name = "prompt-public", VALUE(request.prompt_public), .argument = "FILE",
	 .help = "own public prompt, used byte for byte behind the examples"},
	{.name = "bias", VALUE(request.bias), .argument = "FILE",
	 .help = "what cuttle learn has made of records, its receipt beside it: score by the law "
	         "that cuttle generate then draws from"},
};

static const char ABOUT[] =
	"Prints {\"id\",\"ids\",\"logprobs\",\"top1\",\"perplexity\"} per record and "
	"{\"perplexity\",\"tokens\"} over all as the last line. logprobs[i] is ln P(ids[i+1] | "
	"ids[0..i]), top1[i] the most likely token there. The id is the record's own field id, "
	"else its index. A text longer than the context is scored in its first tokens, and "
	"standard error says how many texts were.\n\n"

	"With --kind, --public-examples, --template, --prompt-public or --bias a text stands "
	"behind the public prompt that cuttle generate writes of the same options. All its "
	"tokens are then scored: logprobs[i] and top1[i] are about ids[i]. Prompt and text have "
	"at most 4096 tokens together. The last line then has \"mean\", that of ln P over all "
	"tokens, in nats, and \"standard_error\", how far chance moves it from one set of texts "
	"to another.\n\n"

	"The texts given here are not treated as private: their scores are printed as they are.\n";
// clang-format on

struct score_state {
	struct cuttle_model *model;
	struct cuttle_scorer *scorer;     /* NULL = texts stand alone */
	struct cuttle_plan_params prompt; /* of the scorer's; it has what the setup has read */
	struct setup setup;
	int32_t *ids, *top1; /* of a text that stands alone */
	double *logprobs;
	size_t context; /* a text is cut to so many tokens */
	size_t cut;     /* texts that were longer */
	bool noted;     /* whether another prompt was told of */
	size_t texts;   /* with a token that is scored */
	size_t tokens;  /* scored so far */
	// Over the texts so far, each with t tokens that are scored, s their sum of ln P.
	double sum, squares, products, lengths; /* of s, s s, s t, t t */
	struct cuttle_error *error;
};

struct text_scores {
	const int32_t *ids;     /* [count] tokens of the text */
	const int32_t *top1;    /* [scored] the likeliest token at each that is scored */
	const double *logprobs; /* [scored] ln P */
	size_t count;
	size_t scored; /* all, or all but the first */
};

static void release_scores(struct score_state *scoring) {
	free(scoring->ids);
	free(scoring->top1);
	free(scoring->logprobs);
	scoring->ids = scoring->top1 = NULL;
	scoring->logprobs = NULL;
}

static enum cuttle_status score_text(struct score_state *scoring, const char *text, size_t size,
                                     struct text_scores *scores) {
	const size_t capacity = cuttle_tokens_bound(size);
	size_t count;
	scoring->ids = calloc(capacity + 1, sizeof *scoring->ids);
	if (!scoring->ids) return io_fail(scoring->error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = cuttle_tokenize(scoring->model, text, size, true, scoring->ids,
	                                            capacity, &count, scoring->error);
	if (status) return status;
	if (count > scoring->context) {
		count = scoring->context;
		scoring->cut++;
	}
	*scores = (struct text_scores){.ids = scoring->ids, .count = count};
	if (count < 2) return CUTTLE_OK;
	scores->logprobs = scoring->logprobs = calloc(count, sizeof *scoring->logprobs);
	scores->top1 = scoring->top1 = calloc(count, sizeof *scoring->top1);
	scores->scored = count - 1;
	if (!scoring->logprobs || !scoring->top1)
		return io_fail(scoring->error, CUTTLE_NOMEM, "out of memory");
	return cuttle_score(scoring->model, scoring->ids, count, scoring->logprobs, scoring->top1,
	                    scoring->error);
}

/* Says once when a bias was learnt behind another prompt. */
static void note_prompt(struct score_state *scoring, const char *prompt) {
	if (!scoring->noted) warnings_bias(stderr, &scoring->setup, prompt);
	scoring->noted = true;
}

static enum cuttle_status score_behind_prompt(struct score_state *scoring, const char *text,
                                              size_t size, struct text_scores *scores) {
	struct cuttle_scores read;
	const enum cuttle_status status = cuttle_scorer_read(
	    scoring->scorer, &scoring->prompt, NULL, text, size, &read, scoring->error);
	if (status) return status;
	note_prompt(scoring, read.prompt);
	if (read.count < read.whole) {
		scoring->context = read.count;
		scoring->cut++;
	}
	*scores = (struct text_scores){read.ids, read.top1, read.logprobs, read.count, read.count};
	return CUTTLE_OK;
}

/* The line of a record. Adds its numbers to the sums over all records. */
static json_t *encode_scores(struct score_state *scoring, const struct text_scores *scores,
                             json_t *id) {
	const double length = (double)scores->scored;
	double sum = 0;
	json_t *logprobs = json_array();
	for (size_t i = 0; i < scores->scored; i++) {
		sum += scores->logprobs[i];
		if (json_array_append_new(logprobs, jsonout_real(scores->logprobs[i])) == 0)
			continue;
		json_decref(logprobs);
		logprobs = NULL;
	}
	scoring->sum += sum;
	scoring->squares += sum * sum;
	scoring->products += sum * length;
	scoring->lengths += length * length;
	scoring->tokens += scores->scored;
	scoring->texts += scores->scored > 0;
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "id", id, "ids",
	                 jsonout_integers(scores->ids, scores->count), "logprobs", logprobs, "top1",
	                 jsonout_integers(scores->top1, scores->scored), "perplexity",
	                 jsonout_real(exp(-sum / length)));
}

/* The line over all records. The standard error is that of a ratio of two sums over texts. */
static json_t *encode_all_scores(const struct score_state *scoring) {
	const double tokens = (double)scoring->tokens, texts = (double)scoring->texts,
	             mean = scoring->sum / tokens,
	             squares = scoring->squares - 2 * mean * scoring->products +
	                       mean * mean * scoring->lengths,
	             error = sqrt(fmax(0, squares) * texts / (texts - 1)) / tokens;
	json_t *line = json_pack("{s:o, s:I}", "perplexity", jsonout_real(exp(-mean)), "tokens",
	                         (json_int_t)scoring->tokens);
	if (!scoring->scorer) return line;
	const struct jsonout_member members[] = {{"mean", jsonout_real(mean)},
	                                         {"standard_error", jsonout_real(error)}};
	return jsonout_extend(line, members, 2);
}

static enum cuttle_status write_record_scores(struct score_state *scoring,
                                              const struct records *records, size_t index,
                                              struct sink *sink) {
	struct text_scores scores = {0};
	size_t size, id_size;
	const char *text = records_text(records, index, &size),
	           *id = records_id(records, index, &id_size);
	enum cuttle_status status = CUTTLE_OK;
	if (text)
		status = scoring->scorer ? score_behind_prompt(scoring, text, size, &scores)
		                         : score_text(scoring, text, size, &scores);
	if (!status) {
		json_t *name = id ? json_loadb(id, id_size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)
		                  : json_integer((json_int_t)index);
		status = jsonout_write(sink, encode_scores(scoring, &scores, name), JSON_COMPACT,
		                       scoring->error);
	}
	release_scores(scoring);
	return status;
}

/* Whether texts stand behind a prompt. A bias is for one. */
static bool has_prompt(const struct score_values *values) {
	const struct generate_request *request = &values->request;
	return request->plan.kind || request->public_examples || request->prompt_public ||
	       request->bias || values->form != CHOICE_NONE;
}

/* Makes what a text is scored behind. */
static enum cuttle_status open_prompt(const struct score_values *values,
                                      const struct setup_model *opened, struct score_state *scoring,
                                      struct cuttle_error *error) {
	struct generate_request request = values->request;
	struct setup *setup = &scoring->setup;
	request.text_field = values->texts.field;
	request.bias = NULL; // scores promise nothing to any units
	if (!request.plan.kind) request.plan.kind = "text";
	if (values->form == 1) request.plan.form = CUTTLE_INSTRUCT;
	setup->model = opened->model;
	enum cuttle_status status = setup_read(&request, setup, error);
	if (!status && values->request.bias)
		status = setup_bias_read(values->request.bias, opened->model, opened->sha256,
		                         &setup->bias, error);
	if (status) return status;
	scoring->prompt = setup_prompts(&request, setup, 0);
	scoring->prompt.tokens = values->context ? (uint32_t)values->context : UINT32_MAX;
	// Nobody is shown the private one; a prompt has both.
	scoring->prompt.prompt_private = "{category}{reference}";
	status = cuttle_scorer_make(opened->model, 0, &scoring->scorer, error);
	return status ? status : cuttle_scorer_bias(scoring->scorer, setup->bias.vector, error);
}

static enum cuttle_status write_scores(void *user, const struct setup_model *opened,
                                       const struct records *records, struct sink *sink,
                                       struct cuttle_error *error) {
	const struct score_values *values = user;
	struct cuttle_model_info info;
	cuttle_model_describe(opened->model, &info);
	size_t context = values->context && values->context < info.context ? (size_t)values->context
	                                                                   : info.context;
	struct score_state scoring = {.model = opened->model, .context = context, .error = error};
	enum cuttle_status status =
	    has_prompt(values) ? open_prompt(values, opened, &scoring, error) : CUTTLE_OK;
	for (size_t i = 0; i < records_count(records) && !status; i++)
		status = write_record_scores(&scoring, records, i, sink);
	if (!status && scoring.cut)
		fprintf(stderr,
		        "cuttle score: %zu texts are longer than %zu tokens and were scored in "
		        "their first %zu\n",
		        scoring.cut, scoring.context, scoring.context);
	if (!status) status = jsonout_write(sink, encode_all_scores(&scoring), JSON_COMPACT, error);
	cuttle_scorer_free(&scoring.scorer);
	generate_free(&scoring.setup);
	return status;
}

/* What is wrong with the options of a prompt, in words; NULL = nothing. */
static const char *name_prompt_fault(const struct score_values *values) {
	const struct generate_request *request = &values->request;
	const struct cuttle_plan_params *plan = &request->plan;
	if (plan->kind && !*plan->kind) return "--kind: the kind of text may not be empty";
	if (request->prompt_public && (plan->kind || values->form != CHOICE_NONE))
		return "--prompt-public is the whole prompt: leave out --kind and --template";
	if (!request->public_examples && (request->examples_per_text || request->examples_field))
		return "--examples-per-text and --examples-field need --public-examples FILE";
	return common_chat_fault(plan->chat_format, plan->system,
	                         values->form == 1 ? CUTTLE_INSTRUCT : CUTTLE_CONTINUE);
}

/* Checks all paths, before the model is opened. Returns the exit code. */
static int check_score_paths(const struct verb *verb, const struct score_values *values) {
	const struct generate_request *request = &values->request;
	struct cuttle_error error;
	char *learnt;
	enum cuttle_status status = common_receipt_beside(request->bias, NULL, &learnt, &error);
	if (status) return verb_fail(verb, status, &error);
	const struct path_use uses[] = {
	    PATH_ALONE("-m", values->texts.open.model, PATH_MODEL),
	    PATH_ALONE("-i", values->texts.input, PATH_STREAM),
	    PATH_ALONE("--prompt-public", request->prompt_public, PATH_STREAM),
	    PATH_ALONE("--public-examples", request->public_examples, PATH_STREAM),
	    {"--bias", request->bias, PATH_FILE, learnt, {NULL}},
	    PATH_ALONE("-o", values->texts.output, PATH_OUTPUT),
	};
	const struct records_request examples = {.path = request->public_examples};
	status = paths_check(uses, sizeof uses / sizeof *uses, &error);
	free(learnt);
	if (!status && examples.path) status = records_check_name(&examples, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

static int run_score_verb(const struct verb *verb, int argc, char **argv) {
	struct score_values values = {.texts = TEXT_DEFAULTS, .form = CHOICE_NONE};
	int code;
	generate_default(&values.request);
	values.request.plan.kind = NULL;
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	values.texts.hashed = values.request.bias != NULL;
	const char *fault = name_prompt_fault(&values);
	code = fault ? verb_refuse(verb, CUTTLE_USAGE, fault) : check_score_paths(verb, &values);
	return code ? code : verb_texts(verb, &values.texts, "id", write_scores, &values);
}

const struct verb score_verb = {
    .name = "score",
    .usage = "-m MODEL [-i FILE] [-o FILE] [OPTION]...",
    .summary = "the log-probability of each token of each text",
    .example = "-m MODEL.gguf -i texts.jsonl -o scores.jsonl",
    .another = "-m MODEL.gguf -i real.jsonl -o scores.jsonl --kind note --public-examples "
               "public.jsonl -c 40",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run_score_verb,
};
