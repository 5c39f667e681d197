// SPDX-License-Identifier: Apache-2.0
// cuttle generate: private texts from a file of sensitive documents.
#include "tools/verbs.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/secrecy.h"
#include "io/trace.h"
#include "tools/progress.h"
#include "tools/spending.h"
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define VALUE(member) OPTION(struct generate_values, member)
enum { GROUP_BUDGET = 1, GROUP_TEXTS, GROUP_LIMIT };

// clang-format off
static const struct option_entry OPTIONS[] = {
	MODEL_OPTIONS(struct generate_values),
	{.name = "input", .letter = 'i', VALUE(input), .argument = "FILE",
	 .help = "references: one sensitive document per record, JSONL or CSV; - is standard input"},
	{.name = "output", .letter = 'o', VALUE(output), .argument = "FILE",
	 .help = "texts, JSONL or CSV by the ending; - is standard output, which cannot be continued"},
	{.name = "epsilon", .letter = 'e', .group = GROUP_BUDGET, VALUE(epsilon), .argument = "EPS",
	 .help = "privacy loss per record, from which the clip follows"},
	{.name = "clip", .group = GROUP_BUDGET, VALUE(clip), .argument = "C",
	 .help = "bound of each logit difference, instead of -e"},
	{.name = "accountant", VALUE(accountant), .argument = "zcdp|exact",
	 .help = "what -e and the guarantee mean: exact composition of the run's tokens (default), or zcdp, which allows 5 to 7 % less "
	         "clip and is what a ledger adds up (default with --ledger)"},
	{.name = "delta", VALUE(delta), .argument = "D",
	 .help = "probability that epsilon does not hold (default 1e-6)"},
	{.name = "batch-size", .letter = 'B', VALUE(batch), .argument = "B", .most = UINT32_MAX,
	 .help = "references per text (default 7)"},
	{.name = "num", .letter = 'N', .group = GROUP_TEXTS, VALUE(texts), .argument = "TEXTS", .most = SIZE_MAX / 2,
	 .help = "texts to write, with --token-bank batches; N x B references are needed (default 100)"},
	{.name = "max-tokens", .letter = 'n', VALUE(tokens), .argument = "T", .most = UINT32_MAX,
	 .help = "hard cap of tokens per text, with --token-bank per batch; this is what is paid for (default 200)"},
	{.name = "temperature", VALUE(temperature), .argument = "TAU",
	 .help = "sampling temperature (default 1.0)"},
	{.name = "top-k", .letter = 'k', VALUE(top_k), .argument = "K", .most = UINT32_MAX,
	 .help = "draw among the public model's top k and what one batch could lift there (default 100, 0 = all)"},
	{.name = "center", VALUE(center), .argument = "median|none",
	 .help = "median: clip each reference's logit differences around their median, not around 0 (default none)"},
	{.name = "token-bank", VALUE(token_bank),
	 .help = "when a text ends before T, write further texts from the same batch with what is left of T"},
	{.name = "public-when", VALUE(public_when), .argument = "P",
	 .help = "where the public prompt alone gives its likeliest token a probability of at least P, draw from it alone, free of charge"},
	{.name = "complete", VALUE(complete),
	 .help = "after T tokens let the public prompt alone finish the text, free of charge, instead of cutting it"},
	{.name = "free-tokens", VALUE(free_tokens), .argument = "U", .most = UINT32_MAX,
	 .help = "most tokens that are free of charge, per text or, with --token-bank, batch (default T)"},
	{.name = "ctx-size", .letter = 'c', VALUE(context), .argument = "TOKENS", .most = UINT32_MAX,
	 .help = "longest prompt plus text; longer references are cut (default: the model's context, at most 4096)"},
	{.name = "text-field", VALUE(text_field), .argument = "NAME",
	 .help = "field or column with the document (default text)"},
	{.name = "unit-key", VALUE(unit_key), .argument = "FIELD",
	 .help = "field or column that says whose a record is: the guarantee is then for everybody with one value of it; a record without one "
	         "is not read"},
	{.name = "one-per-unit", .group = GROUP_LIMIT, VALUE(one_per_unit),
	 .help = "read one record of each unit, its first one: -e is then what a whole person costs"},
	{.name = "records-per-unit", .group = GROUP_LIMIT, VALUE(records_per_unit), .argument = "G", .most = UINT32_MAX,
	 .help = "read at most G records of each unit, one per text, the first ones: -e is then what all of them cost together"},
	{.name = "category-field", VALUE(category_fields), .argument = "FIELD",
	 .help = "field or column with the records' category, which counts as public; up to four times, for categories of several fields"},
	{.name = "categories", VALUE(categories), .argument = "LIST|FILE",
	 .help = "the categories to write: A,B,C, or a FILE that ends in .csv or .jsonl with each category field and, if wanted, its share"},
	{.name = "num-per-category", .group = GROUP_TEXTS, VALUE(texts_per_category), .argument = "TEXTS", .most = SIZE_MAX / 2,
	 .help = "texts for each share of 1, instead of -N, which is spread over the categories by their shares"},
	{.name = "input-format", VALUE(input_format), .argument = "auto|jsonl|csv",
	 .help = "auto: by the ending .csv"},
	{.name = "output-format", VALUE(output_format), .argument = "auto|jsonl|csv",
	 .help = "auto: by the ending .csv"},
	{.name = "template", VALUE(form), .argument = "continue|instruct",
	 .help = "continue (default): plain text, the reference as one more example of its kind; "
	         "instruct: a request in the model's chat format"},
	{.name = "chat-format", VALUE(chat_format), .argument = "NAME",
	 .help = "that format, instead of the one the model's template is known as: chatml (Qwen2 too), zephyr, llama-3, llama-2, mistral, "
	         "mistral-v7, qwen3"},
	{.name = "kind", VALUE(kind), .argument = "NOUN",
	 .help = "what a document is, e.g. \"clinical note\" (default text)"},
	{.name = "system", VALUE(system), .argument = "TEXT",
	 .help = "system message of --template instruct"},
	{.name = "public-examples", VALUE(public_examples), .argument = "FILE",
	 .help = "texts that are public, put before everything in every prompt; with small models they matter most"},
	{.name = "examples-field", VALUE(examples_field), .argument = "NAME",
	 .help = "field of the public examples (default: that of the references)"},
	{.name = "prompt-public", VALUE(prompt_public), .argument = "FILE",
	 .help = "own public prompt, used byte for byte; with --prompt-private"},
	{.name = "prompt-private", VALUE(prompt_private), .argument = "FILE",
	 .help = "own private prompt, with {reference} in it once"},
	{.name = "receipt", VALUE(receipt), .argument = "FILE",
	 .help = "where the receipt goes (default: out.jsonl -> out.receipt.json)"},
	{.name = "ledger", VALUE(ledger), .argument = "FILE",
	 .help = "count this run in the ledger before it draws; exit 3 when it would go over the limit (see cuttle help ledger)"},
	{.name = "dataset", VALUE(dataset), .argument = "NAME",
	 .help = "the data set in the ledger that the references are"},
	{.name = "sign", VALUE(sign), .argument = "FILE",
	 .help = "sign the receipt with this secret key (made by cuttle ledger key)"},
	{.name = "overwrite", VALUE(overwrite),
	 .help = "replace the output, receipt and journal of another command"},
	{.name = "dry-run", VALUE(dry_run),
	 .help = "print the effective configuration, clip and guarantee, and stop before reading any reference"},
	{.name = "progress", VALUE(progress), .argument = "auto|json|off",
	 .help = "on standard error (default auto)"},
	{.name = "quiet", .letter = 'q', VALUE(quiet),
	 .help = "no progress and no sentences, errors only"},
	{.name = "insecure-seed", VALUE(insecure_seed), .argument = "SEED",
	 .help = "draw from this seed, for tests: the output is NOT PRIVATE and says so"},
	{.name = "trace", VALUE(trace), .argument = "FILE",
	 .help = "write what each step looked like inside: PRIVATE numbers that no guarantee covers, for research; see below"},
	{.name = "parallel", VALUE(parallel), .argument = "TEXTS", .most = UINT32_MAX,
	 .help = "texts in flight at once (default: as suits B and memory); results do not depend on it"},
	{.name = "prompt-chunk", VALUE(prompt_chunk), .argument = "ROWS", .most = UINT32_MAX,
	 .help = "rows per prompt pass; results do not depend on it"},
	{.name = "no-sharing", VALUE(no_sharing),
	 .help = "compute the shared prefix per context; results do not depend on it"},
};

