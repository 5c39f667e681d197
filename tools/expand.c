// SPDX-License-Identifier: Apache-2.0
// cuttle expand: more texts behind those that cuttle generate kept, from the public prompt alone.
// The work is done in workflow/expand; here options become its request, and what it tells
// becomes words. No private data passes through: the texts that are read have a guarantee.
//
// The way of more texts behind those that were kept:
//   tools/expand.c                options to a request; what it is told becomes words
//   io/receipts/kept.c            the parent's receipt must hold, and be that of the output
//                                 (io/receipts/evidence.c)
//   workflow/expand.c             parents that filters keep; the parent's law; groups and their
//                                 weights
//     workflow/likelihood.c       how likely kept texts are behind others, for one filter
//   workflow/delivery.c           output and journal, as for texts; nothing is charged
//   engine/run/loop/public.c      a text is a batch that may pay nothing, behind a prompt of its
//                                 own
//     engine/run/loop/generate.c  the same loop
//       dp/invisibleink.c         open: T is spent, so the token is drawn from the public row
//   io/receipts/expand_receipt.c  the parent's hashes, and what it promised; receipt verify makes
//                                 it anew
#include "tools/common/verbs.h"

#include "tools/common/watch.h"
#include "workflow/warnings.h"
#include "workflow/expand.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct expand_values {
	struct model_values open;
	struct expand_request request;
	const char *drop;         /* list for --drop; NULL = nothing is dropped */
	struct option_list stops; /* words of --stop */
	int form;                 /* --template: 0 continue, 1 instruct, CHOICE_NONE */
	int trim;                 /* 0 sentence, 1 none, CHOICE_NONE = sentence */
	int output_format;        /* 0 auto, else 1 + enum output_format */
	int progress;             /* enum progress_mode */
	bool quiet;
};

#define VALUE(member) OPTION(struct expand_values, member)
// clang-format off
static const struct option_entry OPTIONS[] = {
	MODEL_OPTION(struct expand_values),
	{.name = "input", .first = true, .letter = 'i', VALUE(request.common.input),
	 .argument = "FILE",
	 .help = "the output of cuttle generate, JSONL or CSV, whose texts are the examples"},
	{.name = "receipt", .first = true, VALUE(request.parent), .argument = "FILE",
	 .help = "its receipt (default: out.jsonl -> out.receipt.json)"},
	{.name = "input-format", OPTION_ENUM(struct expand_values, request.input_format),
	 .argument = "auto|jsonl|csv",
	 .help = "auto: by the ending"},
	{.name = "bias", VALUE(request.bias), .argument = "FILE",
	 .help = "what cuttle learn has made of all records, its receipt beside it: each text "
	         "is more like them. Its guarantee adds to that of the earlier output"},
	{.name = "num", .first = true, .letter = 'N', VALUE(request.texts), .argument = "TEXTS",
	 .least = 1,
	 .most = 1 << 30,
	 .help = "texts to write (default 1000)"},
	{.name = "max-tokens", .letter = 'n', VALUE(request.plan.tokens), .argument = "T",
	 .least = 1,
	 .most = 1 << 20,
	 .help = "most tokens of a text (default: those of the earlier run)"},
	{.name = "temperature", VALUE(request.plan.temperature), .range = TEMPERATURE_RANGE,
	 .argument = "TAU",
	 .help = "sampling temperature (default: that of the earlier run). A lower one keeps "
	         "closer to the kept texts. It is free, too: nothing private is drawn"},
	{.name = "examples-per-text", VALUE(request.examples), .argument = "E", .least = 1,
	 .most = EXPAND_MOST_EXAMPLES,
	 .help = "kept texts of one category that each prompt shows (default 4; fewer where a "
	         "category has fewer, or the context is short)"},
	{.name = "seed", VALUE(request.seed), .argument = "SEED", .most = INT64_MAX,
	 .help = "draw from this seed; without it one is drawn. The receipt has it, and whoever "
	         "has the earlier output can draw the same texts again"},
	{.name = "schema", VALUE(request.schema), .argument = "FILE",
	 .help = "of texts of cuttle generate --schema: the same file. Each new text is such an "
	         "object, too"},
	{.name = "grammar", VALUE(request.grammar), .argument = "FILE",
	 .help = "each new text is one of this public grammar, in GBNF. Kept texts of a grammar "
	         "need the same file; others may be of any form"},
	{.name = "trim", VALUE(trim), .argument = "sentence|none",
	 .help = "sentence (default): a text that was cut short ends with its last whole "
	         "sentence, if half of it or more is left. none: every text as it was "
	         "drawn"},
	{.name = "stop", VALUE(stops), .argument = "auto|none|STRING",
	 .help = "as in cuttle generate; auto (default) looks at the texts that it kept"},
	{.name = "drop", .first = true, VALUE(drop), .argument = "LIST",
	 .help = "as in cuttle generate: duplicates, loops, unlikely, or several with a "
	         "comma between. Earlier texts count, too: what repeats one goes to "
	         "OUT.dropped.jsonl"},
	{.name = "kind", .first = true, VALUE(request.plan.kind), .argument = "NOUN",
	 .help = "what a document is, as it was told to cuttle generate (default text)"},
	CHAT_OPTIONS(struct expand_values),
	{.name = "prompt-public", VALUE(request.prompt_public), .argument = "FILE",
	 .help = "own public prompt, used byte for byte behind the examples"},
	{.name = "ctx-size", .letter = 'c', VALUE(request.plan.context), .argument = "TOKENS",
	 .help = "longest prompt plus text (default: the model's context, at most 4096)"},
	{.name = "output", .first = true, .letter = 'o', VALUE(request.common.output),
	 .argument = "FILE",
	 .help = "texts, JSONL or CSV by the ending; - is standard output, which cannot be "
	         "continued"},
	{.name = "output-format", VALUE(output_format), .argument = "auto|jsonl|csv",
	 .help = "auto: by the ending .csv"},
	{.name = "own-receipt", VALUE(request.common.receipt), .argument = "FILE",
	 .help = "where the receipt of the new texts goes (default: more.jsonl -> "
	         "more.receipt.json)"},
	{.name = "sign", VALUE(request.common.sign), .argument = "FILE",
	 .help = "sign that receipt with this secret key (made by cuttle ledger key)"},
	{.name = "overwrite", VALUE(request.common.overwrite),
	 .help = "replace the output, receipt and journal of another command"},
	PROGRESS_OPTIONS(struct expand_values),
	MACHINE_OPTIONS(struct expand_values),
	KV_OPTION(struct expand_values),
	FLIGHT_OPTIONS(struct expand_values),
};

