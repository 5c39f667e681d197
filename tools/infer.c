// SPDX-License-Identifier: Apache-2.0
// cuttle infer: a large remote model's help, without showing it the documents. The work is done in
// workflow/infer; here options become its request, and what it tells becomes words. No private
// data passes through.
//
// The order matters, and is that of run_infer_verb:
//   1. options are checked, and become a request; so are all paths, and the endpoint
//   2. the model is opened; words file, perturber and completer are made
//   3. the run perturbs all, then sends all, then extends all
//   4. --show-what-leaves ends before the second of these, and prints what would be sent
//
// The way of a text with a remote model's help:
//   tools/infer.c                 options to a request; what it is told becomes words
//   workflow/infer.c              three phases, none before the one above it is done for all texts
//   io/remote/remote.c            the key is read, as a draw costs; nothing is connected
//   workflow/perturb.c            first: all texts are perturbed, as above, and read back from the
//                                 file
//   workflow/infer.c              second: bodies, of perturbed text and instruction, and made
//                                 nowhere else
//     io/remote/remote_request.c  text to JSON
//     io/remote/replies.c         which bodies have a reply from an earlier run
//     io/remote/remote.c          the others leave, in the order of the records
//     io/remote/reply.c           an answer is foreign: bounded, checked
//     io/remote/replies.c         on the disk, then the next
//   workflow/extract.c            third: all raw texts are extended, as above, each with its reply
//                                 as notes
#include "tools/common/verbs.h"

#include "convert/rewrite.h"
#include "io/disk/fail.h"
#include "io/disk/secrecy.h"
#include "tools/common/extract_values.h"
#include "tools/common/perturb_values.h"
#include "tools/common/watch.h"
#include "workflow/infer.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct infer_verb_values {
	struct model_values open;
	struct infer_request request;
	struct perturb_values method;
	struct extract_values text;
	int api;      /* enum remote_api */
	int progress; /* enum progress_mode */
	bool quiet;
};

#define VALUE(member) OPTION(struct infer_verb_values, member)

