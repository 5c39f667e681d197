// SPDX-License-Identifier: Apache-2.0
// The calls of jobs.h, each under the lock but where the command or the ledger is asked something.
#include "serve/jobs/jobs.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "serve/jobs/jobs_charges.h"
#include "serve/jobs/jobs_gap.h"
#include "serve/jobs/jobs_queue.h"
#include "serve/jobs/jobs_quota.h"
#include "serve/jobs/jobs_quote.h"
#include "serve/jobs/jobs_trail.h"
#include "serve/jobs/jobs_upload.h"
#include "serve/jobs/trail_read.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	PATIENCE_S = 300, /* for a quote, where no option says otherwise */
	START_S = 30      /* that a start waits for others before it */
};

/* ---- opening and closing --------------------------------------------------------------------- */

/* The folder for keys, to be freed. NULL: out of memory. */
static char *choose_runtime(const struct jobs_options *options) {
	const char *given = options->runtime ? options->runtime : getenv("RUNTIME_DIRECTORY");
	char *path;
	if (given && *given) return strdup(given);
	return asprintf(&path, "/run/user/%u/cuttle", (unsigned)geteuid()) < 0 ? NULL : path;
}

/* What is wiped on a disk may be found there later; in memory it is gone. */
static enum cuttle_status check_memory(const char *path, struct cuttle_error *error) {
	struct statfs system;
	if (statfs(path, &system) != 0)
		return io_fail(error, CUTTLE_USAGE, "%s: %s", path, strerror(errno));
	if (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC) return CUTTLE_OK;
	return io_fail(error, CUTTLE_USAGE,
	               "%s is on a disk, where wiped keys may stay: --runtime-dir names a folder "
	               "in memory, such as /dev/shm/cuttle",
	               path);
}

/* Makes what is not there of the folders in `paths`: state, jobs, keys. Of what it made, nothing
 * stays after a failure. */
static enum cuttle_status make_folders(const struct jobs *jobs, const char *const paths[3],
                                       struct cuttle_error *error) {
	bool made[3] = {false};
	struct cuttle_error why;
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; i < 3 && !status; i++) {
		status = file_own_folder(paths[i], &made[i], &why);
		// Nobody typed the name of this one.
		const bool chosen = i == 2 && !jobs->options.runtime;
		if (status)
			(void)io_fail(error, status, "%s%s", why.message,
			              chosen ? "; name one in memory by --runtime-dir, such as "
			                       "/dev/shm/cuttle"
			                     : "");
	}
	if (!status) status = check_memory(paths[2], error);
	for (size_t i = 3; i-- && status;)
		if (made[i]) (void)rmdir(paths[i]);
	return status;
}

static enum cuttle_status open_folders(struct jobs *jobs, struct cuttle_error *error) {
	const char *state = jobs->options.state;
	char *lock = NULL;
	jobs->runtime = choose_runtime(&jobs->options);
	if (asprintf(&jobs->folder, "%s/jobs", state) < 0) jobs->folder = NULL;
	if (asprintf(&lock, "%s/lock", state) < 0) lock = NULL;
	const char *const paths[] = {state, jobs->folder, jobs->runtime};
	enum cuttle_status status = CUTTLE_OK;
	if (!jobs->runtime || !jobs->folder || !lock)
		status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = make_folders(jobs, paths, error);
	const int problem = status ? 0 : file_lock(lock, &jobs->held);
	if (problem)
		status = io_fail(error, CUTTLE_USAGE,
		                 problem == EWOULDBLOCK ? "%s: another server has this folder"
		                                        : "%s: cannot be locked",
		                 state);
	free(lock);
	jobs->vault = (struct vault){jobs->folder, jobs->runtime};
	return status;
}

/* Removes a job's folder and all that is in it, references first. */
static void remove_folder(struct jobs *jobs, const char *id) {
	char *path = jobs_path(jobs, id, NULL);
	vault_wipe(&jobs->vault, id);
	DIR *folder = path ? opendir(path) : NULL;
	for (const struct dirent *entry; folder && (entry = readdir(folder));)
		if (entry->d_name[0] != '.') (void)unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder) (void)closedir(folder);
	if (path) (void)rmdir(path);
	free(path);
}

static enum cuttle_status wipe_ended(void *user, const struct store_job *row) {
	struct jobs *jobs = user;
	if (store_state_ended(row->state)) vault_wipe(&jobs->vault, row->id);
	return CUTTLE_OK;
}

/* What a kill may have left: references of jobs that have ended, or that nobody has looked at,
 * folders that no job has, half an upload. */
static enum cuttle_status sweep_folders(struct jobs *jobs, struct cuttle_error *error) {
	const struct store_filter all = {.state = STORE_STATES};
	enum cuttle_status status = store_walk(jobs->store, &all, wipe_ended, jobs, error);
	DIR *folder = status ? NULL : opendir(jobs->folder);
	for (const struct dirent *entry; folder && !status && (entry = readdir(folder));) {
		struct job job;
		if (entry->d_name[0] == '.') continue;
		const struct store_filter one = {.id = entry->d_name, .state = STORE_STATES};
		status = job_find(jobs, &one, &job, error);
		vault_sweep(&jobs->vault, entry->d_name);
		if (!status && !job.row.id[0]) remove_folder(jobs, entry->d_name);
		job_free(&job);
	}
	if (folder) (void)closedir(folder);
	return status;
}

