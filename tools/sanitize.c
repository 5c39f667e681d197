// SPDX-License-Identifier: Apache-2.0
// cuttle sanitize: rewrites documents whose private parts are marked, under DP-Fusion. The work is
// done in workflow/sanitize; here options become its request, and what it tells becomes words. A
// tagger that runs here (tools/common/tagging.h) sees the private texts.
//
// The order matters, and is that of run_sanitize_verb:
//   1. options are checked, and become a request
//   2. the model is opened; prompt, caps and receipt are made
//   3. --dry-run: all that is printed, and the documents are checked
//   4. else the run reads, charges, draws and delivers
//
// The way of a document with marks:
//   tools/sanitize.c                    options to a request; what it is told becomes words
//   workflow/sanitize.c                 prompt, rewriter, receipt: nothing private is read yet
//     engine/run/plan/rewrite.c         epsilons to divergences, for each number of rows
//     engine/run/plan/rewrite_budget.c  the same numbers without a model (dp/fusion_account.h)
//   workflow/documents.c                all lines are read; each public context must fit
//     io/documents/spans.c              text and spans; a wrong span ends the run, without a word
//                                       of it
//     tools/common/tagging.c            more spans: tag/rules.c, tag/names.c, or another program
//                                       (io/documents/tagger.c)
//     io/documents/groups.c             which types belong together
//     io/documents/marks.c              spans to marks, and the groups; then the sweep
//                                       (io/text/terms.c, io/text/fold.c); the text with a group
//                                       shown, placeholders elsewhere
//   io/receipts/sanitize_receipt.c      costs by the number of marked groups; the greatest is
//                                       charged
//   workflow/delivery.c                 output, journal and charge, as for texts
//   engine/run/loop/rewrite_job.c       which groups documents have, and a mechanism for each
//                                       pattern of them
//     engine/run/plan/prompt.c          each version of a document, tokenised whole, within the
//                                       prompt
//     engine/run/loop/generate.c        the same loop
//       dp/fusion.c                     open: candidates, and the one row that is wanted, at random
//       engine/forward/lockstep.c       that row alone
//       dp/fusion.c                     row: its law, how much of it may be mixed in; draw: the
//                                       token
//   io/receipts/sanitize_members.c      the receipt in one table: receipt verify makes it anew
//                                       (io/receipts/evidence.c)
//   workflow/report/verification.c      which system's receipt it is, and what it is compared with
//   workflow/report/promise.c           what it promises, and what it does not, in words
#include "tools/common/verbs.h"

#include "io/disk/fail.h"
#include "io/disk/secrecy.h"
#include "io/records/units.h"
#include "tools/common/pace.h"
#include "tools/common/quote.h"
#include "tools/common/tagging.h"
#include "tools/common/watch.h"
#include "workflow/warnings.h"
#include "workflow/sanitize.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	GROUP_BUDGET = 1, /* --epsilon or --divergence */
	GROUP_OTHERS,     /* --hide-other or --leave */
	GROUP_SWEEP       /* --sweep or --no-sweep */
};

struct sanitize_values {
	struct model_values open;
	struct sanitize_request request;
	struct tagging_values tagging;
	struct option_list groups;
	struct option_list stops; /* words of --stop */
	struct option_list leave;
	const char *placeholder; /* NULL = not given */
	double delta;            /* NaN = not given */
	double temperature;      /* NaN = not given */
	uint64_t tokens;         /* T; COUNT_NONE = not given */
	uint64_t max_length;     /* U; COUNT_NONE = not given */
	uint64_t top_k;          /* k; COUNT_NONE = not given */
	uint64_t insecure_seed;  /* COUNT_NONE = the output is private */
	int form;                /* 0 continue, 1 instruct */
	int progress;            /* enum progress_mode */
	bool hide_other;         /* the default, said aloud */
	bool sweep;              /* the default, said aloud */
	bool no_sweep;
	bool paper;
	bool dry_run;
	bool json; /* dry_run: one JSON object, for programs */
	bool quiet;
	char tagged_by[TAGGING_WORDS];
	struct tagging finder; /* what runs while documents are read */
};

