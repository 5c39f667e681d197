// SPDX-License-Identifier: Apache-2.0
// cuttle evolve: texts from public prompts, of which private records choose the nearest. The work
// is done in workflow/evolve; here options become its request, and what it tells becomes words.
// No private data passes through.
//
// The way of texts that records vote for:
//   tools/evolve.c                options to a request; what it is told becomes words
//   workflow/evolve.c             prompts, plan, noise and receipt; then generations:
//     workflow/text_set.c         all records; one that cannot be read is empty
//     workflow/delivery.c         output, journal and charge, as for texts
//     engine/run/loop/public.c    candidates, from public prompts alone, as for expand
//     engine/run/loop/embed.c     records and candidates to vectors; each record's nearest
//                                 candidates
//     engine/run/loop/votes.c     counts of votes and noise (dp/votes.h)
//     workflow/delivery.c         each noisy count is journalled, as a token, before it is used
//   io/receipts/evolve_receipt.c  noise and generations to epsilon; receipt verify makes it anew
#include "tools/common/verbs.h"

#include "io/disk/secrecy.h"
#include "io/records/units.h"
#include "tools/common/watch.h"
#include "workflow/warnings.h"
#include "workflow/evolve.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct evolve_values {
	struct model_values open;
	struct evolve_request request;
	uint64_t insecure_seed;   /* COUNT_NONE = noise of the system's bits */
	struct option_list stops; /* words of --stop */
	int form;                 /* --template: 0 continue, 1 instruct, CHOICE_NONE */
	int progress;             /* enum progress_mode */
	bool dry_run;
	bool quiet;
};

#define VALUE(member) OPTION(struct evolve_values, member)
// clang-format off
static const struct option_entry OPTIONS[] = {
	MODEL_OPTION(struct evolve_values),
	{.name = "input", .first = true, .letter = 'i', VALUE(request.common.input),
	 .argument = "FILE",
	 .help = "the records, JSONL, CSV or TSV, a file or a pipe; - is standard input"},
	{.name = "text-field", .first = true, VALUE(request.text_field), .argument = "NAME",
	 .help = "field or column with the text (default text)"},
	{.name = "unit-key", VALUE(request.common.unit_key), .argument = "FIELD",
	 .help = "field that says whose a record is, for a ledger that counts by it. One "
	         "without it is null. The guarantee stays that of one record"},
	{.name = "epsilon", .first = true, .letter = 'e', VALUE(request.epsilon),
	 .range = EPSILON_RANGE,
	 .argument = "EPS",
	 .help = "privacy loss per record of all votes, from which their noise follows"},
	{.name = "delta", .first = true, VALUE(request.delta), .range = DELTA_RANGE,
	 .argument = "D",
	 .help = "what is added to the probability of any event (default 1e-6)"},
	{.name = "ledger", .first = true, VALUE(request.common.ledger), .argument = "FILE",
	 .help = "count the run in this ledger, before the first vote; needs --dataset"},
	{.name = "dataset", .first = true, VALUE(request.common.dataset), .argument = "NAME",
	 .help = "name of the records, in the receipt and the ledger"},
	{.name = "num", .first = true, .letter = 'N', VALUE(request.texts), .argument = "TEXTS",
	 .least = 1,
	 .most = CUTTLE_MOST_CANDIDATES,
	 .help = "texts that are kept each time, and written at last (default 100)"},
	{.name = "generations", .first = true, VALUE(request.generations), .argument = "G",
	 .least = 1,
	 .most = 1000,
	 .help = "how often the records vote (default 10)"},
	{.name = "variations", VALUE(request.variations), .argument = "L", .least = 1, .most = 1000,
	 .help = "candidates for each text: itself, and L - 1 variations (default 7)"},
	{.name = "neighbours", VALUE(request.neighbours), .argument = "K", .least = 1,
	 .most = CUTTLE_MOST_VOTES,
	 .help = "votes of a record, for its K nearest candidates; costs sqrt(K) times the noise "
	         "(default 1)"},
	{.name = "threshold", VALUE(request.threshold), .argument = "H", .most = 1 << 30,
	 .help = "a noisy count counts for what it is above this (default 0)"},
	{.name = "max-tokens", .letter = 'n', VALUE(request.plan.tokens), .argument = "T",
	 .least = 1,
	 .most = 1 << 20,
	 .help = "most tokens of a text (default 200)"},
	{.name = "temperature", VALUE(request.plan.temperature), .range = TEMPERATURE_RANGE,
	 .argument = "TAU",
	 .help = "of the public prompts' tokens (default 1)"},
	{.name = "top-k", VALUE(request.plan.top_k), .argument = "K", .most = 1 << 24,
	 .help = "likeliest tokens that one is drawn from; 0 = all (default 100)"},
	{.name = "schema", VALUE(request.schema), .argument = "FILE",
	 .help = "each record is one object of this public JSON Schema, and so is each text: a "
	         "line of the output is such an object. See below"},
	{.name = "grammar", VALUE(request.grammar), .argument = "FILE",
	 .help = "each text, from the first one on, is one of this public grammar, in GBNF"},
	{.name = "stop", VALUE(stops), .argument = "auto|none|STRING",
	 .help = "as in cuttle generate. No public example says what auto (default) would "
	         "look for: it is \\n###, in the form continue alone"},
	{.name = "seed", VALUE(request.seed), .argument = "SEED", .most = INT64_MAX,
	 .help = "draw the public texts from this seed; without it one is drawn. The receipt has "
	         "it; noise never follows from it"},
	{.name = "kind", .first = true, VALUE(request.plan.kind), .argument = "NOUN",
	 .help = "what a document is, for the public prompt: \"clinical note\" (default text)"},
	CHAT_OPTIONS(struct evolve_values),
	{.name = "prompt-public", VALUE(request.prompt_public), .argument = "FILE",
	 .help = "own prompt of the first texts, used byte for byte"},
	{.name = "prompt-variation", VALUE(request.prompt_variation), .argument = "FILE",
	 .help = "own prompt of variations; {text} in it, once, becomes the text that was kept"},
	{.name = "ctx-size", .letter = 'c', VALUE(request.plan.context), .argument = "TOKENS",
	 .help = "longest prompt plus text (default: the model's context, at most 4096)"},
	{.name = "output", .first = true, .letter = 'o', VALUE(request.common.output),
	 .argument = "FILE",
	 .help = "texts, JSONL; - is standard output, which cannot be continued"},
	RECEIPT_OPTIONS(struct evolve_values),
	{.name = "dry-run", .first = true, VALUE(dry_run),
	 .help = "print the guarantee, the noise and what would be drawn; with -i count the "
	         "records; draw nothing"},
	PROGRESS_OPTIONS(struct evolve_values),
	MACHINE_OPTIONS(struct evolve_values),
	KV_OPTION(struct evolve_values),
	FLIGHT_OPTIONS(struct evolve_values),
	SEED_OPTION(struct evolve_values),
};

