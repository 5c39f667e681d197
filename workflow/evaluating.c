// SPDX-License-Identifier: Apache-2.0
// From a request to a table. See evaluating.h. All files are read and compared before the first
// text goes through the model, since that takes longest.
#include "workflow/evaluating.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/paths.h"
#include "io/secrecy.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEXICON_MOST = 1 << 26 }; /* bytes */

void evaluating_default(struct evaluating_request *request) {
	*request = (struct evaluating_request){.text_field = "text", .against_field = "text"};
}

enum cuttle_status evaluating_check(const struct evaluating_request *request,
                                    struct cuttle_error *error) {
	const size_t sets = request->run_count + (request->baseline != NULL);
	if (request->privacy == EVALUATING_UNSAID)
		return io_fail(error, CUTTLE_USAGE,
		               "say whether the references are --public or --private: nothing "
		               "protects what is computed from them");
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
static size_t list_evaluating_paths(const struct evaluating_request *request,
                                    struct path_use *uses) {
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
	    PATH_ALONE("--features-a", request->features_a, PATH_FILE),
	    {"-o", request->output, PATH_OUTPUT, NULL, {FEATURE_FILE}},
	};
	memcpy(uses + count, others, sizeof others);
	return count + sizeof others / sizeof *others;
}

/* INPUT: a file that must be another one than the references is the references' own. */
static enum cuttle_status check_apart(const struct evaluating_request *request, const char *option,
                                      const char *path, struct cuttle_error *error) {
	if (!path || !file_same(path, request->against)) return CUTTLE_OK;
	return io_fail(error, CUTTLE_INPUT,
	               "%s %s is the file of --against: texts cannot be measured against "
	               "themselves",
	               option, path);
}

