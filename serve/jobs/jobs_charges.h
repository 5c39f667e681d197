// SPDX-License-Identifier: Apache-2.0
// jobs_charges.h: whether the ledger still has what this server saw in it.
//
// A ledger that was put back from a backup lacks the newest charges, and what they paid for could
// be paid for again. The file itself cannot show that (io/ledger/ledger.h). But the server knows
// the charge of each job that is done, from its receipt, and STATE/ledger.head has the newest entry
// that it saw, whoever made it. For example:
//
//     jobs_charges_check(jobs, error);    // LEDGER: an entry is missing
//     jobs_charges_hold(jobs, error);     // before each command: LEDGER: it was put back since
//     jobs_charges_note(jobs);            // after each command: this is the newest entry now
//
// No private data: entries are hashes.
#ifndef CUTTLE_SERVE_JOBS_JOBS_CHARGES_H
#define CUTTLE_SERVE_JOBS_JOBS_CHARGES_H

#include "serve/jobs/jobs_state.h"

/* LEDGER: the ledger lacks an entry that this server knows, and the options do not say that it was
 * restored. Where they do, the jobs whose charges are lost are marked, and asked for no more.
 * NOMEM, or as ledger_walk, store_walk and store_change. */
enum cuttle_status jobs_charges_check(struct jobs *jobs, struct cuttle_error *error);
/* LEDGER: the ledger lacks the newest entry that the server saw: it was put back under a server
 * that runs, which then begins no command until it is started again. One that cannot be read now is
 * no error: whoever needs it says so. NOMEM. The lock may not be held, as the ledger may be busy.
 */
enum cuttle_status jobs_charges_hold(const struct jobs *jobs, struct cuttle_error *error);
/* Keeps the newest entry of a ledger that has the one kept before. A ledger or a disk that cannot
 * be used now is no error: the entry kept before stays. The lock may not be held. */
void jobs_charges_note(const struct jobs *jobs);
/* The name of a job's charge, by its files, whoever was killed before they could tell it; "" = it
 * was not charged, or the ledger cannot be read now. Nobody may hold the lock but jobs_open. */
void jobs_charges_run(const struct jobs *jobs, const struct job *job, char run[LEDGER_RUN]);

#endif