static const struct option_heading HEADINGS[] = {
	{"model", "Input"},
	{"epsilon", "Privacy"},
	{"num", "Text"},
	{"kind", "Prompts"},
	{"output", "Output"},
	{"threads", "Machine"},
	{"insecure-seed", "Tests"},
	{NULL, NULL},
};

static const char ABOUT[] =
	"Aug-PE (Xie and others 2024). N L texts are drawn from the public prompt. Then, G "
	"times, each record votes for the text that is nearest to it, by the model's own "
	"vectors. The counts get noise, and the N texts with most votes stay. L - 1 variations "
	"of each are drawn from a prompt that shows it. No private record is ever in a prompt. "
	"Out come the N texts that stay at last, "
	"{\"index\",\"text\",\"tokens\",\"finish\",\"votes\"}, most votes first.\n\n"

	"EPS and D are for one record of all G votes together. A null, blank or unreadable "
	"record votes for none, and nobody is told. The number of lines is public. Noise is "
	"discrete Gaussian with sigma = sqrt(K G / (2 rho)). With G = 10 and D = 1e-6 it is "
	"14.3 at EPS 1, 5.2 at 3, 1.8 at 10. A text that is to be seen needs several times as "
	"many votes. With few records take a small -N and -L.\n\n"

	"--schema and --grammar are as in cuttle generate. What a form leaves no choice about "
	"does not count as one of the T tokens. With a schema a record that does not fit votes "
	"for none, and members that the schema does not have are not looked at. A line of the "
	"output is then the object alone, without votes.\n\n"

	"With --ledger the run is charged for all records before the first vote. Every token "
	"and every noisy count is journalled in OUT.journal before it is used. After a kill "
	"the same command goes on, and ends in the same bytes. It needs the input it was begun "
	"with, and takes no other (exit 2). See generate for journal, receipt and paths.\n";
// clang-format on

static void settle_evolve(struct evolve_values *values) {
	struct evolve_request *request = &values->request;
	verb_common(&values->open, &values->stops, &request->common);
	request->plan.insecure = values->insecure_seed != COUNT_NONE;
	if (request->plan.insecure) request->plan.insecure_seed = values->insecure_seed;
	if (values->form == 1) request->plan.form = CUTTLE_INSTRUCT;
}

/* ---- what a run tells, in words -------------------------------------------------------------- */

struct evolve_watch {
	struct watch watch; /* first: it is what the events of watch.h are told */
	const struct evolve_values *values;
	const struct evolve *evolve;
};

