// SPDX-License-Identifier: Apache-2.0
// trail_check.h: checks an audit trail whole: its chain, and its end against what the server knows
// of it.
//
// No private data. The chain shows what was changed in the middle (serve/jobs/trail.h). That lines
// were cut off at the end, the list of jobs shows, which keeps the newest entry. Entries that the
// list has, and the file has not yet, are no fault: a server was killed between the two, and the
// next one writes them.
//
//     status = trail_check("STATE/trail.jsonl", "STATE/jobs.db", NULL, NULL, &check, error);
//     printf("%llu entries\n", (unsigned long long)check.end.head.number);
//     trail_check_free(&check);
#ifndef CUTTLE_SERVE_JOBS_TRAIL_CHECK_H
#define CUTTLE_SERVE_JOBS_TRAIL_CHECK_H

#include "serve/jobs/store.h"
#include "serve/jobs/trail.h"

struct trail_check {
	struct trail_end end; /* of the file and of what waits; `size` and `torn` are the file's */
	char *waiting;        /* [waiting_size] lines that the file has not yet; NULL = none */
	size_t waiting_size;
	uint64_t waiting_count; /* of these lines */
	bool known;             /* the list knew an entry, so the end was looked at */
};

/* `list` is the path of a list of jobs, `store` one that is open: one of them, or both are NULL for
 * a copy of the file alone. An entry must have the hash `wanted`; NULL = none is asked for.
 * LEDGER: the trail was changed, cut, or put in another order, or lacks that hash; the message says
 * where. INTERNAL, NOMEM. Then there is nothing to free. */
enum cuttle_status trail_check(const char *trail, const char *list, struct store *store,
                               const char *wanted, struct trail_check *check,
                               struct cuttle_error *error);
void trail_check_free(struct trail_check *check);

#endif