#define VALUE(member) OPTION(struct sanitize_values, member)

// clang-format off
static const struct option_entry OPTIONS[] = {
	MODEL_OPTION(struct sanitize_values),
	{.name = "input", .first = true, .letter = 'i', VALUE(request.common.input),
	 .argument = "FILE",
	 .help = "the documents, JSONL, one a line, a file or a pipe; - is standard input"},
	{.name = "text-field", .first = true, VALUE(request.spans.text_field), .argument = "NAME",
	 .help = "member with the text (default text)"},
	{.name = "id-field", VALUE(request.spans.id_field), .argument = "NAME",
	 .help = "member with the id, which is public and copied (default id)"},
	{.name = "spans-field", .first = true, VALUE(request.spans.spans_field), .argument = "NAME",
	 .help = "member with the spans (default spans); with a --tagger or --names a line may "
	         "lack it"},
	{.name = "spans-format", OPTION_ENUM(struct sanitize_values, request.spans.format),
	 .argument = "auto|presidio|tab",
	 .help = "of the spans. presidio: a list of start, end and entity_type (or label, "
	         "or type). tab: TAB's annotations. auto: by the members that are there"},
	{.name = "offsets", OPTION_ENUM(struct sanitize_values, request.spans.offsets),
	 .argument = "codepoints|bytes|utf16",
	 .help = "what start and end count (default codepoints, as in Python)"},
	{.name = "leave-identifier", VALUE(request.spans.leave_identifier), .argument = "NAME",
	 .help = "of TAB: spans of this identifier_type are public, as in NO_MASK"},
	TAGGING_OPTIONS(struct sanitize_values, tagging, "none"),
	{.name = "sweep", .group = GROUP_SWEEP, VALUE(sweep),
	 .help = "mark every other place, too, where the content of a mark stands as "
	         "words of its own, 3 characters or more (default). Letters may have any "
	         "case, and spaces, dashes and accents other forms"},
	{.name = "no-sweep", .group = GROUP_SWEEP, VALUE(no_sweep),
	 .help = "mark the spans alone"},
	{.name = "unit-key", VALUE(request.common.unit_key), .argument = "FIELD",
	 .help = "member that says whose a document is, for a ledger that counts by it. The "
	         "guarantee stays that of one document"},
	{.name = "epsilon", .first = true, .letter = 'e', .group = GROUP_BUDGET,
	 VALUE(request.params.epsilon),
	 .range = EPSILON_RANGE, .argument = "EPS",
	 .help = "privacy loss per document, of all marks or (--mix average, capped) of one group, "
	         "from which the cap follows"},
	{.name = "divergence", .group = GROUP_BUDGET, VALUE(request.params.divergence),
	 .range = "above 0, as in 0.01", .argument = "C",
	 .help = "cap of a token's Renyi divergence, instead of -e"},
	{.name = "alpha", VALUE(request.params.alpha), .argument = "A", .least = 2, .most = 16,
	 .help = "order of the divergence (default: with -e the one with the largest cap, else 2)"},
	{.name = "delta", .first = true, VALUE(delta), .range = DELTA_RANGE, .argument = "D",
	 .help = "what is added to the probability of any event, beside its factor e^epsilon "
	         "(default 1e-5; at most 1 / (100 documents))"},
	{.name = "mix", OPTION_ENUM(struct sanitize_values, request.params.mix),
	 .argument = "all|average|capped",
	 .help = "all (default): the model sees all marks at once. average: one group at "
	         "a time, each with a budget of its own. capped: the same undiluted, at "
	         "alpha 2"},
	{.name = "group", VALUE(groups), .argument = "[NAME=]TYPE[,TYPE..][:EPS]",
	 .help = "types whose marks belong together, and with --mix average their own epsilon; up "
	         "to 16 times (default: all types in one group)"},
	{.name = "hide-other", .group = GROUP_OTHERS, VALUE(hide_other),
	 .help = "marks of a type in no group are never shown to the model (default)"},
	{.name = "leave", .group = GROUP_OTHERS, VALUE(leave), .argument = "TYPE[,TYPE..]",
	 .help = "declare these types public: they are no marks; up to 16 times"},
	{.name = "ledger", .first = true, VALUE(request.common.ledger), .argument = "FILE",
	 .help = "count this run in the ledger before it draws. Its data set counts Renyi "
	         "losses at the same order (cuttle ledger init --measure rdp --order A)"},
	{.name = "approved", VALUE(request.common.approved), .argument = "COMMAND:LOSS",
	 .help = "run what was approved alone: exit 2, and no charge, unless --dry-run --json says "
	         "this command_sha256 and this loss of its charge"},
	{.name = "dataset", .first = true, VALUE(request.common.dataset), .argument = "NAME",
	 .help = "what the documents are called, in the receipt and in the ledger"},
	{.name = "max-tokens", .first = true, .letter = 'n', VALUE(tokens), .argument = "T",
	 .least = 1,
	 .most = 1 << 20,
	 .help = "hard cap of the tokens of a document that are paid for (default 200)"},
	{.name = "max-length", VALUE(max_length), .argument = "U", .least = 1, .most = 1 << 21,
	 .help = "most tokens of a document, free ones included (default: T, and those that are "
	         "free). Not with --grammar or --schema"},
	{.name = "temperature", VALUE(temperature), .range = TEMPERATURE_RANGE,
	 .argument = "TAU", .help = "sampling temperature (default 0.5)"},
	{.name = "top-k", .letter = 'k', VALUE(top_k), .argument = "K", .most = UINT32_MAX,
	 .help = "draw among the public context's top k alone (default 200, 0 = all)"},
	{.name = "schema", VALUE(request.schema), .argument = "FILE",
	 .help = "each text is an object of this public JSON Schema, as a string in its line. The "
	         "schema is made a grammar, as that of --grammar"},
	{.name = "grammar", VALUE(request.grammar), .argument = "FILE",
	 .help = "each text is one of this public grammar, in GBNF. What it leaves no choice "
	         "about is free of charge. After T tokens a text is brought to its end on the "
	         "shortest way, or with --complete by the public context. See below"},
	{.name = "stop", VALUE(stops), .argument = "auto|none|STRING",
	 .help = "end a text before this string, with \\n and \\t in it, up to 16 times "
	         "(default none). auto: \\n###, in plain text alone. It is free, as it "
	         "looks at drawn tokens alone"},
	{.name = "public-when", VALUE(request.params.savings.public_when),
	 .range = "from 0.000001 to 1, as in 0.95", .argument = "P",
	 .help = "where the public context alone gives its likeliest token a probability of at "
	         "least P, draw from it alone, free of charge"},
	{.name = "complete", VALUE(request.params.savings.complete),
	 .help = "after T tokens let the public context alone finish the text, free of charge"},
	{.name = "free-tokens", VALUE(request.params.savings.free_tokens), .argument = "COUNT",
	 .most = 1 << 20,
	 .help = "most tokens of a document that are free of charge (default T)"},
	{.name = "paper", VALUE(paper),
	 .help = "the settings of the paper (arXiv 2507.04531) where an option does not "
	         "say otherwise. They are alpha 2, -k 0, delta 1e-3, T = U = 900, "
	         "temperature 1, placeholder _, and its prompt"},
	{.name = "placeholder", VALUE(placeholder), .argument = "TEXT",
	 .help = "what stands for a blank mark; {type} in it is the mark's type (default "
	         "[{type}])"},
	{.name = "template", VALUE(form), .argument = "continue|instruct",
	 .help = "instruct (default): a request in the model's chat format; continue: plain text"},
	{.name = "chat-format", VALUE(request.params.chat_format), .argument = "NAME",
	 .help = "that format, instead of the one the model's template is known as: chatml, "
	         OTHER_CHAT_FORMATS},
	{.name = "system", VALUE(request.params.system), .argument = "TEXT",
	 .help = "system message; without it that of the model's own template, if any; '' is none"},
	{.name = "instruction", VALUE(request.instruction), .argument = "FILE",
	 .help = "what the model is asked, with {document} in it once"},
	{.name = "prefill", VALUE(request.params.prefill), .argument = "TEXT",
	 .help = "how each answer begins, before the text (default: not at all)"},
	{.name = "ctx-size", .letter = 'c', VALUE(request.params.context), .argument = "TOKENS",
	 .help = "longest prompt with document plus text (default: the model's context, at most "
	         "4096)"},
	{.name = "output", .first = true, .letter = 'o', VALUE(request.common.output),
	 .argument = "FILE",
	 .help = "the rewritten documents, JSONL. - is standard output, which cannot be "
	         "continued"},
	RECEIPT_OPTIONS(struct sanitize_values),
	{.name = "dry-run", .first = true, VALUE(dry_run),
	 .help = "print the guarantee per group and of all, the charge and the memory, "
	         "and draw nothing. With -i it checks all documents"},
	QUOTE_OPTION(struct sanitize_values),
	PROGRESS_OPTIONS(struct sanitize_values),
	MACHINE_OPTIONS(struct sanitize_values),
	KV_OPTION(struct sanitize_values),
	{.name = "parallel", VALUE(request.params.parallel), .argument = "DOCUMENTS", .most = 256,
	 .help = "documents in flight at once (default: as suits groups and memory); results do "
	         "not depend on it"},
	SEED_OPTION(struct sanitize_values),
};