static const char ABOUT[] =
	"Text number b is written from references b*B to b*B+B-1, so N x B records are needed; what follows them is not read. "
	"The guarantee is per record of the input, where one record is replaced by nothing: if a person has several records, "
	"put them into one, or name the field that says whose they are.\n\n"

	"--unit-key FIELD alone reads all records and declares FIELD public: who has how many, and where, since what the most frequent value "
	"costs is told, in the receipt too. -e is then still for one record; g records of one value in one text cost g^2 of its rho, in g "
	"texts g. --one-per-unit and --records-per-unit G bound that beforehand: the other records of the value become null in their "
	"places, -e is for the whole value, and FIELD stays as private as the texts, but for a ledger's charge. Records in the order of persons "
	"lose most: shuffle them first, by public lot.\n\n"

	"--category-field FIELD writes texts of the declared categories, each from records of that category alone, in their order, with "
	"\"FIELD: value\" in all prompts and in the output; examples that have FIELD show it too, and own prompts hold {category}. It declares "
	"public which category each record has, so how many there are of each; a line that cannot be read has none. The guarantee says that "
	"nobody learns what a record of a category says, not that there was one. If that is too much, leave the option out. Records of other "
	"categories are not read.\n\n"

	"A record without the field, with something else than a text in it, with bytes that are not UTF-8, of more than 16 MiB, or blank, "
	"counts as null: "
	"it keeps its place, adds nothing, and is not reported. That is by design: a warning would tell about a record. "
	"A reference that is too long is cut.\n\n"

	"--center, --token-bank, --public-when and --complete leave the guarantee as it is (see dp/PRIVACY.md) and change what it buys; all are "
	"off by default. With any of the last three each text comes with its batch and the number of its tokens that were free. N x B "
	"references and T tokens per batch are charged whatever becomes of them.\n\n"

	"Each token is journalled in OUT.journal the moment it is drawn. After a kill, a power cut or a full disk the same command "
	"continues, and a text that was interrupted half-way is continued from its journal and never drawn again: its tokens have "
	"been drawn from the private references already, so a second try would spend the privacy budget a second time, and choosing "
	"between two tries would void the guarantee. When all texts are there, OUT and its receipt are put in place and the journal "
	"is removed; the same command then says that it is complete. The content of the input is not compared: a command continued "
	"on a changed input continues on the changed one.\n\n"

	"With --ledger the run is charged for all its tokens before it draws, and not again when it is continued: its name in the ledger "
	"stands in OUT.run until the output is there. A run from --insecure-seed is never charged.\n\n"

	"--trace makes a new file, mode 0600, with a JSON line for each token drawn: candidates |V+|, private rows, effective k (e^entropy of "
	"what was drawn from), share of logit differences at the clip, and the token's probability and rank, public and as drawn. It is "
	"computed from the references without protection: whoever sees it has no guarantee, and the guarantee of the texts is only as good "
	"as the file stays where the references are. The receipt says that there is one.\n\n"

	"Standard output has no journal: a run interrupted there has spent what it spent, and the next one is charged anew.\n";
