// SPDX-License-Identifier: Apache-2.0
// From a request to a verdict. Games are played twice where there is a control: with the plan under
// test, then with one that protects nothing. Each action has a judge, which turns trials into
// numbers and bounds.
#include "workflow/audit/audit.h"

#include "base/misuse.h"
#include "engine/cuttle/learn.h"
#include "io/receipts/evidence.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/paths.h"
#include "io/disk/secrecy.h"
#include "io/tables/words_file.h"
#include "workflow/audit/halves.h"
#include "workflow/audit/holdout.h"
#include "workflow/audit/inversion.h"
#include "workflow/audit/judging.h"
#include "workflow/audit/recitation.h"
#include "workflow/audit/rewritten.h"
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What rounding to double may add to a range, in nats. */
#define RANGE_SLACK 1e-11
/* What sums over a grid may add to the odds of a unit's answers, per nat that they may have. */
#define ANSWERS_SLACK 1e-4
/* The document that is rewritten where none is given, and the type of the secret behind it. */
#define REWRITTEN_CANARY "A patient was seen on Monday"
#define SECRET_TYPE "NUMBER"
enum {
	LEAST_GAMES = 4,
	DRAWN_TEXTS = 10 /* of invariant, where no texts are given */
};

/* What each action is, in one place. */
static const struct action_rule {
	bool games;     /* it plays games with canaries */
	bool texts;     /* it needs the texts of a run */
	uint64_t count; /* of games, by default */
	uint64_t secrets;
} RULES[AUDIT_ACTIONS] = {
    [AUDIT_INVARIANT] = {.count = 0},
    [AUDIT_CANARY] = {.games = true, .count = 200},
    [AUDIT_ONE_RUN] = {.games = true, .count = 1000},
    [AUDIT_RECOVER] = {.games = true, .count = 150, .secrets = 100},
    [AUDIT_EXPOSURE] = {.games = true, .count = 200, .secrets = 1000},
    [AUDIT_OVERLAP] = {.texts = true},
    [AUDIT_HOLDOUT] = {.texts = true},
    [AUDIT_LOT] = {.texts = true},
    [AUDIT_INVERT] = {.texts = true},
};

void audit_default(struct audit_request *request, enum audit_action action) {
	*request = (struct audit_request){.action = action,
	                                  .output_field = "text",
	                                  .output = "-",
	                                  .claim = NAN,
	                                  .games = RULES[action].count,
	                                  .secrets = RULES[action].secrets};
	generate_default(&request->run);
	// A game's batch is known to whoever plays it, so lots would hide nothing.
	request->run.lots = RUN_LOTS_OFF;
}