// clang-format off
static const struct option_entry OPTIONS[] = {
	PERTURB_WORDS_OPTION(struct infer_verb_values, request.perturb),
	{.name = "model", .first = true, .letter = 'm', VALUE(open.model), .argument = "FILE",
	 .help = "the local model: it extends the raw texts; unknown words are placed by its "
	         "tokens where the words were made from it"},
	{.name = "input", .first = true, .letter = 'i', VALUE(request.perturb.common.input),
	 .argument = "FILE",
	 .help = "the texts, JSONL, CSV or TSV; a file, as it is read twice"},
	{.name = "text-field", .first = true, VALUE(request.perturb.text_field), .argument = "NAME",
	 .help = "field or column with the text (default text)"},
	FORMAT_OPTIONS(struct infer_verb_values, request.perturb.input_format,
	               request.perturb.delimiter),
	{.name = "unit-key", VALUE(request.perturb.common.unit_key), .argument = "FIELD",
	 .help = "as for cuttle perturb"},
	PERTURB_OPTIONS(struct infer_verb_values, method, request.perturb),
	{.name = "endpoint", .first = true, VALUE(request.remote.endpoint), .argument = "URL",
	 .help = "where the remote model is, as in https://api.example.org/v1; plain http to this "
	         "machine alone"},
	{.name = "remote-model", .first = true, VALUE(request.remote.model), .argument = "NAME",
	 .help = "the model's name there"},
	{.name = "api", VALUE(api), .argument = "chat|completions",
	 .help = "POST URL/chat/completions (default) or URL/completions"},
	{.name = "instruction", VALUE(request.instruction), .argument = "FILE",
	 .help = "what the remote model is told, with {text} in it once, where the perturbed text "
	         "goes; public"},
	{.name = "remote-tokens", VALUE(request.remote.max_tokens), .argument = "T", .least = 1,
	 .most = 1 << 20,
	 .help = "most tokens of a reply (default 150)"},
	{.name = "remote-temperature", VALUE(request.remote.temperature),
	 .range = "from 0 to 2, as in 0.5", .argument = "TAU",
	 .help = "sampling temperature there (default 0.5)"},
	{.name = "max-tokens-field", VALUE(request.remote.max_tokens_field), .argument = "NAME",
	 .help = "what the service calls the limit of a reply (default max_tokens; some want "
	         "max_completion_tokens)"},
	{.name = "api-key-file", .first = true, VALUE(request.remote.key_file), .argument = "FILE",
	 .help = "the service's key, in a file of mode 0600 (default: the variable CUTTLE_API_KEY, "
	         "if any)"},
	{.name = "ca-file", VALUE(request.remote.ca_file), .argument = "FILE",
	 .help = "trust these certificates, and no others (default: the system's)"},
	{.name = "proxy", VALUE(request.remote.proxy), .argument = "URL",
	 .help = "go by this proxy; the environment's are not used"},
	{.name = "timeout", VALUE(request.remote.timeout_s), .argument = "SECONDS", .least = 1,
	 .most = 86400,
	 .help = "give one attempt so long (default 120)"},
	{.name = "retries", VALUE(request.remote.retries), .argument = "TIMES", .most = 1000,
	 .help = "attempts after the first, for each text, the same bytes each time (default 5)"},
	{.name = "max-requests", VALUE(request.remote.max_requests), .argument = "COUNT",
	 .help = "stop after so many attempts, retries counted (default: any)"},
	{.name = "max-remote-tokens", VALUE(request.remote.max_tokens_total), .argument = "COUNT",
	 .help = "stop before --remote-tokens and bytes of all attempts add up to more (default: "
	         "any)"},
	{.name = "show-what-leaves", .first = true, VALUE(request.show),
	 .help = "perturb, print exactly what would be sent, with the key as an ellipsis, "
	         "and send nothing. The same command without this sends these bytes"},
	EXTRACT_OPTIONS(struct infer_verb_values, text, request.extract),
	{.name = "output", .first = true, .letter = 'o', VALUE(request.output), .argument = "FILE",
	 .help = "the final texts, JSONL, mode 0600; beside out.jsonl stand out.perturbed.jsonl, "
	         "its receipt, and out.replies.jsonl"},
	{.name = "receipt", VALUE(request.perturb.common.receipt), .argument = "FILE",
	 .help = "where the receipt of the perturbed texts goes (default: "
	         "out.perturbed.receipt.json)"},
	{.name = "sign", VALUE(request.perturb.common.sign), .argument = "FILE",
	 .help = "sign the receipt with this secret key (made by cuttle ledger key)"},
	{.name = "overwrite", VALUE(request.perturb.common.overwrite),
	 .help = "replace the files of another command; what this command has perturbed and asked "
	         "already is kept"},
	PROGRESS_OPTIONS(struct infer_verb_values),
	MACHINE_OPTIONS(struct infer_verb_values),
	EXTRACT_PARALLEL_OPTION(struct infer_verb_values, request.extract),
	{.name = "insecure-seed", VALUE(text.insecure_seed), .argument = "SEED",
	 .help = "draw from this seed, for tests: the perturbed texts are NOT PRIVATE and say so"},
};

static const struct option_heading HEADINGS[] = {
	{"words", "Input"},
	{"epsilon", "Privacy"},
	{"list-share", "Baselines"},
	{"ledger", "Ledger"},
	{"endpoint", "Remote model"},
	{"max-tokens", "Final texts"},
	{"output", "Output"},
	{"threads", "Machine"},
	{"insecure-seed", "Tests"},
	{NULL, NULL},
};

