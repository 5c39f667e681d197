// SPDX-License-Identifier: Apache-2.0
// trail_charges.h: the charges that the audit trail tells of, to look for them in a ledger.
//
// A ledger that was put back on another machine may be older than the trail, and nothing else there
// knows what it lacks. The trail names the charge of each job that ended, and what its start was to
// cost. For example, of a job that somebody started and that is done:
//
//     {"6f1c...":{"job":"job_a...","dataset":"notes","charge":{"measure":"rho","loss":0.02,...}}}
//
// No private data: names of jobs and charges, and public numbers.
#ifndef CUTTLE_SERVE_JOBS_TRAIL_CHARGES_H
#define CUTTLE_SERVE_JOBS_TRAIL_CHARGES_H

#include "engine/cuttle/status.h"
#include <jansson.h>
#include <stdbool.h>

/* Reads the charges of a trail that was checked: by name of the charge the job, its data set and
 * what it was to cost (null: its start is not told). A job that is done may have no name of a
 * charge, where a server could not read the ledger at its end: it stands under its own name.
 * Without `all` such jobs are left out, and jobs that were cancelled or failed: nobody has a text
 * of theirs. So is what a `ledger_restored` has told as missing. A file that is not there has none.
 * The caller releases *charges. INTERNAL, NOMEM: then it is NULL. */
enum cuttle_status trail_charges_read(const char *trail, bool all, json_t **charges,
                                      struct cuttle_error *error);
/* Takes those out of a set whose job is a value of `given_up`. Both are by name; of the set each
 * has a member "job". False: no memory. */
bool trail_charges_drop(json_t *charges, json_t *given_up);
/* Takes those out of a set, by name of the charge, that the ledger has. As ledger_open and
 * ledger_walk. */
enum cuttle_status trail_charges_take(const char *ledger, json_t *charges,
                                      struct cuttle_error *error);

#endif