/* Keys of jobs that are not in the list any more. Only names of jobs are looked at: the folder may
 * hold what is not the server's. */
static enum cuttle_status sweep_keys(struct jobs *jobs, struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	DIR *folder = opendir(jobs->runtime);
	for (const struct dirent *entry; folder && !status && (entry = readdir(folder));) {
		struct job job;
		char id[STORE_ID];
		const char *end = strchr(entry->d_name, '.');
		const size_t size = end ? (size_t)(end - entry->d_name) : STORE_ID;
		if (size >= STORE_ID || strncmp(entry->d_name, "job_", 4) != 0) continue;
		if (strcmp(end, ".key") != 0) continue;
		(void)snprintf(id, sizeof id, "%.*s", (int)size, entry->d_name);
		const struct store_filter one = {.id = id, .state = STORE_STATES};
		status = job_find(jobs, &one, &job, error);
		if (!status && !job.row.id[0]) vault_wipe(&jobs->vault, id);
		job_free(&job);
	}
	if (folder) (void)closedir(folder);
	return status;
}

static enum cuttle_status find_running(void *user, const struct store_job *row) {
	memcpy(user, row->id, STORE_ID);
	return CUTTLE_OK;
}

/* The job that ran when the last server was killed: where it was to end, it has ended. Its charge
 * gets its name here, whatever then ends it. One at most has run. */
static enum cuttle_status recover_list(struct jobs *jobs, struct cuttle_error *error) {
	const struct store_filter running = {.state = STORE_RUNNING};
	char id[STORE_ID] = "", run[LEDGER_RUN];
	struct job job;
	enum cuttle_status status = store_walk(jobs->store, &running, find_running, id, error);
	if (!status && *id) {
		const struct store_filter one = {.id = id, .state = STORE_RUNNING};
		status = job_find(jobs, &one, &job, error);
		if (!status) {
			jobs_charges_run(jobs, &job, run);
			if (*run) job_name_charge(&job, run);
			if (!strcmp(job.row.failure, STORE_CANCELLING))
				job.row.state = STORE_CANCELLED;
			status = job_save(jobs, &job, NULL, error);
		}
		job_free(&job);
	}
	return status ? status : store_recover(jobs->store, error);
}

static enum cuttle_status open_list(struct jobs *jobs, struct cuttle_error *error) {
	char *path;
	if (asprintf(&path, "%s/jobs.db", jobs->options.state) < 0)
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = store_open(path, &jobs->store, error);
	free(path);
	if (!status) status = jobs_trail_open(jobs, error);
	if (!status) status = jobs_gap_open(jobs, error);
	if (!status) status = recover_list(jobs, error);
	if (!status) status = sweep_folders(jobs, error);
	return status ? status : sweep_keys(jobs, error);
}

const char *jobs_public_key(const struct jobs *jobs) {
	return jobs->signer ? signature_public(jobs->signer) : NULL;
}

/* Tells the trail that the server begins, or ends in order. */
static enum cuttle_status tell_server(struct jobs *jobs, const char *name,
                                      struct cuttle_error *error) {
	const struct jobs_event event = {
	    .name = name,
	    .more = json_pack("{s:s,s:b,s:b,s:s?}", "version", cuttle_version(), "approval",
	                      jobs->options.approval, "ledger_restored", jobs->options.restored,
	                      "public_key", jobs_public_key(jobs))};
	return jobs_trail_tell(jobs, &event, error);
}

static void init_lock(struct jobs *jobs) {
	pthread_condattr_t clock;
	(void)pthread_condattr_init(&clock);
	(void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&jobs->changed, &clock);
	(void)pthread_condattr_destroy(&clock);
	(void)pthread_mutex_init(&jobs->lock, NULL);
	(void)pthread_mutex_init(&jobs->worker.lock, NULL);
}

enum cuttle_status jobs_open(const struct jobs_options *options, struct jobs **jobs,
                             struct cuttle_error *error) {
	*jobs = NULL;
	struct ledger *ledger;
	// A server whose ledger cannot be read would take jobs that nobody can start.
	enum cuttle_status status = ledger_open(options->ledger, &ledger, error);
	if (status) return status;
	ledger_close(&ledger);
	struct jobs *made = calloc(1, sizeof *made);
	if (!made) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	made->options = *options;
	made->held = -1;
	if (!made->options.program) made->options.program = "/proc/self/exe";
	jobs_quota_default(&made->options);
	if (!made->options.patience) made->options.patience = PATIENCE_S;
	init_lock(made);
	// A command that has ended must not end the server that writes to it.
	(void)signal(SIGPIPE, SIG_IGN);
	if (options->sign) status = signature_open(options->sign, &made->signer, error);
	if (!status) status = open_folders(made, error);
	if (!status) status = open_list(made, error);
	if (!status) status = tell_server(made, "serve_begin", error);
	if (!status && pthread_create(&made->thread, NULL, jobs_work, made) != 0)
		status = io_fail(error, CUTTLE_INTERNAL, "no thread for jobs");
	made->threaded = !status;
	if (status) jobs_close(&made);
	*jobs = made;
	return status;
}