static const struct option_heading HEADINGS[] = {
	{"model", "Input"},
	{"epsilon", "Privacy"},
	{"max-tokens", "Text"},
	{"placeholder", "Prompts"},
	{"output", "Output"},
	{"threads", "Machine"},
	{"insecure-seed", "Tests"},
	{NULL, NULL},
};

static const char ABOUT[] =
	"A document is "
	"{\"id\":..,\"text\":..,\"spans\":[{\"start\":0,\"end\":7,\"entity_type\":\"PERSON\"}]}; "
	"end is the first position behind the span. What it marks is private: its content, and "
	"how long it is. Public are the text outside marks, and what the tagger missed. Public "
	"are also how many marks there are, where, and of what type. --sweep adds marks, so "
	"that more places are public as places. Which ones follows from the contents, as does "
	"what a --tagger or --names mark. No cost covers that choice, and no ceiling of "
	"guessing is stated then. Groups, costs and charge are those of the spans before a "
	"sweep. Out comes {\"id\",\"text\",\"tokens\",\"ended\",\"groups\"}: ended is end or "
	"cap, groups how many groups have a mark.\n\n"

	"The model is asked to write the document again. One context has every mark blank; "
	"others show marks. Each token is drawn from a mixture that is at most the cap away "
	"from the blank context, both ways. Distance is the Renyi divergence of order alpha. T "
	"times that is the loss of a document, whatever becomes of it. With --mix all the "
	"guarantee is for all marks together. Other contents of one group instead of these, "
	"the others as they are, is the exchange. With average and capped the guarantee is for "
	"each group, and the receipt says what all together cost.\n\n"

	"--schema and --grammar say which texts there are, as in cuttle generate. They are "
	"public: nothing of them may come from what is marked. The document itself need not be "
	"of the form. A text that was brought to its end has ended closed.\n\n"

	"Some things end the command with exit code 4, the line and the rule, before anything "
	"is charged or drawn. They are a line that cannot be read, a wrong span, a tagger that "
	"fails, and a blank text that does not fit the context. A private context that does not "
	"fit is blank, and nobody is told.\n\n"

	"With --ledger all documents are charged before the first token. Each pays what the "
	"costliest of them costs: T times the loss of all its groups. Which groups are marked "
	"is public. Nothing is charged where no document has a mark.\n\n"

	"Each token is journalled in OUT.journal the moment it is drawn, and the same command "
	"continues after a kill. It continues on the input it was begun with, and on no other "
	"(exit 2), as cuttle generate does. See its help for journal, receipt and paths.\n";