enum cuttle_status evaluating_paths(const struct evaluating_request *request,
                                    struct cuttle_error *error) {
	struct path_use uses[2 * EVALUATING_RUNS + 9];
	const size_t count = list_evaluating_paths(request, uses);
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

struct evaluating_state {
	const struct evaluating_request *request;
	const struct evaluating_events *events;
	struct text_set references;
	struct text_set baseline;
	struct text_set test;
	struct text_set runs[EVALUATING_RUNS];
	char *lexicon;
	size_t lexicon_size;
	struct cuttle_error *error;
};

/* The sets in the order in which they are read and measured. NULL: the request has no such file. */
static struct text_set *evaluating_set(struct evaluating_state *s, size_t i) {
	if (i == 0) return &s->references;
	if (i == 1) return s->request->baseline ? &s->baseline : NULL;
	if (i == 2) return s->request->test ? &s->test : NULL;
	return i - 3 < s->request->run_count ? &s->runs[i - 3] : NULL;
}
enum { SETS = EVALUATING_RUNS + 3 };

static enum cuttle_status read_sets(struct evaluating_state *s) {
	const struct evaluating_request *r = s->request;
	const char *const paths[] = {r->against, r->baseline, r->test};
	for (size_t i = 0; i < SETS; i++) {
		struct text_set *set = evaluating_set(s, i);
		if (!set) continue;
		const bool real = i == 0 || i == 2;
		const enum cuttle_status status =
		    text_set_read(i < 3 ? paths[i] : r->runs[i - 3],
		                  real ? r->against_field : r->text_field, r->task, set, s->error);
		if (status) return status;
		if (r->lock) records_lock(set->records);
	}
	return r->lexicon
	           ? file_read(r->lexicon, LEXICON_MOST, &s->lexicon, &s->lexicon_size, s->error)
	           : CUTTLE_OK;
}

/* INPUT: a text of one set stands in the other. */
static enum cuttle_status check_meeting(struct evaluating_state *s, const struct text_set *one,
                                        const struct text_set *other) {
	bool found;
	const enum cuttle_status status = text_set_meet(one, other, &found, s->error);
	if (status || !found) return status;
	return io_fail(s->error, CUTTLE_INPUT,
	               "a text of %s stands word for word in %s, too, so numbers would be too "
	               "good; --equal-texts measures them all the same",
	               file_shown(other->path), file_shown(one->path));
}

static enum cuttle_status check_meetings(struct evaluating_state *s) {
	enum cuttle_status status = CUTTLE_OK;
	if (s->request->equal_texts) return CUTTLE_OK;
	if (s->request->test) status = check_meeting(s, &s->references, &s->test);
	for (size_t i = 1; i < SETS && !status; i++) {
		const struct text_set *set = evaluating_set(s, i);
		if (!set || i == 2) continue;
		status = check_meeting(s, &s->references, set);
		if (!status && s->request->test) status = check_meeting(s, &s->test, set);
	}
	return status;
}

static enum cuttle_status import_vectors(struct evaluating_state *s) {
	const struct evaluating_request *r = s->request;
	if (!r->features_a) return CUTTLE_OK;
	enum cuttle_status status = text_set_import(&s->references, r->features_a, s->error);
	for (size_t i = 0; i < r->features_b_count && !status; i++)
		status = text_set_import(i < r->run_count ? &s->runs[i] : &s->baseline,
		                         r->features_b[i], s->error);
	return status;
}

static void tell_texts(void *user, size_t texts) {
	const struct evaluating_state *s = user;
	for (size_t i = 0; i < texts; i++) s->events->text(s->events->user);
}

static bool ask_evaluating_stop(void *user) {
	const struct evaluating_state *s = user;
	return s->events->stop(s->events->user);
}

/* Name of the file for what the model makes of texts; NULL: there is none. */
static char *name_features(const struct evaluating_request *request) {
	return strcmp(request->output, "-") != 0 ? file_name(request->output, FEATURE_FILE) : NULL;
}

static enum cuttle_status measure_sets(struct evaluating_state *s,
                                       const struct setup_model *opened) {
	struct cuttle_model_info info;
	struct feature_file *file = NULL;
	const struct text_set_events events = {s, tell_texts, ask_evaluating_stop};
	cuttle_model_describe(opened->model, &info);
	char *path = name_features(s->request);
	if (!path && strcmp(s->request->output, "-") != 0)
		return io_fail(s->error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = feature_file_open(
	    path, opened->sha256, s->request->features_a ? 0 : info.width, &file, s->error);
	size_t texts = 0;
	for (size_t i = 0; i < SETS; i++) {
		// Test texts have no imported vectors, so the model makes none for them either.
		const struct text_set *set = evaluating_set(s, i);
		if (set && !(i == 2 && s->request->features_a)) texts += set->count;
	}
	if (!status) s->events->begin(s->events->user, texts);
	for (size_t i = 0; i < SETS && !status; i++) {
		struct text_set *set = evaluating_set(s, i);
		if (set && !(i == 2 && s->request->features_a))
			status = text_set_measure(set, opened->model, file, &events, s->error);
	}
	if (status == CUTTLE_PARTIAL)
		(void)io_fail(s->error, status,
		              path ? "stopped; the same command continues"
		                   : "stopped; without -o nothing is kept to continue with");
	feature_file_close(&file);
	free(path);
	return status;
}

enum cuttle_status evaluating_run(const struct evaluating_request *request,
                                  const struct setup_model *opened,
                                  const struct evaluating_events *events,
                                  struct evaluation *evaluation, struct cuttle_error *error) {
	struct evaluating_state s = {.request = request, .events = events, .error = error};
	*evaluation = (struct evaluation){0};
	enum cuttle_status status = read_sets(&s);
	if (!status) status = check_meetings(&s);
	if (!status) status = import_vectors(&s);
	if (!status) status = measure_sets(&s, opened);
	if (!status) {
		const struct evaluation_input input = {.references = &s.references,
		                                       .baseline =
		                                           request->baseline ? &s.baseline : NULL,
		                                       .runs = s.runs,
		                                       .run_count = request->run_count,
		                                       .test = request->test ? &s.test : NULL,
		                                       .lexicon = s.lexicon,
		                                       .lexicon_size = s.lexicon_size};
		status = evaluation_make(&input, evaluation, error);
	}
	if (status) evaluation_free(evaluation);
	for (size_t i = 0; i < SETS; i++) {
		struct text_set *set = evaluating_set(&s, i);
		if (set) text_set_free(set);
	}
	free(s.lexicon);
	return status;
}

void evaluating_done(const struct evaluating_request *request) {
	char *path = name_features(request);
	if (path) (void)unlink(path);
	free(path);
}
