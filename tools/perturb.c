// SPDX-License-Identifier: Apache-2.0
// cuttle perturb: replaces the words of texts by random ones of a public list. The work is done in
// workflow/perturb; here options become its request, and what it tells becomes words. No private
// data passes through.
//
// The order matters, and is that of run_perturb_verb:
//   1. options are checked, and become a request
//   2. model and words are opened; perturber and receipt are made
//   3. --dry-run: all that is printed, and the records are counted
//   4. else the run reads, charges, draws and delivers
//
// The way of a perturbed text:
//   tools/perturb.c                  options to a request; what it is told becomes words
//   workflow/perturb.c               words file, lists, perturber, receipt: nothing private is read
//                                    yet
//     engine/words/perturb_budget.c  the guarantee, from parameters alone
//   io/records/records.c             all records; a bad or blank one has no words, and nobody is
//                                    told
//   workflow/delivery.c              output, journal and charge, as for texts: a record is a text,
//                                    a place a step, an output id a token
//   io/text/split.c                  a record's places: words and numbers, cut to N and padded with
//                                    nulls
//   engine/run/perturb/perturb.c     a block of places to ids; what the journal has is passed over
//   workflow/perturb.c               ids to a text, and its line; a record without words has one,
//                                    too
//   io/receipts/perturb_receipt.c    the receipt in one table: receipt verify makes it anew
//                                    (io/receipts/evidence.c)
#include "tools/common/verbs.h"

#include "io/disk/fail.h"
#include "io/disk/secrecy.h"
#include "io/records/units.h"
#include "tools/common/perturb_values.h"
#include "tools/common/watch.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct perturb_verb_values {
	struct model_values open;
	struct perturb_request request;
	struct perturb_values method;
	uint64_t insecure_seed; /* COUNT_NONE = drawn from the system */
	int progress;           /* enum progress_mode */
	bool dry_run;
	bool quiet;
};

#define VALUE(member) OPTION(struct perturb_verb_values, member)

// clang-format off
static const struct option_entry OPTIONS[] = {
	PERTURB_WORDS_OPTION(struct perturb_verb_values, request),
	{.name = "model", .first = true, .letter = 'm', VALUE(open.model), .argument = "FILE",
	 .help = "the model that the words were made from. Words that are not among them "
	         "are placed by its tokens (default: they are drawn like no word)"},
	{.name = "input", .first = true, .letter = 'i', VALUE(request.common.input),
	 .argument = "FILE",
	 .help = "the texts, JSONL, CSV or TSV, a file or a pipe; - is standard input"},
	FORMAT_OPTIONS(struct perturb_verb_values, request.input_format, request.delimiter),
	{.name = "text-field", .first = true, VALUE(request.text_field), .argument = "NAME",
	 .help = "field or column with the text (default text)"},
	{.name = "id-field", VALUE(request.id_field), .argument = "NAME",
	 .help = "copy this field into the lines, as id: declares it public"},
	{.name = "unit-key", VALUE(request.common.unit_key), .argument = "FIELD",
	 .help = "field that says whose a record is, for a ledger that counts by it. A "
	         "record without it is one without words. The guarantee stays that of one "
	         "record"},
	PERTURB_OPTIONS(struct perturb_verb_values, method, request),
	{.name = "output", .first = true, .letter = 'o', VALUE(request.common.output),
	 .argument = "FILE",
	 .help = "the perturbed texts, JSONL, or CSV into .csv; - is standard output, which cannot "
	         "be continued"},
	RECEIPT_OPTIONS(struct perturb_verb_values),
	{.name = "dry-run", .first = true, VALUE(dry_run),
	 .help = "print the guarantee, the table, the best k, the costs and what will be "
	         "written. With -i count the records; draw nothing"},
	PROGRESS_OPTIONS(struct perturb_verb_values),
	MACHINE_OPTIONS(struct perturb_verb_values),
	SEED_OPTION(struct perturb_verb_values),
};

static const struct option_heading HEADINGS[] = {
	{"words", "Input"},
	{"epsilon", "Privacy"},
	{"list-share", "Baselines"},
	{"output", "Output"},
	{"threads", "Machine"},
	{"insecure-seed", "Tests"},
	{NULL, NULL},
};