enum audit_model audit_needs(const struct audit_request *request) {
	if (request->action == AUDIT_INVERT || request->action == AUDIT_HOLDOUT || request->draw)
		return AUDIT_NO_MODEL;
	if (request->nearest) return AUDIT_WEIGHTS;
	return RULES[request->action].texts ? AUDIT_VOCABULARY : AUDIT_WEIGHTS;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static const char *name_audit_fault(const struct audit_request *r) {
	const struct action_rule *rule = &RULES[r->action];
	const bool lot = r->action == AUDIT_LOT;
	const struct records_request input = {.path = r->run.common.input,
	                                      .format = r->run.input_format,
	                                      .delimiter = r->run.delimiter};
	if (r->run.common.input && r->privacy == AUDIT_UNSAID)
		return "say whether the references are --public or --private: nothing protects "
		       "what is computed from them";
	if (r->action == AUDIT_INVARIANT && !r->run.common.input)
		return "invariant compares laws with and without each reference: -i FILE";
	if (r->unit_key && r->action != AUDIT_HOLDOUT)
		return "--unit-key is for cuttle audit holdout";
	if (r->split && r->action != AUDIT_HOLDOUT) return "--split is for cuttle audit holdout";
	if (lot && r->draw && r->run.common.input &&
	    (records_are_csv(&input) ||
	     records_are_csv(&(struct records_request){.path = r->draw})))
		return "--draw is for JSONL: it draws line by line, which CSV and TSV do not bear";
	if (lot && r->draw)
		return !r->run.common.input || r->members || r->texts
		           ? "--draw needs -i FILE alone: lots come before anything is written"
		           : NULL;
	if (r->draw) return "--draw is for cuttle audit lot";
	if (r->split)
		return !r->run.common.input || r->held_out || r->texts || r->receipt
		           ? "--split needs -i FILE alone: it comes before anything is written"
		       : !strcmp(r->run.common.input, "-")
		           ? "--split reads the records twice: give -i a file, not standard input"
		           : NULL;
	if (r->nearest && !lot) return "--score nearest is for cuttle audit lot";
	if (rule->texts && !r->texts) return "which texts: --texts OUT.jsonl";
	if (rule->texts && !r->run.common.input) return "which references: -i FILE";
	if (r->action == AUDIT_OVERLAP && !r->held_out)
		return "references that the run did not read, of the same kind: --held-out FILE";
	if (r->action == AUDIT_HOLDOUT && !r->held_out)
		return "references that the run did not read, kept aside by lot: --held-out FILE "
		       "(before a run, --split NAME makes that file and the one for -i)";
	if (rule->texts && r->run.bias)
		return "--bias is of audits that draw texts, or go through them again";
	if (r->texts && generate_guided(&r->run))
		return "--grammar and --schema are of audits that draw texts: leave out --texts";
	if (lot && !r->members) return "what --draw wrote before the run: --members FILE";
	if (r->action == AUDIT_INVERT && !r->words)
		return "the words file of the perturbed texts: --words FILE";
	if (rule->texts) return NULL;
	const char *method = cuttle_method_fault(r->run.plan.method, &r->run.plan.method_params);
	if (method) return method;
	if (!r->receipt && r->run.plan.method == CUTTLE_INVISIBLEINK &&
	    isnan(r->run.plan.epsilon) && isnan(r->run.plan.clip))
		return "which promise: --receipt FILE, or -e EPS or --clip C";
	if (!r->receipt && (r->rewritten.instruction || r->rewritten.prefill))
		return "--instruction and --prefill are of cuttle sanitize: they need its "
		       "--receipt";
	if (r->receipt && (!isnan(r->run.plan.epsilon) || !isnan(r->run.plan.clip)))
		return "--receipt says the clip; leave out -e and --clip";
	if (!r->run.prompt_public != !r->run.prompt_private)
		return "--prompt-public and --prompt-private go together";
	const char *chat = common_chat_fault(
	    r->run.plan.chat_format, NULL, r->run.prompt_public ? CUTTLE_CUSTOM : r->run.plan.form);
	if (chat) return chat;
	if (!isnan(r->claim) && !(r->claim > 0)) return "--claim must be above 0, as in 3";
	if (rule->games && r->games < LEAST_GAMES) return "--games must be 4 at least";
	if (r->action == AUDIT_ONE_RUN && r->guesses > r->games)
		return "--guesses: there are not so many games";
	if (rule->secrets && (r->secrets < 2 || r->secrets > 10000))
		return "--secrets must be from 2 to 10000";
	return NULL;
}

enum cuttle_status audit_check(const struct audit_request *request, struct cuttle_error *error) {
	const char *fault = name_audit_fault(request);
	return fault ? io_fail(error, CUTTLE_USAGE, "%s", fault) : CUTTLE_OK;
}

enum cuttle_status audit_paths(const struct audit_request *r, struct cuttle_error *error) {
	char *learnt, *halves[HALVES_FILES] = {NULL};
	const char *const input = r->run.common.input;
	enum cuttle_status status = common_receipt_beside(r->run.bias, NULL, &learnt, error);
	if (!status && r->split && !halves_paths(input, r->split, halves))
		status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	// A split is read twice, and so are halves whose hash is compared.
	const bool twice = r->action == AUDIT_HOLDOUT && input && (r->split || halves_named(input));
	const struct path_use uses[] = {
	    PATH_ALONE("-m", r->run.common.model, PATH_MODEL),
	    PATH_ALONE("-i", input, twice ? PATH_FILE : PATH_STREAM),
	    // With a receipt they are read twice: their hash is compared first.
	    PATH_ALONE("--texts", r->texts,
	               r->receipt && RULES[r->action].texts ? PATH_FILE : PATH_STREAM),
	    PATH_ALONE("--held-out", r->held_out, twice ? PATH_FILE : PATH_STREAM),
	    PATH_ALONE("--members", r->members, PATH_STREAM),
	    PATH_ALONE("--words", r->words, PATH_FILE),
	    PATH_ALONE("--receipt", r->receipt, PATH_STREAM),
	    {"--bias", r->run.bias, PATH_FILE, learnt, {NULL}},
	    PATH_ALONE("--grammar", r->run.grammar, PATH_STREAM),
	    PATH_ALONE("--schema", r->run.schema, PATH_STREAM),
	    PATH_ALONE("--prompt-public", r->run.prompt_public, PATH_STREAM),
	    PATH_ALONE("--prompt-private", r->run.prompt_private, PATH_STREAM),
	    PATH_ALONE("--public-examples", r->run.public_examples, PATH_STREAM),
	    PATH_ALONE("--instruction", r->rewritten.instruction, PATH_STREAM),
	    PATH_ALONE("--draw", r->draw, PATH_OUTPUT),
	    {"--split", halves[HALVES_USED], PATH_COPY, halves[HALVES_ASIDE], {NULL}},
	    PATH_ALONE("--split", halves[HALVES_SPLIT], PATH_RECORD),
	    {"-o", r->output, PATH_OUTPUT, NULL, {TRIALS_FILE, AUDIT_CONTROL}},
	};
	const char *const records[] = {r->run.common.input, r->texts, r->held_out, r->members,
	                               r->run.public_examples};
	if (!status) status = paths_check(uses, sizeof uses / sizeof *uses, error);
	free(learnt);
	for (size_t i = 0; i < HALVES_FILES; i++) free(halves[i]);
	for (size_t i = 0; i < sizeof records / sizeof *records && !status; i++) {
		const struct records_request wanted = {.path = records[i]};
		if (records[i]) status = records_check_name(&wanted, error);
	}
	return status;
}

/* ---- the promise ----------------------------------------------------------------------------- */

struct audit_state {
	const struct audit_request *request;
	const struct setup_model *opened;
	const struct audit_events *events;
	struct audit *audit;
	struct generate_request run; /* the request's, with the receipt's numbers in it */
	struct bias bias;            /* of the run; its vector is NULL = there is none */
	struct setup setup;
	struct setup control;
	struct evidence evidence;
	/* The receipt, by its system; NULL = it is of the other, or there is none. */
	const struct receipt *claimed;
	const struct sanitize_receipt *rewriting;
	struct sanitize rewriters[2]; /* [control] in place of setups */
	char blank[UTF8_NAME + 1];    /* what stands for a secret */
	struct records *others;
	struct records *texts;
	struct chance chance;
	struct cuttle_error *error;
};

static bool ask_audit_stop(void *user) {
	const struct audit_state *s = user;
	return s->events->stop(s->events->user);
}

static enum cuttle_status lack_memory(struct audit_state *s) {
	return io_fail(s->error, CUTTLE_NOMEM, "out of memory");
}

/* For each text or record that is compared. */
static bool pass_compared(void *user) {
	const struct audit_state *s = user;
	s->events->game(s->events->user);
	return ask_audit_stop(user);
}

static void tell_game(void *user) {
	const struct audit_state *s = user;
	s->events->game(s->events->user);
}

/* A receipt of cuttle sanitize, which takes *attested over. */
static enum cuttle_status read_rewriting_promise(struct audit_state *s, struct attested *attested) {
	enum cuttle_status status = evidence_read(&SANITIZE_KIND, attested, &s->evidence, s->error);
	if (!status) status = evidence_check(&s->evidence, NULL, s->error);
	if (status) return status;
	s->rewriting = s->evidence.receipt;
	if (s->request->action != AUDIT_RECOVER)
		return io_fail(s->error, CUTTLE_INPUT,
		               "%s is of cuttle sanitize: cuttle audit recover plays with it",
		               file_shown(s->request->receipt));
	if (s->request->run.common.input)
		return io_fail(s->error, CUTTLE_USAGE,
		               "-i: nothing stands around a document; leave it out");
	if (s->request->run.plan.method != CUTTLE_INVISIBLEINK || s->request->run.public_examples ||
	    s->request->run.prompt_public || s->request->run.bias)
		return io_fail(
		    s->error, CUTTLE_USAGE,
		    "%s is of cuttle sanitize, which has no --method, --public-examples, "
		    "--prompt-public or --bias: leave them out",
		    file_shown(s->request->receipt));
	struct cuttle_rewrite_cost one, all;
	sanitize_receipt_worst(s->rewriting, &one, &all);
	s->audit->epsilon = isnan(s->request->claim) ? one.epsilon : s->request->claim;
	s->audit->delta = s->rewriting->guarantee.delta;
	s->audit->rewritten = true;
	struct arena blank = {0};
	const bool good = marks_write_placeholder(s->rewriting->placeholder, SECRET_TYPE, &blank);
	if (good) (void)snprintf(s->blank, sizeof s->blank, "%.*s", (int)blank.used, blank.bytes);
	arena_free(&blank);
	return good ? CUTTLE_OK : lack_memory(s);
}

/* Takes the numbers of a plan from a receipt. Of a run with lots those of a batch. */
static enum cuttle_status read_promise(struct audit_state *s) {
	struct attested attested;
	enum cuttle_status status = attest_open(s->request->receipt, &attested, s->error);
	if (status) {
		attest_close(&attested);
		return status;
	}
	hash_of(attested.bytes, attested.size, s->audit->receipt_sha256);
	if (attest_mechanism(&attested, SANITIZE_KIND.mechanism))
		return read_rewriting_promise(s, &attested);
	if (s->request->rewritten.instruction || s->request->rewritten.prefill) {
		attest_close(&attested);
		return io_fail(s->error, CUTTLE_USAGE,
		               "--instruction and --prefill: %s is not of cuttle sanitize",
		               file_shown(s->request->receipt));
	}
	status = evidence_read(&GENERATE_KIND, &attested, &s->evidence, s->error);
	if (!status) status = evidence_check(&s->evidence, NULL, s->error);
	if (status) return status;
	s->claimed = s->evidence.receipt;
	const struct cuttle_guarantee *g = &s->claimed->guarantee;
	struct cuttle_plan_params *plan = &s->run.plan;
	plan->clip = g->clip;
	plan->epsilon = NAN;
	plan->delta = g->delta_if_known;
	plan->temperature = g->temperature;
	plan->batch = g->batch;
	plan->shots = g->shots;
	plan->tokens = g->tokens;
	plan->top_k = g->top_k;
	plan->context = g->context;
	plan->gain = g->gain;
	if (g->accountant != CUTTLE_RENYI) plan->accountant = g->accountant;
	plan->method = g->method;
	plan->method_params = g->method_params;
	// These two plan from epsilon alone; compare_promise sees whether the same came of it.
	if (g->method == CUTTLE_AMIN || g->method_params.record_filter) {
		plan->epsilon = g->epsilon_if_known;
		plan->method_params.record_budget = NAN;
	}
	plan->method_params.not_private = !cuttle_method_promises(g->method);
	if (g->method != CUTTLE_INVISIBLEINK) plan->clip = NAN, plan->gain = 0;
	plan->savings = g->savings;
	// A game is one text; its batch spends as much as one with a bank.
	plan->savings.token_bank = false;
	return CUTTLE_OK;
}

/* INPUT: the run had a grammar or a schema, and none is given. */
static enum cuttle_status need_grammar(const struct audit_state *s) {
	const bool guided = *s->claimed->grammar_sha256 || *s->claimed->schema_sha256;
	return !guided || generate_guided(&s->run)
	           ? CUTTLE_OK
	           : io_fail(s->error, CUTTLE_INPUT,
	                     "%s is of a run with a grammar or a schema: give it with --grammar "
	                     "FILE or --schema FILE, and leave out --texts",
	                     file_shown(s->request->receipt));
}

/* INPUT: the receipt is of a run whose prompts hold more than references. */
static enum cuttle_status refuse_prompts(const struct audit_state *s) {
	const char *other = s->claimed->categories         ? "categories"
	                    : s->claimed->places_of_rounds ? "two rounds"
	                                                   : NULL;
	if (other)
		return io_fail(s->error, CUTTLE_INPUT,
		               "%s is of a run with %s, whose prompts an audit does not write: "
		               "audit a run without",
		               file_shown(s->request->receipt), other);
	return CUTTLE_OK;
}

/* INPUT: the receipt is of another model, other prompts, or another bias, grammar or clip than the
 * plan. */
static enum cuttle_status compare_promise(struct audit_state *s) {
	const struct receipt *claimed = s->claimed, *made = &s->setup.receipt;
	const char *other = NULL;
	if (strcmp(claimed->model_sha256, made->model_sha256) != 0) other = "model";
	else if (strcmp(claimed->template_sha256, made->template_sha256) != 0)
		other = "prompts (--kind, --template, --public-examples ...)";
	else if (claimed->guarantee.clip_fixed != made->guarantee.clip_fixed ||
	         claimed->guarantee.fraction_bits != made->guarantee.fraction_bits)
		other = "clip";
	// evidence_check has made epsilon follow from the budget. Whether the budget follows from
	// epsilon, too, is asked here: another version may plan otherwise.
	else if (claimed->guarantee.method_params.record_filter &&
	         !attest_confirm(claimed->guarantee.method_params.record_budget,
	                         made->guarantee.method_params.record_budget))
		other = "budget of a record";
	else if (strcmp(claimed->bias.sha256, s->bias.sha256) != 0) other = "bias, or none";
	else if (strcmp(claimed->grammar_sha256, made->grammar_sha256) != 0 ||
	         strcmp(claimed->schema_sha256, made->schema_sha256) != 0)
		other = "grammar or schema";
	return other ? io_fail(s->error, CUTTLE_INPUT, "%s is of a run with another %s",
	                       file_shown(s->request->receipt), other)
	             : CUTTLE_OK;
}

static void settle_claim(struct audit_state *s) {
	const struct audit_request *r = s->request;
	const struct cuttle_guarantee *g =
	    r->receipt ? &s->claimed->guarantee : &s->setup.receipt.guarantee;
	const bool whole_unit = r->receipt && s->claimed->unit.weight > 1;
	s->audit->epsilon =
	    whole_unit ? receipt_epsilon(&s->setup.receipt.guarantee) : g->epsilon_if_known;
	s->audit->delta = g->delta_if_known;
	if (!isnan(r->claim)) s->audit->epsilon = r->claim;
}

/* Gives the plan the run's bias, which is public here: the odds with and without a record are
 * those of the run's own claim, and whose records the bias was learnt from does not matter.
 * INPUT: the run had one, and none is given. Else as setup_bias_read. */
static enum cuttle_status take_audit_bias(struct audit_state *s) {
	const struct setup_model *opened = s->opened;
	const char *path = s->request->run.bias;
	if (!path && s->claimed && *s->claimed->bias.sha256)
		return io_fail(s->error, CUTTLE_INPUT,
		               "%s is of a run with a bias: give it with --bias FILE",
		               file_shown(s->request->receipt));
	if (!path) return CUTTLE_OK;
	const enum cuttle_status status =
	    setup_bias_read(path, opened->model, opened->sha256, &s->bias, s->error);
	return status ? status : cuttle_bias_use(s->setup.plan, s->bias.vector, s->error);
}

static enum cuttle_status make_audit_plan(struct audit_state *s) {
	s->run = s->request->run;
	s->run.bias = NULL; // take_audit_bias gives it to the plan; a control cannot have one.
	enum cuttle_status status = s->request->receipt ? read_promise(s) : CUTTLE_OK;
	if (!status && s->rewriting)
		return rewritten_make(&s->request->rewritten, &s->evidence, s->opened, false,
		                      &s->rewriters[0], s->error);
	if (!status && s->request->receipt) status = refuse_prompts(s);
	if (!status && s->request->receipt) status = need_grammar(s);
	if (!status) status = generate_open(&s->run, s->opened, &s->setup, s->error);
	if (!status) status = take_audit_bias(s);
	if (!status && s->request->receipt) status = compare_promise(s);
	if (!status) settle_claim(s);
	return status;
}

/* The control: the same run by the method that protects nothing. */
static enum cuttle_status make_control_plan(struct audit_state *s) {
	if (s->rewriting)
		return rewritten_make(&s->request->rewritten, &s->evidence, s->opened, true,
		                      &s->rewriters[1], s->error);
	struct generate_request run = s->run;
	struct cuttle_plan_params *plan = &run.plan;
	plan->epsilon = plan->clip = NAN;
	plan->gain = 0;
	plan->top_k = 0;
	plan->savings.public_when = 0;
	if (generate_guided(&run)) plan->savings.free_tokens = 0;
	run.grammar = run.schema = NULL; // its texts may be any
	plan->method = CUTTLE_NONE;
	cuttle_method_params_none(&plan->method_params);
	plan->method_params.not_private = true;
	return generate_open(&run, s->opened, &s->control, s->error);
}

/* ---- games ----------------------------------------------------------------------------------- */

/* What decides about trials: an audit with another hash may not continue them. */
static void hash_audit(const struct audit_state *s, bool control, char sha256[HASH_TEXT]) {
	const struct audit_request *r = s->request;
	const struct setup *setup = control ? &s->control : &s->setup;
	const char *fingerprint =
	    s->rewriting ? s->rewriters[control].fingerprint : setup->fingerprint;
	char words[256];
	struct hash hash;
	const int length =
	    snprintf(words, sizeof words,
	             "cuttle audit 2 action %d control %d secrets %" PRIu64 " score %d texts %d ",
	             (int)r->action, control, r->secrets, (int)r->score, r->texts != NULL);
	hash_begin(&hash);
	hash_add(&hash, words, (size_t)length);
	hash_add(&hash, fingerprint, strlen(fingerprint));
	if (!control) hash_add(&hash, s->bias.sha256, strlen(s->bias.sha256));
	if (r->canary) hash_add(&hash, r->canary, strlen(r->canary));
	if (r->texts) hash_add(&hash, r->texts, strlen(r->texts));
	hash_end(&hash, sha256);
}

static char *name_trials(const struct audit_request *request, bool control) {
	return file_name(request->output, control ? AUDIT_CONTROL : TRIALS_FILE);
}

/* Games of both worlds of an action. */
static size_t count_games(const struct audit_state *s) {
	const struct audit_request *r = s->request;
	if (r->action == AUDIT_CANARY) return 2 * (size_t)r->games;
	if (r->games) return (size_t)r->games;
	return s->texts ? records_count(s->texts) : DRAWN_TEXTS;
}

static enum game_kind kind_of_games(enum audit_action action) {
	return action == AUDIT_CANARY      ? GAME_WORLDS
	       : action == AUDIT_ONE_RUN   ? GAME_LOTS
	       : action == AUDIT_INVARIANT ? GAME_RANGES
	                                   : GAME_SECRETS;
}

static enum cuttle_status play_games(struct audit_state *s, bool control, struct audit_game *game) {
	const struct audit_request *r = s->request;
	const bool kept = strcmp(r->output, "-") != 0;
	const struct cuttle_plan *plan = s->setup.plan;
	const double order = plan ? cuttle_audit_order(plan) : 0;
	char sha256[HASH_TEXT], *path = kept ? name_trials(r, control) : NULL;
	struct trials *trials = NULL;
	if (kept && !path) return lack_memory(s);
	hash_audit(s, control, sha256);
	const struct game_request wanted = {.kind = kind_of_games(r->action),
	                                    .score = r->score,
	                                    .plan = control ? s->control.plan : s->setup.plan,
	                                    .rewriter = s->rewriters[control].rewriter,
	                                    .blank = s->blank,
	                                    .model = s->opened->model,
	                                    .others = s->others,
	                                    .canaries = &s->audit->canaries,
	                                    .order = order,
	                                    .texts = s->texts,
	                                    .chance = &s->chance,
	                                    .secrets = r->secrets,
	                                    .games = count_games(s),
	                                    .done = tell_game,
	                                    .stop = ask_audit_stop,
	                                    .user = s};
	enum cuttle_status status =
	    trials_open(path, sha256, games_values(wanted.kind), &trials, s->error);
	if (!status && trials_count(trials) > wanted.games)
		status = io_fail(s->error, CUTTLE_USAGE,
		                 "%s has more games than are wanted: give --games as before", path);
	if (!status) status = games_play(&wanted, trials, s->error);
	if (status == CUTTLE_PARTIAL)
		(void)io_fail(s->error, status,
		              kept ? "stopped; the same command continues"
		                   : "stopped; without -o nothing is kept to continue with");
	const struct judging judging = {.kind = wanted.kind,
	                                .exposure = r->action == AUDIT_EXPOSURE,
	                                .secrets = r->secrets,
	                                .guesses = r->guesses,
	                                .delta = s->audit->delta,
	                                .eta = plan ? cuttle_audit_range(plan) : 0,
	                                .order = order,
	                                .answers = plan ? cuttle_audit_answers(plan) : 0};
	if (!status && judging_trials(&judging, trials, game)) status = lack_memory(s);
	trials_close(&trials, false);
	free(path);
	return status;
}

static enum cuttle_status read_audit_files(struct audit_state *s) {
	const struct audit_request *r = s->request;
	const struct records_request others = {.path = r->run.common.input,
	                                       .field = r->run.text_field,
	                                       .schema = s->setup.grammar.schema,
	                                       .format = r->run.input_format,
	                                       .delimiter = r->run.delimiter,
	                                       .limit = SIZE_MAX};
	const struct records_request texts = {
	    .path = r->texts, .field = r->output_field, .limit = SIZE_MAX};
	enum cuttle_status status = CUTTLE_OK;
	if (r->run.common.input) {
		status = records_read(&others, &s->others, s->error);
		if (!status)
			status = records_need_field(&others, s->others, "--text-field", s->error);
	}
	if (!status && r->texts) {
		status = records_read(&texts, &s->texts, s->error);
		if (!status)
			status = records_need_field(&texts, s->texts, "--output-field", s->error);
	}
	if (!status && s->others && r->run.common.lock) records_lock(s->others);
	if (!status &&
	    ((s->others && !records_count(s->others)) || (s->texts && !records_count(s->texts))))
		status =
		    io_fail(s->error, CUTTLE_INPUT, "%s has no record",
		            file_shown(s->texts && !records_count(s->texts) ? r->texts
		                                                            : r->run.common.input));
	return status;
}

/* As many canaries as there are games, up to a limit. */
static enum cuttle_status make_canaries(struct audit_state *s) {
	const struct audit_request *r = s->request;
	struct canaries *canaries = &s->audit->canaries;
	enum cuttle_status status;
	if (r->canary || s->rewriting) {
		status =
		    canaries_take(canaries, r->canary ? r->canary : REWRITTEN_CANARY, s->error);
	} else {
		const size_t count = r->games < CANARIES_MOST ? (size_t)r->games : CANARIES_MOST;
		status = canaries_invent(canaries, s->setup.plan, s->opened->model, count,
		                         &s->chance, ask_audit_stop, s, s->error);
	}
	s->audit->canary = canaries->count ? canaries->all[0] : "";
	return status;
}

/* Whether the control lost, so that a fault would have been seen. */
static bool is_control_caught(const struct audit_state *s) {
	const struct audit_game *control = &s->audit->control;
	if (!s->audit->has_control) return false;
	if (s->audit->action == AUDIT_INVARIANT)
		return finding_number(control, "widest") > cuttle_audit_range(s->setup.plan);
	if (s->audit->action == AUDIT_OVERLAP)
		return finding_number(control, "run_p") <= FINDING_LIKELY;
	if (s->audit->action == AUDIT_INVERT) return finding_number(control, "first") == 1;
	// An epsilon of 1, or half of what so few games can show: less may be chance.
	return control->likely > 0 && control->likely >= fmin(1, control->most / 2);
}

/* A method that promises nothing has no range that its law could leave. */
static bool promises_range(const struct audit_state *s) {
	return cuttle_audit_range(s->setup.plan) > 0;
}

static bool leaves_range(const struct audit_state *s) {
	const struct audit_game *game = &s->audit->game;
	const double eta = cuttle_audit_range(s->setup.plan),
	             answers = cuttle_audit_answers(s->setup.plan);
	return finding_number(game, "widest") > eta + RANGE_SLACK ||
	       (answers > 0 && finding_number(game, "answers") > answers * (1 + ANSWERS_SLACK));
}

static bool is_contradicted(const struct audit_state *s) {
	const struct audit *audit = s->audit;
	if (audit->action == AUDIT_INVARIANT) return promises_range(s) && leaves_range(s);
	return audit->game.bounded && audit->game.sure > audit->epsilon;
}

/* Guesses about records of one run: their bound takes all of these guesses together, and even a
 * small delta may weigh more than one in a million. */
static bool guesses_one_run(enum audit_action action) {
	return action == AUDIT_ONE_RUN || action == AUDIT_LOT || action == AUDIT_HOLDOUT;
}

/* Whether no outcome could contradict the claim. `refutes`: what `sure` is at best. */
static bool is_powerless(const struct audit_state *s, double refutes) {
	return guesses_one_run(s->audit->action) && refutes <= s->audit->epsilon;
}

/* Says before the work that it cannot contradict anything. */
static void warn_powerless(const struct audit_state *s, double refutes) {
	if (is_powerless(s, refutes) && s->events->warn)
		s->events->warn(s->events->user,
		                "this audit will be void: even if all guesses were right, so many "
		                "could not contradict the claim at its delta; more records or a "
		                "smaller delta could");
}

static enum audit_verdict find_verdict(const struct audit_state *s) {
	if (s->audit->action == AUDIT_INVARIANT && !promises_range(s)) return AUDIT_REPORTED;
	if (is_contradicted(s)) return AUDIT_CONTRADICTED;
	if (s->audit->game.bounded && is_powerless(s, s->audit->game.refutes))
		return AUDIT_POWERLESS;
	if (!is_control_caught(s)) return AUDIT_VOID;
	const bool bounds = s->audit->action == AUDIT_INVARIANT || s->audit->game.bounded;
	if (!bounds || isnan(s->audit->epsilon)) return AUDIT_REPORTED;
	if (!s->audit->game.bounded) return AUDIT_HOLDS;
	return s->audit->game.most <= s->audit->epsilon ? AUDIT_WEAK : AUDIT_HOLDS;
}

/* Refuses a canary without the others of its row. */
static enum cuttle_status check_canary_row(const struct audit_state *s) {
	struct cuttle_guarantee guarantee;
	if (s->others || !s->setup.plan) return CUTTLE_OK;
	cuttle_plan_describe(s->setup.plan, &guarantee);
	return guarantee.shots > 1
	           ? io_fail(s->error, CUTTLE_USAGE,
	                     "--shots: give the other references of the canary's row with -i FILE; "
	                     "a null one would take the row away")
	           : CUTTLE_OK;
}

static enum cuttle_status audit_by_games(struct audit_state *s) {
	const struct audit_request *r = s->request;
	const uint64_t *seed = r->run.plan.insecure ? &r->run.plan.insecure_seed : NULL;
	chance_begin(&s->chance, seed);
	s->audit->has_control = !r->no_control;
	enum cuttle_status status = make_audit_plan(s);
	if (!status && s->audit->has_control) status = make_control_plan(s);
	if (!status) status = read_audit_files(s);
	if (!status) status = check_canary_row(s);
	if (!status && RULES[r->action].games) status = make_canaries(s);
	if (status) return status;
	if (r->action == AUDIT_ONE_RUN)
		warn_powerless(s, judging_could_refute(r->games, r->guesses, s->audit->delta));
	s->events->begin(s->events->user, count_games(s) * (s->audit->has_control ? 2 : 1));
	status = play_games(s, false, &s->audit->game);
	if (!status && s->audit->has_control) status = play_games(s, true, &s->audit->control);
	if (!status) s->audit->verdict = find_verdict(s);
	return status;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static enum cuttle_status audit_overlap(struct audit_state *s) {
	const struct audit_request *r = s->request;
	const struct cuttle_model *model = s->opened->model;
	struct recitation texts = {0}, used = {0}, held_out = {0}, both = {0};
	enum cuttle_status status =
	    recitation_read(model, r->texts, r->output_field, r->run.common.lock, &texts, s->error);
	if (!status)
		status = recitation_read(model, r->run.common.input, r->run.text_field,
		                         r->run.common.lock, &used, s->error);
	if (!status)
		status = recitation_read(model, r->held_out, r->run.text_field, r->run.common.lock,
		                         &held_out, s->error);
	if (!status && !recitation_join(&used, &held_out, &both)) status = lack_memory(s);
	if (!status) s->events->begin(s->events->user, texts.count + used.count);
	if (!status)
		status = recitation_overlap(&texts, &both, used.count, pass_compared, s,
		                            &s->audit->game, s->error);
	// The control recites all that it read.
	if (!status)
		status = recitation_overlap(&used, &both, used.count, pass_compared, s,
		                            &s->audit->control, s->error);
	recitation_free(&texts);
	recitation_free(&used);
	recitation_free(&held_out);
	recitation_free(&both);
	return status;
}

/* Finds the split that wrote both halves. *key becomes its unit key: who was dealt together is
 * counted together. LEDGER, INPUT: as halves_find. USAGE: another key was asked for. */
static enum cuttle_status find_lot(struct audit_state *s, json_t **split, const char **key) {
	const struct audit_request *r = s->request;
	enum cuttle_status status = halves_find(r->run.common.input, r->held_out, split, s->error);
	if (status) return status;
	s->audit->by_lot = *split != NULL;
	if (!*split) {
		if (s->events->warn)
			s->events->warn(s->events->user,
			                "nothing shows that these records were kept aside by lot, "
			                "and p holds only if they were: cuttle audit holdout "
			                "--split NAME draws a lot, before the run");
		return CUTTLE_OK;
	}
	const char *drawn = json_string_value(json_object_get(*split, "unit_key"));
	if (r->unit_key && (!drawn || strcmp(drawn, r->unit_key) != 0))
		return io_fail(s->error, CUTTLE_USAGE,
		               "--unit-key %s: the split was drawn %s%s; leave it out", r->unit_key,
		               drawn ? "by " : "without it", drawn ? drawn : "");
	*key = drawn;
	return CUTTLE_OK;
}

static enum cuttle_status audit_holdout(struct audit_state *s) {
	const struct audit_request *r = s->request;
	const bool lock = r->run.common.lock;
	const char *const field = r->run.text_field, *key = r->unit_key;
	struct holdout_words texts = {0}, used = {0}, held_out = {0};
	json_t *split = NULL;
	enum cuttle_status status = find_lot(s, &split, &key);
	if (!status) status = holdout_read(r->texts, r->output_field, NULL, lock, &texts, s->error);
	if (!status) status = holdout_read(r->run.common.input, field, key, lock, &used, s->error);
	if (!status) status = holdout_read(r->held_out, field, key, lock, &held_out, s->error);
	if (!status)
		warn_powerless(s,
		               holdout_could_refute(&used, &held_out, r->guesses, s->audit->delta));
	if (!status) s->events->begin(s->events->user, (size_t)2 * HOLDOUT_LENGTHS);
	if (!status)
		status = holdout_compare(&texts, &used, &held_out, r->guesses, s->audit->delta,
		                         pass_compared, s, &s->audit->game, s->error);
	// The control recites all that it read.
	if (!status)
		status = holdout_compare(&used, &used, &held_out, r->guesses, s->audit->delta,
		                         pass_compared, s, &s->audit->control, s->error);
	holdout_free(&texts);
	holdout_free(&used);
	holdout_free(&held_out);
	json_decref(split);
	return status;
}

/* Splits the input by lot, before anything is written. */
static enum cuttle_status split_halves(struct audit_state *s) {
	const struct audit_request *r = s->request;
	size_t records[2];
	const enum cuttle_status status =
	    halves_split(r->run.common.input, r->run.text_field, r->unit_key, r->split, &s->chance,
	                 records, s->error);
	if (status) return status;
	finding_add(&s->audit->game, "used", "records for the run, by lot",
	            (double)records[HALVES_USED], 0);
	finding_add(&s->audit->game, "held_out", "records kept aside",
	            (double)records[HALVES_ASIDE], 0);
	return CUTTLE_OK;
}

/* Writes the lines of the input that are in, and an empty line for each that is out. A line that
 * cannot be read is null, and keeps its place. */
static enum cuttle_status draw_members(struct audit_state *s) {
	const struct audit_request *r = s->request;
	char *bytes = NULL;
	size_t size = 0;
	struct sink sink;
	uint64_t number = 0;
	enum cuttle_status status =
	    file_read(r->run.common.input, (size_t)1 << 32, &bytes, &size, s->error);
	if (!status) status = sink_open_private(&sink, r->draw, s->error);
	if (status) {
		secrecy_free(bytes);
		return status;
	}
	uint64_t in = 0;
	for (size_t at = 0; at < size && !status; number++) {
		const char *end = memchr(bytes + at, '\n', size - at);
		const size_t length = end ? (size_t)(end - bytes) - at : size - at;
		const bool member = chance_below(&s->chance, CHANCE_LOT, number, 0, 2) != 0;
		in += member;
		if (member) status = sink_write(&sink, bytes + at, length, s->error);
		if (!status) status = sink_write(&sink, "\n", 1, s->error);
		at += length + 1;
	}
	status = sink_close(&sink, status, s->error);
	secrecy_free(bytes);
	if (status) return status;
	finding_add(&s->audit->game, "records", "records", (double)number, 0);
	finding_add(&s->audit->game, "in", "in by lot", (double)in, 0);
	return CUTTLE_OK;
}

static enum cuttle_status audit_lot(struct audit_state *s) {
	const struct audit_request *r = s->request;
	const struct cuttle_model *model = s->opened->model;
	struct recitation texts = {0}, all = {0}, members = {0};
	enum cuttle_status status =
	    recitation_read(model, r->texts, r->output_field, r->run.common.lock, &texts, s->error);
	if (!status)
		status = recitation_read(model, r->run.common.input, r->run.text_field,
		                         r->run.common.lock, &all, s->error);
	if (!status)
		status = recitation_read(model, r->members, r->run.text_field, r->run.common.lock,
		                         &members, s->error);
	if (!status && members.count != all.count)
		status = io_fail(s->error, CUTTLE_INPUT,
		                 "%s has another number of lines than %s: it is not what --draw "
		                 "wrote of it",
		                 file_shown(r->members), file_shown(r->run.common.input));
	struct recitation *const embedded[] = {&texts, &all, &members};
	const size_t compared = r->nearest ? texts.count + 2 * all.count : 2 * all.count;
	if (!status)
		warn_powerless(s, judging_could_refute(recitation_readable(&all), r->guesses,
		                                       s->audit->delta));
	if (!status) s->events->begin(s->events->user, compared);
	for (size_t i = 0; i < 3 && r->nearest && !status; i++)
		status =
		    recitation_embed(s->opened->model, embedded[i], pass_compared, s, s->error);
	if (!status)
		status = recitation_guess(&texts, &all, &members, r->guesses, s->audit->delta,
		                          pass_compared, s, &s->audit->game, s->error);
	// The control recites all that it read.
	if (!status)
		status = recitation_guess(&members, &all, &members, r->guesses, s->audit->delta,
		                          pass_compared, s, &s->audit->control, s->error);
	recitation_free(&texts);
	recitation_free(&all);
	recitation_free(&members);
	return status;
}

/* Perturbed texts, and as control the texts themselves. */
static enum cuttle_status audit_inversion(struct audit_state *s) {
	const struct audit_request *r = s->request;
	struct cuttle_words *words = NULL;
	char sha256[HASH_TEXT];
	enum cuttle_status status = read_audit_files(s);
	if (!status) status = words_file_read(r->words, 0, &words, sha256, s->error);
	if (!status && records_count(s->others) != records_count(s->texts))
		status = io_fail(s->error, CUTTLE_INPUT,
		                 "%s has another number of records than %s: perturbed texts have a "
		                 "line for each",
		                 file_shown(r->texts), file_shown(r->run.common.input));
	if (!status) s->events->begin(s->events->user, 2 * records_count(s->others));
	if (!status)
		status = inversion_compare(words, s->others, s->texts, pass_compared, s,
		                           &s->audit->game, s->error);
	if (!status)
		status = inversion_compare(words, s->others, s->others, pass_compared, s,
		                           &s->audit->control, s->error);
	cuttle_words_free(&words);
	return status;
}

/* LEDGER: the texts are not what the receipt's run wrote. */
static enum cuttle_status compare_output(const struct audit_state *s) {
	const char *texts = s->request->texts;
	char sha256[HASH_TEXT];
	const enum cuttle_status status = hash_file(texts, sha256, s->error);
	if (status || !strcmp(sha256, s->evidence.attested.output_sha256)) return status;
	return io_fail(s->error, CUTTLE_LEDGER, "%s is not the output of %s: other bytes",
	               file_shown(texts), file_shown(s->request->receipt));
}

static enum cuttle_status audit_texts(struct audit_state *s) {
	const struct audit_request *r = s->request;
	chance_begin(&s->chance, r->run.plan.insecure ? &r->run.plan.insecure_seed : NULL);
	s->audit->epsilon = r->claim;
	s->audit->delta = r->run.plan.delta;
	s->audit->verdict = AUDIT_REPORTED;
	if (r->receipt) {
		enum cuttle_status status = read_promise(s);
		if (!status && r->texts) status = compare_output(s);
		if (status) return status;
		if (isnan(r->claim)) s->audit->epsilon = receipt_epsilon(&s->claimed->guarantee);
		s->audit->delta = s->claimed->guarantee.delta;
	}
	if (r->draw) return draw_members(s);
	if (r->split) return split_halves(s);
	s->audit->has_control = true;
	const enum cuttle_status status = r->action == AUDIT_OVERLAP   ? audit_overlap(s)
	                                  : r->action == AUDIT_HOLDOUT ? audit_holdout(s)
	                                  : r->action == AUDIT_INVERT  ? audit_inversion(s)
	                                                               : audit_lot(s);
	if (!status) s->audit->verdict = find_verdict(s);
	return status;
}

enum cuttle_status audit_run(const struct audit_request *request, const struct setup_model *opened,
                             const struct audit_events *events, struct audit *audit,
                             struct cuttle_error *error) {
	struct audit_state s = {
	    .request = request, .opened = opened, .events = events, .audit = audit, .error = error};
	*audit = (struct audit){.action = request->action,
	                        .is_private = request->privacy == AUDIT_PRIVATE,
	                        .epsilon = NAN,
	                        .delta = NAN,
	                        .canary = ""};
	const enum cuttle_status status =
	    RULES[request->action].texts ? audit_texts(&s) : audit_by_games(&s);
	generate_free(&s.setup);
	generate_free(&s.control);
	bias_close(&s.bias);
	evidence_free(&s.evidence);
	sanitize_free(&s.rewriters[0]);
	sanitize_free(&s.rewriters[1]);
	records_free(&s.others);
	records_free(&s.texts);
	chance_end(&s.chance);
	if (status) audit_free(audit);
	return status;
}

void audit_free(struct audit *audit) {
	canaries_free(&audit->canaries);
	audit->canary = "";
}

void audit_done(const struct audit_request *request) {
	for (int control = 0; control < 2; control++) {
		char *path =
		    strcmp(request->output, "-") != 0 ? name_trials(request, control) : NULL;
		if (path) (void)unlink(path);
		free(path);
	}
}