static const struct option_heading HEADINGS[] = {
	{"model", "Input"},
	{"num", "Text"},
	{"kind", "Prompts"},
	{"output", "Output"},
	{"threads", "Machine"},
	{NULL, NULL},
};

static const char ABOUT[] =
	"Reads no private record. The texts that cuttle generate kept have a guarantee, and "
	"whatever is computed from them has the same one. This is post-processing: it costs "
	"nothing, and asks no ledger. So it can go on for as long as the model has something "
	"to say. It says nothing about the records that the kept texts do not say.\n\n"

	"Each text is drawn from the public prompt alone, with E kept texts of one category as "
	"examples. Candidates are those of the earlier run, and so is the temperature, but for "
	"--temperature. Its line names the examples' indices as \"parents\". How often a "
	"category comes follows from the noisy counts of the earlier receipt. Without a "
	"histogram there it follows from how many kept texts carry it. Category, parents and "
	"tokens of text i follow from the seed and i. So a larger -N begins with the same "
	"texts.\n\n"

	"--schema and --grammar are as in cuttle generate. What a form leaves no choice about "
	"does not count as one of the T tokens. A line of the output is then an object of the "
	"schema and nothing else, without parents. With categories its field has its "
	"category's value.\n\n"

	"--drop asks about the kept texts first. One that repeats an earlier one, or itself, "
	"is shown to nobody. What repeats a kept text is a duplicate. For unlikely the kept "
	"texts stand in for the public examples: the first 32, each scored behind others of "
	"its category.\n\n"

	"The receipt must agree with itself and be that of the output, else nothing is drawn "
	"(exit 7). The new receipt has the hashes of both, and repeats what they promise and "
	"to whom. cuttle receipt verify --parent compares them. Texts of a NOT PRIVATE run "
	"stay NOT PRIVATE.\n\n"

	"Tokens are journalled in OUT.journal. After a kill or a full disk the same command "
	"goes on and ends in the same bytes. No path that it reads may be one that it "
	"writes.\n";
// clang-format on

static struct expand_values expand_defaults(void) {
	struct expand_values values = {.form = CHOICE_NONE, .trim = CHOICE_NONE};
	expand_default(&values.request);
	return values;
}