/* The prompt of the paper, in our words. */
static const char PAPER_SYSTEM[] =
	"The document that you are given may hold placeholders. Paraphrase it naturally, print no "
	"underscores or other placeholders, and keep all of its information.",
	PAPER_INSTRUCTION[] =
	"Document:\n{document}\n\nParaphrase the document above naturally. It may hold "
	"placeholders: print no underscores or other placeholders. Keep all of its information.",
	PAPER_PREFILL[] =
	"Sure. Here is the paraphrased document without underscores or placeholders:";
// clang-format on

/* ---- options --------------------------------------------------------------------------------- */

/* A value that was not given becomes the paper's, or the usual one. */
static uint64_t settle_count(const struct sanitize_values *values, uint64_t given, uint64_t paper,
                             uint64_t usual) {
	return given != COUNT_NONE ? given : values->paper ? paper : usual;
}

static void settle_params(struct sanitize_values *values) {
	struct sanitize_request *request = &values->request;
	struct cuttle_rewrite_params *params = &request->params;
	if (values->paper) {
		if (!params->alpha) params->alpha = 2;
		if (!params->system && values->form == 1) params->system = PAPER_SYSTEM;
		if (!request->instruction) params->instruction = PAPER_INSTRUCTION;
		if (!params->prefill) params->prefill = PAPER_PREFILL;
	}
	params->tokens = (uint32_t)settle_count(values, values->tokens, 900, params->tokens);
	params->max_length =
	    (uint32_t)settle_count(values, values->max_length, params->tokens, params->max_length);
	params->top_k = (uint32_t)settle_count(values, values->top_k, 0, params->top_k);
	if (!isnan(values->delta)) params->delta = values->delta;
	else if (values->paper) params->delta = 1e-3;
	if (!isnan(values->temperature)) params->temperature = values->temperature;
	else if (values->paper) params->temperature = 1.0;
	params->form = values->form ? CUTTLE_INSTRUCT : CUTTLE_CONTINUE;
	params->insecure = values->insecure_seed != COUNT_NONE;
	if (params->insecure) params->insecure_seed = values->insecure_seed;
	params->any_memory = values->dry_run;
	// Where each group has its own epsilon, that of the others is nobody's.
	bool own = request->groups.count > 0;
	for (size_t i = 0; i < request->groups.count; i++)
		own &= request->groups.all[i].epsilon > 0;
	if (own && isnan(params->epsilon) && isnan(params->divergence))
		params->epsilon = request->groups.all[0].epsilon;
}