static const char ABOUT[] =
	"A text of n words costs n EPS. At the default of 6, fifty words cost 300, and only "
	"single words are protected in a way worth the name. See cuttle help perturb for what "
	"that means and what --pad adds.\n\n"

	"Three phases follow one after the other. All texts are perturbed word by word, as by "
	"cuttle perturb. Then the remote model is asked to go on with each perturbed text, in "
	"the order of the records. A record without words is asked for like any other. Then "
	"the local model extends each raw text with the reply as notes, as by cuttle extract. "
	"With -N the reply goes on from word N, the final text from the end of the document.\n\n"

	"Does the reply help? Not where it was measured, with a remote model no larger than "
	"the local one. SmolLM2-135M-Instruct stood on both sides. There were 60 reviews and "
	"encyclopedia articles cut to 50 words, replies and final texts of at most 100 tokens, "
	"temperature 0.5. At the default EPS the true continuation of a text was less likely "
	"with the reply than without any. Its perplexity was 29.1 for 28.7: 1.4 % worse, 95 % "
	"interval 0.2 to 2.7. The diversity of the final texts and their likeness to the "
	"document did not change beyond chance. Replies to the raw texts did not help either "
	"(30.6). What a large remote model brings was not measured. Before relying on it, "
	"compare with cuttle extract and empty replies, on texts of your own. "
	"bench/INFERDPT.md has all figures.\n\n"

	"These leave this machine: the endpoint's URL, the key, the model's name, the "
	"instruction and the perturbed words. So do the limit of tokens and the temperature. "
	"Nothing else does. --show-what-leaves prints the requests byte for byte.\n\n"

	EXTRACT_STAMP " OUT has mode 0600. The perturbed texts (out.perturbed.jsonl for "
	"out.jsonl) have the receipt.\n\n"

	"out.replies.jsonl.key (mode 0600) and out.replies.jsonl.input tie all of it to these "
	"records. With a changed input the command is refused. Keep the key where the "
	"documents are: who has both can test a guess of all of them.\n\n"

	"A word is drawn once. What is drawn is journalled before anything is sent, and each "
	"reply is on the disk before it is used. After a kill or a network that fails the same "
	"command goes on. It draws no word again and asks for no reply again. A text that the "
	"service refuses (400, 413, 422) while it answers others is named; its record is "
	"extended without notes. Exit code 6: try again later. Exit code 9: the service will not "
	"answer. The reason may be its key, its quota, a redirect or a malformed reply. It may "
	"also be ten refusals in a row, or refusals alone.\n\n"

	"Only https is spoken to other machines. Certificates are always checked, redirects "
	"never followed. Replies are hostile text: bounded, and never more than text.\n";
// clang-format on

/* ---- what a run tells, in words -------------------------------------------------------------- */

struct infer_state {
	struct watch watch; /* first: it is what the events of watch.h are told */
	const struct infer_verb_values *values;
	const struct infer *infer;
};

static void on_words_begin(void *user, bool complete) {
	struct infer_state *run = user;
	const struct infer_verb_values *values = run->values;
	const struct perturb_receipt *receipt = &run->infer->perturb.receipt;
	char sentence[WORD_SENTENCE];
	perturb_receipt_sentence(receipt, sentence);
	if (!values->quiet || !receipt->guarantee.private_output) fprintf(stderr, "%s\n", sentence);
	if (watch_complete(run->infer->perturbed, values->quiet, complete)) return;
	watch_begin(&run->watch, values->quiet, values->progress, receipt->records, NULL);
}

static void on_words_publish(void *user, const char *receipt) {
	const struct infer_state *run = user;
	if (!run->values->quiet)
		fprintf(stderr, "%zu perturbed texts in %s, receipt in %s\n",
		        run->infer->perturb.receipt.records, run->infer->perturbed, receipt);
}

static void on_send_begin(void *user, size_t texts, size_t kept) {
	struct infer_state *run = user;
	if (!run->values->quiet)
		fprintf(stderr, "%zu requests to the remote model, %zu answered before\n", texts,
		        kept);
	watch_begin(&run->watch, run->values->quiet, run->values->progress, texts, NULL);
	for (size_t i = 0; i < kept; i++) watch_text(run);
}

static void on_reply(void *user) {
	watch_text(user);
}

static void on_refused(void *user, size_t text, const char *why) {
	watch_text(user);
	fprintf(stderr, "record %zu has no notes: %s\n", text, why);
}

static void on_show(void *user, const char *head, const char *body, size_t size) {
	(void)user;
	if (head) (void)fputs(head, stdout);
	(void)fwrite(body, 1, size, stdout);
	(void)putchar('\n');
}

static void on_extend_begin(void *user, size_t texts) {
	struct infer_state *run = user;
	watch_end(run);
	fprintf(stderr, "%s\n", EXTRACT_STAMP);
	watch_begin(&run->watch, run->values->quiet, run->values->progress, texts, NULL);
}

