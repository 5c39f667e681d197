// SPDX-License-Identifier: Apache-2.0
// threads.h: runs numbered tasks on several workers and waits until all are done.
//     threads_new(4, &threads, error);
//     threads_run(threads, 100, task, context);      // task(context, 0 to 99, worker 0 to 3)
//     threads_free(&threads);
// Tasks read private numbers through their context; this file reads none of them.
// A worker that has done its own share of the tasks helps the others: a slow core then does less.
// Who does a task, and where, never changes what it computes.
// Only threads started here have their affinity changed, never the caller's.
#ifndef CUTTLE_ENGINE_THREADS_H
#define CUTTLE_ENGINE_THREADS_H

#include "engine/cuttle/status.h"

struct threads;
/* index: which task. worker: 0 .. threads_count-1, so that each worker can have its own scratch
 * memory. */
typedef void threads_task(void *context, size_t index, unsigned worker);

/* Makes a pool of `count` workers, the caller included. 0 stands for cores_available(). There are
 * at most 256, and fewer when the system refuses to start as many. The caller frees *threads.
 * NOMEM. */
enum cuttle_status threads_new(unsigned count, struct threads **threads,
                               struct cuttle_error *error);
/* Ends the workers. No call of threads_run may be under way. *threads becomes NULL; NULL is fine.
 */
void threads_free(struct threads **threads);

/* The workers there are, the caller included. */
unsigned threads_count(const struct threads *threads);

/* Calls task(context, 0 .. tasks-1, worker) and returns when all are done. tasks < 2^32. The caller
 * works too, as worker 0. Any thread may call this at any time, but no task may. Callers wait for
 * each other, in the order they came.
 * Two cases skip the wait: a single task, and a pool of one worker. The caller then does its tasks
 * at once, as worker 0, while another caller's worker 0 may be at work. So scratch memory must
 * belong to one caller. */
void threads_run(struct threads *threads, size_t tasks, threads_task *task, void *context);

#endif