static enum cuttle_status tag_one(void *user, const struct spans_request *request, size_t number,
                                  struct span_types *types, struct spans *spans,
                                  struct cuttle_error *error) {
	return tagging_text(user, request, number, types, spans, error);
}

static enum cuttle_status end_tagging(void *user, enum cuttle_status status,
                                      struct cuttle_error *error) {
	return tagging_close(user, status, error);
}

/* Completes the request. USAGE: a group is none. */
static enum cuttle_status settle_sanitize(struct sanitize_values *values,
                                          struct cuttle_error *error) {
	struct sanitize_request *request = &values->request;
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; i < values->groups.count && !status; i++)
		status = groups_add(&request->groups, values->groups.texts[i], error);
	for (size_t i = 0; i < values->leave.count && !status; i++)
		status = groups_leave(&request->groups, values->leave.texts[i], error);
	settle_params(values);
	tagging_words(&values->tagging, values->tagged_by);
	request->tagged_by = values->tagged_by;
	request->names = values->tagging.names;
	verb_common(&values->open, &values->stops, &request->common);
	request->sweep = !values->no_sweep;
	if (values->placeholder) request->placeholder = values->placeholder;
	else if (values->paper) request->placeholder = "_";
	if (!tagging_takes_own(&values->tagging)) {
		request->spans.may_lack = true;
		request->tagger = (struct documents_tagger){&values->finder, tag_one, end_tagging};
	}
	return status;
}