static const char ABOUT[] =
	"A text is cut into words: letters and marks with an apostrophe between, in any "
	"script, case folded. Punctuation and line breaks are dropped; a number is hidden as a "
	"word. Each word becomes one of the words file, drawn by how near it is. With a known "
	"word the k nearest ones are e^EPS times as likely as any other. Out comes "
	"{\"index\",\"text\",\"words\",\"method\"}, a line for every record, in their order.\n\n"

	"EPS is for one word. Without --pad a text of n words costs n EPS, and n is public. "
	"With -N and --pad every text has N words. The record is then protected as a whole, at "
	"N EPS, and nobody sees how long it was. A bad or blank record is one without words, "
	"and nobody is told. Words next to each other tell about each other. A reader who "
	"knows the language may guess more than from one word.\n\n"

	"The methods rantext, santext, santext+, custext and custext+ are for comparison. "
	"Their lines and receipts say NO GUARANTEE, and no ledger counts them.\n\n"

	"With --ledger each record is charged N min(EPS^2 / 2, EPS) in rho, before the first "
	"word is drawn. Each word is journalled in OUT.journal the moment it is drawn, and the "
	"same command continues after a kill. It continues on the input it was begun with, and "
	"on no other (exit 2), as cuttle generate does. See its help for journal, receipt and "
	"paths.\n";
// clang-format on

/* ---- options --------------------------------------------------------------------------------- */

/* Completes the request. Returns what is wrong with the options, or NULL. */
static const char *settle_perturb(struct perturb_verb_values *values) {
	struct perturb_request *request = &values->request;
	const char *fault = perturb_values_settle(&values->method, request);
	if (fault) return fault;
	request->params.insecure = values->insecure_seed != COUNT_NONE;
	if (request->params.insecure) request->params.insecure_seed = values->insecure_seed;
	verb_common(&values->open, NULL, &request->common);
	request->threads = (unsigned)values->open.threads;
	return NULL;
}

static int refuse_incomplete_perturb(const struct verb *verb,
                                     const struct perturb_verb_values *values) {
	const struct perturb_request *request = &values->request;
	const struct verb_need needs[] = {
	    {!request->words, "--words WORDS", "--words words.cw"},
	    {!request->common.input && !values->dry_run, "-i TEXTS", "-i docs.jsonl"},
	    {!request->common.output && !values->dry_run, "-o OUT", "-o out.jsonl"}};
	return verb_lacks(verb, needs, sizeof needs / sizeof *needs);
}

/* ---- what a run tells, in words -------------------------------------------------------------- */

struct perturb_watch {
	struct watch watch; /* first: it is what the events of watch.h are told */
	const struct perturb_verb_values *values;
	const struct perturb *perturb;
};

static void on_perturb_begin(void *user, bool complete) {
	struct perturb_watch *run = user;
	const struct perturb_verb_values *values = run->values;
	const struct perturb_receipt *receipt = &run->perturb->receipt;
	const struct common_request *request = &values->request.common;
	char sentence[WORD_SENTENCE];
	perturb_receipt_sentence(receipt, sentence);
	watch_sentence(request, values->quiet, receipt->guarantee.private_output, sentence);
	if (!values->quiet && perturb_receipt_counts(receipt)) watch_ledger(request, "records");
	if (watch_complete(request->output, values->quiet, complete)) return;
	watch_begin(&run->watch, values->quiet, values->progress, receipt->records, NULL);
}

static void on_perturb_publish(void *user, const char *receipt) {
	const struct perturb_watch *run = user;
	if (run->values->quiet) return;
	watch_published(&run->values->request.common, run->perturb->receipt.records, "texts",
	                receipt);
	watch_formulas(run->perturb->formulas);
}

static enum cuttle_status perturb_records(const struct perturb_verb_values *values,
                                          struct perturb *perturb, struct cuttle_error *error) {
	struct perturb_watch run = {.values = values, .perturb = perturb};
	const struct run_events events = watch_events(&run, on_perturb_begin, on_perturb_publish);
	return perturb_run(&values->request, perturb, &events, error);
}

/* ---- --dry-run ------------------------------------------------------------------------------- */

/* What rank makes of a known word. */
static enum cuttle_status print_rank(const struct perturb *perturb, struct cuttle_error *error) {
	const struct perturb_receipt *receipt = &perturb->receipt;
	const struct cuttle_perturb_params *params = &receipt->params;
	const uint32_t words = receipt->guarantee.words, near = receipt->guarantee.near;
	double in_near = 0, unchanged = 0;
	uint32_t best;
	enum cuttle_status status =
	    cuttle_perturb_best_near(perturb->words, params->epsilon_millionths, &best, error);
	if (!status) status = cuttle_perturb_share(params, words, 1, &unchanged, error);
	if (!status && near) status = cuttle_perturb_share(params, words, near, &in_near, error);
	if (status) return status;
	printf("table         %s: first %s, last %s, total %s\n", WORD_TABLE_NAMES[params->table],
	       receipt->guarantee.table_first, receipt->guarantee.table_last,
	       receipt->guarantee.table_total);
	if (near) printf("P(in k)       %.6g with k = %" PRIu32 "\n", in_near, near);
	printf("P(unchanged)  %.6g\nbest k        %" PRIu32
	       " would keep words nearest to themselves on average\n",
	       unchanged, best);
	return CUTTLE_OK;
}

