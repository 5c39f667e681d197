// SPDX-License-Identifier: Apache-2.0
// cuttle evaluate: measures synthetic texts against real ones. The work is done in
// workflow/evaluate/evaluate; here options become its request, and its table is written. References
// may be private: then so is the table, which is stamped and for its owner alone.
//
// The way of an evaluation:
//   tools/evaluate.c                  options to a request; the stamp PRIVATE
//   workflow/evaluate/evaluate.c      all files are read; a text that stands in two of them ends
//                                     the run
//     workflow/text_set.c             a file's texts, 16 at a time through the model
//       engine/run/loop/embed.c       a text to a vector, rows of many texts in one pass
//       engine/forward/score.c        its perplexity
//       io/tables/feature_file.c      both are kept, so that a stopped run continues; or
//       io/tables/npy.c               vectors that another encoder made
//     workflow/ballot.c               with -e: charged before a text is read by the model; noise
//                                     drawn once
//     workflow/evaluate/evaluation.c  rows and anchors; all numbers come from measure/
//     workflow/evaluate/evaluation_next.c  with --next-token: what each row teaches a 4-gram
//       engine/run/loop/votes.c       with -e what references say goes through noise (dp/votes.h)
//     workflow/evaluate/evaluate_fields.c  with --schema in place of all these: records become
//                                     values of fields (field_set.c), and rows (field_evaluation.c)
//   tools/report/evaluate_table.c     Markdown, JSON or CSV, stamped; io/disk/file.c puts it in
//                                     place. With --schema tools/report/fields_table.c
#include "tools/common/verbs.h"

#include "convert/rewrite.h"
#include "io/disk/fail.h"
#include "io/disk/secrecy.h"
#include "tools/report/evaluate_table.h"
#include "tools/report/fields_table.h"
#include "tools/common/watch.h"
#include "workflow/request.h"
#include <math.h>
#include <string.h>

struct evaluate_values {
	struct model_values open;
	struct evaluate_request request;
	struct option_list runs;
	struct option_list features_b;
	int form;               /* 0 auto, else 1 + enum evaluate_form */
	int progress;           /* enum progress_mode */
	uint64_t insecure_seed; /* COUNT_NONE = drawn from the system */
	bool overwrite;
	bool references_public;
	bool references_private;
	bool quiet;
};

#define VALUE(member) OPTION(struct evaluate_values, member)
// clang-format off
static const struct option_entry OPTIONS[] = {
	MODEL_OPTION(struct evaluate_values),
	{.name = "input", .first = true, .letter = 'i', VALUE(runs), .argument = "RUN",
	 .help = "synthetic texts, JSONL, CSV or TSV; several times for several files, which are "
	         "clustered together and put in order"},
	{.name = "against", .first = true, VALUE(request.against), .argument = "REAL",
	 .help = "the references: real texts that the runs did not read, or did, as you choose"},
	{.name = "public", .first = true, VALUE(references_public), .group = 'p',
	 .help = "the references are public: the table may be published"},
	{.name = "private", .first = true, VALUE(references_private), .group = 'p',
	 .help = "the references are private, and so is every number: the table is stamped, its "
	         "file has mode 0600"},
	{.name = "epsilon", .first = true, .letter = 'e', VALUE(request.epsilon),
	 .range = EPSILON_RANGE,
	 .argument = "EPS",
	 .help = "with --private: the references answer through noise alone, charged to the "
	         "ledger first, and the table may be published"},
	{.name = "delta", VALUE(request.delta), .range = DELTA_RANGE, .argument = "D",
	 .help = "of -e (default 1e-6)"},
	{.name = "ledger", .first = true, VALUE(request.ledger), .argument = "FILE",
	 .help = "the ledger that -e is charged to; needs --dataset"},
	{.name = "dataset", .first = true, VALUE(request.dataset), .argument = "NAME",
	 .help = "name of the references in the ledger"},
	{.name = "unit-key", VALUE(request.unit_key), .argument = "FIELD",
	 .help = "field that says whose a reference is, for a ledger that counts by it. "
	         "One without it is null. The guarantee stays that of one record"},
	{.name = "baseline", .first = true, VALUE(request.baseline), .argument = "FILE",
	 .help = "what the model writes from the public prompt alone: the lower anchor"},
	{.name = "text-field", .first = true, VALUE(request.text_field), .argument = "NAME",
	 .help = "field or column with the text of -i and --baseline (default text)"},
	{.name = "against-field", .first = true, VALUE(request.against_field), .argument = "NAME",
	 .help = "the same of --against and --test (default text)"},
	{.name = "task", .first = true, VALUE(request.task), .argument = "FIELD",
	 .help = "field with a label: it is learnt from each file and tested on --test"},
	{.name = "test", .first = true, VALUE(request.test), .argument = "FILE",
	 .help = "real texts with labels, none of which stands in the other files"},
	{.name = "schema", .first = true, VALUE(request.schema), .argument = "FILE",
	 .help = "compare records of this JSON Schema field by field, without a model: see below"},
	{.name = "next-token", .first = true, VALUE(request.next_token),
	 .help = "how many next tokens of the references a small model guesses that the texts "
	         "taught: a 4-gram with a cache, no BERT"},
	{.name = "lexicon", VALUE(request.lexicon), .argument = "FILE",
	 .help = "public terms, one a line: how many of them a text has. Letters may have "
	         "any case, and spaces, dashes and accents other forms"},
	{.name = "features-a", VALUE(request.features_a), .argument = "NPY",
	 .help = "the references' vectors from another encoder, NumPy's format, float32 or "
	         "float64, one row a record"},
	{.name = "features-b", VALUE(features_b), .argument = "NPY", .most = OPTION_MOST,
	 .help = "the same for each -i in turn, and last for --baseline"},
	{.name = "equal-texts", VALUE(request.equal_texts),
	 .help = "measure although a text of a run stands in the references word for word"},
	{.name = "output", .first = true, .letter = 'o', VALUE(request.output), .argument = "FILE",
	 .help = "default -, standard output; it appears when all is written. FILE" FEATURE_FILE
	         " keeps what the model made of the texts until then, so that a stopped run "
	         "continues"},
	{.name = "overwrite", VALUE(overwrite),
	 .help = "replace an output that is there, but never an input"},
	{.name = "format", VALUE(form), .argument = "auto|md|json|csv",
	 .help = "auto: by the ending of FILE, else Markdown"},
	PROGRESS_OPTIONS(struct evaluate_values),
	MACHINE_OPTIONS(struct evaluate_values),
	SEED_OPTION(struct evaluate_values),
};

