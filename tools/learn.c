// SPDX-License-Identifier: Apache-2.0
// cuttle learn: a bias, which makes a model's texts more like all private records together, for one
// charge. The work is done in workflow/learn; here options become its request, and what it tells
// becomes words. No private data passes through.
//
// The way of a bias:
//   tools/learn.c                   options to a request; what it is told becomes words
//   workflow/learn.c                prompt, noise and receipt, then the run:
//     workflow/text_set.c           all records; one that cannot be read is empty
//     workflow/delivery.c           output, journal and charge, as for texts
//     engine/run/loop/learn.c       public texts, and each record's vector
//     dp/learn.c                    vectors are cut, added up, and get noise
//     workflow/delivery.c           the noisy sum is journalled before it is used
//     io/receipts/bias.c            the line of the output
//   io/receipts/learn_receipt.c     noise to epsilon; receipt verify makes it anew
#include "tools/common/verbs.h"

#include "io/disk/secrecy.h"
#include "io/records/units.h"
#include "tools/common/watch.h"
#include "workflow/learn.h"
#include "workflow/warnings.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct learn_values {
	struct model_values open;
	struct learn_request request;
	uint64_t insecure_seed;   /* COUNT_NONE = noise of the system's bits */
	struct option_list stops; /* verb_common takes them; a bias has none */
	struct option_list category_fields;
	int form;     /* --template: 0 continue, 1 instruct, CHOICE_NONE */
	int progress; /* enum progress_mode */
	bool dry_run;
	bool quiet;
};

#define VALUE(member) OPTION(struct learn_values, member)
// clang-format off
static const struct option_entry OPTIONS[] = {
	MODEL_OPTION(struct learn_values),
	{.name = "input", .first = true, .letter = 'i', VALUE(request.common.input),
	 .argument = "FILE",
	 .help = "the records, JSONL, CSV or TSV, a file or a pipe; - is standard input"},
	{.name = "text-field", .first = true, VALUE(request.text_field),
	 .argument = "NAME",
	 .help = "field or column with the text (default text)"},
	{.name = "schema", VALUE(request.schema), .argument = "FILE",
	 .help = "each record is one object of this public JSON Schema, as in generate, and so is "
	         "each public example. One that does not fit adds nothing, and nobody is told. Let "
	         "--tokens reach what the fields say"},
	{.name = "unit-key", .first = true, VALUE(request.common.unit_key),
	 .argument = "FIELD",
	 .help = "field that says whose a record is: the guarantee is then for all records of "
	         "one owner together. A record without it is null"},
	{.name = "category-field", VALUE(category_fields), .argument = "FIELD",
	 .most = CATEGORY_FIELDS,
	 .help = "field that says which category a record is of; may be given up to 4 times. "
	         "Then there is a bias of each, for the texts of it, and one of all"},
	{.name = "categories", VALUE(request.categories), .argument = "LIST",
	 .help = "the categories: A,B,C, or a file .csv or .jsonl with a column FIELD"},
	{.name = "category-public", VALUE(request.category_public),
	 .help = "declare the category of every record public: how many records each has is "
	         "not hidden"},
	{.name = "epsilon", .first = true, .letter = 'e', VALUE(request.epsilon),
	 .range = EPSILON_RANGE,
	 .argument = "EPS",
	 .help = "privacy loss per record, or per owner, of the bias and all that is made of it"},
	{.name = "delta", .first = true, VALUE(request.delta), .range = DELTA_RANGE,
	 .argument = "D",
	 .help = "what is added to the probability of any event (default 1e-6)"},
	{.name = "public", VALUE(request.from_public),
	 .help = "the records are public: no noise, no charge, and no promise. The receipt says "
	         "so"},
	{.name = "ledger", .first = true, VALUE(request.common.ledger),
	 .argument = "FILE",
	 .help = "count the bias in this ledger, before a record is read; needs --dataset"},
	{.name = "dataset", .first = true, VALUE(request.common.dataset),
	 .argument = "NAME",
	 .help = "name of the records, in the receipt and the ledger"},
	{.name = "tokens", VALUE(request.tokens), .argument = "T", .least = 1, .most = 256,
	 .help = "read the first T tokens of each record (default 40)"},
	{.name = "texts", VALUE(request.texts), .argument = "TEXTS", .least = 1,
	 .most = 1 << 16,
	 .help = "public texts that the model writes, to compare records with (default 160)"},
	{.name = "kind", .first = true, VALUE(request.plan.kind), .argument = "NOUN",
	 .help = "what a document is, e.g. \"clinical note\" (default text)"},
	{.name = "public-examples", .first = true, VALUE(request.public_examples),
	 .argument = "FILE",
	 .help = "texts that are public, in the prompt as generate shows them"},
	{.name = "examples-field", VALUE(request.examples_field), .argument = "NAME",
	 .help = "field of the public examples (default: that of the records)"},
	CHAT_OPTIONS(struct learn_values),
	{.name = "prompt-public", VALUE(request.prompt_public), .argument = "FILE",
	 .help = "own public prompt, used byte for byte; with --prompt-private"},
	{.name = "prompt-private", VALUE(request.prompt_private), .argument = "FILE",
	 .help = "own private prompt, as generate has it; here nobody is shown it"},
	{.name = "ctx-size", .letter = 'c', VALUE(request.plan.context),
	 .argument = "TOKENS",
	 .help = "longest prompt plus record (default: the model's context, at most 4096)"},
	{.name = "output", .first = true, .letter = 'o', VALUE(request.common.output),
	 .argument = "FILE",
	 .help = "the bias; it may be published with its receipt, FILE.receipt.json"},
	RECEIPT_OPTIONS(struct learn_values),
	{.name = "dry-run", .first = true, VALUE(dry_run),
	 .help = "print the guarantee, the noise and what the bias is likely to be worth; with "
	         "-i count the records; learn nothing"},
	PROGRESS_OPTIONS(struct learn_values),
	MACHINE_OPTIONS(struct learn_values),
	KV_OPTION(struct learn_values),
	SEED_OPTION(struct learn_values),
};

