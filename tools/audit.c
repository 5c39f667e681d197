// SPDX-License-Identifier: Apache-2.0
// cuttle audit: tests what a run promises, by exact checks and by attacks. The work is done in
// workflow/audit/audit; here options become its request, and its report is written. References may
// be private: then so is the report, which is stamped and for its owner alone.
//
// The way of an audit:
//   tools/audit.c                  options to a request; the stamp PRIVATE; exit code 7 where a
//                                  claim is wrong
//   workflow/audit/audit.c         the promise, from a receipt or options; the control; the verdict
//     workflow/audit/rewritten.c   of a receipt of sanitize: its rewriter, and one that protects
//                                  nothing
//     workflow/audit/canaries.c    references that are invented, and lots
//     workflow/audit/games.c       a game is a text: one job plays all that are not played yet
//       engine/run/loop/audit.c    the job, with the plan's mechanism exchanged for this call
//       engine/run/loop/worlds.c   a step in two worlds: which odds its token has in each
//         dp/mechanism.h           law: the weights that the mechanism itself would draw by
//         dp/threshold_law.c       how likely the answers of method amin are, given earlier ones
//       engine/run/loop/audit.c    an attacker scores a text behind the prompt of each guess
//       io/output/trials.c         what a game gave is kept, so that a stopped audit continues
//     workflow/audit/judging.c     games to numbers and bounds (measure/attacks.h,
//                                  measure/bounds.h)
//     workflow/audit/recitation.c  texts against references, used ones and others
//     workflow/audit/holdout.c     the same by words, without a model (measure/disclosure.h)
//     workflow/audit/inversion.c   perturbed words against the nearest ones
//   tools/report/audit_report.c    Markdown or JSON, stamped; io/disk/file.c puts it in place
#include "tools/common/values.h"

#include "convert/rewrite.h"
#include "io/disk/secrecy.h"
#include "tools/report/audit_report.h"
#include "tools/common/watch.h"
#include "workflow/audit/halves.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct audit_values {
	struct generate_values run; /* first: PROMPT_OPTIONS takes offsets in it */
	struct audit_request request;
	int score; /* enum game_score, or SCORE_NEAREST */
	bool references_public;
	bool references_private;
	bool json;
	bool overwrite;
};

enum { SCORE_NEAREST = GAME_LOSS + 1 };

/* By enum audit_action. */
static const char *const NAMES[] = {"invariant", "canary",  "one-run", "recover", "exposure",
                                    "overlap",   "holdout", "lot",     "invert"};
_Static_assert(sizeof NAMES / sizeof *NAMES == AUDIT_ACTIONS, "a name for each action");

