// SPDX-License-Identifier: Apache-2.0
// From a request to a table. See evaluate.h. All files are read and compared before the first text
// goes through the model, since that takes longest.
#include "workflow/evaluate/evaluate.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/paths.h"
#include "io/disk/secrecy.h"
#include "workflow/request.h"
#include "workflow/spending.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEXICON_MOST = 1 << 26 }; /* bytes */

void evaluate_default(struct evaluate_request *request) {
	*request = (struct evaluate_request){
	    .text_field = "text", .against_field = "text", .epsilon = NAN, .delta = 1e-6};
}

/* Says what is wrong about noise; NULL = nothing. */
static const char *name_noise_fault(const struct evaluate_request *request) {
	const bool asked = !isnan(request->epsilon);
	if (!asked && (request->ledger || request->dataset || request->unit_key || request->seed))
		return "--ledger, --dataset, --unit-key and --insecure-seed need -e EPS: without "
		       "it nothing protects the numbers, and nobody counts them";
	if (!asked) return NULL;
	if (request->privacy == EVALUATE_PUBLIC)
		return "-e is for private references: give --private, or leave out -e";
	if (!request->ledger && !request->seed)
		return "-e needs --ledger FILE and --dataset NAME: what the references answer is "
		       "counted";
	if (request->features_a || request->features_b_count)
		return "-e takes no vectors of others: a file of vectors that is wrong would tell "
		       "about the references";
	if (request->next_token)
		return "-e takes no --next-token: nothing protects what is measured on real texts";
	if (request->test)
		return "-e takes no --test: nothing protects what is measured on real texts";
	return common_fault(
	    &(struct common_request){.ledger = request->ledger, .dataset = request->dataset});
}

/* Says what does not go with a schema; NULL = nothing. */
static const char *name_schema_contradiction(const struct evaluate_request *request) {
	if (!request->schema) return NULL;
	if (!isnan(request->epsilon) || request->ledger || request->dataset || request->unit_key ||
	    request->seed)
		return "--schema asks nothing through noise: leave out -e, --ledger, --dataset, "
		       "--unit-key and --insecure-seed";
	if (request->model || request->task || request->test || request->lexicon ||
	    request->features_a || request->features_b_count || request->equal_texts ||
	    request->next_token || strcmp(request->text_field, "text") != 0 ||
	    strcmp(request->against_field, "text") != 0)
		return "--schema compares fields, without a model. The texts of a field are a "
		       "table of their own: without --schema, with -m MODEL --text-field NAME "
		       "--against-field NAME";
	return NULL;
}

enum cuttle_status evaluate_check(const struct evaluate_request *request,
                                  struct cuttle_error *error) {
	const size_t sets = request->run_count + (request->baseline != NULL);
	if (request->privacy == EVALUATE_UNSAID)
		return io_fail(error, CUTTLE_USAGE,
		               "say whether the references are --public or --private: nothing "
		               "protects what is computed from them");
	const char *fault = name_schema_contradiction(request);
	if (!fault) fault = name_noise_fault(request);
	if (fault) return io_fail(error, CUTTLE_USAGE, "%s", fault);
	if (!request->task != !request->test)
		return io_fail(error, CUTTLE_USAGE, "--task and --test need each other");
	if (!request->features_a && !request->features_b_count) return CUTTLE_OK;
	if (!request->features_a || request->features_b_count != sets)
		return io_fail(error, CUTTLE_USAGE,
		               "vectors must be given for all: --features-a for the references, "
		               "--features-b for each -i in turn, and last for --baseline");
	return CUTTLE_OK;
}

/* Lists all paths; returns how many. */
static size_t list_evaluate_paths(const struct evaluate_request *request, struct path_use *uses) {
	const bool asked = !isnan(request->epsilon);
	size_t count = 0;
	for (size_t i = 0; i < request->run_count; i++)
		uses[count++] = (struct path_use)PATH_ALONE("-i", request->runs[i], PATH_STREAM);
	for (size_t i = 0; i < request->features_b_count; i++)
		uses[count++] =
		    (struct path_use)PATH_ALONE("--features-b", request->features_b[i], PATH_FILE);
	const struct path_use others[] = {
	    PATH_ALONE("-m", request->model, PATH_MODEL),
	    PATH_ALONE("--against", request->against, PATH_STREAM),
	    PATH_ALONE("--baseline", request->baseline, PATH_STREAM),
	    PATH_ALONE("--test", request->test, PATH_STREAM),
	    PATH_ALONE("--lexicon", request->lexicon, PATH_STREAM),
	    PATH_ALONE("--schema", request->schema, PATH_STREAM),
	    PATH_ALONE("--features-a", request->features_a, PATH_FILE),
	    {"--ledger", request->ledger, PATH_LEDGER, NULL, {LEDGER_BESIDE}},
	    {"-o",
	     request->output,
	     PATH_OUTPUT,
	     NULL,
	     {FEATURE_FILE, asked ? ".journal" : NULL, ".journal.key", SPENDING_BESIDE}},
	};
	memcpy(uses + count, others, sizeof others);
	return count + sizeof others / sizeof *others;
}