static const struct option_heading HEADINGS[] = {
	{"model", "Input"},
	{"epsilon", "Privacy"},
	{"tokens", "Reading"},
	{"kind", "Prompt"},
	{"output", "Output"},
	{"threads", "Machine"},
	{"insecure-seed", "Tests"},
	{NULL, NULL},
};

static const char ABOUT[] =
	"A bias is learnt once from all records, and makes any number of texts more like them: "
	"cuttle generate, expand, score and serve take it as --bias FILE. With generate -B 0 no "
	"record is read any more, and texts cost nothing. With references it adds to what they "
	"say; the receipt has the promise of both together.\n\n"

	"Each record is read once behind the public prompt. Its vector says in which direction "
	"its own tokens would be likelier. The vector is cut to a public length; all are added "
	"up, with noise. Give the kind and the public examples that texts will be written with. "
	"A null, blank or unreadable record adds nothing, and nobody is told. The number of lines "
	"is public. With --categories each category also has a bias of its own, from its own "
	"records, at no further cost. generate uses it for the texts of that category; "
	"expand and score use that of all records.\n\n"

	"The more records, the less a bias costs: at EPS 1 a thousand records are about enough, "
	"at EPS 3 three hundred. --dry-run says which part of it will be more than noise. "
	"After a kill the same command goes on: it is charged once, and there is one bias.\n";
// clang-format on

static void settle_learn(struct learn_values *values) {
	struct learn_request *request = &values->request;
	verb_common(&values->open, &values->stops, &request->common);
	request->category_fields = values->category_fields.texts;
	request->category_field_count = values->category_fields.count;
	request->plan.insecure = values->insecure_seed != COUNT_NONE;
	if (request->plan.insecure) request->plan.insecure_seed = values->insecure_seed;
	if (values->form == 1) request->plan.form = CUTTLE_INSTRUCT;
}

/* ---- what a run tells, in words -------------------------------------------------------------- */

struct learn_watch {
	struct watch watch; /* first: it is what the events of watch.h are told */
	const struct learn_values *values;
	const struct learn *learn;
};

static void on_learn_begin(void *user, bool complete) {
	struct learn_watch *run = user;
	const struct learn_values *values = run->values;
	const struct learn_receipt *receipt = &run->learn->receipt;
	const struct common_request *request = &values->request.common;
	char sentence[LEARN_SENTENCE];
	learn_sentence(receipt, sentence);
	watch_sentence(request, values->quiet, receipt->private_output, sentence);
	if (!values->quiet && receipt->private_output && !receipt->from_public)
		watch_ledger(request, "records");
	if (watch_complete(request->output, values->quiet, complete)) return;
	if (!values->quiet) warnings_learn(stderr, receipt);
	if (!values->quiet) warnings_model(stderr, &receipt->model);
	watch_begin(&run->watch, values->quiet, values->progress,
	            receipt->texts + run->learn->reading, NULL);
}

static void on_learn_publish(void *user, const char *receipt) {
	const struct learn_watch *run = user;
	if (run->values->quiet) return;
	if (run->learn->share > 0)
		fprintf(stderr,
		        "%.0f %% of the bias is what records say, the rest noise: it is "
		        "used at that strength\n",
		        100 * run->learn->share);
	else
		fprintf(
		    stderr,
		    "The bias is 0: with so few records, or so small an epsilon, the answer was "
		    "noise alone. It is paid for. More records or a larger -e give one\n");
	watch_published(&run->values->request.common, 1, "bias", receipt);
}