static int refuse_incomplete_sanitize(const struct verb *verb,
                                      const struct sanitize_values *values) {
	const struct sanitize_request *request = &values->request;
	const struct verb_need needs[] = {
	    {!values->open.model, VERB_MODEL, VERB_MODEL_SAMPLE},
	    {!request->common.input && !values->dry_run, "-i DOCS", "-i docs.jsonl"},
	    {!request->common.output && !values->dry_run, "-o OUT", "-o out.jsonl"},
	    {isnan(request->params.epsilon) && isnan(request->params.divergence),
	     "-e EPS or --divergence C", "-e 8"}};
	return verb_lacks(verb, needs, sizeof needs / sizeof *needs);
}

/* ---- what a run tells, in words -------------------------------------------------------------- */

struct sanitize_watch {
	struct watch watch; /* first: it is what the events of watch.h are told */
	const struct verb *verb;
	const struct sanitize_values *values;
	const struct sanitize *sanitize;
};

static void warn_of_delta(const struct sanitize_receipt *receipt) {
	const double documents = (double)receipt->documents, delta = receipt->guarantee.delta;
	const double most = 0.01 / documents;
	if (delta <= most * (1 + 1e-9)) return;
	fprintf(stderr,
	        "Warning: delta %.3g is above 1 / (100 documents) = %.3g. So large a delta would "
	        "allow publishing a document now and then: give --delta %.0e or less.\n",
	        delta, most, pow(10, floor(log10(most))));
}

static void warn_of_tagger(const struct verb *verb, const struct sanitize_values *values) {
	fprintf(stderr, "cuttle %s: tagged by %s: what they miss is not protected\n", verb->name,
	        values->tagged_by);
}

static void on_sanitize_begin(void *user, bool complete) {
	struct sanitize_watch *run = user;
	const struct sanitize_values *values = run->values;
	const struct sanitize_receipt *receipt = &run->sanitize->receipt;
	const struct common_request *request = &values->request.common;
	const bool private_output = receipt->guarantee.private_output;
	char sentence[REWRITE_SENTENCE];
	sanitize_receipt_sentence(receipt, sentence);
	watch_sentence(request, values->quiet, private_output, sentence);
	if (!values->quiet) warn_of_tagger(run->verb, values);
	if (!values->quiet && private_output) watch_ledger(request, "documents");
	if (watch_complete(request->output, values->quiet, complete)) return;
	if (!values->quiet) warnings_model(stderr, &receipt->model);
	if (!values->quiet) warn_of_delta(receipt);
	watch_begin(&run->watch, values->quiet, values->progress, receipt->documents, "contexts");
}

static void on_sanitize_publish(void *user, const char *receipt) {
	const struct sanitize_watch *run = user;
	if (!run->values->quiet)
		watch_published(&run->values->request.common, run->sanitize->receipt.documents,
		                "documents", receipt);
}

static enum cuttle_status sanitize_documents(const struct verb *verb,
                                             const struct sanitize_values *values,
                                             struct sanitize *sanitize,
                                             struct cuttle_error *error) {
	struct sanitize_watch run = {.verb = verb, .values = values, .sanitize = sanitize};
	const struct run_events events = watch_events(&run, on_sanitize_begin, on_sanitize_publish);
	return sanitize_run(&values->request, sanitize, &events, error);
}

/* ---- --dry-run ------------------------------------------------------------------------------- */

static void print_cost_line(const char *name, const struct cuttle_rewrite_cost *cost) {
	char ceiling[UNITS_NUMBER] = "none", loss[UNITS_NUMBER] = "-", epsilon[UNITS_NUMBER] = "-",
	     exchange[UNITS_NUMBER];
	if (isfinite(cost->loss)) units_print(cost->loss, true, loss);
	if (isfinite(cost->epsilon)) units_print(cost->epsilon, true, epsilon);
	units_print(cost->epsilon_exchange, true, exchange);
	if (cost->ceiling < 1) units_print(cost->ceiling, true, ceiling);
	printf("  %-20s  %-12s  %-10s  %-10s  %-s\n", name, loss, epsilon, exchange, ceiling);
}