static const struct option_heading HEADINGS[] = {
	{"model", "Input"},
	{"epsilon", "Privacy"},
	{"baseline", "Anchors and fields"},
	{"task", "Measures"},
	{"output", "Output"},
	{"threads", "Machine"},
	{"insecure-seed", "Tests"},
	{NULL, NULL},
};

static const char ABOUT[] =
	"Writes a table with a row for each run and two anchors. One is real against real: "
	"every other reference against those between. The other is the public prompt alone "
	"(--baseline). A run is good when it is near the first and well above the second. "
	"Halves are fewer texts, which lowers MAUVE a little: a run may stand above the "
	"first.\n\n"

	"Columns: MAUVE with c = .9, as papers have it, and with c = 5, which still tells good "
	"runs apart. Perplexity under the model has a mean and a median: a few very short texts "
	"can make up most of a mean. Its distance from the references' is told as mean |PPL(x) - "
	"mean| and as |mean - mean|. Then come length in tokens, distinct words, pairs and "
	"triples, repeats and copies. Cosines, terms of a lexicon, and accuracy and mean recall "
	"of a task are next. Texts count with their first 512 tokens. MAUVE compares within one "
	"table only: all files are clustered together. There are max(2, N/20) clusters for the N "
	"texts of the smallest file. Take a model that did not write the texts, if you have "
	"one.\n\n"

	"With --next-token a small model is taught by the texts of each row, and guesses each "
	"next token of the references it is compared with. Its share of right guesses is what "
	"papers report of a BERT. Here an interpolated 4-gram (Witten-Bell) with a cache of the "
	"text so far is taught, over the tokens of -m. So the numbers compare rows of one table, "
	"and not with a paper's. bits is the mean of -log2 P of a token: perplexity is 2 to it. "
	"Equally many texts of each row teach, as many as the smallest has, halves of the "
	"references too. over real and over public prompt are differences to these rows, on the "
	"same references. A text ends without a token.\n\n"

	"Nothing protects what is computed from the references, and no ledger counts it. Of "
	"private ones each number tells something, so --public or --private must be said. "
	"FILE" FEATURE_FILE " is always for its owner alone. A run or baseline may say NOT "
	"PRIVATE, in its note or in the receipt beside it (out.jsonl -> out.receipt.json). "
	"Then it was drawn from references that nothing protects. So the table is private, "
	"too, and with -e there is none.\n\n"

	"With -e the clusters come from the runs and the baseline. Each reference votes for "
	"its nearest cluster, once; a null, blank or unreadable one for none. Votes have 8 "
	"parts of rho. The sum of tokens and that of -ln P of a token have 1 part each. Each "
	"is clamped to 256 tokens or 4 nats around the runs' mean. What the answers cost "
	"stands in the table. The number of lines is public. The noise is drawn once and kept "
	"in OUT.journal, so that a stopped command goes on with it. Whether a reference stands "
	"in a run is not told then. References that no run read pay here alone.\n\n"

	"With --schema each line of each file is an object of the schema, as generate --schema "
	"writes it, and the table is of fields. No model is needed. valid is the share of lines "
	"that fit; other numbers are of these. Each category, number and date has the distance of "
	"its values (total variation). Numbers are in at most 20 bins of equally many real ones; "
	"absent and null are values. Each pair of fields has the distance of both together, beside "
	"that of fields that know nothing of each other, and Cramer's V. KND, the key nodes' "
	"dependence, is how much of what ties categories and numbers to each other is lost. With "
	"D(x,y) = P(x,y) - P(x)P(y) it is half the sum of |D real - D run|, the mean over pairs. "
	"Errors are standard deviations over 200 resamples of the lines. Few lines "
	"raise all distances, so compare with real against real. Lines of a run may be equal to "
	"real ones: records of few fields are, by chance. For example:\n\n"

	"  cuttle evaluate --schema visit.schema.json -i out.jsonl --against visits.jsonl "
	"--private -o fields.md\n\n"

	"Measure the texts of a field by a table of their own: -m MODEL --text-field note "
	"--against-field note, without --schema.\n\n"

	"A run that is the reference file, or has one of its texts, ends the command with exit "
	"code 4. Copies would look perfect.\n";