// clang-format on

/* Set by the first SIGINT or SIGTERM. A signal handler has no other place to leave a word. */
static volatile sig_atomic_t stop_asked;

static void on_signal(int number) {
	(void)number;
	stop_asked = 1;
	// The second one stops at once.
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
}

struct run {
	const struct references *references;
	size_t first, batch; /* the job's first text (with a token bank, batch): the engine counts from 0 under each category */
	size_t texts;        /* handed out so far */
	struct output *output;
	struct progress progress;
	struct spending spending;
	struct trace *trace;
	enum cuttle_status refused; /* by the ledger, at the first token */
	struct cuttle_error refusal;
};

static void on_reference(void *user, size_t index, const char **text, size_t *size) {
	const struct run *run = user;
	*text = references_text(run->references, run->first * run->batch + index, size);
}

static int on_trace(void *user, const struct cuttle_trace_step *step) {
	const struct run *run = user;
	struct cuttle_trace_step seen = *step;
	seen.text += run->first;
	return trace_step(run->trace, &seen);
}

static size_t on_drawn(void *user, size_t text, const int32_t **tokens) {
	const struct run *run = user;
	return output_drawn(run->output, run->first + text, tokens);
}

static int on_token(void *user, size_t text, uint32_t step, int32_t token) {
	struct run *run = user;
	const int32_t *tokens;
	text += run->first;
	bool fresh = step >= output_drawn(run->output, text, &tokens);
	if (fresh) run->refused = spending_draw(&run->spending, &run->refusal);
	if (run->refused || output_token(run->output, text, step, token) != 0) return 1;
	if (fresh) progress_token(&run->progress);
	return 0; // on_progress stops, when all that was drawn side by side is recorded and traced
}