static void print_record_cost(const struct perturb_receipt *receipt) {
	const double epsilon = receipt->params.epsilon_millionths / 1e6;
	const uint32_t most = receipt->record_words;
	char rho[UNITS_NUMBER];
	if (!receipt->guarantee.private_output) return;
	if (!most) printf("a text        n words cost n times %.10g\n", epsilon);
	else
		printf("a text        %s%" PRIu32 " words cost %.10g\n",
		       receipt->pad ? "" : "at most ", most, most * epsilon);
	if (!perturb_receipt_counts(receipt)) return;
	units_print(perturb_receipt_charge(receipt), true, rho);
	printf("charge        rho %s per record\n", rho);
}

static enum cuttle_status preview_perturb(const struct perturb_verb_values *values,
                                          struct perturb *perturb, struct cuttle_error *error) {
	const struct perturb_request *request = &values->request;
	const struct perturb_receipt *receipt = &perturb->receipt;
	char sentence[WORD_SENTENCE];
	enum cuttle_status status =
	    request->common.input ? perturb_count(request, perturb, error) : CUTTLE_OK;
	if (status) return status;
	printf("words         %s: %" PRIu32 ", vectors of %zu\nwords sha256  %s\n", request->words,
	       receipt->guarantee.words, receipt->vector, receipt->words_sha256);
	if (receipt->model_name)
		printf("model         %s (%" PRIu64 " bytes)\nmodel sha256  %s\n",
		       request->common.model, receipt->model_bytes, receipt->model_sha256);
	printf("kernels       %s\n", receipt->isa);
	if (request->common.input) printf("records       %zu\n", receipt->records);
	printf("method        %s\nepsilon       %.10g per word\n",
	       WORD_METHOD_NAMES[receipt->params.method], receipt->params.epsilon_millionths / 1e6);
	print_record_cost(receipt);
	if (receipt->params.method == CUTTLE_RANK) status = print_rank(perturb, error);
	if (status) return status;
	if (request->common.input && request->pad)
		printf("output        %zu lines, of %" PRIu32 " words each\n", receipt->records,
		       receipt->record_words);
	else if (request->common.input)
		printf("output        %zu lines, each with as many words as its text%s\n",
		       receipt->records, receipt->record_words ? ", at most N" : "");
	perturb_receipt_sentence(receipt, sentence);
	printf("command       %s\n\n%s\n", perturb->fingerprint, sentence);
	return CUTTLE_OK;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static enum cuttle_status run_perturb(struct perturb_verb_values *values,
                                      const struct setup_model *opened,
                                      struct cuttle_error *error) {
	struct perturb perturb;
	enum cuttle_status status = perturb_open(&values->request, opened, &perturb, error);
	if (!status && values->dry_run) status = preview_perturb(values, &perturb, error);
	else if (!status) status = perturb_records(values, &perturb, error);
	perturb_free(&perturb);
	return status;
}

static int run_perturb_verb(const struct verb *verb, int argc, char **argv) {
	struct perturb_verb_values values = {.method = PERTURB_DEFAULTS,
	                                     .insecure_seed = COUNT_NONE};
	struct setup_model opened = {0};
	struct cuttle_error error;
	int code;
	secrecy_begin();
	perturb_default(&values.request);
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	const char *fault = settle_perturb(&values);
	if (fault) return verb_refuse(verb, CUTTLE_USAGE, fault);
	code = refuse_incomplete_perturb(verb, &values);
	if (code) return code;
	enum cuttle_status status = perturb_check(&values.request, &error);
	if (!status) status = perturb_paths(&values.request, &error);
	if (status) return verb_fail(verb, status, &error);
	code = values.open.model ? verb_open_hashed(verb, &values.open, &opened)
	                         : verb_machine(verb, &values.open);
	if (code) return code;
	status = run_perturb(&values, values.open.model ? &opened : NULL, &error);
	cuttle_model_free(&opened.model);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb perturb_verb = {
    .name = "perturb",
    .usage = "--words WORDS -i TEXTS -o OUT [-e EPS] [-N WORDS --pad] [OPTION]...",
    .summary = "texts with each word drawn anew: at EPS a word, n words cost n EPS",
    .example = "--words words.cw -i docs.jsonl -o out.jsonl -e 6 -N 50 --pad",
    .another = "--words words.cw -m MODEL.gguf -i docs.jsonl -e 6 -k 10 --dry-run",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .headings = HEADINGS,
    .run = run_perturb_verb,
};
