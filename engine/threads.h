// SPDX-License-Identifier: Apache-2.0
// Worker threads: one queue of numbered tasks at a time, in one share per worker, taken one by one; who has done his own helps the others,
// so that a slow or busy core does less and nobody waits for it idly. A worker whose core another process takes in the middle of a task
// goes on with it on the caller's, and where there is a core for each, workers keep off the caller's otherwise: threads that this file
// started have their affinity changed, never the caller's. Who does a task, and where, never changes what it computes.
#ifndef CUTTLE_ENGINE_THREADS_H
#define CUTTLE_ENGINE_THREADS_H

#include "engine/cuttle.h"

struct threads;
/* worker: 0 .. threads_count-1, for scratch memory of one's own. */
typedef void threads_task(void *context, size_t index, unsigned worker);

/* count workers, the caller included; 0 = the cores this process may run on. Fewer when the system refuses to start as many. NOMEM. */
enum cuttle_status threads_new(unsigned count, struct threads **threads, struct cuttle_error *error);
void threads_free(struct threads **threads);
unsigned threads_count(const struct threads *threads);

/* Runs task(context, 0 .. tasks-1, worker) and returns when all are done. Called by one thread at a time; the caller works too. tasks <
 * 2^32. */
void threads_run(struct threads *threads, size_t tasks, threads_task *task, void *context);

#endif