/* A table of costs for each number m of groups with a mark. */
static void print_costs(const struct sanitize_receipt *receipt, bool counted) {
	const struct groups *groups = receipt->groups;
	for (size_t m = 1; m <= groups_count(groups); m++) {
		if (!receipt->marked[m]) continue;
		printf("\n%zu of %zu groups marked", m, groups_count(groups));
		if (counted) printf(", as in %zu documents", receipt->marked[m]);
		printf(": loss per token, epsilon, epsilon of an exchange, ceiling of guessing one "
		       "of five\n");
		for (size_t i = 0; i < groups_count(groups); i++)
			print_cost_line(groups->count ? groups->all[i].name : "all",
			                &receipt->costs[m - 1].of[i]);
		print_cost_line("all groups together", &receipt->costs[m - 1].all);
	}
	if (counted && receipt->marked[0])
		printf("\n%zu documents have no mark: they are drawn from public text alone\n",
		       receipt->marked[0]);
}

static void print_sanitize_plan(const struct sanitize_values *values,
                                const struct sanitize *sanitize, bool counted) {
	static const char *const mixes[] = {"all", "average", "capped"};
	const struct sanitize_receipt *receipt = &sanitize->receipt;
	const struct cuttle_rewrite_guarantee *guarantee = &receipt->guarantee;
	char charge[UNITS_NUMBER], sentence[REWRITE_SENTENCE];
	printf("model         %s (%" PRIu64 " bytes)\nmodel sha256  %s\nkernels       %s\n",
	       values->open.model, receipt->model.file_bytes, receipt->model_sha256, cuttle_isa());
	if (counted) printf("documents     %zu\n", receipt->documents);
	printf("tagged by     %s\n", receipt->tagger);
	printf("mix           %s\nalpha         %" PRIu32 "\ndelta         %g\n",
	       mixes[guarantee->mix], guarantee->alpha, guarantee->delta);
	printf("tokens T      %" PRIu32 " paid, %" PRIu32 " in all\n", guarantee->tokens,
	       guarantee->max_length);
	watch_form(&sanitize->grammar);
	printf("temperature   %.10g\ntop-k         %" PRIu32 "\nplaceholder   %s\n",
	       guarantee->temperature, guarantee->top_k, receipt->placeholder);
	printf("context       %" PRIu32 " tokens: %" PRIu32
	       " shared by all prompts, at most %" PRIu32 " of a document\n",
	       guarantee->context, guarantee->shared_prefix, guarantee->document_tokens);
	units_print(sanitize_receipt_charge(receipt), true, charge);
	printf("charge        %s per document, a Renyi loss at order %" PRIu32 "\n", charge,
	       guarantee->alpha);
	if (counted && values->request.common.unit_key) {
		units_print(sanitize->charge, true, charge);
		printf("charge        %s for all documents of one %s\n", charge,
		       values->request.common.unit_key);
	}
	pace_print_memory(pace_process_bytes(&receipt->model, guarantee->job_bytes),
	                  ", and the documents", "-c, --parallel or the number of groups");
	printf("template      %s\ncommand       %s\n", receipt->template_sha256,
	       sanitize->fingerprint);
	print_costs(receipt, counted);
	sanitize_receipt_sentence(receipt, sentence);
	printf("\n%s\n", sentence);
}