/* INPUT: a file that must be another one than the references is the references' own. */
static enum cuttle_status check_apart(const struct evaluate_request *request, const char *option,
                                      const char *path, struct cuttle_error *error) {
	if (!path || !file_same(path, request->against)) return CUTTLE_OK;
	return io_fail(error, CUTTLE_INPUT,
	               "%s %s is the file of --against: texts cannot be measured against "
	               "themselves",
	               option, path);
}

enum cuttle_status evaluate_paths(const struct evaluate_request *request,
                                  struct cuttle_error *error) {
	struct path_use uses[2 * EVALUATE_RUNS + 11];
	const size_t count = list_evaluate_paths(request, uses);
	enum cuttle_status status = paths_check(uses, count, error);
	for (size_t i = 0; i < request->run_count && !status; i++)
		status = check_apart(request, "-i", request->runs[i], error);
	if (!status) status = check_apart(request, "--baseline", request->baseline, error);
	if (!status) status = check_apart(request, "--test", request->test, error);
	const char *const named[] = {request->against, request->baseline, request->test};
	for (size_t i = 0; i < request->run_count + 3 && !status; i++) {
		const struct records_request records = {.path = i < 3 ? named[i]
		                                                      : request->runs[i - 3]};
		if (records.path) status = records_check_name(&records, error);
	}
	return status;
}

/* ---- the run --------------------------------------------------------------------------------- */

struct evaluate_state {
	const struct evaluate_request *request;
	const struct evaluate_events *events;
	struct evaluate_asked *asked;
	struct text_set references;
	struct text_set baseline;
	struct text_set test;
	struct text_set runs[EVALUATE_RUNS];
	char *lexicon;
	size_t lexicon_size;
	struct cuttle_error *error;
};

/* The sets in the order in which they are read and measured. NULL: the request has no such file. */
static struct text_set *evaluate_set(struct evaluate_state *s, size_t i) {
	if (i == 0) return &s->references;
	if (i == 1) return s->request->baseline ? &s->baseline : NULL;
	if (i == 2) return s->request->test ? &s->test : NULL;
	return i - 3 < s->request->run_count ? &s->runs[i - 3] : NULL;
}
enum { SETS = EVALUATE_RUNS + 3 };

static enum cuttle_status read_sets(struct evaluate_state *s) {
	const struct evaluate_request *r = s->request;
	const char *const paths[] = {r->against, r->baseline, r->test};
	for (size_t i = 0; i < SETS; i++) {
		struct text_set *set = evaluate_set(s, i);
		if (!set) continue;
		const bool real = i == 0 || i == 2;
		const enum cuttle_status status =
		    !i && s->asked->delta > 0
		        ? text_set_read_all(r->against, r->against_field, "--against-field",
		                            r->unit_key, NULL, 0, set, s->error)
		        : text_set_read(i < 3 ? paths[i] : r->runs[i - 3],
		                        real ? r->against_field : r->text_field, r->task, set,
		                        s->error);
		if (status) return status;
		// Neither noise nor public references protect what a run's own references were.
		if (i != 0 && i != 2 && text_set_unprotected(set)) s->asked->unprotected = true;
		if (s->asked->unprotected && s->asked->delta > 0 && !r->seed)
			return io_fail(s->error, CUTTLE_INPUT,
			               "%s, or the receipt beside it, says NOT PRIVATE, and with "
			               "-e the table may be published. Leave out -e, so that it "
			               "is stamped",
			               file_shown(set->path));
		if (r->lock) records_lock(set->records);
	}
	return r->lexicon
	           ? file_read(r->lexicon, LEXICON_MOST, &s->lexicon, &s->lexicon_size, s->error)
	           : CUTTLE_OK;
}