// clang-format on

struct evaluate_watch {
	struct watch watch; /* first: it is what the events of watch.h are told */
	const struct evaluate_values *values;
};

static void on_evaluate_begin(void *user, size_t texts) {
	struct evaluate_watch *run = user;
	watch_begin(&run->watch, run->values->quiet, run->values->progress, texts, NULL);
}

static enum evaluate_form form_of(const struct evaluate_values *values) {
	if (values->form) return (enum evaluate_form)(values->form - 1);
	if (file_ends_in(values->request.output, ".json")) return EVALUATE_JSON;
	return file_ends_in(values->request.output, ".csv") ? EVALUATE_CSV : EVALUATE_MARKDOWN;
}

/* Opens the output: one with a stamp is for its owner alone. */
static enum cuttle_status open_table(const struct evaluate_values *values, const char *stamp,
                                     struct sink *sink, struct cuttle_error *error) {
	const char *path = values->request.output;
	return stamp ? sink_open_private(sink, path, error) : sink_open(sink, path, error);
}

/* Renders the table, closes its charge, then puts it in place. */
static enum cuttle_status write_evaluation(const struct evaluate_values *values,
                                           const struct evaluation *evaluation,
                                           const struct evaluate_facts *facts,
                                           struct evaluate_asked *asked,
                                           struct cuttle_error *error) {
	const struct evaluate_request *request = &values->request;
	struct sink sink;
	char sha256[HASH_TEXT];
	size_t size = 0;
	char *table = evaluate_render(form_of(values), evaluation, facts, &size);
	if (!table) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	hash_of(table, size, sha256);
	enum cuttle_status status = open_table(values, facts->stamp, &sink, error);
	if (!status) {
		status = sink_write(&sink, table, size, error);
		if (!status) status = evaluate_seal(asked, sha256, error);
		status = sink_close(&sink, status, error);
	}
	if (!status) evaluate_done(request, asked);
	secrecy_free(table);
	return status;
}

/* What is said of a table, beside the table: a stamp however quiet the run is, since standard
 * output may be looked at alone. */
static void tell_evaluation(const struct evaluate_values *values,
                            const struct evaluation *evaluation,
                            const struct evaluate_facts *facts) {
	char sentence[EVALUATE_SENTENCE];
	if (facts->asked->delta <= 0 || values->quiet) return;
	evaluate_sentence(evaluation, facts, sentence);
	fprintf(stderr, "%s\n", sentence);
}