#define AUDITED(member) OPTION(struct audit_values, member)
// clang-format off
static const struct option_entry OPTIONS[] = {
	MODEL_OPTION(struct generate_values),
	{.name = "input", .first = true, .letter = 'i', VALUE(request.common.input),
	 .argument = "FILE",
	 .help = "references. invariant compares them. Of games they stand around the "
	         "canary, without which the other places are null. Of overlap, holdout "
	         "and lot they are those of the run"},
	{.name = "text-field", .first = true, VALUE(request.text_field), .argument = "NAME",
	 .help = "field or column with the document (default text)"},
	{.name = "public", .first = true, AUDITED(references_public), .group = 'p',
	 .help = "all references are public: the report may be published"},
	{.name = "private", .first = true, AUDITED(references_private), .group = 'p',
	 .help = "they are private, and so is every number: the report is stamped, its file has "
	         "mode 0600"},
	{.name = "receipt", .first = true, AUDITED(request.receipt), .argument = "FILE",
	 .help = "the run that is audited: B, T, clip and the like are taken from it. The "
	         "prompts must be given as they were. recover takes one of cuttle "
	         "sanitize, too"},
	{.name = "bias", VALUE(request.bias), .argument = "FILE",
	 .help = "of a run with a bias: the one it had. It is public here: the odds are compared "
	         "with the run's own claim. The control has none"},
	{.name = "grammar", VALUE(request.grammar), .argument = "FILE",
	 .help = "of a run with a grammar: the one it had"},
	{.name = "schema", VALUE(request.schema), .argument = "FILE",
	 .help = "of a run with a schema: the one it had"},
	{.name = "texts", .first = true, AUDITED(request.texts), .argument = "OUT",
	 .help = "what a run wrote, JSONL, CSV or TSV; invariant goes through these texts again, "
	         "and draws its own without them"},
	{.name = "output-field", AUDITED(request.output_field), .argument = "NAME",
	 .help = "field or column with its text (default text)"},
	{.name = "held-out", AUDITED(request.held_out), .argument = "FILE",
	 .help = "overlap, holdout: references of the same kind that the run did not read, kept "
	         "aside by lot"},
	{.name = "split", AUDITED(request.split), .argument = "NAME",
	 .help = "holdout, before the run: splits the records of -i by lot into NAME.used.jsonl, "
	         "which the run may read, and NAME.aside.jsonl (or .csv, .tsv, as -i is). "
	         "NAME.split.json says so later. None of the three is ever overwritten"},
	{.name = "unit-key", AUDITED(request.unit_key), .argument = "FIELD",
	 .help = "holdout: field or column that says whose a record is. --split keeps all "
	         "records of an owner in one half, and the audit counts them as one"},
	{.name = "draw", AUDITED(request.draw), .argument = "FILE",
	 .help = "lot, before the run: writes the records of -i that are in by lot, for "
	         "generate. Those that are out become empty lines, which are null"},
	{.name = "members", AUDITED(request.members), .argument = "FILE",
	 .help = "lot, after the run: what --draw wrote"},
	{.name = "words", AUDITED(request.words), .argument = "WORDS",
	 .help = "invert: the words file of cuttle perturb; --texts is what it wrote of -i"},
	{.name = "epsilon", .first = true, .letter = 'e', .group = 'b', VALUE(request.plan.epsilon),
	 .range = EPSILON_RANGE, .argument = "EPS",
	 .help = "without --receipt: the promise, as generate has it"},
	{.name = "clip", .group = 'b', VALUE(request.plan.clip), .range = CLIP_RANGE,
	 .argument = "C",
	 .help = "bound of each logit difference, instead of -e"},
	{.name = "method", VALUE(method),
	 .argument = "invisibleink|amin|pmixed|adapmixed|dp-decoding|dp-prompt|none",
	 .help = "without --receipt: as generate has it (default invisibleink)"},
	{.name = "not-private", VALUE(request.plan.method_params.not_private),
	 .help = "needed for --method none and adapmixed, which promise nothing"},
	{.name = "delta", VALUE(request.plan.delta), .range = DELTA_RANGE, .argument = "D",
	 .help = "as generate has it (default 1e-6)"},
	{.name = "claim", AUDITED(request.claim), .range = EPSILON_RANGE, .argument = "EPS",
	 .help = "the epsilon that is refuted or not, in place of the run's own"},
	{.name = "batch-size", .first = true, .letter = 'B', VALUE(request.plan.batch),
	 .argument = "B",
	 .least = 1,
	 .most = 4096,
	 .help = "references per text, the canary among them (default 7)"},
	{.name = "shots", VALUE(request.plan.shots), .argument = "R",
	 .least = 1, .most = CUTTLE_MOST_SHOTS,
	 .help = "without --receipt: references in each row, as generate has it. The canary is "
	         "the last one of its row; -i has the others"},
	{.name = "max-tokens", .letter = 'n', VALUE(request.plan.tokens), .argument = "T",
	 .least = 1,
	 .most = 1 << 20,
	 .help = "hard cap of tokens per text (default 200)"},
	{.name = "temperature", VALUE(request.plan.temperature), .range = TEMPERATURE_RANGE,
	 .argument = "TAU",
	 .help = "sampling temperature (default 1.0)"},
	{.name = "top-k", .letter = 'k', VALUE(request.plan.top_k), .argument = "K",
	 .help = "as generate has it (default 100, 0 = all)"},
	{.name = "center", VALUE(center), .argument = "median|none",
	 .help = "as generate has it"},
	{.name = "gain", VALUE(request.plan.gain), .range = "from 1 to 3, as in 1.5",
	 .argument = "auto|G",
	 .help = "as generate has it"},
	{.name = "games", .first = true, .letter = 'N', AUDITED(request.games), .argument = "GAMES",
	 .least = 1, .most = 1000000,
	 .help = "texts to draw, of canary in each world (default 10 of invariant, 200 canary, "
	         "1000 one-run, 150 recover, 200 exposure)"},
	{.name = "secrets", AUDITED(request.secrets), .argument = "R", .least = 2, .most = 10000,
	 .help = "recover, exposure: how many secrets there are to choose from (default 100 and "
	         "1000). Each text is scored with each of them"},
	{.name = "guesses", AUDITED(request.guesses), .argument = "R", .least = 1,
	 .most = 1000000,
	 .help = "one-run, lot, holdout: how many records are guessed, the surest ones (default: a "
	         "fifth)"},
	{.name = "canary", AUDITED(request.canary), .argument = "TEXT",
	 .help = "this one, instead of invented ones"},
	{.name = "score", AUDITED(score), .argument = "odds|loss|nearest",
	 .help = "canary, one-run: odds (default) are the mechanism's own, the best there are. "
	         "loss is what the model alone says of the text. lot: nearest guesses by the "
	         "text that means most nearly the same, and not by tokens in common"},
	{.name = "no-control", AUDITED(request.no_control),
	 .help = "leave the control out: half the time, and the audit is void"},
	PROMPT_OPTIONS,
	{.name = "instruction", AUDITED(request.rewritten.instruction), .argument = "FILE",
	 .help = "of a run of cuttle sanitize: as it had it"},
	{.name = "prefill", AUDITED(request.rewritten.prefill), .argument = "TEXT",
	 .help = "likewise"},
	{.name = "ctx-size", .letter = 'c', VALUE(request.plan.context), .argument = "TOKENS",
	 .help = "longest prompt plus text (default: the model's context, at most 4096)"},
	{.name = "output", .first = true, .letter = 'o', AUDITED(request.output),
	 .argument = "FILE",
	 .help = "the report (default -, standard output); it appears when all is written. "
	         "FILE" TRIALS_FILE " and FILE" AUDIT_CONTROL " keep the games until then, so "
	         "that a stopped audit continues"},
	{.name = "json", AUDITED(json),
	 .help = "JSON instead of Markdown, as also where FILE ends in .json"},
	{.name = "overwrite", AUDITED(overwrite),
	 .help = "replace a report that is there, but never an input"},
	PROGRESS_OPTIONS(struct generate_values),
	MACHINE_OPTIONS(struct generate_values),
	KV_OPTION(struct generate_values),
	{.name = "parallel", VALUE(request.plan.parallel), .argument = "TEXTS", .most = 256,
	 .help = "texts in flight at once (default: as suits); results do not depend on it"},
	SEED_OPTION(struct generate_values),
};

