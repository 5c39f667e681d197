// SPDX-License-Identifier: Apache-2.0
// jobs_gap.h: a ledger that lacks what this server has seen, from its being noticed to an officer's
// word.
//
//     jobs_gap_open       at the begin: noticed, and told to whoever begins the server
//     (a start, a job)    refused, since jobs_charges_hold says so: jobs_gap_refuse
//     jobs_gap            what is missing, by run, with what each was charged
//     jobs_gap_confirm    an officer takes what is there; the trail says who, and what is lost
//
// What is confirmed is what was looked at: a gap has a name, which is another one when more is
// missing or the ledger has changed. The names of runs are from the list of jobs, and from the
// trail, which knows those of jobs that were removed.
// No private data: what a job is charged stands in the trail, too.
#ifndef CUTTLE_SERVE_JOBS_JOBS_GAP_H
#define CUTTLE_SERVE_JOBS_JOBS_GAP_H

#include "serve/jobs/jobs_state.h"

/* Compares, and says on standard error what is missing; where the options say that the ledger was
 * restored, takes that as lost. LEDGER, NOMEM, and as jobs_trail_tell. */
enum cuttle_status jobs_gap_open(struct jobs *jobs, struct cuttle_error *error);
/* Fills the fault of a start while something is missing, and returns false. Officers of all data
 * sets are told what. The lock may not be held. */
bool jobs_gap_refuse(struct jobs *jobs, const struct jobs_caller *caller, struct jobs_fault *fault);

#endif
