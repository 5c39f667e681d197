// SPDX-License-Identifier: Apache-2.0
// trail_copy.h: a copy of the audit trail, for programs that collect logs: the same lines, in a
// file of the operator's or on standard output.
//
// No private data. The trail itself stays in the state folder, and is what counts. A copy that
// cannot be written holds up nobody: it gets what it lacks with the next entry. A file that was
// moved away is begun anew with the entries that come; one that a server finds empty when it begins
// gets all of them.
#ifndef CUTTLE_SERVE_JOBS_TRAIL_COPY_H
#define CUTTLE_SERVE_JOBS_TRAIL_COPY_H

#include "engine/cuttle/status.h"
#include <sys/types.h>

struct trail_copy {
	const char *path; /* the caller's; "-" = standard output; NULL = there is no copy */
	off_t at;         /* byte of the trail behind what the copy has */
};

/* Finds out what the copy has of the trail at `trail`. Standard output has all that was there
 * before. USAGE: it is no regular file, or no copy of this trail. INPUT, INTERNAL, NOMEM. */
enum cuttle_status trail_copy_open(const char *path, const char *trail, struct trail_copy *copy,
                                   struct cuttle_error *error);
/* Copies what it lacks. INTERNAL, NOMEM: a part of it, whole lines, may be there. */
enum cuttle_status trail_copy_add(struct trail_copy *copy, const char *trail,
                                  struct cuttle_error *error);

#endif