static int on_text(void *user, const struct cuttle_text *text) {
	struct run *run = user;
	struct cuttle_text counted = *text;
	counted.index = run->texts++;
	counted.batch += run->first;
	if (output_text(run->output, &counted) != 0) return 1;
	if (counted.batch == run->progress.texts_done) progress_text(&run->progress);
	return 0;
}

static int on_progress(void *user, const struct cuttle_progress *progress) {
	(void)user;
	(void)progress;
	return stop_asked != 0;
}

/* What is wrong with the files named, or NULL. */
static const char *wrong_files(const struct generate_values *values) {
	const char *const inputs[] = {values->input,           values->prompt_public, values->prompt_private,
	                              values->public_examples, values->ledger,        values->sign};
	size_t streams = 0;
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
		if (!inputs[i]) continue;
		streams += !strcmp(inputs[i], "-");
		if (file_same(inputs[i], values->output) || (values->receipt && file_same(inputs[i], values->receipt)))
			return "an input is also an output";
	}
	if (streams > 1) return "only one input can be standard input";
	if (values->trace && (!strcmp(values->trace, "-") || !strcmp(values->trace, values->output) ||
	                      (values->receipt && !strcmp(values->trace, values->receipt))))
		return "--trace: must be a file of its own, never an output";
	if (!values->receipt) return NULL;
	if (!strcmp(values->receipt, values->output)) return "--receipt and --output are the same file";
	return strcmp(values->receipt, "-") ? NULL : "--receipt: must be a file";
}

static const char *contradiction(const struct generate_values *values) {
	if (isnan(values->epsilon) && isnan(values->clip)) return "give the privacy loss with -e EPS, or --clip C";
	if (!values->prompt_public != !values->prompt_private) return "--prompt-public and --prompt-private go together";
	if (values->prompt_public && values->form != CHOICE_NONE) return "--template and own prompts exclude each other";
	if (values->chat_format && values->form != 1) return "--chat-format needs --template instruct";
	if (!values->ledger != !values->dataset) return "--ledger and --dataset go together";
	const char *problem = references_contradiction(values);
	if (problem) return problem;
	if (values->sign && !values->receipt && values->output && !strcmp(values->output, "-"))
		return "--sign: there is no receipt to sign; give --receipt FILE";
	if (!values->texts) return "--num: must be a whole number above 0";
	if (values->dry_run) return NULL;
	if (!values->input) return "no references: give -i FILE";
	if (!values->output) return "no output: give -o FILE";
	return wrong_files(values);
}

/* Receipt and output in place. */
static enum cuttle_status publish(const struct setup *setup, struct output *output, struct cuttle_error *error) {
	char sha256[HASH_TEXT];
	size_t size;
	enum cuttle_status status = output_seal(output, sha256, error);
	if (status) return status;
	char *receipt = receipt_dump(&setup->receipt, setup->fingerprint, sha256, &size);
	if (!receipt) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	status = output_publish(output, receipt, size, error);
	free(receipt);
	return status;
}

