// SPDX-License-Identifier: Apache-2.0
// cuttle extract: extends raw documents on this machine, with the notes of a remote model as
// material. The work is done in workflow/extract; here options become its request, and what it
// tells becomes words. No private text passes through.
//
// The way of a document that is extended:
//   tools/extract.c                      options to a request; the stamp PRIVATE
//   workflow/extract.c                   prompt, completer; then documents, and a reply for each:
//                                        foreign text
//   io/disk/file.c                       a sink that its owner alone may read, without a name until
//                                        it is complete
//   engine/run/loop/complete.c           a document is a batch without private places: its prompt,
//                                        which is private here, stands where the public one does,
//                                        so every token is free
//     engine/run/plan/prompt.c           document and notes, each tokenised for itself, within the
//                                        prompt
//     engine/run/loop/generate.c         the same loop
//       engine/run/loop/complete_draw.c  the likeliest token, or one of the row's law: no guarantee
#include "tools/common/verbs.h"

#include "convert/rewrite.h"
#include "io/disk/secrecy.h"
#include "tools/common/extract_values.h"
#include "tools/common/watch.h"
#include <string.h>

struct extract_verb_values {
	struct model_values open;
	struct extract_request request;
	struct extract_values text;
	int progress; /* enum progress_mode */
	bool overwrite;
	bool quiet;
};

#define VALUE(member) OPTION(struct extract_verb_values, member)
// clang-format off
static const struct option_entry OPTIONS[] = {
	MODEL_OPTION(struct extract_verb_values),
	{.name = "input", .letter = 'i', VALUE(request.input), .argument = "FILE",
	 .help = "the raw documents: one per record, JSONL, CSV or TSV, in a file or from a pipe; "
	         "- is standard input"},
	{.name = "text-field", VALUE(request.text_field), .argument = "NAME",
	 .help = "field or column with the document (default text)"},
	FORMAT_OPTIONS(struct extract_verb_values, request.input_format, request.delimiter),
	{.name = "replies", VALUE(request.replies), .argument = "FILE",
	 .help = "the notes, JSONL {\"index\",\"text\"}: what a remote model wrote after "
	         "the perturbed document of this index, from 0. Without any index they "
	         "are in the order of the documents"},
	EXTRACT_OPTIONS(struct extract_verb_values, text, request),
	{.name = "output", .letter = 'o', VALUE(request.output), .argument = "FILE",
	 .help = "the texts, JSONL, which only their owner may read: mode 0600; - is standard "
	         "output"},
	{.name = "overwrite", VALUE(overwrite),
	 .help = "replace an output that is there, but never an input"},
	PROGRESS_OPTIONS(struct extract_verb_values),
	MACHINE_OPTIONS(struct extract_verb_values),
	EXTRACT_PARALLEL_OPTION(struct extract_verb_values, request),
	{.name = "insecure-seed", VALUE(text.insecure_seed), .argument = "SEED",
	 .help = "draw from this seed, so that a run can be repeated"},
};

static const struct option_heading HEADINGS[] = {
	{"model", "Input"},
	{"max-tokens", "Text"},
	{"template", "Prompts"},
	{"output", "Output"},
	{"threads", "Machine"},
	{"insecure-seed", "Tests"},
	{NULL, NULL},
};

static const char ABOUT[] =
	"The last step of InferDPT. A remote model has continued perturbed documents. Here the "
	"local model extends the raw ones, with what the remote one wrote as notes. Out comes "
	"{\"index\",\"text\",\"finish\",\"private\":true} for each record; finish is eos, stop "
	"(a blank line) or length.\n\n"

	EXTRACT_STAMP " Nothing here is counted in a ledger, and no receipt is written.\n\n"

	"A record that cannot be read has an empty text, and nobody is told. A document and "
	"its notes share what prompt and text leave of the context. The document is cut only "
	"where it does not fit by itself; the notes get the rest. Both lose their ends. Names "
	"of special tokens in them, such as <|im_end|>, are plain text.\n\n"

	"Replies are taken as public. An index that is wrong or stands twice ends the command "
	"with exit code 4 and the number of the line. A reply that is missing or no text "
	"leaves its document without notes.\n\n"

	"The output appears when all of it is written. Of a run that is stopped or killed "
	"nothing is left, and the same command begins again. Progress shows how many texts are "
	"done, and no more. How long they take depends on the private texts.\n";
// clang-format on

/* ---- what a run tells, in words -------------------------------------------------------------- */

struct extract_watch {
	struct watch watch; /* first: it is what the events of watch.h are told */
	const struct extract_verb_values *values;
};

/* The stamp is told however quiet the run is: the file alone does not say it to everybody. */
static void on_extract_begin(void *user, size_t texts) {
	struct extract_watch *run = user;
	fprintf(stderr, "%s\n", EXTRACT_STAMP);
	watch_begin(&run->watch, run->values->quiet, run->values->progress, texts, NULL);
}

static enum cuttle_status extract_texts(const struct extract_verb_values *values,
                                        struct cuttle_model *model, struct cuttle_error *error) {
	struct extract extract;
	struct extract_watch run = {.values = values};
	const struct extract_events events = {
	    .user = &run, .begin = on_extract_begin, .text = watch_text, .stop = watch_stop};
	enum cuttle_status status = extract_make(&values->request, model, &extract, error);
	if (!status) status = extract_run(&values->request, &extract, &events, error);
	watch_end(&run);
	extract_free(&extract);
	return status;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static void settle_extract(struct extract_verb_values *values) {
	struct extract_request *request = &values->request;
	extract_values_settle(&values->text, request);
	request->model = values->open.model;
	request->lock = values->open.mlock;
}

static int check_extract(const struct verb *verb, const struct extract_verb_values *values) {
	const struct extract_request *request = &values->request;
	struct cuttle_error error;
	const struct verb_need needs[] = {
	    {!values->open.model, VERB_MODEL, VERB_MODEL_SAMPLE},
	    {!request->input, "-i DOCS", "-i docs.jsonl"},
	    {!request->replies, "--replies FILE", "--replies replies.jsonl"},
	    {!request->output, "-o OUT", "-o out.jsonl"}};
	const int code = verb_lacks(verb, needs, sizeof needs / sizeof *needs);
	if (code) return code;
	enum cuttle_status status = extract_check(request, &error);
	if (!status) status = extract_paths(request, &error);
	if (!status && strcmp(request->output, "-") != 0)
		status = rewrite_allowed(request->output, values->overwrite, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

static int run_extract_verb(const struct verb *verb, int argc, char **argv) {
	struct extract_verb_values values = {0};
	struct cuttle_model *model;
	struct cuttle_error error;
	int code;
	secrecy_begin();
	extract_default(&values.request);
	values.text.insecure_seed = COUNT_NONE;
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	settle_extract(&values);
	if ((code = check_extract(verb, &values))) return code;
	if ((code = verb_open(verb, &values.open, &model))) return code;
	const enum cuttle_status status = extract_texts(&values, model, &error);
	cuttle_model_free(&model);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb extract_verb = {
    .name = "extract",
    .usage = "-m MODEL -i DOCS --replies FILE -o OUT [OPTION]...",
    .summary = "raw documents extended with a remote model's notes: the result is PRIVATE",
    .example = "-m MODEL.gguf -i docs.jsonl --replies replies.jsonl -o extended.jsonl",
    .another = "-m MODEL.gguf -i docs.jsonl --replies replies.jsonl -o out.jsonl "
               "--template instruct",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .headings = HEADINGS,
    .run = run_extract_verb,
};
