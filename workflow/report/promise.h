// SPDX-License-Identifier: Apache-2.0
// promise.h: what a receipt that was verified promises, and what it does not, in words.
//
// A receipt is public: no private data is here. Words of the receipt stand in lines as they are:
// whoever shows them escapes them.
//
//     promise_make(&v, &files, &promise);       after verification_compare
//     for (i = 0; i < promise.limits.count; i++) ... promise.limits.all[i].text ...
//     promise_free(&promise);
#ifndef CUTTLE_WORKFLOW_REPORT_PROMISE_H
#define CUTTLE_WORKFLOW_REPORT_PROMISE_H

#include "workflow/report/verification.h"

struct promise_line {
	const char *label; /* what the line is about, as "model"; "" where the list says that */
	char *text;
};

struct promise_lines {
	struct promise_line *all; /* [count] */
	size_t count;
	bool failed; /* a line was lost, out of memory */
};

struct promise {
	char *opening;               /* what the receipt's numbers follow from */
	char *unchecked;             /* members that nothing given shows to be true */
	struct promise_lines about;  /* how it was compared, and with what */
	struct promise_lines kept;   /* promised: first the receipt's own sentence */
	struct promise_lines limits; /* not promised */
};

/* Fills *promise. Call promise_free in any case. `files` says what the receipt was compared with.
 * NOMEM. */
enum cuttle_status promise_make(const struct verification *v,
                                const struct verification_files *files, struct promise *promise,
                                struct cuttle_error *error);
void promise_free(struct promise *promise);

/* Adds a line, of which the format is that of printf. */
void promise_add(struct promise_lines *lines, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void promise_lines_free(struct promise_lines *lines);

#endif
