// SPDX-License-Identifier: Apache-2.0
// Jobs of the list as copies, as JSON and as events. serve/jobs/jobs_state.h says who needs them.
#include "serve/jobs/jobs_state.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/jsonout.h"
#include "serve/http/keys.h"
#include "serve/jobs/jobs_trail.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Numbers of events: jobs.h. */
enum { LEAST_ROOM = 256 << 10 }; /* bytes of a disk that is not full */
enum { EVENT_QUEUED = 1, EVENT_FIRST = 2, EVENT_END = JOBS_LAST_EVENT };

bool jobs_refuse(struct jobs_fault *fault, unsigned status, const char *code, const char *param,
                 const char *format, ...) {
	va_list arguments;
	*fault = (struct jobs_fault){.status = status, .code = code};
	(void)snprintf(fault->param, sizeof fault->param, "%s", param);
	va_start(arguments, format);
	(void)vsnprintf(fault->message, sizeof fault->message, format, arguments);
	va_end(arguments);
	return false;
}

bool jobs_refuse_status(struct jobs_fault *fault, enum cuttle_status status,
                        const struct cuttle_error *error) {
	switch (status) {
	case CUTTLE_PARTIAL:
		return jobs_refuse(fault, 507, "disk_full", "", "the server's disk is full");
	case CUTTLE_LEDGER:
		return jobs_refuse(fault, 503, "ledger_busy", "",
		                   "the ledger cannot be used now; its officer can see why");
	case CUTTLE_BUDGET:
		return jobs_refuse(fault, 403, "insufficient_privacy_budget", "", "%s",
		                   error->message);
	case CUTTLE_USAGE:
		return jobs_refuse(fault, 400, "invalid_value", "", "%s", error->message);
	default:
		return jobs_refuse(fault, 500, "internal", "", "the server could not do it");
	}
}

bool jobs_refuse_ended(struct jobs_fault *fault) {
	return jobs_refuse(fault, 409, "not_awaiting_references", "", "the job has ended");
}

void jobs_busy(struct jobs *jobs, bool busy) {
	(void)pthread_mutex_lock(&jobs->lock);
	if (busy) jobs->reading++;
	else jobs->reading--;
	if (jobs->options.busy) jobs->options.busy(jobs->options.user, jobs->reading > 0);
	(void)pthread_mutex_unlock(&jobs->lock);
}

/* ---- jobs of the list ------------------------------------------------------------------------ */

void job_free(struct job *job) {
	const char *const owned[] = {job->row.type,        job->row.spec,   job->row.fingerprint,
	                             job->row.dataset,     job->row.run,    job->row.owner,
	                             job->row.idempotency, job->row.failure};
	for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free((void *)(uintptr_t)owned[i]);
	json_decref(job->spec);
	*job = (struct job){0};
}

/* Copies a row of the list. Only the first counts. */
static enum cuttle_status copy_job(void *user, const struct store_job *row) {
	struct job *job = user;
	if (job->row.id[0]) return CUTTLE_OK;
	job->row = *row;
	job->before = row->state;
	const char **const strings[] = {
	    &job->row.type, &job->row.spec,  &job->row.fingerprint, &job->row.dataset,
	    &job->row.run,  &job->row.owner, &job->row.idempotency, &job->row.failure};
	bool copied = true;
	for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
		copied &= (*strings[i] = strdup(*strings[i])) != NULL;
	if (copied) job->spec = json_loads(row->spec, JSON_REJECT_DUPLICATES, NULL);
	return copied && job->spec ? CUTTLE_OK : CUTTLE_NOMEM;
}

enum cuttle_status job_find(struct jobs *jobs, const struct store_filter *filter, struct job *job,
                            struct cuttle_error *error) {
	*job = (struct job){0};
	const enum cuttle_status status = store_walk(jobs->store, filter, copy_job, job, error);
	if (status) job_free(job);
	return status;
}

bool jobs_sees_all(const struct jobs_caller *caller) {
	return caller->officer && (!caller->datasets || !*caller->datasets);
}

bool jobs_may_use(const struct jobs_caller *caller, const char *dataset) {
	return keys_has_dataset(caller->datasets, dataset);
}