static void settle_expand(struct expand_values *values) {
	struct expand_request *request = &values->request;
	const char *output = request->common.output;
	verb_common(&values->open, &values->stops, &request->common);
	if (values->form == 1) request->plan.form = CUTTLE_INSTRUCT;
	request->filters.trim = values->trim != 1;
	request->output_format = values->output_format
	                             ? (enum output_format)(values->output_format - 1)
	                             : output_format_of(output ? output : "");
}

/* ---- what a run tells, in words -------------------------------------------------------------- */

struct expand_watch {
	struct watch watch; /* first: it is what the events of watch.h are told */
	const struct expand_values *values;
	const struct expand *expand;
};

/* As of a run of generate: told even with --quiet where it stands nowhere else. */
static void on_expand_begin(void *user, bool complete) {
	struct expand_watch *run = user;
	const struct expand_request *request = &run->values->request;
	const struct expand_receipt *receipt = &run->expand->receipt;
	char sentence[EXPAND_SENTENCE];
	expand_sentence(receipt, sentence);
	watch_sentence(&request->common, run->values->quiet, receipt->private_output, sentence);
	if (watch_complete(request->common.output, run->values->quiet, complete)) return;
	if (!run->values->quiet)
		fprintf(stderr,
		        "%zu of %zu texts are examples, %u at a time; the seed is %" PRIu64 "\n",
		        run->expand->usable, run->expand->kept.count, (unsigned)receipt->examples,
		        receipt->seed);
	if (!run->values->quiet) warnings_model(stderr, &receipt->model);
	watch_begin(&run->watch, run->values->quiet, run->values->progress, receipt->texts, NULL);
}

static void on_expand_publish(void *user, const char *receipt) {
	const struct expand_watch *run = user;
	const struct expand_receipt *done = &run->expand->receipt;
	const struct common_request *request = &run->values->request.common;
	if (run->values->quiet) return;
	watch_published(request, done->texts, "texts", receipt);
	watch_closed(&done->counts);
	watch_formulas(done->counts.formulas);
	watch_dropped(request, &done->counts);
}

static enum cuttle_status expand_texts(const struct expand_values *values,
                                       const struct setup_model *opened,
                                       struct cuttle_error *error) {
	struct expand expand;
	struct expand_watch run = {.values = values, .expand = &expand};
	const struct run_events events = watch_events(&run, on_expand_begin, on_expand_publish);
	enum cuttle_status status = expand_open(&values->request, opened, &expand, error);
	if (!status) status = expand_run(&values->request, &expand, &events, error);
	expand_free(&expand);
	return status;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static int check_expand(const struct verb *verb, struct expand_values *values) {
	const struct expand_request *request = &values->request;
	struct cuttle_error error;
	const struct verb_need needs[] = {{!values->open.model, VERB_MODEL, VERB_MODEL_SAMPLE},
	                                  {!request->common.input, "-i OUT", "-i out.jsonl"},
	                                  {!request->common.output, "-o MORE", "-o more.jsonl"}};
	const int code = verb_lacks(verb, needs, sizeof needs / sizeof *needs);
	if (code) return code;
	if (request->prompt_public && values->form != CHOICE_NONE)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--template and own prompts exclude each other");
	enum cuttle_status status = CUTTLE_OK;
	if (values->drop) status = filters_read(values->drop, &values->request.filters, &error);
	if (!status) status = expand_check(request, &error);
	if (!status) status = expand_paths(request, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

static int run_expand_verb(const struct verb *verb, int argc, char **argv) {
	struct expand_values values = expand_defaults();
	struct setup_model opened = {0};
	struct cuttle_error error;
	int code;
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	settle_expand(&values);
	code = check_expand(verb, &values);
	if (!code) code = verb_open_hashed(verb, &values.open, &opened);
	if (code) return code;
	const enum cuttle_status status = expand_texts(&values, &opened, &error);
	cuttle_model_free(&opened.model);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb expand_verb = {
    .name = "expand",
    .usage = "-m MODEL -i OUT --receipt RECEIPT -o MORE [OPTION]...",
    .summary = "more texts like those that generate kept, free of charge",
    .example = "-m MODEL.gguf -i out.jsonl --receipt out.receipt.json -o more.jsonl -N 10000 "
               "--kind note",
    .another = "-m MODEL.gguf -i visits.jsonl -o more.jsonl -N 500 --schema visit.schema.json",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .headings = HEADINGS,
    .run = run_expand_verb,
};
