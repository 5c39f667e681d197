// SPDX-License-Identifier: Apache-2.0
// Three kinds of entries count: `start` has the cost, `end` the name of the charge, and
// `ledger_restored` what was given up.
#include "serve/jobs/trail_charges.h"

#include "io/disk/fail.h"
#include "io/ledger/ledger.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct telling {
	bool all;
	json_t *starts;  /* a job's id to its charge */
	json_t *charges; /* what is handed out */
};

/* Takes out the charge of a job. */
static void drop_charge_of(json_t *charges, const json_t *id) {
	void *next;
	for (void *at = json_object_iter(charges); at; at = next) {
		next = json_object_iter_next(charges, at);
		if (json_equal(json_object_get(json_object_iter_value(at), "job"), id))
			(void)json_object_del(charges, json_object_iter_key(at));
	}
}

/* Takes out what an officer was told that the ledger lacks: entries and charges, each with its job.
 */
static void drop_given_up(json_t *charges, json_t *missing) {
	const char *name;
	const json_t *id;
	json_object_foreach(missing, name, id) {
		(void)json_object_del(charges, name);
		drop_charge_of(charges, id);
	}
}

/* False: no memory. */
static bool take_told(struct telling *telling, json_t *entry) {
	const char *event = json_string_value(json_object_get(entry, "event"));
	const char *job = json_string_value(json_object_get(entry, "job"));
	const char *run = json_string_value(json_object_get(entry, "run"));
	json_t *charge = json_object_get(entry, "charge");
	if (!event) return true;
	if (!strcmp(event, "ledger_restored") && !telling->all) {
		drop_given_up(telling->charges, json_object_get(entry, "missing"));
		drop_given_up(telling->charges, json_object_get(entry, "runs"));
	}
	if (!strcmp(event, "start") && job && charge)
		return json_object_set(telling->starts, job, charge) == 0;
	if (strcmp(event, "end") != 0 || !job || !run) return true;
	const char *status = json_string_value(json_object_get(entry, "status"));
	const bool done = status && !strcmp(status, "done");
	if (telling->all ? !*run && !done : !*run || !done) return true;
	charge = json_object_get(telling->starts, job);
	json_t *told = json_pack("{s:s,s:O?,s:O?}", "job", job, "dataset",
	                         json_object_get(entry, "dataset"), "charge", charge);
	(void)json_object_del(telling->starts, job);
	return told && json_object_set_new(telling->charges, *run ? run : job, told) == 0;
}

static enum cuttle_status read_told(FILE *file, const char *trail, struct telling *telling,
                                    struct cuttle_error *error) {
	char *line = NULL;
	size_t room = 0;
	ssize_t got;
	bool right = telling->starts && telling->charges;
	while (right && (got = getline(&line, &room, file)) > 0) {
		// Half a line is what a kill left: it is no entry yet.
		json_t *entry = json_loadb(line, (size_t)got, 0, NULL);
		right = take_told(telling, entry);
		json_decref(entry);
	}
	free(line);
	if (!right) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return ferror(file) ? io_fail(error, CUTTLE_INTERNAL, "cannot read %s", trail) : CUTTLE_OK;
}

enum cuttle_status trail_charges_read(const char *trail, bool all, json_t **charges,
                                      struct cuttle_error *error) {
	struct telling telling = {all, json_object(), json_object()};
	FILE *file = fopen(trail, "re");
	enum cuttle_status status = CUTTLE_OK;
	if (file) {
		status = read_told(file, trail, &telling, error);
		(void)fclose(file);
	} else if (errno != ENOENT)
		status =
		    io_fail(error, CUTTLE_INTERNAL, "cannot open %s: %s", trail, strerror(errno));
	if (status) json_decref(telling.charges);
	json_decref(telling.starts);
	*charges = status ? NULL : telling.charges;
	return status;
}

static enum cuttle_status take_reserved(void *user, const struct chain_entry *entry) {
	if (!strcmp(entry->kind, "reserve")) (void)json_object_del(user, entry->run);
	return CUTTLE_OK;
}

enum cuttle_status trail_charges_take(const char *ledger, json_t *charges,
                                      struct cuttle_error *error) {
	struct ledger *open;
	enum cuttle_status status = ledger_open(ledger, &open, error);
	if (status) return status;
	status = ledger_walk(open, NULL, take_reserved, charges, error);
	ledger_close(&open);
	return status;
}