static void on_evolve_begin(void *user, bool complete) {
	struct evolve_watch *run = user;
	const struct evolve_values *values = run->values;
	const struct evolve_receipt *receipt = &run->evolve->receipt;
	const struct common_request *request = &values->request.common;
	char sentence[EVOLVE_SENTENCE];
	evolve_sentence(receipt, sentence);
	watch_sentence(request, values->quiet, receipt->private_output, sentence);
	if (!values->quiet && receipt->private_output) watch_ledger(request, "records");
	if (watch_complete(request->output, values->quiet, complete)) return;
	if (!values->quiet) warnings_model(stderr, &receipt->model);
	watch_begin(&run->watch, values->quiet, values->progress, evolve_drawn(receipt), NULL);
}

static void on_evolve_publish(void *user, const char *receipt) {
	const struct evolve_watch *run = user;
	if (!run->values->quiet)
		watch_published(&run->values->request.common, run->evolve->receipt.texts, "texts",
		                receipt);
}

static enum cuttle_status preview_evolve(const struct evolve_values *values, struct evolve *evolve,
                                         struct cuttle_error *error) {
	const struct evolve_request *request = &values->request;
	const struct evolve_receipt *receipt = &evolve->receipt;
	char sentence[EVOLVE_SENTENCE], rho[UNITS_NUMBER];
	const enum cuttle_status status =
	    request->common.input ? evolve_count(request, evolve, error) : CUTTLE_OK;
	if (status) return status;
	printf("model         %s (%" PRIu64 " bytes)\nmodel sha256  %s\nkernels       %s\n",
	       request->common.model, receipt->model.file_bytes, receipt->model_sha256,
	       receipt->isa);
	if (request->common.input) printf("records       %zu\n", receipt->records);
	printf("votes         %" PRIu32 " times, %" PRIu64 " of a record\n", receipt->votes.times,
	       receipt->votes.square);
	printf("noise         sigma %.8g, variance %" PRIu32 "/%" PRIu32 "\n",
	       sqrt((double)receipt->votes.num / receipt->votes.den), receipt->votes.num,
	       receipt->votes.den);
	units_print(receipt->rho, true, rho);
	printf("charge        rho %s per record\n", rho);
	printf("texts         %zu drawn, %zu written\n", evolve_drawn(receipt), receipt->texts);
	watch_form(&evolve->grammar);
	evolve_sentence(receipt, sentence);
	printf("command       %s\n\n%s\n", evolve->fingerprint, sentence);
	return CUTTLE_OK;
}

static enum cuttle_status run_evolve(const struct evolve_values *values,
                                     const struct setup_model *opened, struct cuttle_error *error) {
	struct evolve evolve;
	struct evolve_watch run = {.values = values, .evolve = &evolve};
	const struct run_events events = watch_events(&run, on_evolve_begin, on_evolve_publish);
	enum cuttle_status status = evolve_open(&values->request, opened, &evolve, error);
	if (!status && values->dry_run) status = preview_evolve(values, &evolve, error);
	else if (!status) status = evolve_run(&values->request, &evolve, &events, error);
	evolve_free(&evolve);
	return status;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static int check_evolve(const struct verb *verb, const struct evolve_values *values) {
	const struct evolve_request *request = &values->request;
	struct cuttle_error error;
	const struct verb_need needs[] = {
	    {!values->open.model, VERB_MODEL, VERB_MODEL_SAMPLE},
	    {!request->common.input && !values->dry_run, "-i RECORDS", "-i notes.jsonl"},
	    {isnan(request->epsilon), "-e EPS", "-e 3"},
	    {!request->common.output && !values->dry_run, "-o OUT", "-o out.jsonl"}};
	const int code = verb_lacks(verb, needs, sizeof needs / sizeof *needs);
	if (code) return code;
	if (request->prompt_public && values->form != CHOICE_NONE)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "--template and own prompts exclude each other");
	enum cuttle_status status = evolve_check(request, &error);
	if (!status) status = evolve_paths(request, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

static int run_evolve_verb(const struct verb *verb, int argc, char **argv) {
	struct evolve_values values = {.insecure_seed = COUNT_NONE, .form = CHOICE_NONE};
	struct setup_model opened = {0};
	struct cuttle_error error;
	int code;
	secrecy_begin();
	evolve_default(&values.request);
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	settle_evolve(&values);
	code = check_evolve(verb, &values);
	if (!code) code = verb_open_hashed(verb, &values.open, &opened);
	if (code) return code;
	const enum cuttle_status status = run_evolve(&values, &opened, &error);
	cuttle_model_free(&opened.model);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb evolve_verb = {
    .name = "evolve",
    .usage = "-m MODEL -i RECORDS -o OUT -e EPS [OPTION]...",
    .summary = "public texts, of which private records choose the nearest, again and again",
    .example = "-m MODEL.gguf -i notes.jsonl -o out.jsonl -e 3 -N 50 --kind note",
    .another = "-m MODEL.gguf -e 1 --generations 5 --variations 4 --dry-run",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .headings = HEADINGS,
    .run = run_evolve_verb,
};