/* One job per category, one after the other: each has prompts of its own. */
static enum cuttle_status run_categories(const struct setup *setup, struct run *run, struct cuttle_job *job, struct cuttle_error *error) {
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

static enum cuttle_status run_job(const struct generate_values *values, const struct setup *setup, struct run *run,
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
	progress_begin(&run->progress, values->quiet ? PROGRESS_OFF : (enum progress_mode)values->progress, setup->receipt.texts,
	               output_texts_drawn(run->output));
	enum cuttle_status status = run_categories(setup, run, &job, error);
	progress_end(&run->progress);
	if (status == CUTTLE_PARTIAL && run->refused) {
		*error = run->refusal;
		return run->refused;
	}
	if (status == CUTTLE_PARTIAL && output_problem(run->output, error)) return output_problem(run->output, NULL);
	if (status == CUTTLE_PARTIAL && trace_problem(run->trace, error)) return status;
	if (status == CUTTLE_PARTIAL && stream)
		return io_fail(error, status, "stopped; what was written stands, but standard output cannot be continued");
	if (status == CUTTLE_PARTIAL) return io_fail(error, status, "stopped; the same command continues from here");
	return status;
}

/* What a run without a receipt, or without a guarantee, must say even when quiet. */
static void say_guarantee(const struct generate_values *values, const struct setup *setup) {
	char sentence[RECEIPT_SENTENCE];
	bool no_receipt = !strcmp(values->output, "-") && !values->receipt;
	if (values->quiet && !no_receipt && setup->receipt.guarantee.private_output) return;
	receipt_sentence(&setup->receipt.guarantee, setup->receipt.texts, setup->receipt.unit.key, sentence);
	fprintf(stderr, "%s\n", sentence);
	if (!values->quiet && setup->receipt.unit.weight > 1 && !setup->receipt.unit.limited && setup->receipt.guarantee.private_output)
		fprintf(stderr,
		        "Warning: one value of %s has so many records in these texts that they cost it %" PRIu64
		        " times the rho of one record, "
		        "which is what -e or --clip were for. --one-per-unit or --records-per-unit bound that.\n",
		        values->unit_key, setup->receipt.unit.weight);
	if (!values->quiet && !values->ledger && setup->receipt.guarantee.private_output)
		fprintf(stderr, "No ledger: nobody counts what several runs over the same references spend together.\n");
}

static void say_done(const struct generate_values *values, const struct setup *setup, const struct output *output) {
	const char *receipt = output_receipt_path(output);
	if (receipt && !values->quiet)
		fprintf(stderr, "%zu %s in %s, receipt in %s\n", setup->receipt.texts,
		        setup->receipt.guarantee.savings.token_bank ? "batches of texts" : "texts",
		        strcmp(values->output, "-") ? values->output : "standard output", receipt);
}

static enum cuttle_status generate(const struct generate_values *values, struct setup *setup, struct cuttle_error *error) {
	struct run run = {0};
	struct references references = {0};
	bool complete;
	struct output_request request = {.path = values->output,
	                                 .receipt_path = values->receipt,
	                                 .fingerprint = setup->fingerprint,
	                                 .format = setup->format,
	                                 .texts = setup->receipt.texts,
	                                 .categories = setup->receipt.categories,
	                                 .private_output = setup->receipt.guarantee.private_output,
	                                 .batches = setup->receipt.guarantee.savings.token_bank ||
	                                            setup->receipt.guarantee.savings.free_tokens > 0,
	                                 .overwrite = values->overwrite};
	// The references come first: a stream must not have begun when they turn out to be too few.
	enum cuttle_status status = spending_open(values, setup, &run.spending, error);
	if (!status) status = references_read(values, setup, &references, error);
	if (!status) status = output_open(&request, &run.output, &complete, error);
	const bool resumed = !status && !complete && output_texts_drawn(run.output) > 0;
	if (!status && !complete && values->trace) status = trace_open(values->trace, setup->fingerprint, resumed, &run.trace, error);
	if (!status && !complete) status = spending_reserve(&run.spending, setup, &references, resumed, error);
	if (!status) say_guarantee(values, setup);
	if (!status && complete) {
		fprintf(stderr, "%s is already complete\n", values->output);
	} else if (!status) {
		run.references = &references;
		run.batch = setup->receipt.guarantee.batch;
		status = run_job(values, setup, &run, error);
		if (!status) status = publish(setup, run.output, error);
		if (!status) say_done(values, setup, run.output);
	}
	if (!status) spending_done(&run.spending);
	spending_close(&run.spending);
	trace_close(&run.trace);
	output_close(&run.output);
	references_free(&references);
	return status;
}

static int run(const struct verb *verb, int argc, char **argv) {
	struct generate_values values = setup_defaults();
	struct cuttle_error error;
	struct setup setup;
	int operand, code;
	secrecy_begin();
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	if (operand != argc) return verb_refuse(verb, CUTTLE_USAGE, "what has no option before it has no meaning here; see --help");
	const char *problem = contradiction(&values);
	if (problem) return verb_refuse(verb, CUTTLE_USAGE, problem);
	code = setup_make(verb, &values, &setup);
	if (!code && values.dry_run) {
		setup_print(&values, &setup);
	} else if (!code) {
		enum cuttle_status status = generate(&values, &setup, &error);
		if (status) code = verb_fail(verb, status, &error);
	}
	setup_free(&setup);
	return code;
}

const struct verb generate_verb = {
    .name = "generate",
    .usage = "-m MODEL -i REFS -o OUT -e EPS [OPTION]...",
    .summary = "private texts from a file of sensitive documents",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .run = run,
};
