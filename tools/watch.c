// SPDX-License-Identifier: Apache-2.0
// Passes events on to tools/progress.h, and remembers a signal.
#include "tools/watch.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

/* Nonzero after the first SIGINT or SIGTERM. Global, since a signal handler gets no argument. */
static volatile sig_atomic_t stop_asked;

static void on_signal(int number) {
	(void)number;
	stop_asked = 1;
	// A second signal ends the process at once.
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
}

void watch_begin(struct watch *watch, bool quiet, int mode, size_t texts, const char *read) {
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	progress_begin(&watch->progress, quiet ? PROGRESS_OFF : (enum progress_mode)mode, texts,
	               read);
}

void watch_reading(void *user, size_t text) {
	struct watch *watch = user;
	progress_reading(&watch->progress, text);
}

void watch_token(void *user) {
	struct watch *watch = user;
	progress_token(&watch->progress);
}

void watch_text(void *user) {
	struct watch *watch = user;
	progress_text(&watch->progress);
}

bool watch_stop(void *user) {
	(void)user;
	return stop_asked != 0;
}

void watch_end(void *user) {
	struct watch *watch = user;
	progress_end(&watch->progress);
}

void watch_formulas(uint64_t lines) {
	if (lines)
		fprintf(stderr,
		        "Warning: %" PRIu64
		        " lines have a cell that begins with =, +, -, @, a tab or a carriage "
		        "return: a spreadsheet takes it for a formula. Import the columns as text, "
		        "or write JSONL.\n",
		        lines);
}