static const struct option_heading HEADINGS[] = {
	{"model", "Input"},
	{"epsilon", "Promise"},
	{"games", "Games"},
	{"kind", "Prompts"},
	{"output", "Output"},
	{"threads", "Machine"},
	{"insecure-seed", "Tests"},
	{NULL, NULL},
};

static const char ABOUT[] =
	"invariant goes through texts with all references, and again with each of them null. "
	"For every token and reference the range of ln(P/P') over all candidates must be "
	"within eta. It sees any error of the mechanism in these texts; the others see what "
	"leaks.\n"
	"canary draws texts with a canary in the batch and without it, and tells both apart by "
	"the odds of their tokens. Its threshold comes from games that do not count.\n"
	"one-run puts a canary into each batch, or not, by lot, and guesses the surest "
	"fifth.\n"
	"recover hides one of R secrets in the canary, and guesses it. LOSS takes the "
	"likeliest text, and MIN-K the least unlikely tokens. With a receipt of cuttle "
	"sanitize the canary is a document that is rewritten, and its secret is marked. The "
	"control then mixes in all of the private row.\n"
	"exposure hides one of R secrets, and asks how early it comes among all guesses: 1.44 "
	"bits where nothing leaks.\n"
	"overlap tells the longest run of tokens, and the share of 8-grams, that texts have in "
	"common with used references. It takes off the same with held-out ones; p is by "
	"permutations.\n"
	"holdout counts the records of which a text has a word, or words in a row, that no "
	"other record has. Those of held-out records are chance. p is exact where records "
	"were kept aside by lot. --split NAME draws that lot before the run: a file's first half "
	"is no lot, as a file may be sorted. It needs no model. In pairs of a used and a "
	"held-out record it guesses which was used, and that bounds epsilon.\n"
	"lot decides before the run which records are in, by lot (--draw). After it, --members "
	"guesses that from the longest run of tokens that a text has in common with each "
	"record. With --score nearest it guesses from how near a text comes to it in "
	"meaning.\n"
	"invert tells how many words of perturbed texts are unchanged, or among the ten "
	"nearest words to what stands there.\n\n"

	"Exit code 7: the claim is contradicted, by a range above eta or by a bound. Such a "
	"bound is wrong once in a million audits. Exit code 0 says less. Epsilon is at least the "
	"bound, and how far above it nobody knows. Each game is also played with a control, the "
	"same run by --method none, which protects nothing. Where that is not caught either, the "
	"audit is void. Its exit code is 0, too: read the verdict. one-run, lot and holdout are "
	"void as well where guesses that are all right could not contradict the claim. At delta "
	"1e-6 they never can; of a run with --delta 1e-9 some hundreds can. With 200 games canary "
	"can show 3.3 and no more, recover ln R.\n\n"

	"Canaries are invented: a beginning as the model writes it, then unlikely words. With "
	"public references around them, or none, all may be published. Nothing protects what "
	"is computed from private ones, and no ledger counts it.\n";