static void print_learn_price(const struct learn *learn) {
	const struct ledger_request price = learn_price(learn);
	const char *key = learn->receipt.unit_key;
	char loss[UNITS_NUMBER], delta[UNITS_NUMBER];
	units_print(price.rho, true, loss);
	units_print(price.delta, true, delta);
	if (price.measure == LEDGER_EPSILON)
		printf("charge        epsilon %s, delta %s", loss, delta);
	else if (price.measure == LEDGER_RDP)
		printf("charge        loss %s at order %" PRIu32, loss, price.order);
	else printf("charge        rho %s", loss);
	printf(" per %s%s\n", key ? "value of " : "record", key ? key : "");
}

static enum cuttle_status preview_learn(const struct learn_values *values, struct learn *learn,
                                        struct cuttle_error *error) {
	const struct learn_request *request = &values->request;
	const struct common_request *common = &request->common;
	const struct learn_receipt *receipt = &learn->receipt;
	char sentence[LEARN_SENTENCE];
	const enum cuttle_status status =
	    common->input ? learn_count(request, learn, error) : CUTTLE_OK;
	if (status) return status;
	printf("model         %s (%" PRIu64 " bytes)\nmodel sha256  %s\nkernels       %s\n",
	       common->model, receipt->model.file_bytes, receipt->model_sha256, receipt->isa);
	if (common->input) printf("records       %zu\n", receipt->records);
	printf("read          %" PRIu32 " public texts, then each record, %" PRIu32 " tokens\n",
	       receipt->texts, receipt->tokens);
	printf("bias          %" PRIu64 " numbers\n", receipt->width);
	if (!receipt->from_public) {
		printf("noise         sigma %.8g, variance %" PRIu32 "/%" PRIu32 "\n",
		       sqrt((double)receipt->asked.num / receipt->asked.den), receipt->asked.num,
		       receipt->asked.den);
		print_learn_price(learn);
	}
	if (common->input)
		printf("worth         about %.0f %% of the bias will be what records say\n",
		       100 * learn_expected_share(receipt->width, receipt->records,
		                                  receipt->from_public
		                                      ? 0
		                                      : (double)receipt->asked.num /
		                                            receipt->asked.den));
	learn_sentence(receipt, sentence);
	printf("command       %s\n\n%s\n", learn->fingerprint, sentence);
	if (!values->quiet) warnings_learn(stderr, receipt);
	return CUTTLE_OK;
}

static enum cuttle_status run_learn(const struct learn_values *values,
                                    const struct setup_model *opened, struct cuttle_error *error) {
	struct learn learn;
	struct learn_watch run = {.values = values, .learn = &learn};
	const struct run_events events = watch_events(&run, on_learn_begin, on_learn_publish);
	enum cuttle_status status = learn_open(&values->request, opened, &learn, error);
	if (!status && values->dry_run) status = preview_learn(values, &learn, error);
	else if (!status) status = learn_run(&values->request, &learn, &events, error);
	learn_free(&learn);
	return status;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static int check_learn(const struct verb *verb, const struct learn_values *values) {
	const struct learn_request *request = &values->request;
	const struct common_request *common = &request->common;
	struct cuttle_error error;
	const struct verb_need needs[] = {
	    {!values->open.model, VERB_MODEL, VERB_MODEL_SAMPLE},
	    {!common->input && !values->dry_run, "-i RECORDS", "-i notes.jsonl"},
	    {!request->from_public && isnan(request->epsilon), "-e EPS", "-e 1"},
	    {!common->output && !values->dry_run, "-o OUT", "-o notes.bias"}};
	const int code = verb_lacks(verb, needs, sizeof needs / sizeof *needs);
	if (code) return code;
	if (request->prompt_public && values->form != CHOICE_NONE)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--template and own prompts exclude each other");
	enum cuttle_status status = learn_check(request, &error);
	if (!status) status = learn_paths(request, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

static int run_learn_verb(const struct verb *verb, int argc, char **argv) {
	struct learn_values values = {.insecure_seed = COUNT_NONE, .form = CHOICE_NONE};
	struct setup_model opened = {0};
	struct cuttle_error error;
	int code;
	secrecy_begin();
	learn_default(&values.request);
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	settle_learn(&values);
	code = check_learn(verb, &values);
	if (!code) code = verb_open_hashed(verb, &values.open, &opened);
	if (code) return code;
	const enum cuttle_status status = run_learn(&values, &opened, &error);
	cuttle_model_free(&opened.model);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb learn_verb = {
    .name = "learn",
    .usage = "-m MODEL -i RECORDS -o BIAS -e EPS [OPTION]...",
    .summary = "a bias, by which texts are more like all records together, for one charge",
    .example = "-m MODEL.gguf -i notes.jsonl -o notes.bias -e 1 --kind note",
    .another = "-m MODEL.gguf -i notes.jsonl -e 1 --dry-run",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .headings = HEADINGS,
    .run = run_learn_verb,
};
