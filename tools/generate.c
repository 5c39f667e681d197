// SPDX-License-Identifier: Apache-2.0
// cuttle generate: writes private texts from a file of sensitive documents. The private text passes
// through here, as pointers that references_text hands to the engine.
//
// The order matters, and is that of run_generate_verb and generate_texts:
//   1. options are checked; model, prompts and plan are made (tools/setup.h)
//   2. the data set is looked up in the ledger (tools/spending.h)
//   3. the references are read and placed (tools/references.h)
//   4. output and journal are opened (io/output.h); the ledger is charged for all tokens
//   5. the job draws; the callbacks below record each token before anybody can see it
//   6. the output is sealed, its charge closed, receipt and output put in place
#include "tools/verbs.h"

#include "base/utf8.h"
#include "io/fail.h"
#include "io/secrecy.h"
#include "io/trace.h"
#include "tools/progress.h"
#include "tools/spending.h"
#include "tools/warnings.h"
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define VALUE(member) OPTION(struct generate_values, member)
enum {
	GROUP_BUDGET = 1, /* --epsilon or --clip */
	GROUP_TEXTS,      /* --num or --num-per-category */
	GROUP_LIMIT       /* --one-per-unit or --records-per-unit */
};

// clang-format off
static const struct option_entry OPTIONS[] = {
	MODEL_OPTION(struct generate_values),
	{.name = "input", .letter = 'i', VALUE(input), .argument = "FILE",
	 .help = "references: one sensitive document per record, JSONL, CSV or TSV, in a file or "
	         "from a pipe; - is standard input"},
	{.name = "text-field", VALUE(text_field), .argument = "NAME",
	 .help = "field or column with the document (default text)"},
	FORMAT_OPTIONS(struct generate_values, input_format, delimiter),
	{.name = "unit-key", VALUE(unit_key), .argument = "FIELD",
	 .help = "field or column that says whose a record is: the guarantee is then for "
	         "everybody with one value of it; a record without one is not read"},
	{.name = "one-per-unit", .group = GROUP_LIMIT, VALUE(one_per_unit),
	 .help = "read one record of each unit, its first one: -e is then what a whole person "
	         "costs"},
	{.name = "records-per-unit", .group = GROUP_LIMIT, VALUE(records_per_unit), .argument = "G",
	 .least = 1, .most = UINT32_MAX,
	 .help = "read at most G records of each unit, one per text, the first ones: -e is then "
	         "what all of them cost together"},
	{.name = "category-field", VALUE(category_fields), .argument = "FIELD",
	 .help = "field or column with the records' category, which counts as public; up to four "
	         "times, for categories of several fields"},
	{.name = "categories", VALUE(categories), .argument = "LIST|FILE",
	 .help = "the categories to write: A,B,C, or a FILE that ends in .csv or .jsonl with "
	         "each category field and, if wanted, its share"},
	{.name = "epsilon", .letter = 'e', .group = GROUP_BUDGET, VALUE(epsilon),
	 .range = EPSILON_RANGE, .argument = "EPS",
	 .help = "privacy loss per record, from which the clip follows"},
	{.name = "clip", .group = GROUP_BUDGET, VALUE(clip), .range = CLIP_RANGE, .argument = "C",
	 .help = "bound of each logit difference, instead of -e"},
	{.name = "delta", VALUE(delta), .range = DELTA_RANGE, .argument = "D",
	 .help = "what is added to the probability of any event, beside its factor e^epsilon "
	         "(default 1e-6)"},
	{.name = "accountant", VALUE(accountant), .argument = "zcdp|exact",
	 .help = "what -e and the guarantee mean: exact composition of the run's tokens "
	         "(default), or zcdp, which allows 5 to 7 % less clip and is what a ledger adds "
	         "up (default with --ledger)"},
	{.name = "batch-size", .letter = 'B', VALUE(batch), .argument = "B", .least = 1,
	 .most = 4096,
	 .help = "references per text (default 7)"},
	{.name = "ledger", VALUE(ledger), .argument = "FILE",
	 .help = "count this run in the ledger before it draws; exit 3 when it would go over the "
	         "limit (see cuttle help ledger)"},
	{.name = "dataset", VALUE(dataset), .argument = "NAME",
	 .help = "what the references are called, in the receipt and in the ledger"},
	{.name = "num", .letter = 'N', .group = GROUP_TEXTS, VALUE(texts), .argument = "TEXTS",
	 .least = 1, .most = SIZE_MAX / 2,
	 .help = "texts to write, with --token-bank batches; N x B references are needed "
	         "(default 100)"},
	{.name = "num-per-category", .group = GROUP_TEXTS, VALUE(texts_per_category),
	 .argument = "TEXTS", .least = 1, .most = SIZE_MAX / 2,
	 .help = "texts for each share of 1, instead of -N, which is spread over the categories "
	         "by their shares"},
	{.name = "max-tokens", .letter = 'n', VALUE(tokens), .argument = "T", .least = 1,
	 .most = 1 << 20,
	 .help = "hard cap of tokens per text, with --token-bank per batch; this is what is paid "
	         "for (default 200)"},
	{.name = "temperature", VALUE(temperature), .range = TEMPERATURE_RANGE, .argument = "TAU",
	 .help = "sampling temperature (default 1.0)"},
	{.name = "top-k", .letter = 'k', VALUE(top_k), .argument = "K", .most = UINT32_MAX,
	 .help = "draw among the public model's top k and what one batch could lift there "
	         "(default 100, 0 = all)"},
	{.name = "center", VALUE(center), .argument = "median|none",
	 .help = "median: clip each reference's logit differences around their median, not "
	         "around 0 (default none)"},
	{.name = "token-bank", VALUE(token_bank),
	 .help = "when a text ends before T, write further texts from the same batch with what "
	         "is left of T"},
	{.name = "public-when", VALUE(public_when), .range = "from 0.000001 to 1, as in 0.95",
	 .argument = "P",
	 .help = "where the public prompt alone gives its likeliest token a probability of at "
	         "least P, draw from it alone, free of charge"},
	{.name = "complete", VALUE(complete),
	 .help = "after T tokens let the public prompt alone finish the text, free of charge, "
	         "instead of cutting it"},
	{.name = "free-tokens", VALUE(free_tokens), .argument = "U", .most = 1 << 20,
	 .help = "most tokens that are free of charge, per text or, with --token-bank, batch "
	         "(default T)"},
	PROMPT_OPTIONS,
	{.name = "ctx-size", .letter = 'c', VALUE(context), .argument = "TOKENS",
	 .most = UINT32_MAX,
	 .help = "longest prompt plus text; longer references are cut (default: the model's "
	         "context, at most 4096)"},
	{.name = "output", .letter = 'o', VALUE(output), .argument = "FILE",
	 .help = "texts, JSONL or CSV by the ending; - is standard output, which cannot be "
	         "continued"},
	{.name = "output-format", VALUE(output_format), .argument = "auto|jsonl|csv",
	 .help = "auto: by the ending .csv"},
	{.name = "receipt", VALUE(receipt), .argument = "FILE",
	 .help = "where the receipt goes (default: out.jsonl -> out.receipt.json)"},
	{.name = "sign", VALUE(sign), .argument = "FILE",
	 .help = "sign the receipt with this secret key (made by cuttle ledger key)"},
	{.name = "overwrite", VALUE(overwrite),
	 .help = "replace the output, receipt and journal of another command"},
	{.name = "dry-run", VALUE(dry_run),
	 .help = "print the effective configuration, clip, guarantee, and time and memory on "
	         "this machine, which it measures for some seconds; with -i count the records, "
	         "and exit 4 when they are too few; draw nothing"},
	{.name = "bench", VALUE(bench), .argument = "FILE",
	 .help = "dry-run: take the time from what cuttle bench -o json printed, instead of "
	         "measuring"},
	{.name = "progress", VALUE(progress), .argument = "auto|json|off",
	 .help = "on standard error (default auto)"},
	{.name = "quiet", .letter = 'q', VALUE(quiet),
	 .help = "no progress and no sentences, errors only"},
	{.name = "trace", VALUE(trace), .argument = "FILE",
	 .help = "write what each step looked like inside: PRIVATE numbers that no guarantee "
	         "covers, for research; see below"},
	MACHINE_OPTIONS(struct generate_values),
	{.name = "parallel", VALUE(parallel), .argument = "TEXTS", .most = 256,
	 .help = "texts in flight at once (default: as suits B and memory); results do not "
	         "depend on it"},
	{.name = "prompt-chunk", VALUE(prompt_chunk), .argument = "ROWS", .most = 1 << 14,
	 .help = "rows per prompt pass; results do not depend on it"},
	{.name = "no-sharing", VALUE(no_sharing),
	 .help = "compute the shared prefix per context; results do not depend on it"},
	{.name = "insecure-seed", VALUE(insecure_seed), .argument = "SEED",
	 .help = "draw from this seed, for tests: the output is NOT PRIVATE and says so"},
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
	"Text number b is written from references b*B to b*B+B-1, so N x B records are needed; "
	"what follows them is not read. The guarantee is per record of the input, where one record "
	"is replaced by nothing: if a person has several records, put them into one, or name the "
	"field that says whose they are.\n\n"

	"--unit-key FIELD alone reads all records and declares FIELD public: who has how many, and "
	"where, since what the most frequent value costs is told, in the receipt too. -e is then "
	"still for one record; g records of one value in one text cost g^2 of its rho, in g texts "
	"g. --one-per-unit and --records-per-unit G bound that beforehand: the other records of "
	"the value become null in their places, -e is for the whole value, and FIELD stays as "
	"private as the texts, but for a ledger's charge. Records in the order of persons lose "
	"most: shuffle them first, by public lot. A number is the text of its digits: 7 and \"7\" "
	"are one value.\n\n"

	"--category-field FIELD writes texts of the declared categories, each from records of that "
	"category alone, in their order, with \"FIELD: value\" in all prompts and in the output; "
	"examples that have FIELD show it too, and own prompts hold {category}. It declares public "
	"which category each record has, so how many there are of each; a line that cannot be read "
	"has none. The guarantee says that nobody learns what a record of a category says, not "
	"that there was one. If that is too much, leave the option out. Records of other "
	"categories are not read.\n\n"

	"A record without the field, with something else than a text in it, with bytes that are "
	"not UTF-8, of more than 16 MiB, or blank, counts as null: it keeps its place, adds "
	"nothing, and is not reported. That is by design: a warning would tell about a record. A "
	"reference that is too long is cut. cuttle inspect shows the owner how many there are of "
	"each, and prints the generate line that fits. Warnings come from options, model and "
	"public files alone, before the first token is drawn and under --dry-run; -q leaves them "
	"out.\n\n"

	"--center, --token-bank, --public-when and --complete leave the guarantee as it is (see "
	"dp/PRIVACY.md) and change what it buys; all are off by default. With any of the last "
	"three each text comes with its batch and the number of its tokens that were free. N x B "
	"references and T tokens per batch are charged whatever becomes of them.\n\n"

	"Each token is journalled in OUT.journal the moment it is drawn. After a kill, a power cut "
	"or a full disk the same command continues, and a text that was interrupted half-way is "
	"continued from its journal and never drawn again: its tokens have been drawn from the "
	"private references already, so a second try would spend the privacy budget a second time, "
	"and choosing between two tries would void the guarantee. When all texts are there, OUT "
	"and its receipt are put in place and the journal is removed; the same command then says "
	"that it is complete. A command is continued on the input it was begun with, and on no "
	"other (exit 2): OUT.journal.key holds the key of the digest by which it is known. "
	"--overwrite begins anew, and spends again.\n\n"

	"With --ledger the run is charged for all its tokens before it draws, and not again when "
	"it is continued: its name in the ledger stands in OUT.run until the output is there. One "
	"charge pays for one output, whose hash closes it in the ledger. A run from "
	"--insecure-seed is never charged.\n\n"

	"--trace makes a new file, mode 0600, with a JSON line for each token drawn: candidates "
	"|V+|, private rows, effective k (e^entropy of what was drawn from), share of logit "
	"differences at the clip, and the token's probability and rank, public and as drawn. It is "
	"computed from the references without protection: whoever sees it has no guarantee, and "
	"the guarantee of the texts is only as good as the file stays where the references are. "
	"The receipt says that there is one.\n\n"

	"No path that generate reads may be one it writes, under whatever name, with --overwrite "
	"or without: OUT, OUT.journal, OUT.journal.key, OUT.run, scratch files OUT.part-* and "
	"OUT.run.tmp-*, the receipt with its own, the trace, the ledger with what SQLite keeps "
	"beside it. Such a command is refused before it begins (exit 2). -i, --public-examples, "
	"--categories and own prompts may be pipes; models, ledgers and keys may not.\n\n"

	"Standard output has no journal: a run interrupted there has spent what it spent, and the "
	"next one is charged anew.\n";
// clang-format on

/* Nonzero after the first SIGINT or SIGTERM. Global, since a signal handler gets no argument. */
static volatile sig_atomic_t stop_asked;

static void on_signal(int number) {
	(void)number;
	stop_asked = 1;
	// A second signal ends the process at once.
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
}

struct generate_state {
	const struct references *references;
	/* Number of the job's first text in the run; with a token bank of its first batch. The
	 * engine counts from 0 in each job. For example the second category's job begins at text
	 * 30 of the run. Then first is 30, and the engine's text 2 is text 32. */
	size_t first;
	size_t batch;   /* references per text (B) */
	size_t texts;   /* handed out so far */
	size_t reading; /* the text whose references were asked for last */
	struct output *output;
	struct progress progress;
	struct spending spending;
	struct trace *trace;
	enum cuttle_status refused;  /* what the ledger said at the first fresh token; OK = draw */
	struct cuttle_error refusal; /* its message */
};

static void on_reference(void *user, size_t index, const char **text, size_t *size) {
	struct generate_state *run = user;
	run->reading = run->first + index / run->batch;
	*text = references_text(run->references, run->first * run->batch + index, size);
}

static int on_trace(void *user, const struct cuttle_trace_step *step) {
	const struct generate_state *run = user;
	struct cuttle_trace_step seen = *step;
	seen.text += run->first;
	return trace_step(run->trace, &seen);
}

static size_t on_drawn(void *user, size_t text, const int32_t **tokens) {
	const struct generate_state *run = user;
	return output_drawn(run->output, run->first + text, tokens);
}

static int on_token(void *user, size_t text, uint32_t step, int32_t token) {
	struct generate_state *run = user;
	const int32_t *tokens;
	text += run->first;
	bool fresh = step >= output_drawn(run->output, text, &tokens);
	if (fresh) run->refused = spending_draw(&run->spending, &run->refusal);
	if (run->refused || output_token(run->output, text, step, token) != 0) return 1;
	if (fresh) progress_token(&run->progress);
	// Never stops here. on_progress does, once every token of the step is recorded and traced.
	return 0;
}

static int on_text(void *user, const struct cuttle_text *text) {
	struct generate_state *run = user;
	struct cuttle_text counted = *text;
	counted.index = run->texts++;
	counted.batch += run->first;
	if (output_text(run->output, &counted) != 0) return 1;
	if (counted.batch == run->progress.texts_done) progress_text(&run->progress);
	return 0;
}

static int on_progress(void *user, const struct cuttle_progress *progress) {
	struct generate_state *run = user;
	if (!strcmp(progress->phase, "prompt")) progress_reading(&run->progress, run->reading);
	return stop_asked != 0;
}

/* Checks every path that the command may open. A dry run may lack some, and does not open those
 * that it would write. */
static int check_generate_files(const struct verb *verb, const struct generate_values *values) {
	const bool to_file = values->output && strcmp(values->output, "-") != 0;
	const char *categories = values->categories && categories_in_file(values->categories)
	                             ? values->categories
	                             : NULL;
	char *receipt = to_file && !values->receipt ? output_receipt_beside(values->output) : NULL;
	if (to_file && !values->receipt && !receipt)
		return verb_refuse(verb, CUTTLE_NOMEM, "out of memory");
	const struct path_use uses[] = {
	    PATH_ALONE("-m", values->open.model, PATH_MODEL),
	    PATH_ALONE("-i", values->input, PATH_STREAM),
	    PATH_ALONE("--prompt-public", values->prompt_public, PATH_STREAM),
	    PATH_ALONE("--prompt-private", values->prompt_private, PATH_STREAM),
	    PATH_ALONE("--public-examples", values->public_examples, PATH_STREAM),
	    PATH_ALONE("--categories", categories, PATH_STREAM),
	    PATH_ALONE("--sign", values->sign, PATH_FILE),
	    {"--ledger", values->ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}},
	    {"-o", values->output, PATH_OUTPUT, receipt, {".journal", ".journal.key", ".run"}},
	    PATH_ALONE("--receipt", values->receipt, PATH_RECORD),
	    PATH_ALONE("--trace", values->trace, PATH_RECORD),
	};
	const int code = verb_paths(verb, uses, sizeof uses / sizeof *uses);
	free(receipt);
	return code;
}

