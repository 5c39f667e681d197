// SPDX-License-Identifier: Apache-2.0
// What a job will be is asked of the command that will do it, so there is one truth. Numbers of the
// guarantee are nowhere computed twice.
#include "serve/jobs/jobs_quote.h"

#include "io/disk/fail.h"
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
	if (options->sign) jobs_words_add(words, "--sign", options->sign);
	for (size_t i = 0; i < spec->count; i++) jobs_words_add(words, spec->words[i], NULL);
	(void)snprintf(words->threads, JOBS_NUMBER, "%" PRIu64, options->threads);
	if (options->threads) jobs_words_add(words, "--threads", words->threads);
	if (options->kv_type) jobs_words_add(words, "--kv-type", options->kv_type);
	(void)snprintf(words->seed, JOBS_NUMBER, "%" PRIu64, options->seed);
	if (options->seed != UINT64_MAX) jobs_words_add(words, "--insecure-seed", words->seed);
}

/* The command's own line without its name. A line that names a file of the server is not passed
 * on: where things are is the operator's alone. */
static const char *strip_line(const struct jobs *jobs, const struct spec *spec, const char *said) {
	const struct jobs_options *options = &jobs->options;
	const size_t skip = strlen("cuttle ") + strlen(spec->type) + strlen(": ");
	if (strlen(said) <= skip || strstr(said, options->model) || strstr(said, options->ledger) ||
	    strstr(said, options->state) || (options->sign && strstr(said, options->sign)))
		return "the command refuses this plan";
	// To who sent a grammar, its name here is none.
	const size_t name = strlen(RUNNER_FILE ": ");
	return said + skip + (strncmp(said + skip, RUNNER_FILE ": ", name) ? 0 : name);
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
			                   "the references will not do: too few, without the "
			                   "text's field, or not in the form that was announced, "
			                   "which is JSONL unless references.format is csv");
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

/* ---- turns ----------------------------------------------------------------------------------- */

/* A moment so many seconds from now, by CLOCK_MONOTONIC. */
static struct timespec find_end(unsigned seconds) {
	struct timespec end;
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	return end;
}

static bool is_behind(const struct timespec *end) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > end->tv_sec ||
	       (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
}

/* Whether one more quote may run now. One owner has one of references at a time, so that nobody
 * takes both places. The lock is held. */
static bool has_turn(const struct jobs *jobs, const struct jobs_upload *upload) {
	unsigned quoting = 0;
	if (!upload) return jobs->planning < QUOTES_MOST;
	for (const struct jobs_upload *at = jobs->uploads; at; at = at->next) {
		if (at->quoting && !strcmp(at->owner, upload->owner)) return false;
		quoting += at->quoting;
	}
	return quoting < QUOTES_MOST;
}

/* Whether nobody waits for the answer any more. The lock is held. */
static bool is_pointless(const struct jobs *jobs, const struct jobs_upload *upload) {
	return jobs->stopping || (upload && upload->unwanted);
}

/* Why there is no turn, or no answer. The lock is held. */
static bool refuse_turn(const struct jobs *jobs, const struct jobs_upload *upload,
                        struct jobs_fault *fault) {
	if (upload && upload->unwanted) return jobs_refuse_ended(fault);
	if (jobs->stopping)
		return jobs_refuse(fault, 503, "stopping", "", "the server is stopping");
	return jobs_refuse(fault, 429, "queue_full", "",
	                   upload ? "others' references are being looked at; send these again"
	                          : "others' plans are being checked; try again");
}

bool jobs_turn_take(struct jobs *jobs, struct jobs_upload *upload, struct jobs_fault *fault) {
	const struct timespec end = find_end(jobs->options.patience);
	(void)pthread_mutex_lock(&jobs->lock);
	bool may_wait = true, turn;
	while (!(turn = has_turn(jobs, upload)) && may_wait) {
		(void)pthread_cond_timedwait(&jobs->changed, &jobs->lock, &end);
		may_wait = !is_behind(&end) && !is_pointless(jobs, upload);
	}
	turn = turn && !is_pointless(jobs, upload);
	if (turn && upload) upload->quoting = true;
	else if (turn) jobs->planning++;
	else (void)refuse_turn(jobs, upload, fault);
	(void)pthread_mutex_unlock(&jobs->lock);
	return turn;
}

