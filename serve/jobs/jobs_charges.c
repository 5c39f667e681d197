// SPDX-License-Identifier: Apache-2.0
// What is known is a set of hashes; a walk through the ledger takes out those that it has.
#include "serve/jobs/jobs_charges.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "serve/jobs/jobs_trail.h"
#include "serve/jobs/trail_charges.h"
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
	json_t *entries; /* hash, or name of a charge, to the job's id; "" for the newest entry */
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
	// A job's own entry stays that job's.
	if (head && !json_object_get(known->entries, head) &&
	    json_object_set_new(known->entries, head, json_string("")) != 0)
		status = CUTTLE_NOMEM;
	free(head);
	return status;
}

/* Adds the charges of jobs that the trail alone knows, by their names: on another machine, or where
 * a job was removed or cancelled, no receipt is there. */
static enum cuttle_status add_told(struct known *known, struct cuttle_error *error) {
	json_t *charges, *charge, *id, *seen = json_object();
	const char *name;
	enum cuttle_status status =
	    seen ? trail_charges_read(known->jobs->trail_path, false, &charges, error)
	         : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (status) {
		json_decref(seen);
		return status;
	}
	bool right = true;
	json_object_foreach(known->entries, name, id) right =
	    right && json_object_set_new(seen, json_string_value(id), json_true()) == 0;
	json_object_foreach(charges, name, charge) {
		id = json_object_get(charge, "job");
		if (right && !json_object_get(seen, json_string_value(id)))
			right = json_object_set(known->entries, name, id) == 0;
	}
	json_decref(seen);
	json_decref(charges);
	return right ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

static enum cuttle_status take_entry(void *user, const struct chain_entry *entry) {
	struct charges_gap *const gap = user;
	(void)json_object_del(gap->missing, entry->hash);
	if (!strcmp(entry->kind, "reserve")) (void)json_object_del(gap->missing, entry->run);
	(void)snprintf(gap->newest, HASH_TEXT, "%s", entry->hash);
	return CUTTLE_OK;
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

/* Whether the newest entry that was kept is there, as far as the ledger can be read now. */
static enum cuttle_status look_for_head(const struct jobs *jobs, bool *there) {
	char *head;
	const enum cuttle_status status = read_head(jobs, &head);
	struct newest newest = {.head = head};
	*there = !status && (!head || find_newest(jobs, &newest) || newest.found);
	free(head);
	return status;
}

/* Keeps the hash of the newest entry; "": there is none. */
static void keep_hash(const struct jobs *jobs, const char *hash) {
	char *path, line[HASH_TEXT];
	if (asprintf(&path, "%s/ledger.head", jobs->options.state) < 0) return;
	memcpy(line, hash, HASH_TEXT);
	line[HASH_TEXT - 1] = '\n';
	if (*hash) (void)file_replace(path, line, HASH_TEXT);
	else (void)unlink(path);
	free(path);
}

void jobs_charges_note(const struct jobs *jobs) {
	char *head;
	if (read_head(jobs, &head)) return;
	struct newest newest = {.head = head, .found = !head};
	if (!find_newest(jobs, &newest) && newest.found && *newest.hash)
		keep_hash(jobs, newest.hash);
	free(head);
}

void jobs_charges_keep(const struct jobs *jobs, const struct charges_gap *gap) {
	keep_hash(jobs, gap->newest);
}

enum cuttle_status jobs_charges_compare(struct jobs *jobs, struct charges_gap *gap,
                                        struct cuttle_error *error) {
	const struct store_filter all = {.state = STORE_STATES};
	struct ledger *ledger;
	*gap = (struct charges_gap){.missing = json_object()};
	struct known known = {jobs, gap->missing};
	enum cuttle_status status =
	    gap->missing ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	(void)pthread_mutex_lock(&jobs->lock);
	gap->confirmed = jobs->confirmed;
	if (!status) status = store_walk(jobs->store, &all, add_job_entry, &known, error);
	(void)pthread_mutex_unlock(&jobs->lock);
	if (!status && add_head(&known)) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = add_told(&known, error);
	if (!status) status = ledger_open(jobs->options.ledger, &ledger, error);
	if (!status) {
		status = ledger_walk(ledger, NULL, take_entry, gap, error);
		ledger_close(&ledger);
	}
	if (!status) jobs->lacks = json_object_size(gap->missing) > 0;
	if (status) jobs_charges_free(gap);
	return status;
}

void jobs_charges_free(struct charges_gap *gap) {
	json_decref(gap->missing);
	*gap = (struct charges_gap){0};
}

enum cuttle_status jobs_charges_hold(struct jobs *jobs, struct cuttle_error *error) {
	struct charges_gap gap;
	bool there;
	enum cuttle_status status = look_for_head(jobs, &there);
	if (status) return io_fail(error, status, "out of memory");
	if (there && !jobs->lacks) return CUTTLE_OK;
	// The newest copy may have been put there since.
	status = jobs_charges_compare(jobs, &gap, error);
	if (status) return status;
	const bool lacks = json_object_size(gap.missing) > 0;
	jobs_charges_free(&gap);
	return lacks ? io_fail(error, CUTTLE_LEDGER, "%s lacks what this server has seen",
	                       jobs->options.ledger)
	             : CUTTLE_OK;
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
