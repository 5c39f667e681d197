// SPDX-License-Identifier: Apache-2.0
// watch.h: what a run tells whoever runs it: progress, an end on Ctrl-C, and the sentences that
// all systems share.
//
// The state of a verb begins with a struct watch, as its events are told to that. No private data.
#ifndef CUTTLE_TOOLS_COMMON_WATCH_H
#define CUTTLE_TOOLS_COMMON_WATCH_H

#include "tools/common/progress.h"
#include "workflow/grammar_choice.h"
#include "workflow/run.h"

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
/* The events of a run, with these functions for watch and progress. */
struct run_events watch_events(void *user, void (*begin)(void *user, bool complete),
                               void (*publish)(void *user, const char *receipt));

/* Prints what a run promises. With `quiet` only where it stands nowhere else: a run without a
 * receipt, or one that is not private. */
void watch_sentence(const struct common_request *request, bool quiet, bool private_output,
                    const char *sentence);
/* Says that nobody counts, where no ledger was named. `records` is what was read. */
void watch_ledger(const struct common_request *request, const char *records);
/* Says that the output stands already, if it does and `quiet` is not asked for; returns whether it
 * does. */
bool watch_complete(const char *output, bool quiet, bool complete);
/* Says where `count` texts are, and their receipt; NULL = there is none, and nothing is said. */
void watch_published(const struct common_request *request, size_t count, const char *texts,
                     const char *receipt);
/* Says how many texts were dropped, if any. */
void watch_dropped(const struct common_request *request, const struct filter_counts *counts);
/* Warns of lines in a CSV with a cell that a spreadsheet would run; 0 = of none. */
void watch_formulas(uint64_t lines);
/* Prints a dry run's line about what texts are of; nothing where they may be any. */
void watch_form(const struct grammar_choice *grammar);
/* Says how many texts had to be brought to their end, where there are such. */
void watch_closed(const struct filter_counts *counts);
/* Says what a grammar saved, and how many texts had to be brought to their end. */
void watch_grammar(const struct filter_counts *counts);

#endif
