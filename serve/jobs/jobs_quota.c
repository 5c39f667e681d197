// SPDX-License-Identifier: Apache-2.0
// What an owner has is counted when it asks for more. serve/jobs/jobs_quota.h says of what.
#include "serve/jobs/jobs_quota.h"

#include <inttypes.h>
#include <string.h>

enum {
	QUEUE_MOST = 64,     /* jobs that wait or run */
	AWAITING_MOST = 256, /* jobs of one owner that were not started */
	OWNED_MOST = 4096    /* jobs of one owner in the list, those that have ended included */
};
static const uint64_t BYTES_MOST = (uint64_t)16 << 30; /* of one owner's references */

void jobs_quota_default(struct jobs_options *options) {
	if (!options->queue) options->queue = QUEUE_MOST;
	if (!options->key_waiting) options->key_waiting = AWAITING_MOST;
	if (!options->key_jobs) options->key_jobs = OWNED_MOST;
	if (!options->key_bytes) options->key_bytes = BYTES_MOST;
}

/* The jobs of an owner. */
struct owned {
	uint64_t awaiting;
	uint64_t all;
};

static enum cuttle_status count_owned(void *user, const struct store_job *row) {
	struct owned *owned = user;
	owned->awaiting += row->state == STORE_AWAITING;
	owned->all++;
	return CUTTLE_OK;
}

bool jobs_quota_create(struct jobs *jobs, const struct jobs_caller *caller,
                       struct jobs_fault *fault) {
	struct cuttle_error error;
	struct owned owned = {0};
	const struct jobs_options *options = &jobs->options;
	const struct store_filter own = {.owner = caller->key, .state = STORE_STATES};
	const enum cuttle_status status =
	    store_walk(jobs->store, &own, count_owned, &owned, &error);
	if (status) return jobs_refuse_status(fault, status, &error);
	if (owned.awaiting >= options->key_waiting)
		return jobs_refuse(fault, 429, "quota_exceeded", "",
		                   "%" PRIu64 " jobs of this key wait for their start, which is "
		                   "the most; start or cancel some",
		                   owned.awaiting);
	return owned.all < options->key_jobs ||
	       jobs_refuse(fault, 429, "quota_exceeded", "",
	                   "%" PRIu64 " jobs of this key are in the list, which is the most; "
	                   "delete some that have ended",
	                   owned.all);
}

/* Jobs that wait for their turn or run. */
struct queued {
	const char *owner;
	uint64_t own, all;
};

static enum cuttle_status count_queued(void *user, const struct store_job *row) {
	struct queued *queued = user;
	const bool waits = row->state == STORE_QUEUED || row->state == STORE_RUNNING;
	queued->all += waits;
	queued->own += waits && !strcmp(row->owner, queued->owner);
	return CUTTLE_OK;
}

bool jobs_quota_queue(struct jobs *jobs, const struct job *job, struct jobs_fault *fault) {
	struct cuttle_error error;
	struct queued queued = {.owner = job->row.owner};
	const struct store_filter all = {.state = STORE_STATES};
	const uint64_t places = jobs->options.queue, half = (places + 1) / 2;
	const enum cuttle_status status =
	    store_walk(jobs->store, &all, count_queued, &queued, &error);
	if (status) return jobs_refuse_status(fault, status, &error);
	if (queued.all >= places)
		return jobs_refuse(fault, 429, "queue_full", "",
		                   "%" PRIu64 " jobs wait or run already", queued.all);
	return !*job->row.owner || queued.own < half ||
	       jobs_refuse(fault, 429, "queue_full", "",
	                   "%" PRIu64 " jobs of this key wait or run already, half of all there "
	                   "may be",
	                   queued.own);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

struct standing {
	const struct jobs *jobs;
	uint64_t bytes;
};

/* Of a job whose references arrive, what arrives counts. */
static enum cuttle_status add_standing(void *user, const struct store_job *row) {
	struct standing *standing = user;
	const struct jobs_upload *at = standing->jobs->uploads;
	while (at && strcmp(at->id, row->id) != 0) at = at->next;
	if (!at && !store_state_ended(row->state))
		standing->bytes += vault_size(&standing->jobs->vault, row->id);
	return CUTTLE_OK;
}

bool jobs_quota_bytes(struct jobs_upload *upload) {
	const struct jobs *jobs = upload->jobs;
	// What has arrived stands from then on, so it is looked at again.
	if (upload->counted <= jobs->uploads_ended) {
		struct standing standing = {jobs, 0};
		const struct store_filter own = {.owner = upload->owner, .state = STORE_STATES};
		if (store_walk(jobs->store, &own, add_standing, &standing, NULL)) return false;
		upload->standing = standing.bytes;
		upload->counted = jobs->uploads_ended + 1;
	}
	uint64_t bytes = upload->standing;
	for (const struct jobs_upload *at = jobs->uploads; at; at = at->next)
		if (!strcmp(at->owner, upload->owner)) bytes += at->arrived;
	return bytes <= jobs->options.key_bytes;
}

bool jobs_quota_refuse_bytes(const struct jobs *jobs, struct jobs_fault *fault) {
	return jobs_refuse(fault, 413, "quota_exceeded", "references",
	                   "the references of one key's jobs may have %" PRIu64
	                   " bytes together; wait until some have ended, or cancel some",
	                   jobs->options.key_bytes);
}