// clang-format on

struct audit_watch {
	struct watch watch; /* first: it is what the events of watch.h are told */
	const struct audit_values *values;
};

static void on_audit_begin(void *user, size_t games) {
	struct audit_watch *run = user;
	watch_begin(&run->watch, run->values->run.quiet, run->values->run.progress, games, NULL);
}

static void on_audit_warn(void *user, const char *words) {
	const struct audit_watch *run = user;
	if (!run->values->run.quiet) fprintf(stderr, "cuttle audit: %s\n", words);
}

static enum cuttle_status write_audit(const struct audit_values *values,
                                      const struct setup_model *opened, const struct audit *audit,
                                      struct cuttle_error *error) {
	const char *output = values->request.output;
	struct cuttle_model_info info;
	struct sink sink;
	if (opened->model) cuttle_model_describe(opened->model, &info);
	const struct audit_facts facts = {.action = NAMES[audit->action],
	                                  .model = opened->model ? info.name : NULL,
	                                  .model_sha256 = opened->model ? opened->sha256 : NULL,
	                                  .halves = audit->action == AUDIT_HOLDOUT &&
	                                            !values->request.split,
	                                  .json = values->json || file_ends_in(output, ".json")};
	enum cuttle_status status = audit->is_private ? sink_open_private(&sink, output, error)
	                                              : sink_open(&sink, output, error);
	if (status) return status;
	status = audit_write(&sink, audit, &facts, error);
	status = sink_close(&sink, status, error);
	if (!status) audit_done(&values->request);
	return status;
}

/* Exit code of a finished audit, with its verdict on standard error. */
static int tell_verdict(const struct verb *verb, const struct audit_values *values,
                        const struct audit *audit) {
	if (audit->verdict == AUDIT_CONTRADICTED)
		return verb_refuse(verb, CUTTLE_LEDGER, audit_words(audit->verdict));
	if (!values->run.quiet)
		fprintf(stderr, "cuttle %s: %s\n", verb->name, audit_words(audit->verdict));
	return CUTTLE_OK;
}

/* Names what a split wrote, and the two commands that come next. */
static void tell_split(const struct audit_values *values, const struct audit *audit) {
	const struct audit_request *r = &values->request;
	char *paths[HALVES_FILES] = {NULL};
	if (!values->run.quiet && halves_paths(r->run.common.input, r->split, paths)) {
		fprintf(stderr,
		        "cuttle audit: split by lot: %s has %.0f records, %s has %.0f, and %s "
		        "says so. Now run on the first, and audit its texts:\n",
		        paths[HALVES_USED], finding_number(&audit->game, "used"),
		        paths[HALVES_ASIDE], finding_number(&audit->game, "held_out"),
		        paths[HALVES_SPLIT]);
		fprintf(stderr, "  cuttle generate -m MODEL.gguf -i '%s' -o new.jsonl ...\n",
		        paths[HALVES_USED]);
		fprintf(
		    stderr,
		    "  cuttle audit holdout -i '%s' --held-out '%s' --texts new.jsonl --receipt "
		    "new.receipt.json %s\n",
		    paths[HALVES_USED], paths[HALVES_ASIDE],
		    r->privacy == AUDIT_PUBLIC ? "--public" : "--private");
	}
	for (int i = 0; i < HALVES_FILES; i++) free(paths[i]);
}

