// SPDX-License-Identifier: Apache-2.0
// Three kinds of entries count: `start` has the cost, `end` the name of the charge, and
// `ledger_restored` what was given up.
#include "serve/jobs/trail_charges.h"

#include "io/disk/fail.h"
#include "io/ledger/ledger.h"
#include "serve/jobs/trail_read.h"
#include <string.h>

struct telling {
	bool all;
	json_t *starts;  /* a job's id to its charge */
	json_t *charges; /* what is handed out */
};

bool trail_charges_drop(json_t *charges, json_t *given_up) {
	json_t *jobs = json_object(), *id, *told;
	const char *name;
	void *next;
	bool right = jobs != NULL;
	json_object_foreach(given_up, name, id) {
		const char *const job = json_string_value(id);
		right = right && (!job || json_object_set_new(jobs, job, json_true()) == 0);
	}
	json_object_foreach_safe(charges, next, name, told) {
		const char *const job = json_string_value(json_object_get(told, "job"));
		if (json_object_get(jobs, job)) (void)json_object_del(charges, name);
	}
	json_decref(jobs);
	return right;
}

/* Takes out what an officer was told that the ledger lacks: entries and charges, each with its job.
 * False: no memory. */
static bool drop_given_up(json_t *charges, json_t *missing) {
	const char *name;
	const json_t *id;
	json_object_foreach(missing, name, id)(void) json_object_del(charges, name);
	return trail_charges_drop(charges, missing);
}

static enum cuttle_status take_told(void *user, const json_t *entry) {
	struct telling *const telling = user;
	const char *event = json_string_value(json_object_get(entry, "event"));
	const char *job = json_string_value(json_object_get(entry, "job"));
	const char *run = json_string_value(json_object_get(entry, "run"));
	json_t *charge = json_object_get(entry, "charge");
	if (!event) return CUTTLE_OK;
	if (!strcmp(event, "ledger_restored") && !telling->all &&
	    !(drop_given_up(telling->charges, json_object_get(entry, "missing")) &&
	      drop_given_up(telling->charges, json_object_get(entry, "runs"))))
		return CUTTLE_NOMEM;
	if (!strcmp(event, "start") && job && charge)
		return json_object_set(telling->starts, job, charge) ? CUTTLE_NOMEM : CUTTLE_OK;
	if (strcmp(event, "end") != 0 || !job || !run) return CUTTLE_OK;
	const char *status = json_string_value(json_object_get(entry, "status"));
	const bool done = status && !strcmp(status, "done");
	if (telling->all ? !*run && !done : !*run || !done) return CUTTLE_OK;
	charge = json_object_get(telling->starts, job);
	json_t *told = json_pack("{s:s,s:O?,s:O?}", "job", job, "dataset",
	                         json_object_get(entry, "dataset"), "charge", charge);
	(void)json_object_del(telling->starts, job);
	return json_object_set_new(telling->charges, *run ? run : job, told) ? CUTTLE_NOMEM
	                                                                     : CUTTLE_OK;
}

enum cuttle_status trail_charges_read(const char *trail, bool all, json_t **charges,
                                      struct cuttle_error *error) {
	struct telling telling = {all, json_object(), json_object()};
	const enum cuttle_status status = telling.starts && telling.charges
	                                      ? trail_each(trail, take_told, &telling, error)
	                                      : io_fail(error, CUTTLE_NOMEM, "out of memory");
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