/* Refuses a command that lacks an option; returns the exit code. */
static int refuse_incomplete_generate(const struct verb *verb,
                                      const struct generate_values *values) {
	const struct verb_need needs[] = {
	    {!values->open.model, VERB_MODEL},
	    {!values->input && !values->dry_run, "-i REFS"},
	    {!values->output && !values->dry_run, "-o OUT"},
	    {isnan(values->epsilon) && isnan(values->clip), "-e EPS or --clip C"}};
	return verb_lacks(verb, needs, sizeof needs / sizeof *needs);
}

static const char *name_contradiction(const struct generate_values *values) {
	if (!values->prompt_public != !values->prompt_private)
		return "--prompt-public and --prompt-private go together";
	if (values->prompt_public && values->form != CHOICE_NONE)
		return "--template and own prompts exclude each other";
	if (values->chat_format && values->form != 1)
		return "--chat-format needs --template instruct";
	if (values->ledger && !values->dataset)
		return "--ledger needs --dataset NAME, the data set in it";
	if (values->dataset && !utf8_name(values->dataset, strlen(values->dataset)))
		return "--dataset: must be 1 to 128 bytes of text in one line";
	const char *problem = references_contradiction(values);
	if (problem) return problem;
	if (values->sign && !values->receipt && values->output && !strcmp(values->output, "-"))
		return "--sign: there is no receipt to sign; give --receipt FILE";
	return NULL;
}