static enum cuttle_status watch_evaluation(const struct evaluate_values *values,
                                           const struct setup_model *opened,
                                           struct cuttle_error *error) {
	const struct evaluate_request *request = &values->request;
	struct evaluation evaluation;
	struct evaluate_asked asked;
	struct cuttle_model_info info;
	struct evaluate_watch run = {.values = values};
	const struct evaluate_events events = {
	    .user = &run, .begin = on_evaluate_begin, .text = watch_text, .stop = watch_stop};
	cuttle_model_describe(opened->model, &info);
	const bool open_references =
	    request->privacy == EVALUATE_PRIVATE && (isnan(request->epsilon) || request->seed);
	struct evaluate_facts facts = {.stamp = open_references ? EVALUATE_STAMP : NULL,
	                               .imported = request->features_a != NULL,
	                               .model = info.name,
	                               .model_sha256 = opened->sha256,
	                               .against = request->against,
	                               .task = request->task,
	                               .asked = &asked};
	if (facts.stamp) fprintf(stderr, "%s\n", facts.stamp);
	enum cuttle_status status =
	    evaluate_run(request, opened, &events, &asked, &evaluation, error);
	watch_end(&run);
	if (!status && !facts.stamp && asked.unprotected) {
		facts.stamp = EVALUATE_STAMP_RUN;
		fprintf(stderr, "%s\n", facts.stamp);
	}
	if (!status) status = write_evaluation(values, &evaluation, &facts, &asked, error);
	if (!status) tell_evaluation(values, &evaluation, &facts);
	evaluation_free(&evaluation);
	evaluate_close(&asked);
	return status;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static enum cuttle_status write_fields(const struct evaluate_values *values,
                                       const struct evaluated_fields *fields, const char *stamp,
                                       struct cuttle_error *error) {
	struct sink sink;
	size_t size = 0;
	char *table = fields_render(form_of(values), fields, &values->request, stamp, &size);
	if (!table) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = open_table(values, stamp, &sink, error);
	if (!status) status = sink_close(&sink, sink_write(&sink, table, size, error), error);
	secrecy_free(table);
	return status;
}

static enum cuttle_status evaluate_by_schema(const struct evaluate_values *values,
                                             struct cuttle_error *error) {
	const char *stamp = values->request.privacy == EVALUATE_PRIVATE ? EVALUATE_STAMP : NULL;
	struct evaluated_fields fields;
	if (stamp) fprintf(stderr, "%s\n", stamp);
	enum cuttle_status status = evaluate_fields(&values->request, &fields, error);
	if (!status && !stamp && fields.unprotected) {
		stamp = EVALUATE_STAMP_RUN;
		fprintf(stderr, "%s\n", stamp);
	}
	if (!status) status = write_fields(values, &fields, stamp, error);
	evaluated_fields_free(&fields);
	return status;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static void settle_evaluate(const struct verb *verb, struct evaluate_values *values) {
	struct evaluate_request *request = &values->request;
	// One from the environment is no choice.
	if (!request->schema || options_typed(verb, "model")) request->model = values->open.model;
	request->runs = values->runs.texts;
	request->run_count = values->runs.count;
	request->features_b = values->features_b.texts;
	request->features_b_count = values->features_b.count;
	request->lock = values->open.mlock;
	if (values->references_public) request->privacy = EVALUATE_PUBLIC;
	if (values->references_private) request->privacy = EVALUATE_PRIVATE;
	request->overwrite = values->overwrite;
	request->seed = values->insecure_seed != COUNT_NONE ? &values->insecure_seed : NULL;
}

static int check_evaluate(const struct verb *verb, const struct evaluate_values *values) {
	const struct evaluate_request *request = &values->request;
	struct cuttle_error error;
	const struct verb_need needs[] = {
	    {!request->schema && !values->open.model, VERB_MODEL, VERB_MODEL_SAMPLE},
	    {!request->run_count, "-i RUN", "-i out.jsonl"},
	    {!request->against, "--against REAL", "--against real.jsonl"},
	    {request->privacy == EVALUATE_UNSAID, "--public or --private", "--private"}};
	const int code = verb_lacks(verb, needs, sizeof needs / sizeof *needs);
	if (code) return code;
	const bool noise = !isnan(request->epsilon);
	if (!noise && options_typed(verb, "delta"))
		return verb_refuse(verb, CUTTLE_USAGE, "--delta needs -e EPS");
	if (noise && request->equal_texts)
		return verb_refuse(verb, CUTTLE_USAGE,
		                   "-e takes no --equal-texts: no text is compared word for word");
	enum cuttle_status status = evaluate_check(request, &error);
	if (!status) status = evaluate_paths(request, &error);
	if (!status && strcmp(request->output, "-") != 0)
		status = rewrite_allowed(request->output, values->overwrite, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

static int run_evaluate_verb(const struct verb *verb, int argc, char **argv) {
	struct evaluate_values values = {.insecure_seed = COUNT_NONE};
	struct setup_model opened;
	struct cuttle_error error;
	int code;
	secrecy_begin();
	evaluate_default(&values.request);
	values.request.output = "-";
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	settle_evaluate(verb, &values);
	if ((code = check_evaluate(verb, &values))) return code;
	if (values.request.schema) {
		const enum cuttle_status status = evaluate_by_schema(&values, &error);
		return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
	}
	if ((code = verb_open_hashed(verb, &values.open, &opened))) return code;
	const enum cuttle_status status = watch_evaluation(&values, &opened, &error);
	cuttle_model_free(&opened.model);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb evaluate_verb = {
    .name = "evaluate",
    .usage = "-m MODEL -i RUN --against REAL --public|--private [OPTION]...",
    .summary = "how good synthetic texts are: a table with errors and two anchors",
    .example = "-m MODEL.gguf -i run.jsonl --against real.jsonl --private -o table.md",
    .another = "-m MODEL.gguf -i a.jsonl -i b.jsonl --against real.jsonl --public -o t.json",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .headings = HEADINGS,
    .run = run_evaluate_verb,
};
