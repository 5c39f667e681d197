// SPDX-License-Identifier: Apache-2.0
// One loop: the next job, its command, what became of it. serve/jobs/jobs_queue.h has the table.
#include "serve/jobs/jobs_queue.h"

#include "io/disk/fail.h"
#include "serve/jobs/jobs_charges.h"
#include "serve/jobs/jobs_quote.h"
#include "workflow/spending.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PATIENCE_S = 10,      /* from SIGTERM to SIGKILL */
	REST_S = 1,           /* first wait after a command that could not go on; it doubles */
	LONGEST_REST_S = 60,  /* seconds */
	MOST_ATTEMPTS = 5,    /* of a command that ends without an answer */
	IDLE_S = 5,           /* how often the queue looks around when nothing happens */
	KEPT_S = 24 * 60 * 60 /* how long references wait for a start */
};

static struct timespec read_clock_now(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now;
}

static bool is_past(const struct timespec *moment) {
	const struct timespec now = read_clock_now();
	return now.tv_sec > moment->tv_sec ||
	       (now.tv_sec == moment->tv_sec && now.tv_nsec >= moment->tv_nsec);
}

/* ---- references that nobody starts ----------------------------------------------------------- */

struct look {
	struct jobs *jobs;
	unsigned waiting; /* jobs that wait for their turn or run */
};

/* Counts the job, or wipes its references where they are old. A job that was started keeps them,
 * however long it waits for its turn. */
static enum cuttle_status look_at_job(void *user, const struct store_job *row) {
	struct look *look = user;
	const struct vault *vault = &look->jobs->vault;
	look->waiting += row->state == STORE_QUEUED || row->state == STORE_RUNNING;
	if (row->state == STORE_AWAITING && vault_age(vault, row->id) > KEPT_S &&
	    !jobs_find_upload(look->jobs, row->id))
		vault_wipe(vault, row->id);
	return CUTTLE_OK;
}

/* Whether listeners were not asked for a while. A stream whose receiver has left counts among the
 * streams of the server until it is asked. */
static bool is_time_to_look(const struct jobs *jobs) {
	struct timespec due = jobs->listened;
	due.tv_sec += IDLE_S;
	return is_past(&due);
}

static void look_around(struct jobs *jobs) {
	const struct store_filter all = {.state = STORE_STATES};
	struct look look = {jobs, 0};
	if (!store_walk(jobs->store, &all, look_at_job, &look, NULL))
		atomic_store(&jobs->waiting, look.waiting);
	if (!is_time_to_look(jobs)) return;
	jobs->listened = read_clock_now();
	jobs_tell_none(jobs);
}

/* ---- while a command runs -------------------------------------------------------------------- */

/* Lines such as {"texts_done":3,"texts":10,"tokens":120}. Its tokens are not passed on. */
static void hear_line(void *user, const char *line) {
	struct jobs *jobs = user;
	size_t done, texts;
	struct job job;
	if (sscanf(line, "{\"texts_done\":%zu,\"texts\":%zu", &done, &texts) != 2) return;
	(void)pthread_mutex_lock(&jobs->lock);
	const bool tenth = !texts || done * 10 / texts != jobs->texts_done * 10 / texts || !done;
	jobs->texts = texts;
	jobs->texts_done = done;
	const bool charged = !jobs->run[0] && job_run_name(jobs, jobs->running, jobs->run);
	const struct store_filter filter = {.id = jobs->running, .state = STORE_STATES};
	if (tenth && !job_find(jobs, &filter, &job, NULL)) {
		jobs_tell(jobs, &job);
		job_free(&job);
	}
	(void)pthread_mutex_unlock(&jobs->lock);
	if (charged) jobs_charges_note(jobs);
}

/* Ends the command when somebody asks for it: in order, then at once. */
static void watch_wish(void *user) {
	struct jobs *jobs = user;
	struct timespec patience;
	(void)pthread_mutex_lock(&jobs->lock);
	const bool asked = jobs->asked.tv_sec != 0, remove = jobs->wish == JOBS_REMOVE;
	const bool wanted = jobs->stopping || jobs->wish != JOBS_GO_ON;
	patience = jobs->asked;
	patience.tv_sec += PATIENCE_S;
	if (wanted && !asked) jobs->asked = read_clock_now();
	// A job may run for days, and the references of others are wiped meanwhile.
	if (is_time_to_look(jobs)) look_around(jobs);
	(void)pthread_mutex_unlock(&jobs->lock);
	if (remove || (asked && is_past(&patience))) runner_signal(&jobs->worker, SIGKILL);
	else if (wanted && !asked) runner_signal(&jobs->worker, SIGTERM);
}