/* Seals the output, closes its charge, then puts receipt and output in place. */
static enum cuttle_status publish_output(const struct setup *setup, struct generate_state *run,
                                         struct cuttle_error *error) {
	char sha256[HASH_TEXT];
	size_t size;
	enum cuttle_status status = output_seal(run->output, sha256, error);
	if (!status) status = spending_finish(&run->spending, sha256, error);
	if (status) return status;
	char *receipt = receipt_dump(&setup->receipt, setup->fingerprint, sha256, &size);
	if (!receipt) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	status = output_publish(run->output, receipt, size, error);
	free(receipt);
	return status;
}

/* Runs one job for each category, one after the other, as each has prompts of its own. Without
 * categories runs one job for all texts. */
static enum cuttle_status run_categories(const struct setup *setup, struct generate_state *run,
                                         struct cuttle_job *job, struct cuttle_error *error) {
	const struct categories *categories = &setup->categories;
	enum cuttle_status status = CUTTLE_OK;
	job->texts = setup->receipt.texts;
	if (!categories->count) return cuttle_job_run(setup->plan, job, error);
	for (job->heading = 0; !status && job->heading < categories->count; job->heading++) {
		job->texts = categories->all[job->heading].texts;
		if (job->texts) status = cuttle_job_run(setup->plan, job, error);
		run->first += job->texts;
	}
	return status;
}