/* INPUT: a text of one set stands in the other. */
static enum cuttle_status check_meeting(struct evaluate_state *s, const struct text_set *one,
                                        const struct text_set *other) {
	bool found;
	const enum cuttle_status status = text_set_meet(one, other, &found, s->error);
	if (status || !found) return status;
	return io_fail(s->error, CUTTLE_INPUT,
	               "a text of %s stands word for word in %s, too, so numbers would be too "
	               "good. --equal-texts measures them all the same",
	               file_shown(other->path), file_shown(one->path));
}

static enum cuttle_status check_meetings(struct evaluate_state *s) {
	enum cuttle_status status = CUTTLE_OK;
	if (s->request->equal_texts) return CUTTLE_OK;
	// Whether a private text stands somewhere else is not told where references ask for noise.
	const bool told = s->asked->delta <= 0;
	if (told && s->request->test) status = check_meeting(s, &s->references, &s->test);
	for (size_t i = 1; i < SETS && !status; i++) {
		const struct text_set *set = evaluate_set(s, i);
		if (!set || i == 2) continue;
		if (told) status = check_meeting(s, &s->references, set);
		if (!status && s->request->test) status = check_meeting(s, &s->test, set);
	}
	return status;
}

static enum cuttle_status import_vectors(struct evaluate_state *s) {
	const struct evaluate_request *r = s->request;
	if (!r->features_a) return CUTTLE_OK;
	enum cuttle_status status = text_set_import(&s->references, r->features_a, s->error);
	for (size_t i = 0; i < r->features_b_count && !status; i++)
		status = text_set_import(i < r->run_count ? &s->runs[i] : &s->baseline,
		                         r->features_b[i], s->error);
	return status;
}

static void tell_texts(void *user, size_t texts) {
	const struct evaluate_state *s = user;
	for (size_t i = 0; i < texts; i++) s->events->text(s->events->user);
}

static bool ask_evaluate_stop(void *user) {
	const struct evaluate_state *s = user;
	return s->events->stop(s->events->user);
}

/* Name of the file for what the model makes of texts; NULL: there is none. */
static char *name_features(const struct evaluate_request *request) {
	return strcmp(request->output, "-") != 0 ? file_name(request->output, FEATURE_FILE) : NULL;
}

static enum cuttle_status measure_sets(struct evaluate_state *s, const struct setup_model *opened) {
	struct cuttle_model_info info;
	struct feature_file *file = NULL;
	const struct text_set_events events = {s, tell_texts, ask_evaluate_stop};
	cuttle_model_describe(opened->model, &info);
	char *path = name_features(s->request);
	if (!path && strcmp(s->request->output, "-") != 0)
		return io_fail(s->error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = feature_file_open(
	    path, opened->sha256, s->request->features_a ? 0 : info.width, &file, s->error);
	size_t texts = 0;
	for (size_t i = 0; i < SETS; i++) {
		// Test texts have no imported vectors, so the model makes none for them either.
		const struct text_set *set = evaluate_set(s, i);
		if (set && !(i == 2 && s->request->features_a)) texts += set->count;
	}
	if (!status) s->events->begin(s->events->user, texts);
	for (size_t i = 0; i < SETS && !status; i++) {
		struct text_set *set = evaluate_set(s, i);
		// References that ask for noise are never on disk: a size would tell of them.
		if (set && !(i == 2 && s->request->features_a))
			status = text_set_measure(set, opened->model, set->cut ? NULL : file,
			                          &events, s->error);
	}
	if (status == CUTTLE_PARTIAL)
		(void)io_fail(s->error, status,
		              path ? "stopped; the same command continues"
		                   : "stopped; without -o nothing is kept to continue with");
	feature_file_close(&file);
	free(path);
	return status;
}

/* Tokens of all that teaches or is guessed. Test texts are of the task alone. */
static enum cuttle_status tokenize_sets(struct evaluate_state *s,
                                        const struct setup_model *opened) {
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; i < SETS && !status; i++) {
		struct text_set *set = evaluate_set(s, i);
		if (set && i != 2) status = text_set_tokenize(set, opened->model, s->error);
	}
	return status;
}

/* ---- references that answer through noise ---------------------------------------------------- */

/* The fingerprint of the command: of the model, all public texts and all numbers, and not of the
 * references, which the journal's digest is of. */