bool job_find_own(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                  struct job *job, struct jobs_fault *fault) {
	struct cuttle_error error;
	const struct store_filter filter = {.id = id, .state = STORE_STATES};
	const enum cuttle_status status = job_find(jobs, &filter, job, &error);
	if (status) return jobs_refuse_status(fault, status, &error);
	// Whether somebody else has a job of that name is nobody's business: no 403.
	if (job->row.id[0] && (caller->officer || !strcmp(job->row.owner, caller->key)) &&
	    jobs_may_use(caller, job->row.dataset))
		return true;
	job_free(job);
	return jobs_refuse(fault, 404, "not_found", "", "there is no such job");
}

enum cuttle_status jobs_adopt(struct jobs *jobs, struct keys *keys, struct cuttle_error *error) {
	struct keys_holder holder;
	enum cuttle_status status = CUTTLE_OK;
	(void)pthread_mutex_lock(&jobs->lock);
	for (size_t i = 0; !status && keys_at(keys, i, &holder); i++)
		status = store_adopt(jobs->store, holder.id, holder.owner, error);
	if (!status) status = store_disown(jobs->store, error);
	(void)pthread_mutex_unlock(&jobs->lock);
	return status;
}

/* The file may not be opened here: to close it would take SQLite's locks away. */
static bool has_ledger(const char *path) {
	struct stat state;
	return stat(path, &state) == 0 && S_ISREG(state.st_mode) && state.st_size > 0 &&
	       access(path, R_OK | W_OK) == 0;
}

/* Whether an entry of the trail and a change of the list have room. */
static bool has_room(const char *folder) {
	struct statvfs system;
	return statvfs(folder, &system) != 0 ||
	       (uint64_t)system.f_bavail * system.f_frsize >= LEAST_ROOM;
}

const char *jobs_ready(const struct jobs *jobs, json_t *parts) {
	const bool there = has_ledger(jobs->options.ledger);
	const struct {
		const char *part, *bad, *word;
		bool good;
	} looks[] = {
	    {"ledger", there ? "restored" : "missing", there ? "ledger_restored" : "no_ledger",
	     there && !jobs->lacks},
	    {"model", "missing", "no_model", access(jobs->options.model, R_OK) == 0},
	    {"disk", "full", "disk_full", has_room(jobs->options.state)},
	    {"trail", "not_written", "no_trail", !jobs->stuck},
	};
	const char *word = NULL;
	for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
		const char *is = looks[i].good ? "ok" : looks[i].bad;
		(void)json_object_set_new(parts, looks[i].part, json_string(is));
		if (!word && !looks[i].good) word = looks[i].word;
	}
	return word;
}

bool job_check_awaiting(const struct job *job, struct jobs_fault *fault) {
	return job->row.state == STORE_AWAITING ||
	       jobs_refuse(fault, 409, "not_awaiting_references", "", "the job is %s",
	                   store_state_name(job->row.state));
}