static enum cuttle_status run_generate_job(const struct generate_values *values,
                                           const struct setup *setup, struct generate_state *run,
                                           struct cuttle_error *error) {
	struct cuttle_job job;
	cuttle_job_default(&job);
	job.user = run;
	job.reference = on_reference;
	job.drawn = on_drawn;
	job.token = on_token;
	job.text = on_text;
	job.progress = on_progress;
	const struct cuttle_trace trace = {on_trace, run};
	if (run->trace) job.trace = &trace;
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	bool stream = !strcmp(values->output, "-");
	progress_begin(&run->progress,
	               values->quiet ? PROGRESS_OFF : (enum progress_mode)values->progress,
	               setup->receipt.texts);
	enum cuttle_status status = run_categories(setup, run, &job, error);
	progress_end(&run->progress);
	if (status == CUTTLE_PARTIAL && run->refused) {
		*error = run->refusal;
		return run->refused;
	}
	if (status == CUTTLE_PARTIAL && output_problem(run->output, error))
		return output_problem(run->output, NULL);
	if (status == CUTTLE_PARTIAL && trace_problem(run->trace, error)) return status;
	if (status == CUTTLE_PARTIAL && stream)
		return io_fail(
		    error, status,
		    "stopped; what was written stands, but standard output cannot be continued");
	if (status == CUTTLE_PARTIAL)
		return io_fail(error, status, "stopped; the same command continues from here");
	return status;
}

