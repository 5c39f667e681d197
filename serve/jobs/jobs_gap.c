// SPDX-License-Identifier: Apache-2.0
// The gap of a ledger: named, refused for, confirmed. serve/jobs/jobs_gap.h has the order.
#include "serve/jobs/jobs_gap.h"

#include "io/disk/fail.h"
#include "serve/jobs/jobs_charges.h"
#include "serve/jobs/jobs_trail.h"
#include "serve/jobs/trail_charges.h"
#include "serve/jobs/trail_read.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which runs ------------------------------------------------------------------------------ */

struct naming {
	const struct jobs *jobs;
	json_t *charges; /* of the trail: a job's id to what its last start was charged; owned */
	json_t *runs;    /* a run's name to what is told of it; owned */
};

static enum cuttle_status add_lost_run(struct naming *naming, const char *run, const char *id,
                                       const char *dataset, const char *owner, json_t *charge) {
	json_t *told =
	    json_pack("{s:s,s:s,s:s,s:o,s:O?}", "run", run, "job", id, "dataset", dataset, "owner",
	              json_stringn(owner, strcspn(owner, "#")), "charge", charge);
	return json_object_set_new(naming->runs, run, told) ? CUTTLE_NOMEM : CUTTLE_OK;
}

static const char *word_of(const json_t *entry, const char *name) {
	const char *const word = json_string_value(json_object_get(entry, name));
	return word ? word : "";
}

/* Takes out those whose charge was taken as lost before. False: no memory. */
static bool forget_runs(struct naming *naming, const json_t *entry) {
	json_t *runs = json_object_get(entry, "runs"), *run;
	const char *name;
	json_object_foreach(runs, name, run)(void) json_object_del(naming->runs, name);
	return trail_charges_drop(naming->runs, json_object_get(entry, "missing"));
}

static enum cuttle_status name_by_trail(void *user, const json_t *entry) {
	struct naming *naming = user;
	const char *event = word_of(entry, "event"), *id = word_of(entry, "job"),
	           *run = word_of(entry, "run");
	json_t *charge = json_object_get(entry, "charge");
	if (!strcmp(event, "ledger_restored") && !forget_runs(naming, entry)) return CUTTLE_NOMEM;
	if (!strcmp(event, "start") && json_object_set(naming->charges, id, charge) != 0)
		return CUTTLE_NOMEM;
	if (strcmp(event, "end") != 0 || !*run) return CUTTLE_OK;
	return add_lost_run(naming, run, id, word_of(entry, "dataset"), word_of(entry, "owner"),
	                    json_object_get(naming->charges, id));
}

/* The trail has no run of a job that has not ended, and none at all where it was put back, too. */
static enum cuttle_status name_by_list(void *user, const struct store_job *row) {
	struct naming *naming = user;
	char own[LEDGER_RUN];
	const char *run = row->run;
	if (!*run && !job_run_name(naming->jobs, row->id, own)) return CUTTLE_OK;
	if (!*run) run = own;
	json_t *spec = json_loads(row->spec, 0, NULL);
	const enum cuttle_status status =
	    json_is_true(json_object_get(spec, "charge_lost"))
	        ? CUTTLE_OK
	        : add_lost_run(naming, run, row->id, row->dataset, row->owner,
	                       json_object_get(json_object_get(spec, "quote"), "charge"));
	json_decref(spec);
	return status;
}