void jobs_stop(struct jobs *jobs) {
	(void)pthread_mutex_lock(&jobs->lock);
	jobs->stopping = true;
	jobs_tell_none(jobs);
	(void)pthread_cond_broadcast(&jobs->changed);
	(void)pthread_mutex_unlock(&jobs->lock);
	if (!jobs->threaded) return;
	(void)pthread_join(jobs->thread, NULL);
	jobs->threaded = false;
	(void)pthread_mutex_lock(&jobs->lock);
	// One that cannot be told ends like one that is killed.
	(void)tell_server(jobs, "serve_end", NULL);
	(void)pthread_mutex_unlock(&jobs->lock);
}

void jobs_close(struct jobs **jobs) {
	struct jobs *old = *jobs;
	if (!old) return;
	jobs_stop(old);
	jobs_trail_close(old);
	store_close(&old->store);
	signature_close(&old->signer);
	if (old->held >= 0) (void)close(old->held);
	(void)pthread_cond_destroy(&old->changed);
	(void)pthread_mutex_destroy(&old->lock);
	(void)pthread_mutex_destroy(&old->worker.lock);
	free(old->folder);
	free(old->runtime);
	free(old);
	*jobs = NULL;
}

/* ---- a new job ------------------------------------------------------------------------------- */

/* {"remaining_rho":1.2,"fits":true}. False, and *fault says why not, where the data set cannot take
 * the job at all; that it does not fit now is an answer. The ledger is asked, without the lock. */
static bool describe_budget(struct jobs *jobs, const struct job *job, const char *unit_key,
                            json_t **budget, struct jobs_fault *fault) {
	struct cuttle_error error;
	struct budgets_charge sum;
	const char *ledger = jobs->options.ledger, *dataset = job->row.dataset;
	if (!budgets_read(job_quote(job), &sum))
		return jobs_refuse(fault, 500, "internal", "", "the command gave no charge");
	const struct budgets_charge own = sum;
	enum cuttle_status status = jobs_pending(jobs, dataset, job->row.id, &sum, &error);
	if (!status) status = budgets_fit(ledger, dataset, unit_key, &sum, &error);
	if (status == CUTTLE_USAGE)
		return jobs_refuse(fault, 400, "invalid_value", "dataset", "%s", error.message);
	if (status && status != CUTTLE_BUDGET) return jobs_refuse_status(fault, status, &error);
	const double left = budgets_remaining(ledger, dataset, &own);
	static const char *const names[] = {"remaining_rho", "remaining_loss", "remaining_epsilon"};
	*budget = json_pack("{s:o,s:f,s:b}", names[own.measure],
	                    isnan(left) ? json_null() : json_real(left), "charge", own.loss, "fits",
	                    !status);
	return *budget || jobs_refuse_status(fault, CUTTLE_NOMEM, &error);
}

/* Fills a job from its request and quote, which it takes. Strings point into both and to `owner`,
 * so it is described or added at once, and only its spec freed. */
static bool make_job(const struct jobs_caller *caller, const char *idempotency,
                     const json_t *request, json_t *quote, const struct spec *spec,
                     struct job *job) {
	const char *fingerprint = json_string_value(json_object_get(quote, "command_sha256"));
	// Of sanitize the fingerprint holds the name of its input, which it has not been told.
	const bool known = !strcmp(spec->type, "generate") && fingerprint;
	*job = (struct job){.row = {.state = STORE_AWAITING,
	                            .type = spec->type,
	                            .fingerprint = known ? fingerprint : "",
	                            .dataset = spec->dataset,
	                            .run = "",
	                            .owner = caller->key,
	                            .idempotency = idempotency ? idempotency : "",
	                            .failure = "",
	                            .created = time(NULL)}};
	job->spec = json_pack("{s:O,s:o}", "request", request, "quote", quote);
	return job->spec != NULL;
}

/* Adds the job to the list, and tells the trail who asked for it. */
static enum cuttle_status add_job_told(struct jobs *jobs, const struct jobs_caller *caller,
                                       const struct job *job, struct cuttle_error *error) {
	const struct jobs_event event = {.name = "create", .caller = caller, .job = job};
	enum cuttle_status status = jobs_trail_begin(jobs, error);
	if (status) return status;
	status = store_add(jobs->store, &job->row, error);
	if (!status) status = jobs_trail_add(jobs, &event, error);
	return jobs_trail_end(jobs, status, error);
}

/* Adds the job to the list, with a folder of its own. */
static bool keep_job(struct jobs *jobs, const struct jobs_caller *caller, struct job *job,
                     struct jobs_fault *fault) {
	struct cuttle_error error;
	store_name(job->row.id);
	char *spec = json_dumps(job->spec, JSON_COMPACT);
	char *path = jobs_path(jobs, job->row.id, NULL);
	enum cuttle_status status =
	    spec && path ? CUTTLE_OK : io_fail(&error, CUTTLE_NOMEM, "out of memory");
	// Synced, since a job of the list whose folder a power cut took could never have an upload.
	const int problem = status ? 0 : mkdir(path, 0700) ? errno : file_sync_folder(path);
	if (problem)
		status = problem == ENOSPC || problem == EDQUOT ? CUTTLE_PARTIAL : CUTTLE_INTERNAL;
	job->row.spec = spec;
	if (!status) status = add_job_told(jobs, caller, job, &error);
	if (status && path) (void)rmdir(path);
	job->row.spec = NULL;
	free(spec);
	free(path);
	return !status || jobs_refuse_status(fault, status, &error);
}