/* Prints the guarantee. With --quiet only where it stands nowhere else: a run without a receipt, or
 * one that is not private. */
static void say_guarantee(const struct generate_values *values, const struct setup *setup) {
	char sentence[RECEIPT_SENTENCE];
	bool no_receipt = !strcmp(values->output, "-") && !values->receipt;
	if (values->quiet && !no_receipt && setup->receipt.guarantee.private_output) return;
	receipt_sentence(&setup->receipt.guarantee, setup->receipt.texts, setup->receipt.unit.key,
	                 sentence);
	fprintf(stderr, "%s\n", sentence);
	if (!values->quiet) setup_say_cap(values, setup, stderr);
	if (!values->quiet && setup->receipt.unit.weight > 1 && !setup->receipt.unit.limited &&
	    setup->receipt.guarantee.private_output)
		fprintf(stderr,
		        "Warning: one value of %s has so many records in these texts that they "
		        "cost it %" PRIu64 " times the rho of one record, "
		        "which is what -e or --clip were for. --one-per-unit or --records-per-unit "
		        "bound that.\n",
		        values->unit_key, setup->receipt.unit.weight);
	if (!values->quiet && !values->ledger && setup->receipt.guarantee.private_output)
		fprintf(stderr, "No ledger: nobody counts what several runs over the same "
		                "references spend together.\n");
}

