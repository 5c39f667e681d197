// SPDX-License-Identifier: Apache-2.0
// What a job will be is asked of the command that will do it, so there is one truth. Numbers of the
// guarantee are nowhere computed twice.
#include "serve/jobs_quote.h"

#include "io/fail.h"
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTES_MOST = 2 }; /* of plans, and as many of references, at the same time */

void jobs_words_add(struct jobs_words *words, const char *one, const char *two) {
	if (one) words->words[words->count++] = one;
	if (two) words->words[words->count++] = two;
}

void jobs_words_begin(const struct jobs *jobs, const struct spec *spec, struct jobs_words *words) {
	const struct jobs_options *options = &jobs->options;
	*words = (struct jobs_words){.words = {"cuttle"}, .count = 1};
	jobs_words_add(words, spec->type, NULL);
	jobs_words_add(words, "--model", options->model);
	jobs_words_add(words, "--ledger", options->ledger);
	for (size_t i = 0; i < spec->count; i++) jobs_words_add(words, spec->words[i], NULL);
	(void)snprintf(words->threads, JOBS_NUMBER, "%" PRIu64, options->threads);
	if (options->threads) jobs_words_add(words, "--threads", words->threads);
	(void)snprintf(words->seed, JOBS_NUMBER, "%" PRIu64, options->seed);
	if (options->seed != UINT64_MAX) jobs_words_add(words, "--insecure-seed", words->seed);
}

/* The command's own line without its name. A line that names a file of the server is not passed
 * on: where things are is the operator's alone. */
static const char *strip_line(const struct jobs *jobs, const struct spec *spec, const char *said) {
	const struct jobs_options *options = &jobs->options;
	const size_t skip = strlen("cuttle ") + strlen(spec->type) + strlen(": ");
	if (strlen(said) <= skip || strstr(said, options->model) || strstr(said, options->ledger) ||
	    strstr(said, options->state))
		return "the command refuses this plan";
	return said + skip;
}

static bool refuse_quote(const struct jobs *jobs, const struct spec *spec,
                         const struct runner_result *result, bool uploaded,
                         struct jobs_fault *fault) {
	switch ((enum cuttle_status)result->code) {
	case CUTTLE_USAGE:
		return jobs_refuse(fault, 400, "invalid_value", "plan", "%s",
		                   strip_line(jobs, spec, result->said));
	case CUTTLE_INPUT:
		// The command's line may name a record; a client is told the rule alone.
		if (uploaded)
			return jobs_refuse(fault, 422, "invalid_input", "references",
			                   "the references will not do: too few, or not in the "
			                   "form that was announced");
		return jobs_refuse(fault, 400, "invalid_value", "plan", "%s",
		                   strip_line(jobs, spec, result->said));
	case CUTTLE_NOMEM:
		return jobs_refuse(fault, 503, "out_of_memory", "plan", "%s",
		                   strip_line(jobs, spec, result->said));
	case CUTTLE_LEDGER:
		return jobs_refuse_status(fault, CUTTLE_LEDGER, NULL);
	default:
		return jobs_refuse(fault, 500, "internal", "", "the command gave no answer");
	}
}

/* What a quote needs while its command runs. */
struct asking {
	struct jobs *jobs;
	struct runner runner;
	struct timespec end; /* by CLOCK_MONOTONIC, when it has taken too long */
	bool late;           /* it has */
};

static bool is_late(const struct asking *asking) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > asking->end.tv_sec ||
	       (now.tv_sec == asking->end.tv_sec && now.tv_nsec >= asking->end.tv_nsec);
}

/* Neither a server that stops nor other clients wait for a quote of large references. */
static void watch_quote(void *user) {
	struct asking *asking = user;
	(void)pthread_mutex_lock(&asking->jobs->lock);
	const bool stopping = asking->jobs->stopping;
	(void)pthread_mutex_unlock(&asking->jobs->lock);
	asking->late |= is_late(asking);
	if (stopping || asking->late) runner_signal(&asking->runner, SIGKILL);
}

/* Waits until few enough quotes of this kind run. False: it has taken too long, or the server
 * stops. */
static bool take_quote_turn(struct asking *asking, bool references) {
	struct jobs *jobs = asking->jobs;
	(void)clock_gettime(CLOCK_MONOTONIC, &asking->end);
	asking->end.tv_sec += jobs->options.patience;
	(void)pthread_mutex_lock(&jobs->lock);
	while (jobs->asking[references] >= QUOTES_MOST && !jobs->stopping && !is_late(asking))
		(void)pthread_cond_timedwait(&jobs->changed, &jobs->lock, &asking->end);
	const bool turn = jobs->asking[references] < QUOTES_MOST && !jobs->stopping;
	jobs->asking[references] += turn;
	(void)pthread_mutex_unlock(&jobs->lock);
	return turn;
}

static void end_quote_turn(struct jobs *jobs, bool references) {
	(void)pthread_mutex_lock(&jobs->lock);
	jobs->asking[references]--;
	(void)pthread_cond_broadcast(&jobs->changed);
	(void)pthread_mutex_unlock(&jobs->lock);
}

static bool refuse_late(const struct jobs *jobs, bool references, struct jobs_fault *fault) {
	return jobs_refuse(fault, 503, "too_slow", references ? "references" : "plan",
	                   "the command gave no answer within %u s; try again%s",
	                   jobs->options.patience, references ? ", or send less" : "");
}

bool jobs_quote(struct jobs *jobs, const struct spec *spec, const char *id, json_t **quote,
                struct jobs_fault *fault) {
	struct jobs_words words;
	struct asking asking = {jobs, RUNNER_NONE, {0}, false};
	struct runner_result result;
	struct cuttle_error error;
	struct vault_reader *reader = NULL;
	const bool generate = !strcmp(spec->type, "generate");
	jobs_words_begin(jobs, spec, &words);
	jobs_words_add(&words, "--dry-run", "--json");
	jobs_words_add(&words, "--quiet", NULL);
	// The fingerprint of a generate holds the name of its input. Without references it reads an
	// empty one, and says that it is too few (exit 4) behind the answer.
	if (generate || id) jobs_words_add(&words, "--input", "-");
	enum cuttle_status status = id ? vault_read(&jobs->vault, id, &reader, &error) : CUTTLE_OK;
	const struct runner_request request = {.program = jobs->options.program,
	                                       .words = words.words,
	                                       .input = reader,
	                                       .tick = watch_quote,
	                                       .user = &asking};
	*quote = NULL;
	if (status) return jobs_refuse_status(fault, status, &error);
	if (!take_quote_turn(&asking, id != NULL)) {
		vault_close(&reader);
		return refuse_late(jobs, id != NULL, fault);
	}
	// A quote that reads references is private work, as the job itself.
	if (id) jobs_busy(jobs, true);
	status = runner_run(&asking.runner, &request, &result, &error);
	if (id) jobs_busy(jobs, false);
	end_quote_turn(jobs, id != NULL);
	vault_close(&reader);
	if (status) return jobs_refuse_status(fault, status, &error);
	if (asking.late) {
		free(result.answer);
		return refuse_late(jobs, id != NULL, fault);
	}
	const bool answers = !result.code || (result.code == CUTTLE_INPUT && !id);
	if (answers && !result.input_lost) *quote = json_loads(result.answer, 0, NULL);
	free(result.answer);
	return *quote || refuse_quote(jobs, spec, &result, id != NULL, fault);
}