/* Runs the command of a job, without the lock. */
static enum cuttle_status run_command(struct jobs *jobs, const struct job *job,
                                      struct runner_result *result, struct cuttle_error *error) {
	struct jobs_words words;
	struct spec spec;
	struct spec_fault fault;
	struct vault_reader *reader = NULL;
	char *output = jobs_path(jobs, job->row.id, "out.jsonl");
	*result = (struct runner_result){0};
	if (!output) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!spec_read(job_request(job), &spec, &fault)) {
		// A request that an older server took. Like the command's own refusal.
		free(output);
		result->code = CUTTLE_USAGE;
		return CUTTLE_OK;
	}
	jobs_words_begin(jobs, &spec, &words);
	jobs_words_add(&words, "--input", "-");
	jobs_words_add(&words, "--output", output);
	jobs_words_add(&words, "--progress", "json");
	// What was looked at when the job was started is what may be charged, whatever became of
	// model, command or options meanwhile.
	const char *approved = json_string_value(json_object_get(job->spec, "approved"));
	if (approved) jobs_words_add(&words, "--approved", approved);
	enum cuttle_status status = vault_read(&jobs->vault, job->row.id, &reader, error);
	if (status == CUTTLE_INTERNAL) result->input_lost = true;
	const struct runner_request request = {.program = jobs->options.program,
	                                       .words = words.words,
	                                       .input = reader,
	                                       .file = spec.file,
	                                       .file_size = spec.file_size,
	                                       .line = hear_line,
	                                       .tick = watch_wish,
	                                       .user = jobs};
	if (!status) status = runner_run(&jobs->worker, &request, result, error);
	vault_close(&reader);
	spec_free(&spec);
	free(result->answer);
	free(output);
	return result->input_lost ? CUTTLE_OK : status;
}

/* ---- what becomes of a job ------------------------------------------------------------------- */

/* The job waits, behind all others: what keeps it from going on may be its own. The queue waits a
 * while, a longer one each time. */
static void rest_queue(struct jobs *jobs, struct job *job) {
	// Where the list cannot be read it keeps its place.
	(void)store_last_place(jobs->store, &job->row.place, NULL);
	jobs->rest_until = read_clock_now();
	jobs->rest_until.tv_sec += jobs->rest;
	jobs->rest = jobs->rest * 2 > LONGEST_REST_S ? LONGEST_REST_S : jobs->rest * 2;
}

static void set_failure(struct job *job, enum store_state state, const char *code) {
	free((void *)(uintptr_t)job->row.failure);
	job->row.failure = strdup(code);
	job->row.state = state;
}

/* The state that follows from how the command ended. */
static void judge_end(struct jobs *jobs, struct job *job, const struct runner_result *result,
                      bool charged) {
	const int code = result->code;
	job->row.state = STORE_QUEUED;
	if (code == CUTTLE_OK && !result->input_lost) set_failure(job, STORE_DONE, "");
	else if (jobs->wish != JOBS_GO_ON) set_failure(job, STORE_CANCELLED, "");
	else if (result->input_lost) set_failure(job, STORE_AWAITING, "references_lost");
	else if (jobs->stopping) return;
	else if (code == CUTTLE_BUDGET)
		set_failure(job, STORE_FAILED, "insufficient_privacy_budget");
	else if (code == CUTTLE_INPUT) set_failure(job, STORE_FAILED, "invalid_input");
	else if (code == CUTTLE_USAGE && charged)
		set_failure(job, STORE_AWAITING, "references_differ");
	else if (code == CUTTLE_USAGE && strstr(result->said, SPENDING_OTHER))
		set_failure(job, STORE_AWAITING, "not_as_approved");
	else if (code == CUTTLE_USAGE) set_failure(job, STORE_FAILED, "invalid_value");
	else if (code == CUTTLE_LEDGER && strstr(result->said, SPENDING_OLDER))
		set_failure(job, STORE_AWAITING, "files_older");
	else if (code == CUTTLE_MODEL && !charged) set_failure(job, STORE_FAILED, "model");
	else if (code == CUTTLE_NOMEM && !charged) set_failure(job, STORE_FAILED, "out_of_memory");
	else if (code == CUTTLE_PARTIAL || code == CUTTLE_LEDGER || code == CUTTLE_MODEL ||
	         code == CUTTLE_NOMEM || ++job->row.attempts < MOST_ATTEMPTS)
		rest_queue(jobs, job);
	else {
		// What was paid is not given up: whoever made the job may upload and start again.
		set_failure(job, charged ? STORE_AWAITING : STORE_FAILED, "internal");
		job->row.attempts = 0;
	}
}

/* Waits for `changed`, at most so many seconds. */
static void wait_for_change(struct jobs *jobs, unsigned seconds) {
	struct timespec until = read_clock_now();
	until.tv_sec += seconds;
	(void)pthread_cond_timedwait(&jobs->changed, &jobs->lock, &until);
}