/* Looks for a job of this key. *found: *document is it, unless its request was another one. */
static bool find_repeat(struct jobs *jobs, const struct jobs_caller *caller,
                        const char *idempotency, const json_t *request, bool *found,
                        json_t **document, struct jobs_fault *fault) {
	struct cuttle_error error;
	struct job job;
	const struct store_filter same = {
	    .owner = caller->key, .idempotency = idempotency, .state = STORE_STATES};
	const enum cuttle_status status = job_find(jobs, &same, &job, &error);
	*found = !status && job.row.id[0];
	if (status) return jobs_refuse_status(fault, status, &error);
	const bool equal = *found && json_equal(job_request(&job), request);
	if (equal) *document = job_describe(jobs, &job, NULL);
	job_free(&job);
	return !*found || equal ||
	       jobs_refuse(fault, 409, "idempotency_key_reused", "Idempotency-Key",
	                   "this Idempotency-Key came with another request before");
}

static bool check_idempotency(const char *key, struct jobs_fault *fault) {
	const char *why = !key ? "is required: a request that is sent twice is then one job"
	                  : !*key || strlen(key) > SPEC_NAME ? "must have 1 to 128 letters"
	                                                     : NULL;
	for (const char *at = key; at && *at && !why; at++)
		if (*at <= ' ' || *at > '~') why = "must have visible ASCII letters alone";
	return !why || jobs_refuse(fault, 400, "invalid_value", "Idempotency-Key",
	                           "the header Idempotency-Key %s", why);
}

/* The part of jobs_create behind the quote, which it takes. Meanwhile another request with the same
 * key may have made the job: *found. */
static bool create_quoted(struct jobs *jobs, const struct jobs_caller *caller,
                          const char *idempotency, const json_t *request, const struct spec *spec,
                          json_t *quote, bool *found, json_t **document, struct jobs_fault *fault) {
	struct job job;
	json_t *budget = NULL;
	if (!make_job(caller, idempotency, request, quote, spec, &job))
		return jobs_refuse_status(fault, CUTTLE_NOMEM, NULL);
	bool good = describe_budget(jobs, &job, spec->unit_key, &budget, fault);
	(void)pthread_mutex_lock(&jobs->lock);
	if (good && !spec->dry_run)
		good = find_repeat(jobs, caller, idempotency, request, found, document, fault);
	if (good && !*found && !spec->dry_run)
		good =
		    jobs_quota_create(jobs, caller, fault) && keep_job(jobs, caller, &job, fault);
	if (good && !*found) {
		*document = job_describe(jobs, &job, budget);
		budget = NULL;
	}
	(void)pthread_mutex_unlock(&jobs->lock);
	json_decref(budget);
	json_decref(job.spec);
	return good && (*document || jobs_refuse_status(fault, CUTTLE_NOMEM, NULL));
}

/* Asks the command about a plan, in its turn. */
static bool quote_plan(struct jobs *jobs, const struct spec *spec, json_t **quote,
                       struct jobs_fault *fault) {
	if (!jobs_turn_take(jobs, NULL, fault)) return false;
	const bool good = jobs_quote(jobs, spec, NULL, quote, fault);
	jobs_turn_end(jobs);
	return good;
}