static void hash_evaluation(struct evaluate_state *s, const struct evaluation_input *input,
                            const char *model_sha256) {
	const struct evaluate_request *r = s->request;
	char line[1024];
	struct hash hash;
	hash_begin(&hash);
	(void)snprintf(line, sizeof line, "cuttle evaluate 1 %s %s %zu %d %d %d", model_sha256,
	               receipt_command_isa(cuttle_isa()), evaluation_clusters(input),
	               (int)EVALUATION_REACH, (int)EVALUATION_LOSS_PARTS, r->seed != NULL);
	hash_add(&hash, line, strlen(line) + 1);
	for (size_t i = 0; i < EVALUATE_QUERIES; i++) {
		const struct cuttle_query *q = &s->asked->queries[i];
		(void)snprintf(line, sizeof line, "%llu %u %u %u", (unsigned long long)q->square,
		               q->times, q->num, q->den);
		hash_add(&hash, line, strlen(line) + 1);
	}
	if (r->seed) hash_add(&hash, r->seed, sizeof *r->seed);
	hash_add(&hash, r->against_field, strlen(r->against_field) + 1);
	hash_add(&hash, r->unit_key ? r->unit_key : "", r->unit_key ? strlen(r->unit_key) + 1 : 1);
	for (size_t i = 1; i < SETS; i++) {
		const struct text_set *set = evaluate_set(s, i);
		if (!set || i == 2) continue;
		hash_add(&hash, &i, sizeof i);
		for (size_t t = 0; t <= set->count; t++) {
			size_t size = SIZE_MAX;
			const char *text = t < set->count ? text_set_text(set, t, &size) : "";
			hash_add(&hash, &size, sizeof size);
			hash_add(&hash, text, t < set->count ? size : 0);
		}
	}
	hash_end(&hash, s->asked->fingerprint);
}

static void digest_asked(void *user, const unsigned char *key, char *digest) {
	const struct evaluate_state *s = user;
	text_set_digest(&s->references, key, digest);
}

/* Charges what the references will be asked, or finds what was. */
static enum cuttle_status open_ballot(struct evaluate_state *s,
                                      const struct evaluation_input *input,
                                      const char *model_sha256) {
	const struct evaluate_request *r = s->request;
	struct evaluate_asked *asked = s->asked;
	if (!s->references.count)
		return io_fail(s->error, CUTTLE_INPUT, "%s: there is no record in it",
		               file_shown(r->against));
	hash_evaluation(s, input, model_sha256);
	const struct ballot_request request = {.output = r->output,
	                                       .fingerprint = asked->fingerprint,
	                                       .answers = evaluation_clusters(input) + 2,
	                                       .overwrite = r->overwrite,
	                                       .digest = digest_asked,
	                                       .user = s};
	// All records stand in one batch: g of one owner move answers g times as far.
	const struct ledger_request charge = {.command = asked->fingerprint,
	                                      .rho = asked->rho,
	                                      .count = s->references.count,
	                                      .batch = s->references.count,
	                                      .user = &s->references,
	                                      .unit = text_set_owner};
	return ballot_open(&request, &asked->spending, &charge, &asked->ballot, &asked->ledger,
	                   s->error);
}

/* What was said, on its way to the noise. */
struct said {
	const struct evaluate_state *state;
	const struct evaluation_sayings *sayings;
};

static enum cuttle_status draw_answers(void *user, int64_t *answers, struct cuttle_error *error) {
	const struct said *said = user;
	const struct evaluation_sayings *of = said->sayings;
	const struct cuttle_query *queries = said->state->asked->queries;
	const uint64_t *seed = said->state->request->seed;
	const size_t k = of->clusters;
	enum cuttle_status status =
	    cuttle_votes_count(&queries[EVALUATE_VOTES], of->votes, of->count, 1, (uint32_t)k, seed,
	                       0, answers, error);
	if (!status)
		status = cuttle_votes_sum(&queries[EVALUATE_SUMS], of->lengths, of->count,
		                          EVALUATION_REACH, seed, 1, answers + k, error);
	if (!status)
		status = cuttle_votes_sum(&queries[EVALUATE_SUMS], of->losses, of->count,
		                          EVALUATION_REACH, seed, 2, answers + k + 1, error);
	return status;
}