/* What the trail says of a job that has ended: how, and under what name it was charged. */
static enum cuttle_status tell_job_end(struct jobs *jobs, const struct job *job,
                                       struct cuttle_error *error) {
	const struct jobs_event end = {.name = "end",
	                               .job = job,
	                               .more = json_pack("{s:s,s:s,s:s}", "status",
	                                                 store_state_name(job->row.state), "error",
	                                                 job->row.failure, "run", job->row.run)};
	return end.more ? jobs_trail_add(jobs, &end, error)
	                : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

/* The part of job_save that the trail tells of. Takes event->more. */
static enum cuttle_status change_told(struct jobs *jobs, struct job *job,
                                      const struct jobs_event *event, bool ends,
                                      struct cuttle_error *error) {
	enum cuttle_status status = jobs_trail_begin(jobs, error);
	if (status) {
		if (event) json_decref(event->more);
		return status;
	}
	status = store_change(jobs->store, &job->row, error);
	if (event && !status) status = jobs_trail_add(jobs, event, error);
	else if (event) json_decref(event->more);
	if (ends && !status) status = tell_job_end(jobs, job, error);
	return jobs_trail_end(jobs, status, error);
}

enum cuttle_status job_save(struct jobs *jobs, struct job *job, const struct jobs_event *event,
                            struct cuttle_error *error) {
	size_t size;
	char *spec = jsonout_dump(json_incref(job->spec), JSON_COMPACT, &size);
	if (!spec) {
		if (event) json_decref(event->more);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	spec[size - 1] = 0; // in place of the newline
	free((void *)(uintptr_t)job->row.spec);
	job->row.spec = spec;
	const bool ends = store_state_ended(job->row.state) && !store_state_ended(job->before);
	const enum cuttle_status status = event || ends
	                                      ? change_told(jobs, job, event, ends, error)
	                                      : store_change(jobs->store, &job->row, error);
	if (status) return status;
	job->before = job->row.state;
	jobs_tell(jobs, job);
	return CUTTLE_OK;
}

const json_t *job_quote(const struct job *job) {
	return json_object_get(job->spec, "quote");
}

const json_t *job_request(const struct job *job) {
	return json_object_get(job->spec, "request");
}

char *job_approval(const struct job *job) {
	const json_t *charge = json_object_get(job_quote(job), "charge");
	char *text;
	if (!*job->row.fingerprint || !charge) return NULL;
	return asprintf(&text, "%s:%.17g", job->row.fingerprint,
	                json_number_value(json_object_get(charge, "loss"))) < 0
	           ? NULL
	           : text;
}

const char *job_unit_key(const struct job *job) {
	const json_t *plan = json_object_get(job_request(job), "plan");
	return json_string_value(json_object_get(plan, "unit_key"));
}

void job_count_end(struct jobs *jobs, const struct job *job) {
	const bool sanitize = !strcmp(job->row.type, "sanitize");
	if (store_state_ended(job->row.state))
		(void)atomic_fetch_add(&jobs->ended[sanitize][job->row.state - STORE_DONE], 1);
}

size_t job_texts(const struct job *job) {
	static const char *const names[] = {"texts", "batches", "documents"};
	const json_t *texts = NULL;
	for (size_t i = 0; !texts && i < 3; i++) texts = json_object_get(job_quote(job), names[i]);
	return (size_t)json_integer_value(texts);
}

char *jobs_path(const struct jobs *jobs, const char *id, const char *name) {
	char *path;
	const int made = name ? asprintf(&path, "%s/%s/%s", jobs->folder, id, name)
	                      : asprintf(&path, "%s/%s", jobs->folder, id);
	return made < 0 ? NULL : path;
}

bool job_complete(const struct jobs *jobs, const char *id) {
	char *output = jobs_path(jobs, id, "out.jsonl");
	const bool complete = output && access(output, F_OK) == 0;
	free(output);
	return complete;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static json_t *encode_guarantee(const json_t *quote) {
	static const char *const names[][2] = {{"epsilon", "epsilon"}, {"delta", "delta"},
	                                       {"rho", "rho"},         {"adjacency", "adjacency"},
	                                       {"unit", "unit"},       {"sentence", "guarantee"}};
	json_t *guarantee = json_object();
	for (size_t i = 0; guarantee && i < sizeof names / sizeof *names; i++) {
		json_t *value = json_object_get(quote, names[i][1]);
		if (value && json_object_set(guarantee, names[i][0], value) != 0) {
			json_decref(guarantee);
			guarantee = NULL;
		}
	}
	return guarantee;
}

/* What a failed job is told. The command's own line may name a record, so it is not passed on. */
static const char *explain_failure(const char *code) {
	static const char *const lines[][2] = {
	    {"insufficient_privacy_budget", "the ledger had not enough left when the job began"},
	    {"invalid_input", "the references cannot be used as they are"},
	    {"invalid_value", "the command refused the plan"},
	    {"references_lost", "the references are needed again: upload them, and start; the "
	                        "charge stands, and no text is drawn twice"},
	    {"references_differ", "these are not the references that the job began with: upload "
	                          "those, and start"},
	    {"not_as_approved", "what would run now is not what was approved, and nothing was "
	                        "charged. Upload the references again, look at the numbers, and "
	                        "start"},
	    {"files_older",
	     "the job's files in the server's state are older than what was drawn for it. Have "
	     "the newer ones put back, upload the references again, and start; or delete the job"},
	    {"out_of_memory", "the job needs more memory than the machine has free"},
	    {"model", "the model cannot be used"},
	    {STORE_CANCELLING, "the job was cancelled, and ends"}};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		if (!strcmp(lines[i][0], code)) return lines[i][1];
	return "the command ended without an answer, several times";
}

/* Texts that are done, in whole tenths: who asks often learns no more than who follows events. */
static size_t count_tenths(size_t texts, size_t done) {
	const size_t tenths = texts ? done * 10 / texts : 0;
	return (tenths * texts + 9) / 10;
}

static size_t job_done(const struct jobs *jobs, const struct job *job) {
	if (job->row.state == STORE_DONE) return job_texts(job);
	if (strcmp(jobs->running, job->row.id) != 0) return 0;
	return count_tenths(jobs->texts, jobs->texts_done);
}

json_t *job_describe(const struct jobs *jobs, const struct job *job, json_t *budget) {
	const json_t *quote = job_quote(job), *request = job_request(job);
	const char *failure = job->row.failure;
	char *approval = job_approval(job);
	json_t *plan = json_object_get(request, "plan"), *charge = json_object_get(quote, "charge");
	const struct jsonout_member members[] = {
	    {"id", job->row.id[0] ? json_string(job->row.id) : json_null()},
	    {"object", json_string("job")},
	    {"type", json_string(job->row.type)},
	    {"status", json_string(store_state_name(job->row.state))},
	    {"dataset", json_string(job->row.dataset)},
	    {"fingerprint",
	     *job->row.fingerprint ? json_string(job->row.fingerprint) : json_null()},
	    {"plan", plan ? json_incref(plan) : json_object()},
	    {"guarantee", encode_guarantee(quote)},
	    {"charge", charge ? json_incref(charge) : json_null()},
	    {"approval", approval ? json_string(approval) : json_null()},
	    {"officer_starts", json_boolean(jobs->options.approval)},
	    {"references_needed",
	     json_integer(json_integer_value(json_object_get(quote, "references_needed")))},
	    {"references_uploaded",
	     json_boolean(job->row.id[0] && vault_has(&jobs->vault, job->row.id))},
	    {"texts", json_integer((json_int_t)job_texts(job))},
	    {"texts_done", json_integer((json_int_t)job_done(jobs, job))},
	    {"owner", json_stringn(job->row.owner, strcspn(job->row.owner, "#"))},
	    {"created", json_integer(job->row.created)},
	    {"error",
	     *failure ? json_pack("{s:s,s:s}", "code", failure, "message", explain_failure(failure))
	              : json_null()},
	    {"budget", budget ? budget : json_null()},
	    {"charge_lost", json_true()},
	};
	const size_t count = sizeof members / sizeof *members;
	const bool lost = json_is_true(json_object_get(job->spec, "charge_lost"));
	free(approval);
	if (!lost) json_decref(members[count - 1].value);
	return jsonout_extend(json_object(), members, lost ? count : count - 1);
}

/* ---- charges --------------------------------------------------------------------------------- */

bool job_run_name(const struct jobs *jobs, const char *id, char run[LEDGER_RUN]) {
	char *path = jobs_path(jobs, id, "out.jsonl.run"), *text = NULL;
	size_t size = 0;
	const bool named =
	    path && !file_read(path, LEDGER_RUN, &text, &size, NULL) && size == LEDGER_RUN;
	if (named) memcpy(run, text, LEDGER_RUN - 1);
	run[named ? LEDGER_RUN - 1 : 0] = 0;
	free(text);
	free(path);
	return named;
}

void job_name_charge(struct job *job, const char *run) {
	free((void *)(uintptr_t)job->row.run);
	job->row.run = strdup(run);
}

enum cuttle_status job_charged(const struct jobs *jobs, const char *id, const char *dataset,
                               bool *charged, struct cuttle_error *error) {
	char run[LEDGER_RUN];
	*charged = job_complete(jobs, id);
	if (*charged || !job_run_name(jobs, id, run)) return CUTTLE_OK;
	return budgets_charged(jobs->options.ledger, dataset, run, charged, error);
}

/* A job that waits or runs, and what it will be charged or was. */
struct pending {
	char id[STORE_ID];
	struct budgets_charge charge;
	struct pending *next;
};

struct pending_list {
	const char *dataset, *but;
	struct pending *first;
};

static enum cuttle_status note_pending(void *user, const struct store_job *row) {
	struct pending_list *list = user;
	struct pending *pending;
	if ((row->state != STORE_QUEUED && row->state != STORE_RUNNING) ||
	    !strcmp(row->id, list->but) || strcmp(row->dataset, list->dataset) != 0)
		return CUTTLE_OK;
	json_t *spec = json_loads(row->spec, JSON_REJECT_DUPLICATES, NULL);
	if (!spec || !(pending = calloc(1, sizeof *pending))) {
		json_decref(spec);
		return CUTTLE_NOMEM;
	}
	memcpy(pending->id, row->id, STORE_ID);
	const json_t *quote = json_object_get(spec, "quote");
	if (!budgets_read(quote, &pending->charge)) pending->charge = (struct budgets_charge){0};
	pending->next = list->first;
	list->first = pending;
	json_decref(spec);
	return CUTTLE_OK;
}

static bool is_stopping(struct jobs *jobs) {
	(void)pthread_mutex_lock(&jobs->lock);
	const bool stopping = jobs->stopping;
	(void)pthread_mutex_unlock(&jobs->lock);
	return stopping;
}

enum cuttle_status jobs_pending(struct jobs *jobs, const char *dataset, const char *but,
                                struct budgets_charge *sum, struct cuttle_error *error) {
	struct pending_list list = {dataset, but, NULL};
	(void)pthread_mutex_lock(&jobs->lock);
	enum cuttle_status status = store_walk(
	    jobs->store, &(struct store_filter){.state = STORE_STATES}, note_pending, &list, error);
	(void)pthread_mutex_unlock(&jobs->lock);
	while (list.first) {
		struct pending *pending = list.first;
		bool charged = true;
		// Each look at a busy ledger may take half a minute, and a server that stops has
		// not that much time for each job.
		if (!status && is_stopping(jobs)) status = CUTTLE_LEDGER;
		if (!status) status = job_charged(jobs, pending->id, dataset, &charged, error);
		if (!status && !charged) budgets_add(sum, &pending->charge);
		list.first = pending->next;
		free(pending);
	}
	return status;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool send_event(const struct jobs_watcher *watcher, uint64_t number, enum store_state state,
                       size_t texts, size_t done) {
	char event[256];
	const int size = snprintf(event, sizeof event,
	                          "id: %llu\nevent: progress\ndata: {\"object\":\"job.event\","
	                          "\"status\":\"%s\",\"texts\":%zu,\"texts_done\":%zu}\n\n",
	                          (unsigned long long)number, store_state_name(state), texts, done);
	return watcher->listener.send(watcher->listener.user, event, (size_t)size);
}

/* Sends event `number` unless it was sent. */
static bool send_new(struct jobs_watcher *watcher, uint64_t number, enum store_state state,
                     size_t texts, size_t done) {
	if (number <= watcher->last) return true;
	if (!send_event(watcher, number, state, texts, done)) return false;
	watcher->last = number;
	return true;
}

bool jobs_tell_one(const struct jobs *jobs, const struct job *job, struct jobs_watcher *watcher) {
	const enum store_state state = job->row.state;
	const bool runs = !strcmp(jobs->running, job->row.id), ended = store_state_ended(state);
	const size_t texts = job_texts(job), tenths = state == STORE_DONE ? 10
	                                              : runs && texts != 0
	                                                  ? jobs->texts_done * 10 / texts
	                                                  : 0;
	bool heard = true;
	if (state != STORE_AWAITING && !(ended && state != STORE_DONE))
		heard = send_new(watcher, EVENT_QUEUED, STORE_QUEUED, texts, 0);
	// With 3 texts the tenths 1, 2 and 3 are all "one text", and the first of them tells it.
	for (size_t k = 0; heard && (runs || state == STORE_DONE) && k <= tenths; k++)
		if (!k || (k * texts + 9) / 10 > ((k - 1) * texts + 9) / 10)
			heard = send_new(watcher, EVENT_FIRST + k, STORE_RUNNING, texts,
			                 (k * texts + 9) / 10);
	if (heard && ended)
		heard = send_new(watcher, EVENT_END, state, texts, state == STORE_DONE ? texts : 0);
	return heard && !ended;
}

static void free_watcher(struct jobs_watcher **at) {
	struct jobs_watcher *old = *at;
	*at = old->next;
	old->listener.end(old->listener.user);
	free(old);
}

void jobs_tell(struct jobs *jobs, const struct job *job) {
	for (struct jobs_watcher **at = &jobs->watchers; *at;) {
		if (strcmp((*at)->id, job->row.id) != 0 || jobs_tell_one(jobs, job, *at))
			at = &(*at)->next;
		else free_watcher(at);
	}
}

void jobs_tell_none(struct jobs *jobs) {
	for (struct jobs_watcher **at = &jobs->watchers; *at;) {
		if (!jobs->stopping && (*at)->listener.send((*at)->listener.user, "", 0))
			at = &(*at)->next;
		else free_watcher(at);
	}
}
