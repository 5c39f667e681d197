// SPDX-License-Identifier: Apache-2.0
// What is known is a set of hashes; a walk through the ledger takes out those that it has.
#include "serve/jobs/jobs_charges.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "serve/jobs/jobs_trail.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECEIPT_MOST = 1 << 24 };

/* The entry that charged a job, by its receipt; "" = it has none. */
static void read_job_entry(const struct jobs *jobs, const char *id, char entry[HASH_TEXT]) {
	char *path = jobs_path(jobs, id, "out.receipt.json"), *text = NULL;
	size_t size = 0;
	json_t *root = path && !file_read(path, RECEIPT_MOST, &text, &size, NULL)
	                   ? json_loadb(text, size, 0, NULL)
	                   : NULL;
	const char *hash =
	    json_string_value(json_object_get(json_object_get(root, "ledger"), "entry"));
	(void)snprintf(entry, HASH_TEXT, "%s", hash ? hash : "");
	json_decref(root);
	free(text);
	free(path);
}

struct known {
	const struct jobs *jobs;
	json_t *entries; /* hash to the job's id, or to "" for the newest entry */
};

static enum cuttle_status add_job_entry(void *user, const struct store_job *row) {
	struct known *known = user;
	char entry[HASH_TEXT];
	if (row->state != STORE_DONE) return CUTTLE_OK;
	json_t *spec = json_loads(row->spec, 0, NULL);
	const bool lost = json_is_true(json_object_get(spec, "charge_lost"));
	json_decref(spec);
	if (lost) return CUTTLE_OK;
	read_job_entry(known->jobs, row->id, entry);
	return !*entry || !json_object_set_new(known->entries, entry, json_string(row->id))
	           ? CUTTLE_OK
	           : CUTTLE_NOMEM;
}

/* Reads the newest entry that the server saw. NULL: there is none yet; "": the file is not as it
 * was written. The caller frees it. */
static enum cuttle_status read_head(const struct jobs *jobs, char **head) {
	char *path;
	size_t size = 0;
	*head = NULL;
	if (asprintf(&path, "%s/ledger.head", jobs->options.state) < 0) return CUTTLE_NOMEM;
	enum cuttle_status status = CUTTLE_OK;
	if (access(path, F_OK) == 0) {
		(void)file_read(path, HASH_TEXT, head, &size, NULL);
		const bool whole = *head && size == HASH_TEXT && (*head)[HASH_TEXT - 1] == '\n';
		if (!*head) *head = calloc(1, 1);
		if (!*head) status = CUTTLE_NOMEM;
		else (*head)[whole ? HASH_TEXT - 1 : 0] = 0;
	}
	free(path);
	return status;
}

static enum cuttle_status add_head(struct known *known) {
	char *head;
	enum cuttle_status status = read_head(known->jobs, &head);
	if (head && json_object_set_new(known->entries, head, json_string("")) != 0)
		status = CUTTLE_NOMEM;
	free(head);
	return status;
}

static enum cuttle_status take_entry(void *user, const struct chain_entry *entry) {
	(void)json_object_del(user, entry->hash);
	return CUTTLE_OK;
}

/* Asks for this job's charge no more. */
static enum cuttle_status mark_lost(struct jobs *jobs, const char *id, struct cuttle_error *error) {
	struct job job;
	const struct store_filter one = {.id = id, .state = STORE_STATES};
	enum cuttle_status status = job_find(jobs, &one, &job, error);
	if (!status && json_object_set_new(job.spec, "charge_lost", json_true()) != 0)
		status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = job_save(jobs, &job, NULL, error);
	job_free(&job);
	return status;
}

/* What is left in the set is in no ledger. */
static enum cuttle_status judge_missing(struct jobs *jobs, json_t *missing,
                                        struct cuttle_error *error) {
	const char *hash;
	json_t *id;
	enum cuttle_status status = CUTTLE_OK;
	if (!json_object_size(missing)) return CUTTLE_OK;
	hash = json_object_iter_key(json_object_iter(missing));
	if (!jobs->options.restored)
		return io_fail(error, CUTTLE_LEDGER,
		               "%s lacks %zu entries that this server has seen, as %.12s...: an "
		               "older copy was put back, or it is another ledger. Put the newest "
		               "there, or start once with --ledger-restored. What is missing is "
		               "then counted no more",
		               jobs->options.ledger, json_object_size(missing), hash);
	json_object_foreach(missing, hash, id) if (!status && *json_string_value(id)) status =
	    mark_lost(jobs, json_string_value(id), error);
	// Whoever looks for what was lost finds here which entries, and of which jobs.
	const struct jobs_event event = {.name = "ledger_restored",
	                                 .more = json_pack("{s:O}", "missing", missing)};
	if (!status) status = jobs_trail_tell(jobs, &event, error);
	else json_decref(event.more);
	return status;
}