static enum cuttle_status ask_through_noise(void *user, const struct evaluation_sayings *sayings,
                                            int64_t *answers, struct cuttle_error *error) {
	struct evaluate_state *s = user;
	struct said said = {s, sayings};
	return ballot_take(s->asked->ballot, draw_answers, &said, answers, error);
}

/* Before a reference is read: what the answers cost, and whether the ledger knows the data set. */
static enum cuttle_status settle_noise(const struct evaluate_request *request,
                                       struct evaluate_asked *asked, struct cuttle_error *error) {
	const uint64_t reach = EVALUATION_REACH;
	*asked = (struct evaluate_asked){0};
	if (isnan(request->epsilon)) return CUTTLE_OK;
	asked->queries[EVALUATE_VOTES] = (struct cuttle_query){.square = 1, .times = 1, .parts = 8};
	asked->queries[EVALUATE_SUMS] =
	    (struct cuttle_query){.square = reach * reach, .times = 2, .parts = 2};
	asked->delta = request->delta;
	asked->seeded = request->seed != NULL;
	enum cuttle_status status = cuttle_queries_solve(asked->queries, EVALUATE_QUERIES,
	                                                 request->epsilon, request->delta, error);
	if (!status)
		status = cuttle_queries_cost(asked->queries, EVALUATE_QUERIES, request->delta,
		                             &asked->rho, &asked->epsilon, error);
	const struct spending_request spending = {.ledger = request->seed ? NULL : request->ledger,
	                                          .dataset = request->dataset,
	                                          .unit_key = request->unit_key,
	                                          .output = request->output};
	return status ? status : spending_open(&spending, &asked->spending, error);
}

static double deviation_of(const struct cuttle_query *query) {
	return sqrt((double)query->num / query->den);
}

enum cuttle_status evaluate_run(const struct evaluate_request *request,
                                const struct setup_model *opened,
                                const struct evaluate_events *events, struct evaluate_asked *asked,
                                struct evaluation *evaluation, struct cuttle_error *error) {
	struct evaluate_state s = {
	    .request = request, .events = events, .asked = asked, .error = error};
	*evaluation = (struct evaluation){0};
	enum cuttle_status status = settle_noise(request, asked, error);
	const struct evaluation_noise noise = {
	    .ask = ask_through_noise,
	    .user = &s,
	    .vote_deviation = deviation_of(&asked->queries[EVALUATE_VOTES]),
	    .sum_deviation = deviation_of(&asked->queries[EVALUATE_SUMS])};
	const bool asks = asked->delta > 0;
	if (!status && asks) status = secrecy_room(SIZE_MAX, error);
	if (!status) status = read_sets(&s);
	if (!status) status = check_meetings(&s);
	if (!status) status = import_vectors(&s);
	struct cuttle_model_info info;
	cuttle_model_describe(opened->model, &info);
	const struct evaluation_input input = {.references = &s.references,
	                                       .baseline = request->baseline ? &s.baseline : NULL,
	                                       .runs = s.runs,
	                                       .run_count = request->run_count,
	                                       .test = request->test ? &s.test : NULL,
	                                       .lexicon = s.lexicon,
	                                       .lexicon_size = s.lexicon_size,
	                                       .vocabulary = request->next_token ? info.vocab : 0,
	                                       .noise = asks ? &noise : NULL};
	if (!status && asks) status = open_ballot(&s, &input, opened->sha256);
	if (!status) status = measure_sets(&s, opened);
	if (!status && request->next_token) status = tokenize_sets(&s, opened);
	if (!status) status = evaluation_make(&input, evaluation, error);
	if (status) evaluation_free(evaluation);
	for (size_t i = 0; i < SETS; i++) {
		struct text_set *set = evaluate_set(&s, i);
		if (set) text_set_free(set);
	}
	free(s.lexicon);
	return status;
}

enum cuttle_status evaluate_seal(struct evaluate_asked *asked, const char sha256[HASH_TEXT],
                                 struct cuttle_error *error) {
	return asked->ballot ? ballot_finish(asked->ballot, sha256, error) : CUTTLE_OK;
}

void evaluate_done(const struct evaluate_request *request, struct evaluate_asked *asked) {
	char *path = name_features(request);
	if (path) (void)unlink(path);
	free(path);
	if (asked->ballot) ballot_done(asked->ballot);
}

void evaluate_close(struct evaluate_asked *asked) {
	ballot_close(&asked->ballot);
	spending_close(&asked->spending);
}
