// SPDX-License-Identifier: Apache-2.0
// jobs_quota.h: how much of the server one key may have: jobs, places in the queue, bytes on the
// disk.
//
// No private data: sizes of uploads are compared with a limit, and whoever sent them hears whether
// they fit. All want the lock held.
#ifndef CUTTLE_SERVE_JOBS_JOBS_QUOTA_H
#define CUTTLE_SERVE_JOBS_JOBS_QUOTA_H

#include "serve/jobs/jobs_upload.h"

/* Fills in the limits that no option says. */
void jobs_quota_default(struct jobs_options *options);
/* Whether the caller may have one more job. */
bool jobs_quota_create(struct jobs *jobs, const struct jobs_caller *caller,
                       struct jobs_fault *fault);
/* Whether the job may wait in the queue. Its owner gets at most half of the places, so that nobody
 * is kept out by one; a server without keys knows no owners. */
bool jobs_quota_queue(struct jobs *jobs, const struct job *job, struct jobs_fault *fault);
/* Whether what has arrived of an upload fits beside the references of its owner's other jobs, those
 * that arrive included. False where the list cannot be read, too. */
bool jobs_quota_bytes(struct jobs_upload *upload);
/* Fills the fault for an upload that did not fit. */
bool jobs_quota_refuse_bytes(const struct jobs *jobs, struct jobs_fault *fault);

#endif