static void say_done(const struct generate_values *values, const struct setup *setup,
                     const struct output *output) {
	const char *receipt = output_receipt_path(output);
	if (receipt && !values->quiet)
		fprintf(stderr, "%zu %s in %s, receipt in %s\n", setup->receipt.texts,
		        setup->receipt.guarantee.savings.token_bank ? "batches of texts" : "texts",
		        strcmp(values->output, "-") ? values->output : "standard output", receipt);
}

static enum cuttle_status generate_texts(const struct generate_values *values, struct setup *setup,
                                         struct cuttle_error *error) {
	struct generate_state run = {0};
	struct references references = {0};
	bool complete;
	struct output_request request = {.path = values->output,
	                                 .receipt_path = values->receipt,
	                                 .fingerprint = setup->fingerprint,
	                                 .format = setup->format,
	                                 .texts = setup->receipt.texts,
	                                 .categories = setup->receipt.categories,
	                                 .private_output = setup->receipt.guarantee.private_output,
	                                 .batches =
	                                     setup->receipt.guarantee.savings.token_bank ||
	                                     setup->receipt.guarantee.savings.free_tokens > 0,
	                                 .overwrite = values->overwrite,
	                                 .digest = references_digest,
	                                 .user = &references};
	// References before output: when they are too few, standard output must not have begun.
	enum cuttle_status status = spending_open(values, setup, &run.spending, error);
	if (!status) status = references_read(values, setup, &references, error);
	if (!status) status = output_open(&request, &run.output, &complete, error);
	const bool resumed = !status && !complete && output_texts_drawn(run.output) > 0;
	if (!status && !complete && values->trace)
		status = trace_open(values->trace, setup->fingerprint, resumed, &run.trace, error);
	if (!status && !complete)
		status = spending_reserve(&run.spending, setup, &references, resumed, error);
	if (!status) say_guarantee(values, setup);
	if (!status && complete) {
		fprintf(stderr, "%s is already complete\n", values->output);
	} else if (!status) {
		warnings_print(values, setup);
		run.references = &references;
		run.batch = setup->receipt.guarantee.batch;
		status = run_generate_job(values, setup, &run, error);
		if (!status) status = publish_output(setup, &run, error);
		if (!status) say_done(values, setup, run.output);
	}
	if (!status) spending_done(&run.spending);
	spending_close(&run.spending);
	trace_close(&run.trace);
	output_close(&run.output);
	references_free(&references);
	return status;
}

