// SPDX-License-Identifier: Apache-2.0
// watch.h: what a run does while it draws, for whoever runs it: progress, and an end on Ctrl-C.
//
// Called by tools/generate.c, tools/sanitize.c and tools/extract.c, whose state begins with a
// struct watch: the functions below are members of their struct run_events (workflow/run.h). No
// private data.
#ifndef CUTTLE_TOOLS_WATCH_H
#define CUTTLE_TOOLS_WATCH_H

#include "tools/progress.h"

struct watch {
	struct progress progress;
};

/* Begins to show progress; `read` as in progress_begin. From here on the first SIGINT or SIGTERM
 * asks the run to stop, and a second one ends the process at once. */
void watch_begin(struct watch *watch, bool quiet, int mode, size_t texts, const char *read);

/* Events of a run; user is the struct watch. */
void watch_reading(void *user, size_t text);
void watch_token(void *user);
void watch_text(void *user);
bool watch_stop(void *user);
void watch_end(void *user);
/* Warns of lines in a CSV with a cell that a spreadsheet would run; 0 = of none. */
void watch_formulas(uint64_t lines);

#endif