static int audit_plan(const struct verb *verb, const struct audit_values *values,
                      const struct setup_model *opened) {
	struct audit audit;
	struct cuttle_error error;
	struct audit_watch run = {.values = values};
	const struct audit_events events = {.user = &run,
	                                    .begin = on_audit_begin,
	                                    .game = watch_text,
	                                    .stop = watch_stop,
	                                    .warn = on_audit_warn};
	// The stamp is told however quiet the run is: standard output may be looked at alone.
	if (values->request.privacy == AUDIT_PRIVATE) fprintf(stderr, "%s\n", AUDIT_STAMP);
	enum cuttle_status status = audit_run(&values->request, opened, &events, &audit, &error);
	watch_end(&run);
	if (status) return verb_fail(verb, status, &error);
	status = write_audit(values, opened, &audit, &error);
	const bool split = values->request.split != NULL;
	if (!status && split) tell_split(values, &audit);
	const int code = status  ? verb_fail(verb, status, &error)
	                 : split ? CUTTLE_OK
	                         : tell_verdict(verb, values, &audit);
	audit_free(&audit);
	return code;
}

/* What was typed becomes the request. Numbers that were not given are the action's own. */
static void settle_audit(struct audit_values *values, enum audit_action action) {
	struct audit_request defaults, *request = &values->request;
	audit_default(&defaults, action);
	values_settle(&values->run);
	values->run.request.lots = RUN_LOTS_OFF;
	request->action = action;
	request->run = values->run.request;
	request->rewritten.form = values->run.form == 0 ? CUTTLE_CONTINUE : CUTTLE_INSTRUCT;
	request->rewritten.chat_format = request->run.plan.chat_format;
	request->rewritten.system = request->run.plan.system;
	request->rewritten.parallel = request->run.plan.parallel;
	if (request->run.plan.insecure)
		request->rewritten.insecure_seed = &request->run.plan.insecure_seed;
	request->nearest = values->score == SCORE_NEAREST;
	request->score = request->nearest ? GAME_ODDS : (enum game_score)values->score;
	if (!request->games) request->games = defaults.games;
	if (!request->secrets) request->secrets = defaults.secrets;
	if (values->references_public) request->privacy = AUDIT_PUBLIC;
	if (values->references_private) request->privacy = AUDIT_PRIVATE;
}

static int check_audit(const struct verb *verb, const struct audit_values *values) {
	const struct audit_request *request = &values->request;
	struct cuttle_error error;
	const bool model = audit_needs(request) != AUDIT_NO_MODEL;
	const struct verb_need needs[] = {
	    {model && !values->run.open.model, VERB_MODEL, VERB_MODEL_SAMPLE}};
	const int code = verb_lacks(verb, needs, sizeof needs / sizeof *needs);
	if (code) return code;
	enum cuttle_status status = audit_check(request, &error);
	if (!status) status = audit_paths(request, &error);
	if (!status && strcmp(request->output, "-") != 0)
		status = rewrite_allowed(request->output, values->overwrite, &error);
	if (!status && request->draw)
		status = rewrite_allowed(request->draw, values->overwrite, &error);
	if (!status && request->split)
		status = halves_absent(request->run.common.input, request->split, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

static int run_audit_verb(const struct verb *verb, int argc, char **argv) {
	struct audit_values values = {.run = values_defaults()};
	struct setup_model opened = {0};
	int operand, code;
	size_t action;
	secrecy_begin();
	audit_default(&values.request, AUDIT_INVARIANT);
	values.request.games = values.request.secrets = 0;
	if (!verb_begin(verb, argc, argv, &values, &operand, &code)) return code;
	if (!verb_action(verb, operand + 1 == argc ? argv[operand] : NULL, NAMES, AUDIT_ACTIONS,
	                 &action))
		return CUTTLE_USAGE;
	settle_audit(&values, (enum audit_action)action);
	if ((code = check_audit(verb, &values))) return code;
	const enum audit_model needs = audit_needs(&values.request);
	values.run.open.vocabulary_only = needs == AUDIT_VOCABULARY;
	code = needs == AUDIT_NO_MODEL ? verb_machine(verb, &values.run.open)
	                               : verb_open_hashed(verb, &values.run.open, &opened);
	if (code) return code;
	code = audit_plan(verb, &values, &opened);
	cuttle_model_free(&opened.model);
	return code;
}

const struct verb audit_verb = {
    .name = "audit",
    .usage = "invariant|canary|one-run|recover|exposure|overlap|holdout|lot|invert [OPTION]...",
    .summary = "test a promise: exact checks, attacks, and a control that must be caught",
    .example = "canary -m MODEL.gguf --receipt out.receipt.json -o canary.md",
    .another = "invariant -m MODEL.gguf -i notes.jsonl --private --receipt out.receipt.json",
    .about = ABOUT,
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
    .headings = HEADINGS,
    .actions = NAMES,
    .action_count = AUDIT_ACTIONS,
    .run = run_audit_verb,
};