/* Names the runs that the server knows and the ledger has not. *runs is owned by the caller. */
static enum cuttle_status name_runs(struct jobs *jobs, json_t **runs, struct cuttle_error *error) {
	const struct store_filter all = {.state = STORE_STATES};
	struct naming naming = {jobs, json_object(), json_object()};
	enum cuttle_status status = naming.charges && naming.runs
	                                ? CUTTLE_OK
	                                : io_fail(error, CUTTLE_NOMEM, "out of memory");
	(void)pthread_mutex_lock(&jobs->lock);
	if (!status) status = store_walk(jobs->store, &all, name_by_list, &naming, error);
	(void)pthread_mutex_unlock(&jobs->lock);
	// Behind the list: it says what of that was taken as lost before.
	if (!status) status = trail_each(jobs->trail_path, name_by_trail, &naming, error);
	if (!status) status = trail_charges_take(jobs->options.ledger, naming.runs, error);
	json_decref(naming.charges);
	*runs = status ? NULL : naming.runs;
	if (status) json_decref(naming.runs);
	return status;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

/* What all runs of a data set were charged together, at most: of those that count by key or line
 * not each concerns everybody. */
static bool add_sum(json_t *sums, const json_t *run) {
	struct budgets_charge charge, sum = {0};
	char key[160];
	if (!budgets_read(run, &charge)) return true;
	(void)snprintf(key, sizeof key, "%d %u %s", (int)charge.measure, charge.order,
	               word_of(run, "dataset"));
	json_t *old = json_object_get(sums, key);
	sum.loss = json_number_value(json_object_get(old, "loss"));
	sum.delta = json_number_value(json_object_get(old, "delta"));
	budgets_add(&sum, &charge);
	json_t *measure = json_object_get(json_object_get(run, "charge"), "measure");
	return !json_object_set_new(
	    sums, key,
	    json_pack("{s:s,s:O,s:f,s:f,s:I}", "dataset", word_of(run, "dataset"), "measure",
	              measure, "loss", sum.loss, "delta", sum.delta, "runs",
	              json_integer_value(json_object_get(old, "runs")) + 1));
}

static json_t *list_values(json_t *object) {
	json_t *list = json_array(), *value;
	const char *name;
	json_object_foreach(object, name, value) if (list && json_array_append(list, value) != 0) {
		json_decref(list);
		list = NULL;
	}
	return list;
}

/* The gap's name: the same as long as the same is missing, and the ledger is the same. */
static bool name_gap(const struct charges_gap *gap, char name[HASH_TEXT]) {
	struct hash hash;
	char *text = json_dumps(gap->missing, JSON_SORT_KEYS | JSON_COMPACT);
	if (!text) return false;
	hash_begin(&hash);
	hash_add(&hash, text, strlen(text));
	hash_add(&hash, gap->newest, strlen(gap->newest));
	hash_end(&hash, name);
	free(text);
	return true;
}

/* NULL: no memory. */
static json_t *describe_gap(const struct charges_gap *gap, json_t *runs) {
	char name[HASH_TEXT];
	json_t *sums = json_object(), *run;
	const char *key;
	bool good = sums && name_gap(gap, name);
	json_object_foreach(runs, key, run) good = good && add_sum(sums, run);
	json_t *document =
	    good ? json_pack("{s:s,s:b,s:s,s:I,s:s,s:o,s:o}", "object", "ledger_gap", "held", 1,
	                     "gap", name, "entries", (json_int_t)json_object_size(gap->missing),
	                     "newest", gap->newest, "datasets", list_values(sums), "runs",
	                     list_values(runs))
	         : NULL;
	json_decref(sums);
	return document;
}

/* ---- noticed --------------------------------------------------------------------------------- */

/* Asks for this job's charge no more. */
static enum cuttle_status mark_lost(struct jobs *jobs, const char *id, struct cuttle_error *error) {
	struct job job;
	const struct store_filter one = {.id = id, .state = STORE_STATES};
	enum cuttle_status status = job_find(jobs, &one, &job, error);
	// Somebody may have removed it meanwhile.
	if (!status && !job.row.id[0]) return CUTTLE_OK;
	if (!status && json_object_set_new(job.spec, "charge_lost", json_true()) != 0)
		status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = job_save(jobs, &job, NULL, error);
	job_free(&job);
	return status;
}

/* A step: jobs whose charges are lost are marked, and whoever looks for these finds them in the
 * trail. The lock is held. */
static enum cuttle_status tell_lost(struct jobs *jobs, const struct jobs_caller *caller,
                                    const struct charges_gap *gap, json_t *runs,
                                    struct cuttle_error *error) {
	const char *hash, *name;
	json_t *id, *run, *jobs_of = json_object();
	enum cuttle_status status = jobs_trail_begin(jobs, error);
	if (!status) {
		json_object_foreach(gap->missing, hash, id) if (!status && *json_string_value(id))
		    status = mark_lost(jobs, json_string_value(id), error);
		json_object_foreach(runs, name, run)(void)
		    json_object_set(jobs_of, name, json_object_get(run, "job"));
		const struct jobs_event event = {
		    .name = "ledger_restored",
		    .caller = caller,
		    .more = json_pack("{s:O,s:O}", "missing", gap->missing, "runs", jobs_of)};
		if (!status) status = jobs_trail_add(jobs, &event, error);
		else json_decref(event.more);
		status = jobs_trail_end(jobs, status, error);
	}
	json_decref(jobs_of);
	return status;
}

/* Takes the ledger as it was looked at. *done is false where somebody else has just done so. */
static enum cuttle_status take_restored(struct jobs *jobs, const struct jobs_caller *caller,
                                        const struct charges_gap *gap, json_t *runs, bool *done,
                                        struct cuttle_error *error) {
	(void)pthread_mutex_lock(&jobs->lock);
	*done = jobs->confirmed == gap->confirmed;
	enum cuttle_status status = *done ? tell_lost(jobs, caller, gap, runs, error) : CUTTLE_OK;
	if (*done && !status) {
		jobs->confirmed++;
		jobs_charges_keep(jobs, gap);
		jobs->lacks = false;
		jobs->rest_until = (struct timespec){0};
		(void)pthread_cond_broadcast(&jobs->changed);
	}
	(void)pthread_mutex_unlock(&jobs->lock);
	return status;
}

enum cuttle_status jobs_gap_open(struct jobs *jobs, struct cuttle_error *error) {
	struct charges_gap gap;
	json_t *runs = NULL;
	bool done;
	enum cuttle_status status = jobs_charges_compare(jobs, &gap, error);
	if (status) return status;
	const char *hash = json_object_iter_key(json_object_iter(gap.missing));
	if (!jobs->lacks) {
		jobs_charges_keep(jobs, &gap);
	} else if (jobs->options.restored) {
		status = name_runs(jobs, &runs, error);
		if (!status) status = take_restored(jobs, NULL, &gap, runs, &done, error);
	} else {
		fprintf(
		    stderr,
		    "cuttle serve: %s lacks %zu entries that this server has seen, as %.12s...: "
		    "an older copy was put back, or it is another ledger. Nothing is charged "
		    "before the newest is there, or an officer confirms the gap on the page, or "
		    "the server is started once with --ledger-restored\n",
		    jobs->options.ledger, json_object_size(gap.missing), hash);
	}
	json_decref(runs);
	jobs_charges_free(&gap);
	return status;
}

/* ---- asked for ------------------------------------------------------------------------------- */

/* What is missing now, by entry and by run; nothing: *runs is NULL. After true, jobs_charges_free.
 */
static bool look_at_gap(struct jobs *jobs, struct charges_gap *gap, json_t **runs,
                        struct jobs_fault *fault) {
	struct cuttle_error error;
	*gap = (struct charges_gap){0};
	*runs = NULL;
	// Mostly there is none, and this is much less to read.
	if (!jobs_charges_hold(jobs, &error)) return true;
	enum cuttle_status status = jobs_charges_compare(jobs, gap, &error);
	if (!status && json_object_size(gap->missing)) status = name_runs(jobs, runs, &error);
	if (!status) return true;
	jobs_charges_free(gap);
	return jobs_refuse_status(fault, status, &error);
}

bool jobs_gap(struct jobs *jobs, const struct jobs_caller *caller, json_t **document,
              struct jobs_fault *fault) {
	struct charges_gap gap;
	json_t *runs;
	*document = NULL;
	if (!jobs_sees_all(caller))
		return jobs_refuse(fault, 403, "forbidden_dataset", "",
		                   "this is for officers of all data sets");
	if (!look_at_gap(jobs, &gap, &runs, fault)) return false;
	*document = runs ? describe_gap(&gap, runs)
	                 : json_pack("{s:s,s:b}", "object", "ledger_gap", "held", 0);
	json_decref(runs);
	jobs_charges_free(&gap);
	return *document || jobs_refuse_status(fault, CUTTLE_NOMEM, NULL);
}

bool jobs_gap_confirm(struct jobs *jobs, const struct jobs_caller *caller, const char *name,
                      json_t **document, struct jobs_fault *fault) {
	struct cuttle_error error;
	struct charges_gap gap;
	json_t *runs;
	char now[HASH_TEXT];
	bool done = false;
	*document = NULL;
	if (!jobs_sees_all(caller))
		return jobs_refuse(fault, 403, "forbidden_dataset", "",
		                   "this is for officers of all data sets");
	if (!name)
		return jobs_refuse(fault, 400, "invalid_value", "gap",
		                   "gap must be the name of the gap that was looked at");
	if (!look_at_gap(jobs, &gap, &runs, fault)) return false;
	bool good = true;
	enum cuttle_status status = CUTTLE_OK;
	if (runs && (!name_gap(&gap, now) || strcmp(now, name) != 0))
		good = jobs_refuse(fault, 412, "not_as_approved", "gap",
		                   "something else is missing now; look at it again");
	else if (runs) status = take_restored(jobs, caller, &gap, runs, &done, &error);
	if (good && status) good = jobs_refuse_status(fault, status, &error);
	else if (good && !done)
		good = jobs_refuse(fault, 409, "no_gap", "", "the ledger lacks nothing");
	if (good) *document = json_pack("{s:s,s:b}", "object", "ledger_gap", "held", 0);
	json_decref(runs);
	jobs_charges_free(&gap);
	return good && (*document || jobs_refuse_status(fault, CUTTLE_NOMEM, NULL));
}

/* "notes rho 0.25 in 2 runs, " for each data set. */
static void print_sums(const json_t *document, char *text, size_t size) {
	size_t i, used = 0;
	const json_t *sum;
	*text = 0;
	json_array_foreach(json_object_get(document, "datasets"), i, sum) if (used < size) used +=
	    (size_t)snprintf(text + used, size - used, "%s %s %.6g in %lld runs, ",
	                     word_of(sum, "dataset"), word_of(sum, "measure"),
	                     json_number_value(json_object_get(sum, "loss")),
	                     json_integer_value(json_object_get(sum, "runs")));
}

bool jobs_gap_refuse(struct jobs *jobs, const struct jobs_caller *caller,
                     struct jobs_fault *fault) {
	json_t *document = NULL;
	char sums[192] = "";
	// Who sees one data set alone does not learn of others.
	if (jobs_sees_all(caller) && jobs_gap(jobs, caller, &document, fault))
		print_sums(document, sums, sizeof sums);
	json_decref(document);
	return jobs_refuse(
	    fault, 503, "ledger_restored", "",
	    "the ledger lacks charges that this server has seen: %san older copy was "
	    "put back. Nothing is charged before an officer confirms that",
	    sums);
}
