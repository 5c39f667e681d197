// SPDX-License-Identifier: Apache-2.0
// Pieces go to the vault as they come; then the command looks at them, in its turn. The calls of
// jobs.h that are about uploads.
#include "serve/jobs/jobs_upload.h"

#include "serve/jobs/jobs_quota.h"
#include "serve/jobs/jobs_quote.h"
#include <stdlib.h>
#include <string.h>

enum {
	UPLOADS_MOST = 16, /* that arrive at the same time */
	UPLOADS_OWNED = 4  /* of them of one owner; a server without keys knows no owners */
};

struct jobs_upload *jobs_find_upload(const struct jobs *jobs, const char *id) {
	struct jobs_upload *at = jobs->uploads;
	while (at && strcmp(at->id, id) != 0) at = at->next;
	return at;
}

void jobs_end_upload(struct jobs *jobs, const char *id) {
	struct jobs_upload *at = jobs_find_upload(jobs, id);
	if (!at) return;
	at->unwanted = true;
	// Who waits for a turn hears of it.
	(void)pthread_cond_broadcast(&jobs->changed);
	while ((at = jobs_find_upload(jobs, id)) && at->quoting)
		(void)pthread_cond_wait(&jobs->changed, &jobs->lock);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* Whether one more upload may begin: each takes a file and 192 KiB. */
static bool check_uploads(const struct jobs *jobs, const char *id, const char *owner,
                          struct jobs_fault *fault) {
	size_t count = 0, owned = 0;
	const bool same = jobs_find_upload(jobs, id) != NULL;
	for (const struct jobs_upload *at = jobs->uploads; at; at = at->next) {
		count++;
		owned += *owner && !strcmp(at->owner, owner);
	}
	return (!same && count < UPLOADS_MOST && owned < UPLOADS_OWNED) ||
	       jobs_refuse(fault, 429, "queue_full", "",
	                   same ? "the job's references are arriving already"
	                        : "too many uploads are under way");
}

/* Lists a new upload for the job. */
static bool add_upload(struct jobs *jobs, const struct jobs_caller *caller, const struct job *job,
                       struct jobs_upload **upload, struct jobs_fault *fault) {
	struct cuttle_error error;
	struct jobs_upload *made = calloc(1, sizeof *made);
	if (!made) return jobs_refuse_status(fault, CUTTLE_NOMEM, NULL);
	made->jobs = jobs;
	memcpy(made->id, job->row.id, STORE_ID);
	jobs_mark_begin(jobs, &made->mark);
	jobs_who_keep(&made->who, caller);
	(void)snprintf(made->owner, sizeof made->owner, "%s", job->row.owner);
	const enum cuttle_status status =
	    vault_begin(&jobs->vault, made->id, &made->writer, &error);
	if (status) {
		free(made);
		return jobs_refuse_status(fault, status, &error);
	}
	made->next = jobs->uploads;
	jobs->uploads = *upload = made;
	return true;
}

bool jobs_upload_begin(struct jobs *jobs, const struct jobs_caller *caller, const char *id,
                       struct jobs_upload **upload, struct jobs_fault *fault) {
	struct job job;
	*upload = NULL;
	(void)pthread_mutex_lock(&jobs->lock);
	bool good = job_find_own(jobs, caller, id, &job, fault);
	if (good) good = job_check_awaiting(&job, fault);
	if (good) good = check_uploads(jobs, job.row.id, job.row.owner, fault);
	if (good) good = add_upload(jobs, caller, &job, upload, fault);
	job_free(&job);
	(void)pthread_mutex_unlock(&jobs->lock);
	return good;
}

static bool is_unwanted(const struct jobs_upload *upload) {
	(void)pthread_mutex_lock(&upload->jobs->lock);
	const bool unwanted = upload->unwanted;
	(void)pthread_mutex_unlock(&upload->jobs->lock);
	return unwanted;
}

bool jobs_upload_piece(struct jobs_upload *upload, const void *bytes, size_t size) {
	if (upload->failed || upload->over || is_unwanted(upload)) return false;
	jobs_mark_add(&upload->mark, bytes, size);
	(void)pthread_mutex_lock(&upload->jobs->lock);
	upload->arrived += size;
	upload->over = !jobs_quota_bytes(upload);
	(void)pthread_mutex_unlock(&upload->jobs->lock);
	if (upload->over) {
		vault_drop(&upload->writer);
		return false;
	}
	upload->failed = vault_add(upload->writer, bytes, size, NULL);
	if (upload->failed) vault_drop(&upload->writer);
	return !upload->failed;
}

void jobs_upload_drop(struct jobs_upload *upload) {
	struct jobs *jobs = upload->jobs;
	vault_drop(&upload->writer);
	(void)pthread_mutex_lock(&jobs->lock);
	struct jobs_upload **at = &jobs->uploads;
	while (*at != upload) at = &(*at)->next;
	*at = upload->next;
	jobs->uploads_ended++;
	(void)pthread_cond_broadcast(&jobs->changed);
	(void)pthread_mutex_unlock(&jobs->lock);
	free(upload);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What the command said of the references becomes part of the job: how many documents there are,
 * what they cost. Takes quote. The lock is held. */
static bool keep_quote(struct jobs_upload *upload, json_t *quote, struct jobs_fault *fault) {
	struct jobs *jobs = upload->jobs;
	struct cuttle_error error;
	struct job job;
	const struct store_filter filter = {.id = upload->id, .state = STORE_AWAITING};
	enum cuttle_status status = job_find(jobs, &filter, &job, &error);
	// Cancelled meanwhile, by whoever waits until this has ended.
	if (status || !job.row.id[0]) {
		json_decref(quote);
		return status ? jobs_refuse_status(fault, status, &error)
		              : jobs_refuse_ended(fault);
	}
	const char *fingerprint = json_string_value(json_object_get(quote, "command_sha256"));
	if (json_object_set_new(job.spec, "quote", quote) != 0) status = CUTTLE_NOMEM;
	if (!status) {
		free((void *)(uintptr_t)job.row.fingerprint);
		free((void *)(uintptr_t)job.row.failure);
		job.row.fingerprint = strdup(fingerprint ? fingerprint : "");
		job.row.failure = strdup("");
		const struct jobs_event event = {"upload", &upload->who.caller, &job,
		                                 jobs_mark_end(&upload->mark, true)};
		status = job_save(jobs, &job, &event, &error);
	}
	job_free(&job);
	return !status || jobs_refuse_status(fault, status, &error);
}

/* The job's request as words again. */
static bool read_job_spec(struct jobs *jobs, const char *id, struct job *job, struct spec *spec,
                          struct jobs_fault *fault) {
	struct cuttle_error error;
	struct spec_fault wrong;
	const struct store_filter filter = {.id = id, .state = STORE_AWAITING};
	(void)pthread_mutex_lock(&jobs->lock);
	const enum cuttle_status status = job_find(jobs, &filter, job, &error);
	(void)pthread_mutex_unlock(&jobs->lock);
	if (status) return jobs_refuse_status(fault, status, &error);
	if (job->row.id[0] && spec_read(job_request(job), spec, &wrong)) return true;
	job_free(job);
	return jobs_refuse_ended(fault);
}

/* The references will not do; that they came is told. False, with the fault as it is, or that the
 * trail cannot be written. */
static bool tell_refused(struct jobs_upload *upload, const struct job *job,
                         struct jobs_fault *fault) {
	struct cuttle_error error;
	const struct jobs_event event = {"upload", &upload->who.caller, job,
	                                 jobs_mark_end(&upload->mark, false)};
	const enum cuttle_status status = jobs_trail_tell(upload->jobs, &event, &error);
	return status ? jobs_refuse_status(fault, status, &error) : false;
}

/* Puts the references in place, and asks the command about them; they are wiped where they will
 * not do. */
static bool keep_upload(struct jobs_upload *upload, const struct job *job, const struct spec *spec,
                        struct jobs_fault *fault) {
	struct jobs *jobs = upload->jobs;
	struct cuttle_error error;
	json_t *quote;
	const enum cuttle_status status = vault_keep(&upload->writer, &error);
	if (status) return jobs_refuse_status(fault, status, &error);
	bool good = jobs_quote(jobs, spec, upload, &quote, fault);
	(void)pthread_mutex_lock(&jobs->lock);
	const bool quoted = good;
	if (good) good = keep_quote(upload, quote, fault);
	if (good) vault_trust(&jobs->vault, upload->id);
	else vault_wipe(&jobs->vault, upload->id);
	if (!quoted) good = tell_refused(upload, job, fault);
	(void)pthread_mutex_unlock(&jobs->lock);
	return good;
}

/* The turn comes first. While others are looked at, what arrived before stays in its place, and who
 * is sent away has lost nothing. */
bool jobs_upload_end(struct jobs_upload *upload, struct jobs_fault *fault) {
	struct jobs *jobs = upload->jobs;
	struct job job;
	struct spec spec;
	bool good = read_job_spec(jobs, upload->id, &job, &spec, fault);
	if (good) {
		if (upload->over) good = jobs_quota_refuse_bytes(jobs, fault);
		else if (upload->failed) good = jobs_refuse_status(fault, upload->failed, NULL);
		else if ((good = jobs_turn_take(jobs, upload, fault)))
			good = keep_upload(upload, &job, &spec, fault);
		spec_free(&spec);
		job_free(&job);
	}
	jobs_upload_drop(upload);
	return good;
}