static enum cuttle_status infer_texts(const struct infer_verb_values *values,
                                      const struct setup_model *opened,
                                      struct cuttle_error *error) {
	struct infer infer;
	struct infer_state run = {.values = values, .infer = &infer};
	const struct run_events perturb = watch_events(&run, on_words_begin, on_words_publish);
	const struct extract_events extract = {
	    .user = &run, .begin = on_extend_begin, .text = watch_text, .stop = watch_stop};
	const struct infer_events events = {.perturb = &perturb,
	                                    .user = &run,
	                                    .begin = on_send_begin,
	                                    .reply = on_reply,
	                                    .refused = on_refused,
	                                    .stop = watch_stop,
	                                    .show = on_show,
	                                    .extract = &extract};
	enum cuttle_status status = infer_make(&values->request, opened, &infer, error);
	if (!status) status = infer_run(&infer, &events, error);
	watch_end(&run);
	infer_free(&infer);
	return status;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static const char *settle_infer(struct infer_verb_values *values) {
	struct infer_request *request = &values->request;
	struct perturb_request *perturb = &request->perturb;
	const char *fault = perturb_values_settle(&values->method, perturb);
	if (fault) return fault;
	extract_values_settle(&values->text, &request->extract);
	perturb->params.insecure = values->text.insecure_seed != COUNT_NONE;
	if (perturb->params.insecure) perturb->params.insecure_seed = values->text.insecure_seed;
	verb_common(&values->open, NULL, &perturb->common);
	request->extract.model = values->open.model;
	perturb->threads = (unsigned)values->open.threads;
	request->remote.api = (enum remote_api)values->api;
	return NULL;
}

static int check_infer(const struct verb *verb, const struct infer_verb_values *values) {
	const struct infer_request *request = &values->request;
	struct cuttle_error error;
	const struct verb_need needs[] = {
	    {!request->perturb.words, "--words WORDS", "--words words.cw"},
	    {!values->open.model, VERB_MODEL, VERB_MODEL_SAMPLE},
	    {!request->perturb.common.input, "-i TEXTS", "-i docs.jsonl"},
	    {!request->remote.endpoint, "--endpoint URL", "--endpoint https://api.example.org/v1"},
	    {!request->remote.model, "--remote-model NAME", "--remote-model NAME"},
	    {!request->output, "-o OUT", "-o out.jsonl"}};
	const int code = verb_lacks(verb, needs, sizeof needs / sizeof *needs);
	if (code) return code;
	enum cuttle_status status = infer_check(request, &error);
	if (!status && !request->show)
		status =
		    rewrite_allowed(request->output, request->perturb.common.overwrite, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

static int run_infer_verb(const struct verb *verb, int argc, char **argv) {
	struct infer_verb_values values = {.method = PERTURB_DEFAULTS};
	struct setup_model opened = {0};
	struct cuttle_error error;
	int code;
	secrecy_begin();
	infer_default(&values.request);
	values.text.insecure_seed = COUNT_NONE;
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	const char *fault = settle_infer(&values);
	if (fault) return verb_refuse(verb, CUTTLE_USAGE, fault);
	if ((code = check_infer(verb, &values))) return code;
	if ((code = verb_open_hashed(verb, &values.open, &opened))) return code;
	const enum cuttle_status status = infer_texts(&values, &opened, &error);
	cuttle_model_free(&opened.model);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb infer_verb = {
    .name = "infer",
    .usage = "--words WORDS -m MODEL -i TEXTS --endpoint URL --remote-model NAME -o OUT "
             "[OPTION]...",
    .summary = "a remote model's help, which sees perturbed words alone: n words cost n EPS",
    .example = "--words w.cw -m M.gguf -i d.csv --endpoint https://example.org/v1 "
               "--remote-model m -o o.jsonl",
    .another = "--words w.cw -m M.gguf -i d.csv --endpoint URL --remote-model m -o o.jsonl "
               "--show-what-leaves",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .headings = HEADINGS,
    .run = run_infer_verb,
};