/* What a walk looks for. */
struct newest {
	const char *head; /* NULL: nothing */
	bool found;
	char hash[HASH_TEXT]; /* of the last entry; "" = there is none */
};

static enum cuttle_status look_at_entry(void *user, const struct chain_entry *entry) {
	struct newest *const newest = user;
	newest->found = newest->found || (newest->head && !strcmp(newest->head, entry->hash));
	(void)snprintf(newest->hash, HASH_TEXT, "%s", entry->hash);
	return CUTTLE_OK;
}

static enum cuttle_status find_newest(const struct jobs *jobs, struct newest *newest) {
	struct ledger *ledger;
	enum cuttle_status status = ledger_open(jobs->options.ledger, &ledger, NULL);
	if (status) return status;
	status = ledger_walk(ledger, NULL, look_at_entry, newest, NULL);
	ledger_close(&ledger);
	return status;
}

enum cuttle_status jobs_charges_hold(const struct jobs *jobs, struct cuttle_error *error) {
	char *head;
	enum cuttle_status status = read_head(jobs, &head);
	if (status) return io_fail(error, status, "out of memory");
	struct newest newest = {.head = head};
	if (head && !find_newest(jobs, &newest) && !newest.found)
		status = io_fail(error, CUTTLE_LEDGER, "%s lacks what this server has seen",
		                 jobs->options.ledger);
	free(head);
	return status;
}

/* Keeps the newest entry; where the one before is not there, only if that was `told`. */
static void keep_newest(const struct jobs *jobs, bool told) {
	char *path, *head = NULL;
	if (asprintf(&path, "%s/ledger.head", jobs->options.state) < 0) return;
	enum cuttle_status status = read_head(jobs, &head);
	struct newest newest = {.head = head, .found = told || !head};
	if (!status) status = find_newest(jobs, &newest);
	if (!status && newest.found && *newest.hash) {
		newest.hash[HASH_TEXT - 1] = '\n';
		(void)file_replace(path, newest.hash, HASH_TEXT);
	}
	free(head);
	free(path);
}

enum cuttle_status jobs_charges_check(struct jobs *jobs, struct cuttle_error *error) {
	const struct store_filter all = {.state = STORE_STATES};
	struct known known = {jobs, json_object()};
	struct ledger *ledger;
	enum cuttle_status status =
	    known.entries ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = store_walk(jobs->store, &all, add_job_entry, &known, error);
	if (!status && add_head(&known)) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = ledger_open(jobs->options.ledger, &ledger, error);
	if (!status) {
		status = ledger_walk(ledger, NULL, take_entry, known.entries, error);
		ledger_close(&ledger);
	}
	if (!status) status = judge_missing(jobs, known.entries, error);
	json_decref(known.entries);
	if (!status) keep_newest(jobs, true);
	return status;
}

void jobs_charges_note(const struct jobs *jobs) {
	keep_newest(jobs, false);
}

/* Whose run is looked for, by the hash of the entry that charged it. */
struct charge_name {
	char entry[HASH_TEXT];
	char run[LEDGER_RUN];
};

static enum cuttle_status take_charge_name(void *user, const struct chain_entry *entry) {
	struct charge_name *const name = user;
	if (!strcmp(name->entry, entry->hash))
		(void)snprintf(name->run, LEDGER_RUN, "%s", entry->run);
	return CUTTLE_OK;
}

void jobs_charges_run(const struct jobs *jobs, const struct job *job, char run[LEDGER_RUN]) {
	struct charge_name name = {.run = ""};
	struct ledger *ledger;
	bool charged = true;
	// The command takes the first away when its output and its receipt are in place.
	if (job_run_name(jobs, job->row.id, run)) {
		if (budgets_charged(jobs->options.ledger, job->row.dataset, run, &charged, NULL) ||
		    !charged)
			*run = 0;
		return;
	}
	read_job_entry(jobs, job->row.id, name.entry);
	if (!*name.entry || ledger_open(jobs->options.ledger, &ledger, NULL)) return;
	if (!ledger_walk(ledger, NULL, take_charge_name, &name, NULL))
		memcpy(run, name.run, LEDGER_RUN);
	ledger_close(&ledger);
}