static int run_generate_verb(const struct verb *verb, int argc, char **argv) {
	struct generate_values values = setup_defaults();
	struct cuttle_error error;
	struct setup setup;
	int code;
	secrecy_begin();
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	code = refuse_incomplete_generate(verb, &values);
	if (code) return code;
	const char *problem = name_contradiction(&values);
	if (problem) return verb_refuse(verb, CUTTLE_USAGE, problem);
	code = check_generate_files(verb, &values);
	if (code) return code;
	code = setup_make(verb, &values, &setup);
	if (!code && values.dry_run) {
		setup_print(&values, &setup);
		code = setup_print_cost(verb, &values, &setup);
		(void)fflush(stdout);
		if (!code) warnings_print(&values, &setup);
		// Asked before a record is read, so that what reading leaves behind decides
		// nothing.
		struct cuttle_error shortage;
		const enum cuttle_status fits = cuttle_plan_fits(setup.plan, &shortage);
		const enum cuttle_status suffices =
		    !code && values.input ? references_suffice(&values, &setup, &error) : CUTTLE_OK;
		if (suffices) code = verb_fail(verb, suffices, &error);
		else if (!code && fits) code = verb_fail(verb, fits, &shortage);
	} else if (!code) {
		enum cuttle_status status = generate_texts(&values, &setup, &error);
		if (status) code = verb_fail(verb, status, &error);
	}
	setup_free(&setup);
	return code;
}

const struct verb generate_verb = {
    .name = "generate",
    .usage = "-m MODEL -i REFS -o OUT -e EPS [OPTION]...",
    .summary = "private texts from a file of sensitive documents",
    .example = "-m MODEL.gguf -i notes.jsonl -o out.jsonl -e 10 -B 7 -N 100 -n 200 --kind "
               "\"discharge note\"",
    .another = "-m MODEL.gguf -i notes.csv --unit-key patient --one-per-unit "
               "-e 3 -B 31 --dry-run",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .headings = HEADINGS,
    .run = run_generate_verb,
};