/* Whether the queue waits until it can write what became of a job. Who removes the job waits for
 * that, with one of the server's threads, and wants nothing written. */
static bool may_wait(const struct jobs *jobs) {
	return !jobs->stopping && jobs->wish != JOBS_REMOVE;
}

/* Whether the job was paid for, however long the ledger cannot be asked: meanwhile the lock is
 * free. Where the job or the server is to end, nobody needs to know. */
static bool find_charge(struct jobs *jobs, const struct job *job) {
	bool charged = job_complete(jobs, job->row.id);
	enum cuttle_status status = CUTTLE_LEDGER;
	while (!charged && status && !jobs->stopping && jobs->wish == JOBS_GO_ON) {
		(void)pthread_mutex_unlock(&jobs->lock);
		status = job_charged(jobs, job->row.id, job->row.dataset, &charged, NULL);
		(void)pthread_mutex_lock(&jobs->lock);
		if (status) wait_for_change(jobs, REST_S);
	}
	return charged;
}

/* Writes what became of the job, however long the disk is full. The list says so first, then its
 * references are wiped: whatever a kill leaves here, jobs_open wipes. */
static void finish_job(struct jobs *jobs, struct job *job, const struct runner_result *result) {
	judge_end(jobs, job, result, find_charge(jobs, job));
	// A job that goes on with the next server has not had all of its turn.
	if (job->row.state != STORE_QUEUED || !jobs->stopping)
		(void)store_turn(jobs->store, job->row.owner, NULL);
	if (!strcmp(jobs->running, job->row.id) && jobs->run[0]) job_name_charge(job, jobs->run);
	while (job_save(jobs, job, NULL, NULL) && may_wait(jobs)) {
		wait_for_change(jobs, REST_S);
		// Whoever cancelled it meanwhile was told that it ends.
		if (jobs->wish == JOBS_CANCEL && !store_state_ended(job->row.state))
			set_failure(job, STORE_CANCELLED, "");
	}
	if (store_state_ended(job->row.state) || job->row.state == STORE_AWAITING)
		vault_wipe(&jobs->vault, job->row.id);
	if (!result->code) jobs->rest = REST_S;
	job_count_end(jobs, job);
}

/* Runs a job. The lock is held before and after. */
static void run_job_once(struct jobs *jobs, struct job *job) {
	struct runner_result result = {0};
	const bool complete = job_complete(jobs, job->row.id);
	jobs->wish = JOBS_GO_ON;
	// A job whose output was in place when the server was killed needs nothing more.
	if (complete) {
		finish_job(jobs, job, &result);
		return;
	}
	job->row.state = STORE_RUNNING;
	memcpy(jobs->running, job->row.id, STORE_ID);
	jobs->texts = job_texts(job);
	jobs->texts_done = 0;
	jobs->run[0] = 0;
	jobs->asked = (struct timespec){0};
	enum cuttle_status status = job_save(jobs, job, NULL, NULL);
	if (!status) {
		(void)pthread_mutex_unlock(&jobs->lock);
		jobs_busy(jobs, true);
		// Once more: it may have waited for long.
		status = jobs_charges_hold(jobs, NULL);
		if (!status) status = run_command(jobs, job, &result, NULL);
		jobs_busy(jobs, false);
		jobs_charges_note(jobs);
		// One that ended soon was not heard of while it ran.
		char run[LEDGER_RUN] = "";
		if (!*jobs->run) jobs_charges_run(jobs, job, run);
		(void)pthread_mutex_lock(&jobs->lock);
		if (*run) memcpy(jobs->run, run, LEDGER_RUN);
	}
	if (status) result.code = CUTTLE_PARTIAL; // no process, memory or ledger now: later
	finish_job(jobs, job, &result);
	jobs->running[0] = 0;
	(void)pthread_cond_broadcast(&jobs->changed);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* The job whose turn it is; its id is "" where there is none. */
static void find_next_job(struct jobs *jobs, struct job *job) {
	char id[STORE_ID];
	const struct store_filter one = {.id = id, .state = STORE_QUEUED};
	if (!store_next(jobs->store, id, NULL) && *id) (void)job_find(jobs, &one, job, NULL);
}

void *jobs_work(void *user) {
	struct jobs *jobs = user;
	(void)pthread_mutex_lock(&jobs->lock);
	jobs->rest = REST_S;
	while (!jobs->stopping) {
		struct job job = {0};
		look_around(jobs);
		if (is_past(&jobs->rest_until)) find_next_job(jobs, &job);
		if (job.row.id[0]) run_job_once(jobs, &job);
		else wait_for_change(jobs, jobs->rest > REST_S ? REST_S : IDLE_S);
		job_free(&job);
	}
	(void)pthread_mutex_unlock(&jobs->lock);
	return NULL;
}