bool jobs_create(struct jobs *jobs, const struct jobs_caller *caller, const char *idempotency,
                 const json_t *request, json_t **document, bool *created,
                 struct jobs_fault *fault) {
	struct spec spec;
	struct spec_fault wrong;
	json_t *quote = NULL;
	bool found = false;
	*document = NULL;
	*created = false;
	if (!spec_read(request, &spec, &wrong))
		return jobs_refuse(fault, 400, wrong.code, wrong.param, "%s", wrong.message);
	bool good = spec.dry_run || check_idempotency(idempotency, fault);
	// Whether the ledger has a data set of that name is nobody's business who may not use it.
	if (good && !jobs_may_use(caller, spec.dataset))
		good = jobs_refuse(fault, 403, "forbidden_dataset", "dataset",
		                   "this key may not use that data set");
	(void)pthread_mutex_lock(&jobs->lock);
	if (good && !spec.dry_run)
		good = find_repeat(jobs, caller, idempotency, request, &found, document, fault);
	(void)pthread_mutex_unlock(&jobs->lock);
	// The command takes a second, and meanwhile the queue goes on.
	if (good && !found && (good = quote_plan(jobs, &spec, &quote, fault))) {
		good = create_quoted(jobs, caller, idempotency, request, &spec, quote, &found,
		                     document, fault);
		*created = good && !found && !spec.dry_run;
	}
	spec_free(&spec);
	return good;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* The budget of a job that waits for its start. Of another one, whether it fits is no question. */
static json_t *look_at_budget(struct jobs *jobs, const struct jobs_caller *caller, const char *id) {
	struct job job;
	json_t *budget = NULL;
	struct jobs_fault ignored;
	(void)pthread_mutex_lock(&jobs->lock);
	const bool found = job_find_own(jobs, caller, id, &job, &ignored);
	(void)pthread_mutex_unlock(&jobs->lock);
	const char *key = found ? job_unit_key(&job) : NULL;
	if (found && job.row.state == STORE_AWAITING)
		(void)describe_budget(jobs, &job, key ? key : "", &budget, &ignored);
	if (found) job_free(&job);
	return budget;
}

bool jobs_get(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
              json_t **document, struct jobs_fault *fault) {
	struct job job;
	*document = NULL;
	json_t *budget = look_at_budget(jobs, caller, id);
	(void)pthread_mutex_lock(&jobs->lock);
	const bool found = job_find_own(jobs, caller, id, &job, fault);
	// It may have been started meanwhile.
	if (!found || job.row.state != STORE_AWAITING) {
		json_decref(budget);
		budget = NULL;
	}
	if (found) {
		*document = job_describe(jobs, &job, budget);
		job_free(&job);
	}
	(void)pthread_mutex_unlock(&jobs->lock);
	return found && (*document || jobs_refuse_status(fault, CUTTLE_NOMEM, NULL));
}

struct listed {
	struct jobs *jobs;
	const struct jobs_caller *caller;
	json_t *data;
};

static enum cuttle_status list_job(void *user, const struct store_job *row) {
	const struct listed *listed = user;
	if (!jobs_may_use(listed->caller, row->dataset)) return CUTTLE_OK;
	struct job job = {.row = *row, .spec = json_loads(row->spec, 0, NULL)};
	const int failed =
	    json_array_append_new(listed->data, job_describe(listed->jobs, &job, NULL));
	json_decref(job.spec);
	return failed ? CUTTLE_NOMEM : CUTTLE_OK;
}

bool jobs_list(struct jobs *jobs, const struct jobs_caller *caller, json_t **document,
               struct jobs_fault *fault) {
	struct cuttle_error error;
	struct listed listed = {jobs, caller, json_array()};
	const struct store_filter own = {.owner = caller->officer ? NULL : caller->key,
	                                 .state = STORE_STATES};
	(void)pthread_mutex_lock(&jobs->lock);
	const enum cuttle_status status =
	    listed.data ? store_walk(jobs->store, &own, list_job, &listed, &error)
	                : io_fail(&error, CUTTLE_NOMEM, "out of memory");
	(void)pthread_mutex_unlock(&jobs->lock);
	*document = json_pack("{s:s,s:o}", "object", "list", "data", listed.data);
	if (!status && *document) return true;
	json_decref(*document);
	*document = NULL;
	return jobs_refuse_status(fault, status ? status : CUTTLE_NOMEM, &error);
}

/* Opens a file that the caller gets, once the trail says so. `job` is NULL of the trail itself. */
static bool open_told(struct jobs *jobs, const struct jobs_caller *caller, const struct job *job,
                      const char *what, const char *path, int *file, struct jobs_fault *fault) {
	struct cuttle_error error;
	*file = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (*file < 0) return jobs_refuse_status(fault, CUTTLE_INTERNAL, NULL);
	const struct jobs_event event = {"fetch", caller, job, json_pack("{s:s}", "what", what)};
	const enum cuttle_status status = jobs_trail_tell(jobs, &event, &error);
	if (!status) return true;
	(void)close(*file);
	*file = -1;
	return jobs_refuse_status(fault, status, &error);
}

static bool may_read_trail(const struct jobs_caller *caller, struct jobs_fault *fault) {
	return jobs_sees_all(caller) ||
	       jobs_refuse(fault, 403, "forbidden_dataset", "",
	                   "the audit trail is for officers of all data sets");
}

bool jobs_trail_file(struct jobs *jobs, const struct jobs_caller *caller, int *file,
                     struct jobs_fault *fault) {
	if (!may_read_trail(caller, fault)) return false;
	(void)pthread_mutex_lock(&jobs->lock);
	const bool good = open_told(jobs, caller, NULL, "trail", jobs->trail_path, file, fault);
	(void)pthread_mutex_unlock(&jobs->lock);
	return good;
}

bool jobs_trail_page(struct jobs *jobs, const struct jobs_caller *caller,
                     const struct trail_query *query, json_t **document, struct jobs_fault *fault) {
	struct cuttle_error error;
	struct stat state;
	int file;
	*document = NULL;
	if (!may_read_trail(caller, fault)) return false;
	(void)pthread_mutex_lock(&jobs->lock);
	bool good = open_told(jobs, caller, NULL, "trail", jobs->trail_path, &file, fault);
	// Under the lock, so that the last line is a whole one.
	const bool sized = good && fstat(file, &state) == 0;
	(void)pthread_mutex_unlock(&jobs->lock);
	if (!good) return false;
	const enum cuttle_status status =
	    sized ? trail_page(file, state.st_size, query, document, &error) : CUTTLE_INTERNAL;
	(void)close(file);
	return !status || jobs_refuse_status(fault, status, &error);
}

bool jobs_file(struct jobs *jobs, const struct jobs_caller *caller, const char *id, bool receipt,
               int *file, struct jobs_fault *fault) {
	struct job job;
	*file = -1;
	(void)pthread_mutex_lock(&jobs->lock);
	bool good = job_find_own(jobs, caller, id, &job, fault);
	if (good && job.row.state != STORE_DONE)
		good = jobs_refuse(fault, 409, "not_done", "", "the job is %s",
		                   store_state_name(job.row.state));
	if (good) {
		char *path = jobs_path(jobs, id, receipt ? "out.receipt.json" : "out.jsonl");
		good = open_told(jobs, caller, &job, receipt ? "receipt" : "results", path, file,
		                 fault);
		free(path);
	}
	job_free(&job);
	(void)pthread_mutex_unlock(&jobs->lock);
	return good;
}

/* ---- start and end --------------------------------------------------------------------------- */

/* Whether the ledger has room for the job beside all that wait and are not charged yet. A job may
 * be charged between two looks: then it was counted twice, so it is looked again. */
static bool check_room(struct jobs *jobs, const struct job *job, struct jobs_fault *fault) {
	struct cuttle_error error;
	struct budgets_charge own, first, second;
	const char *dataset = job->row.dataset;
	const char *key = job_unit_key(job);
	if (!budgets_read(job_quote(job), &own))
		return jobs_refuse(fault, 500, "internal", "", "the command gave no charge");
	enum cuttle_status status, fits;
	do {
		first = second = own;
		status = jobs_pending(jobs, dataset, job->row.id, &first, &error);
		fits = status ? CUTTLE_OK
		              : budgets_fit(jobs->options.ledger, dataset, key ? key : "", &first,
		                            &error);
		if (!status && fits == CUTTLE_BUDGET)
			status = jobs_pending(jobs, dataset, job->row.id, &second, NULL);
	} while (!status && fits == CUTTLE_BUDGET && second.loss != first.loss);
	if (fits == CUTTLE_BUDGET && first.loss > own.loss)
		return jobs_refuse(fault, 403, "insufficient_privacy_budget", "",
		                   "with the jobs that wait or run: %s", error.message);
	return (!status && !fits) || jobs_refuse_status(fault, status ? status : fits, &error);
}

/* Whether the job may be queued now, as far as the list and the vault tell. */
static bool check_ready(struct jobs *jobs, const struct job *job, struct jobs_fault *fault) {
	if (!job_check_awaiting(job, fault)) return false;
	// Else the job could run on references that nobody has looked at.
	if (jobs_find_upload(jobs, job->row.id))
		return jobs_refuse(fault, 409, "references_arriving", "",
		                   "references of the job are arriving; start it behind them");
	if (!vault_has(&jobs->vault, job->row.id))
		return jobs_refuse(fault, 409, "references_missing", "",
		                   "upload the references first");
	return jobs_quota_queue(jobs, job, fault);
}

/* Whether the ledger, and whoever approves, lets the job start. The lock may not be held: the
 * ledger may be busy. */
static bool check_paid(struct jobs *jobs, const struct jobs_caller *caller, const struct job *job,
                       struct jobs_fault *fault) {
	struct cuttle_error error;
	bool charged;
	enum cuttle_status status =
	    job_charged(jobs, job->row.id, job->row.dataset, &charged, &error);
	if (!status) status = jobs_charges_hold(jobs, &error);
	if (status && jobs->lacks) return jobs_gap_refuse(jobs, caller, fault);
	if (status) return jobs_refuse_status(fault, status, &error);
	// A job that goes on after a reboot was approved, and paid, when it began.
	if (jobs->options.approval && !caller->officer && !charged)
		return jobs_refuse(fault, 403, "forbidden_role", "",
		                   "here an officer starts jobs; this one waits for one");
	return charged || check_room(jobs, job, fault);
}

/* Starts ask the ledger one behind the other, so that no two take the same room. */
static bool take_start_turn(struct jobs *jobs, struct jobs_fault *fault) {
	struct timespec end;
	int late = 0;
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += START_S;
	while (jobs->starting && !jobs->stopping && !late)
		late = pthread_cond_timedwait(&jobs->changed, &jobs->lock, &end);
	if (jobs->starting) return jobs_refuse_status(fault, CUTTLE_LEDGER, NULL);
	jobs->starting = true;
	return true;
}

/* Finds the job that is to start. *started: it was started before. */
static bool find_startable(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                           struct job *job, bool *started, struct jobs_fault *fault) {
	if (!job_find_own(jobs, caller, id, job, fault)) return false;
	*started = job->row.state != STORE_AWAITING && !store_state_ended(job->row.state);
	if (*started || check_ready(jobs, job, fault)) return true;
	job_free(job);
	return false;
}

/* Whether the job is what the caller has looked at, where it says so. */
static bool check_approval(const struct jobs_caller *caller, const struct job *job,
                           struct jobs_fault *fault) {
	if (!caller->approval) return true;
	char *now = job_approval(job);
	const bool same = now && !strcmp(now, caller->approval);
	free(now);
	return same || jobs_refuse(fault, 412, "not_as_approved", "If-Match",
	                           "the job has another fingerprint or charge than this; look at "
	                           "it again");
}

/* Puts the job into the queue, and keeps what it was started as: the command that runs it is held
 * to that. */
static bool queue_job(struct jobs *jobs, const struct jobs_caller *caller, struct job *job,
                      struct jobs_fault *fault) {
	struct cuttle_error error;
	json_t *charge = json_object_get(job_quote(job), "charge");
	enum cuttle_status status = store_last_place(jobs->store, &job->row.place, &error);
	char *approved = job_approval(job);
	if (!approved || json_object_set_new(job->spec, "approved", json_string(approved)) != 0)
		status = CUTTLE_NOMEM;
	free(approved);
	job->row.state = STORE_QUEUED;
	const struct jobs_event event = {
	    .name = "start",
	    .caller = caller,
	    .job = job,
	    .more = json_pack("{s:s,s:O}", "fingerprint", job->row.fingerprint, "charge", charge)};
	if (!event.more) status = CUTTLE_NOMEM;
	if (!status) status = job_save(jobs, job, &event, &error);
	else json_decref(event.more);
	return !status || jobs_refuse_status(fault, status, &error);
}

/* Asks the ledger, without the lock. Then the job is looked for again: it may have ended, or other
 * references may cost something else. False: *job is freed. */
static bool check_unlocked(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                           struct job *job, struct jobs_fault *fault) {
	struct job before = *job;
	bool started;
	(void)pthread_mutex_unlock(&jobs->lock);
	bool good = check_paid(jobs, caller, &before, fault);
	(void)pthread_mutex_lock(&jobs->lock);
	if (good) good = find_startable(jobs, caller, id, job, &started, fault);
	if (good && !json_equal(job_quote(&before), job_quote(job))) {
		job_free(job);
		good = jobs_refuse(fault, 409, "references_arriving", "",
		                   "other references arrived meanwhile; start the job again");
	}
	job_free(&before);
	return good;
}

/* The part of jobs_start in its turn. The lock is held, but while the ledger is asked. */
static bool start_in_turn(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                          json_t **document, struct jobs_fault *fault) {
	struct job job;
	bool started;
	if (!find_startable(jobs, caller, id, &job, &started, fault)) return false;
	if (!started && !check_unlocked(jobs, caller, id, &job, fault)) return false;
	const bool good = check_approval(caller, &job, fault) &&
	                  (started || queue_job(jobs, caller, &job, fault));
	if (good) *document = job_describe(jobs, &job, NULL);
	job_free(&job);
	return good;
}

bool jobs_start(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                json_t **document, struct jobs_fault *fault) {
	*document = NULL;
	(void)pthread_mutex_lock(&jobs->lock);
	bool good = take_start_turn(jobs, fault);
	if (good) {
		good = start_in_turn(jobs, caller, id, document, fault);
		jobs->starting = false;
		(void)pthread_cond_broadcast(&jobs->changed);
	}
	(void)pthread_mutex_unlock(&jobs->lock);
	return good && (*document || jobs_refuse_status(fault, CUTTLE_NOMEM, NULL));
}

/* Notes in the list that the job that runs is to end: see store_recover. */
static enum cuttle_status keep_wish(struct jobs *jobs, const struct jobs_caller *caller,
                                    struct job *job, struct cuttle_error *error) {
	const struct jobs_event event = {.name = "cancel", .caller = caller, .job = job};
	free((void *)(uintptr_t)job->row.failure);
	job->row.failure = strdup(STORE_CANCELLING);
	return job_save(jobs, job, &event, error);
}

/* Ends a job, the one that runs included, and what is done for it. The lock is held, but while a
 * command that looks at its references ends. */
static bool end_job(struct jobs *jobs, const struct jobs_caller *caller, struct job *job,
                    enum jobs_wish wish, struct jobs_fault *fault) {
	const struct jobs_event event = {.name = "cancel", .caller = caller, .job = job};
	struct cuttle_error error;
	enum cuttle_status status = CUTTLE_OK;
	if (!strcmp(jobs->running, job->row.id)) {
		if (jobs->wish < wish) jobs->wish = wish;
		// A kill before the command has ended may not undo what was promised.
		if (wish == JOBS_CANCEL) status = keep_wish(jobs, caller, job, &error);
		return !status || jobs_refuse_status(fault, status, &error);
	}
	if (!store_state_ended(job->row.state)) {
		job->row.state = STORE_CANCELLED;
		status = job_save(jobs, job, wish == JOBS_CANCEL ? &event : NULL, &error);
		if (!status) job_count_end(jobs, job);
	}
	// Before the wiping: what it looks at would be put in place again behind it. A list that
	// cannot be written keeps the job, but nothing keeps its references.
	jobs_end_upload(jobs, job->row.id);
	vault_wipe(&jobs->vault, job->row.id);
	return !status || jobs_refuse_status(fault, status, &error);
}

bool jobs_cancel(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                 json_t **document, struct jobs_fault *fault) {
	struct job job;
	*document = NULL;
	(void)pthread_mutex_lock(&jobs->lock);
	bool good = job_find_own(jobs, caller, id, &job, fault);
	if (good) good = end_job(jobs, caller, &job, JOBS_CANCEL, fault);
	if (good) *document = job_describe(jobs, &job, NULL);
	job_free(&job);
	(void)pthread_mutex_unlock(&jobs->lock);
	return good;
}

/* Takes the job out of the list. */
static enum cuttle_status remove_told(struct jobs *jobs, const struct jobs_caller *caller,
                                      const struct job *job, struct cuttle_error *error) {
	const struct jobs_event event = {.name = "remove", .caller = caller, .job = job};
	enum cuttle_status status = jobs_trail_begin(jobs, error);
	if (status) return status;
	status = store_remove(jobs->store, job->row.id, error);
	if (!status) status = jobs_trail_add(jobs, &event, error);
	return jobs_trail_end(jobs, status, error);
}

bool jobs_remove(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                 struct jobs_fault *fault) {
	struct cuttle_error error;
	struct job job;
	(void)pthread_mutex_lock(&jobs->lock);
	bool good = job_find_own(jobs, caller, id, &job, fault);
	if (good) good = end_job(jobs, caller, &job, JOBS_REMOVE, fault);
	// The queue's thread kills the command within a second, and writes what became of it.
	while (good && !strcmp(jobs->running, id) && !jobs->stopping)
		(void)pthread_cond_wait(&jobs->changed, &jobs->lock);
	if (good) {
		const enum cuttle_status status = remove_told(jobs, caller, &job, &error);
		if (status) good = jobs_refuse_status(fault, status, &error);
		// What a kill leaves here no job has, and the next server sweeps it.
		else remove_folder(jobs, id);
	}
	if (good) {
		// A command that was killed for this may have ended while its end could not be
		// written, and then nobody who follows the job has heard of it.
		job.row.state = STORE_CANCELLED;
		jobs_tell(jobs, &job);
	}
	job_free(&job);
	(void)pthread_mutex_unlock(&jobs->lock);
	return good;
}

/* ---- following ------------------------------------------------------------------------------- */

bool jobs_may_follow(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                     uint64_t after, bool *more, struct jobs_fault *fault) {
	struct job job;
	(void)pthread_mutex_lock(&jobs->lock);
	const bool good = job_find_own(jobs, caller, id, &job, fault);
	*more = good && !(store_state_ended(job.row.state) && after >= JOBS_LAST_EVENT);
	job_free(&job);
	(void)pthread_mutex_unlock(&jobs->lock);
	return good;
}

bool jobs_follow(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                 uint64_t after, const struct jobs_listener *listener, struct jobs_fault *fault) {
	struct job job;
	struct jobs_watcher *watcher = calloc(1, sizeof *watcher);
	if (!watcher) return jobs_refuse_status(fault, CUTTLE_NOMEM, NULL);
	(void)pthread_mutex_lock(&jobs->lock);
	const bool good = job_find_own(jobs, caller, id, &job, fault);
	if (good) {
		memcpy(watcher->id, job.row.id, STORE_ID);
		watcher->last = after;
		watcher->listener = *listener;
	}
	if (good && !jobs->stopping && jobs_tell_one(jobs, &job, watcher)) {
		watcher->next = jobs->watchers;
		jobs->watchers = watcher;
	} else {
		if (good) listener->end(listener->user);
		free(watcher);
	}
	job_free(&job);
	(void)pthread_mutex_unlock(&jobs->lock);
	return good;
}

/* ---- the ledger ------------------------------------------------------------------------------ */

/* Takes those out of a list of budgets that the caller may not see. */
static void hide_budgets(const struct jobs_caller *caller, json_t *document) {
	json_t *data = json_object_get(document, "data");
	for (size_t i = json_array_size(data); i--;) {
		const json_t *name = json_object_get(json_array_get(data, i), "dataset");
		if (!jobs_may_use(caller, json_string_value(name)))
			(void)json_array_remove(data, i);
	}
}

bool jobs_budget(struct jobs *jobs, const struct jobs_caller *caller, const char *dataset,
                 json_t **document, struct jobs_fault *fault) {
	struct cuttle_error error;
	*document = NULL;
	const enum cuttle_status status =
	    dataset && !jobs_may_use(caller, dataset)
	        ? CUTTLE_USAGE
	        : budgets_show(jobs->options.ledger, dataset, document, &error);
	if (!status) hide_budgets(caller, *document);
	if (status == CUTTLE_USAGE)
		return jobs_refuse(fault, 404, "not_found", "", "there is no such data set");
	return !status || jobs_refuse_status(fault, status, &error);
}

bool jobs_entries(struct jobs *jobs, const struct jobs_caller *caller, const char *dataset,
                  json_t **document, struct jobs_fault *fault) {
	struct cuttle_error error;
	*document = NULL;
	const enum cuttle_status status =
	    !jobs_may_use(caller, dataset)
	        ? CUTTLE_USAGE
	        : budgets_entries(jobs->options.ledger, dataset, document, &error);
	if (status == CUTTLE_USAGE)
		return jobs_refuse(fault, 404, "not_found", "", "there is no such data set");
	return !status || jobs_refuse_status(fault, status, &error);
}

bool jobs_verify(struct jobs *jobs, const char *head, json_t **document, struct jobs_fault *fault) {
	struct cuttle_error error;
	const enum cuttle_status status =
	    budgets_verify(jobs->options.ledger, head, document, &error);
	return !status || jobs_refuse_status(fault, status, &error);
}

struct jobs_counts jobs_count(struct jobs *jobs) {
	struct jobs_counts counts = {.waiting = atomic_load(&jobs->waiting)};
	for (int type = 0; type < 2; type++)
		for (int end = 0; end < 3; end++)
			counts.ended[type][end] = atomic_load(&jobs->ended[type][end]);
	return counts;
}
