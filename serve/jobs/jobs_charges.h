// SPDX-License-Identifier: Apache-2.0
// jobs_charges.h: whether the ledger still has what this server saw in it.
//
// A ledger that was put back from a backup lacks the newest charges, and what they paid for could
// be paid for again. The file itself cannot show that (io/ledger/ledger.h). But the server knows
// the charge of each job that is done, from its receipt, and of others from the audit trail, which
// a machine may have without the jobs. STATE/ledger.head has the newest entry that it saw, whoever
// made it. For example:
//
//     jobs_charges_compare(jobs, &gap, error);    // what it lacks
//     jobs_charges_hold(jobs, error);             // before each charge: LEDGER: it lacks something
//     jobs_charges_note(jobs);                    // after each command: the newest entry now
//
// Where something is missing, `lacks` of struct jobs is set, and nothing is charged until the
// newest copy is there again or an officer takes what is there: serve/jobs/jobs_gap.h.
// No private data: entries are hashes. No lock may be held, as the ledger may be busy.
#ifndef CUTTLE_SERVE_JOBS_JOBS_CHARGES_H
#define CUTTLE_SERVE_JOBS_JOBS_CHARGES_H

#include "serve/jobs/jobs_state.h"

/* What a ledger lacks. */
struct charges_gap {
	json_t *missing;        /* hash of an entry, or name of a charge that the trail alone
	                           tells, to the id of its job, or to "" for the newest entry
	                           that was seen; owned */
	char newest[HASH_TEXT]; /* the ledger's last entry; "" = it has none */
	unsigned confirmed;     /* how many gaps had been confirmed before */
};
/* Looks for all that this server knows. After OK jobs_charges_free. LEDGER, NOMEM, or as
 * store_walk. */
enum cuttle_status jobs_charges_compare(struct jobs *jobs, struct charges_gap *gap,
                                        struct cuttle_error *error);
void jobs_charges_free(struct charges_gap *gap);
/* What is missing was taken as lost: from now on the ledger must have what it had then. */
void jobs_charges_keep(const struct jobs *jobs, const struct charges_gap *gap);
/* LEDGER: the ledger lacks something. One that cannot be read now is no error unless it did before:
 * whoever needs it says so. NOMEM. */
enum cuttle_status jobs_charges_hold(struct jobs *jobs, struct cuttle_error *error);
/* Keeps the newest entry of a ledger that has the one kept before. A ledger or a disk that cannot
 * be used now is no error: the entry kept before stays. */
void jobs_charges_note(const struct jobs *jobs);
/* The name of a job's charge, by its files, whoever was killed before they could tell it; "" = it
 * was not charged, or the ledger cannot be read now. Nobody may hold the lock but jobs_open. */
void jobs_charges_run(const struct jobs *jobs, const struct job *job, char run[LEDGER_RUN]);

#endif
