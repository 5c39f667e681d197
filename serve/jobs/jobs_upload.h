// SPDX-License-Identifier: Apache-2.0
// jobs_upload.h: references that arrive, from their first byte until the command has looked at
// them.
//
// What routes call is in serve/jobs/jobs.h. PRIVATE references pass into the vault. An upload is
// listed until the job has its answer, so that a job can neither start on references that nobody
// has looked at, nor end while somebody does.
#ifndef CUTTLE_SERVE_JOBS_JOBS_UPLOAD_H
#define CUTTLE_SERVE_JOBS_JOBS_UPLOAD_H

#include "serve/jobs/jobs_trail.h"
#include "serve/http/keys.h"

struct jobs_upload {
	struct jobs *jobs;
	char id[STORE_ID];
	char owner[KEYS_OWNER + 1];  /* whose job it is */
	struct vault_writer *writer; /* NULL = a piece has failed, or all is in place */
	enum cuttle_status failed;
	struct jobs_mark mark; /* of what has arrived */
	struct jobs_who who;   /* sends it */
	// Under the lock:
	bool quoting;     /* it has its turn: the command looks at the references, or is about to */
	uint64_t arrived; /* bytes */
	bool over;        /* it has more bytes than its owner may have */
	uint64_t standing; /* bytes of references of its owner's other jobs */
	uint64_t counted;  /* jobs->uploads_ended when they were counted, and 1; 0 = never */
	bool unwanted;     /* its job has ended: nothing more may be kept, nor looked at */
	struct jobs_upload *next;
};

/* The upload of a job; NULL = none arrives and none is looked at. The lock is held. */
struct jobs_upload *jobs_find_upload(const struct jobs *jobs, const char *id);
/* Ends the upload of a job that has ended: nothing more of it is kept, and the command that looks
 * at its references is killed. Returns when there is no such command. The lock is held, but while
 * it waits. Does nothing where there is no upload. */
void jobs_end_upload(struct jobs *jobs, const char *id);

#endif