static enum cuttle_status preview_documents(const struct verb *verb,
                                            const struct sanitize_values *values,
                                            struct sanitize *sanitize, struct cuttle_error *error) {
	const bool counted = values->request.common.input != NULL;
	// Asked before a document is read, so that what reading leaves behind decides nothing.
	struct cuttle_error shortage;
	const enum cuttle_status room = cuttle_rewriter_room(sanitize->rewriter, &shortage);
	enum cuttle_status status =
	    counted ? sanitize_count(&values->request, sanitize, error) : CUTTLE_OK;
	if (status) return status;
	// Without documents every number of marked groups is shown.
	for (size_t m = 1; !counted && m <= groups_count(&values->request.groups); m++)
		sanitize->receipt.marked[m] = 1;
	if (!counted) sanitize->charge = sanitize_receipt_charge(&sanitize->receipt);
	if (values->json) {
		const struct sanitize_receipt *receipt = &sanitize->receipt;
		const struct ledger_request price = {.measure = LEDGER_RDP,
		                                     .order = receipt->guarantee.alpha,
		                                     .rho = sanitize->charge};
		// The line of an error is on standard error by then.
		if (quote_print(verb, sanitize_receipt_json(receipt, sanitize->fingerprint, ""),
		                receipt->documents, &price))
			return io_fail(error, CUTTLE_INTERNAL, "the plan cannot be printed");
	} else print_sanitize_plan(values, sanitize, counted);
	(void)fflush(stdout);
	if (!values->quiet) warn_of_tagger(verb, values);
	if (!values->quiet && counted) warn_of_delta(&sanitize->receipt);
	if (room) *error = shortage;
	return room;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static enum cuttle_status run_sanitize(const struct verb *verb, struct sanitize_values *values,
                                       const struct setup_model *opened,
                                       struct cuttle_error *error) {
	struct sanitize *sanitize = calloc(1, sizeof *sanitize);
	if (!sanitize) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const bool reads = values->request.common.input && values->request.tagger.tag;
	enum cuttle_status status = sanitize_open(&values->request, opened, sanitize, error);
	if (!status && reads) status = tagging_open(&values->tagging, &values->finder, error);
	if (!status && values->dry_run) status = preview_documents(verb, values, sanitize, error);
	else if (!status) status = sanitize_documents(verb, values, sanitize, error);
	// The tagger has ended, unless the run failed before it read a document.
	(void)tagging_close(&values->finder, status ? status : CUTTLE_PARTIAL, NULL);
	sanitize_free(sanitize);
	free(sanitize);
	return status;
}

static int run_sanitize_verb(const struct verb *verb, int argc, char **argv) {
	struct sanitize_values values = {.tagging = TAGGING_DEFAULTS,
	                                 .delta = NAN,
	                                 .temperature = NAN,
	                                 .tokens = COUNT_NONE,
	                                 .max_length = COUNT_NONE,
	                                 .top_k = COUNT_NONE,
	                                 .insecure_seed = COUNT_NONE,
	                                 .form = 1};
	struct setup_model opened = {0};
	struct cuttle_error error;
	int code;
	secrecy_begin();
	sanitize_default(&values.request);
	values.tagging.tagger = "none";
	if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
	enum cuttle_status status = settle_sanitize(&values, &error);
	if (status) return verb_fail(verb, status, &error);
	code = refuse_incomplete_sanitize(verb, &values);
	if (!code && values.json && !values.dry_run)
		code = verb_refuse(verb, CUTTLE_USAGE, QUOTE_ALONE);
	if (code) return code;
	status = sanitize_check(&values.request, &error);
	if (!status) status = sanitize_paths(&values.request, &error);
	if (status) return verb_fail(verb, status, &error);
	code = verb_open_hashed(verb, &values.open, &opened);
	if (code) return code;
	status = run_sanitize(verb, &values, &opened, &error);
	cuttle_model_free(&opened.model);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

const struct verb sanitize_verb = {
    .name = "sanitize",
    .usage = "-m MODEL -i DOCS -o OUT -e EPS [OPTION]...",
    .summary = "documents written again, with the contents of their marks protected",
    .example = "-m MODEL.gguf -i tagged.jsonl -o out.jsonl -e 8",
    .another = "-m MODEL.gguf -i tagged.jsonl --mix average --group PERSON:4 "
               "--group LOCATION:8 --dry-run",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .headings = HEADINGS,
    .run = run_sanitize_verb,
};
