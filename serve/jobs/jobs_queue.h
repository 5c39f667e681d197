// SPDX-License-Identifier: Apache-2.0
// jobs_queue.h: the thread that runs private jobs, one at a time. Next comes a job of the owner
// whose last one ended longest ago; an owner's jobs come in the order in which they were started.
//
// PRIVATE references pass from the vault to the command that runs. How a command ends decides what
// becomes of its job:
//
//     exit 0                 done; its references are wiped
//     exit 3, 4              failed; wiped
//     exit 5, 8 (model gone, failed; wiped. But where it was charged before it waits, since what
//       memory short)        was paid and drawn is not given up
//     exit 2                 failed; but where it was charged before, these are other references
//                            than those it began with, and the job asks for the right ones
//     exit 6 (disk full ..)  it waits behind all others, and goes on from its journal, as often as
//                            it takes
//     exit 7 (busy ledger)   the same. But where the job's files were put back from before, it
//                            waits until the newer ones are there, and it is started again
//     any other end          the same, five times; then failed, but a charged job asks for its
//                            references again, and goes on when it is started
//     asked to end           cancelled and wiped, or removed by who asked
//     the server stops       queued; the next server goes on from the journal
#ifndef CUTTLE_SERVE_JOBS_JOBS_QUEUE_H
#define CUTTLE_SERVE_JOBS_JOBS_QUEUE_H

#include "serve/jobs/jobs_state.h"

/* The thread's function; user is the struct jobs. It ends when `stopping` is set. */
void *jobs_work(void *user);

#endif