void jobs_turn_end(struct jobs *jobs) {
	(void)pthread_mutex_lock(&jobs->lock);
	jobs->planning--;
	(void)pthread_cond_broadcast(&jobs->changed);
	(void)pthread_mutex_unlock(&jobs->lock);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* What a quote needs while its command runs. */
struct asking {
	struct jobs *jobs;
	const struct jobs_upload *upload; /* NULL = of a plan */
	struct runner runner;
	struct timespec end; /* when it has taken too long */
	bool late;           /* it has */
	bool unwanted;       /* the server stops, or the job has ended */
};

/* Nobody waits for a quote of large references: neither a server that stops, nor who has ended its
 * job, nor for ever who sent them. */
static void watch_quote(void *user) {
	struct asking *asking = user;
	(void)pthread_mutex_lock(&asking->jobs->lock);
	asking->unwanted |= is_pointless(asking->jobs, asking->upload);
	(void)pthread_mutex_unlock(&asking->jobs->lock);
	asking->late |= is_behind(&asking->end);
	if (asking->unwanted || asking->late) runner_signal(&asking->runner, SIGKILL);
}

/* Why the command was ended. */
static bool refuse_ended(const struct asking *asking, struct jobs_fault *fault) {
	const bool references = asking->upload != NULL;
	if (asking->unwanted) {
		(void)pthread_mutex_lock(&asking->jobs->lock);
		(void)refuse_turn(asking->jobs, asking->upload, fault);
		(void)pthread_mutex_unlock(&asking->jobs->lock);
		return false;
	}
	return jobs_refuse(fault, 503, "too_slow", references ? "references" : "plan",
	                   "the command gave no answer within %u s; try again%s",
	                   asking->jobs->options.patience, references ? ", or send less" : "");
}

bool jobs_quote(struct jobs *jobs, const struct spec *spec, const struct jobs_upload *upload,
                json_t **quote, struct jobs_fault *fault) {
	struct jobs_words words;
	struct asking asking = {jobs,  upload, RUNNER_NONE, find_end(jobs->options.patience),
	                        false, false};
	struct runner_result result;
	struct cuttle_error error;
	struct vault_reader *reader = NULL;
	const bool generate = !strcmp(spec->type, "generate");
	jobs_words_begin(jobs, spec, &words);
	jobs_words_add(&words, "--dry-run", "--json");
	jobs_words_add(&words, "--quiet", NULL);
	// The fingerprint of a generate holds the name of its input. Without references it reads an
	// empty one, and says that it is too few (exit 4) behind the answer.
	if (generate || upload) jobs_words_add(&words, "--input", "-");
	enum cuttle_status status =
	    upload ? vault_read(&jobs->vault, upload->id, &reader, &error) : CUTTLE_OK;
	const struct runner_request request = {.program = jobs->options.program,
	                                       .words = words.words,
	                                       .input = reader,
	                                       .file = spec->file,
	                                       .file_size = spec->file_size,
	                                       .tick = watch_quote,
	                                       .user = &asking};
	*quote = NULL;
	if (status) return jobs_refuse_status(fault, status, &error);
	// A quote that reads references is private work, as the job itself.
	if (upload) jobs_busy(jobs, true);
	status = runner_run(&asking.runner, &request, &result, &error);
	if (upload) jobs_busy(jobs, false);
	vault_close(&reader);
	if (status) return jobs_refuse_status(fault, status, &error);
	if (asking.unwanted || asking.late) {
		free(result.answer);
		return refuse_ended(&asking, fault);
	}
	const bool answers = !result.code || (result.code == CUTTLE_INPUT && !upload);
	if (answers && !result.input_lost) *quote = json_loads(result.answer, 0, NULL);
	free(result.answer);
	return *quote || refuse_quote(jobs, spec, &result, upload != NULL, fault);
}
