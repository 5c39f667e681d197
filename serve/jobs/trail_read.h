// SPDX-License-Identifier: Apache-2.0
// trail_read.h: entries of the audit trail for who looks at them: a page of the newest ones, or all
// of them in order.
//
// It checks no hash: serve/jobs/trail_check.h does. A page is read from the end of the file, so
// that it costs the same in a trail of ten years:
//
//     trail_page(file, size, &(struct trail_query){.event = "start", .limit = 50}, &page, error)
//         {"object":"list","data":[newest, ...],"next":81233}
//     the same with .before = 81233: the entries before those
//
// No text and no count of records stands in the trail, so none passes through.
#ifndef CUTTLE_SERVE_JOBS_TRAIL_READ_H
#define CUTTLE_SERVE_JOBS_TRAIL_READ_H

#include "engine/cuttle/status.h"
#include <jansson.h>
#include <sys/types.h>

enum { TRAIL_PAGE = 200 }; /* most entries of a page */

struct trail_query {
	const char *event; /* NULL = all */
	const char *job;   /* its id; NULL = all */
	off_t before;      /* "next" of the page before; 0 = the newest */
	size_t limit;      /* most entries, at most TRAIL_PAGE */
};
/* Reads a page of the first `size` bytes of the file, which are whole lines. "next" is null behind
 * the oldest entry. Where the filter lets few through, a page may have less than `limit`, or none,
 * and still a next one: each looks at some MiB. The caller owns *page. USAGE: no entry begins at
 * `before`. INTERNAL: the file cannot be read. NOMEM. */
enum cuttle_status trail_page(int file, off_t size, const struct trail_query *query, json_t **page,
                              struct cuttle_error *error);

/* Passes each entry on, the oldest first. A nonzero answer ends that and is returned. A file that
 * is not there has none; what is no entry is passed over. INTERNAL, NOMEM. */
enum cuttle_status trail_each(const char *path,
                              enum cuttle_status (*each)(void *user, const json_t *entry),
                              void *user, struct cuttle_error *error);

#endif
