// SPDX-License-Identifier: Apache-2.0
// Passes events on to tools/common/progress.h, and remembers a signal.
#include "tools/common/watch.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

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

struct run_events watch_events(void *user, void (*begin)(void *user, bool complete),
                               void (*publish)(void *user, const char *receipt)) {
	return (struct run_events){.user = user,
	                           .begin = begin,
	                           .reading = watch_reading,
	                           .token = watch_token,
	                           .text = watch_text,
	                           .stop = watch_stop,
	                           .end = watch_end,
	                           .publish = publish};
}

void watch_sentence(const struct common_request *request, bool quiet, bool private_output,
                    const char *sentence) {
	const bool no_receipt = !strcmp(request->output, "-") && !request->receipt;
	if (!quiet || no_receipt || !private_output) fprintf(stderr, "%s\n", sentence);
}

void watch_ledger(const struct common_request *request, const char *records) {
	if (!request->ledger)
		fprintf(stderr,
		        "No ledger: nobody counts what several runs over the same %s spend "
		        "together.\n",
		        records);
}

bool watch_complete(const char *output, bool quiet, bool complete) {
	if (complete && !quiet) fprintf(stderr, "%s is already complete\n", output);
	return complete;
}

void watch_published(const struct common_request *request, size_t count, const char *texts,
                     const char *receipt) {
	const char *output = request->output;
	if (receipt)
		fprintf(stderr, "%zu %s in %s, receipt in %s\n", count, texts,
		        strcmp(output, "-") ? output : "standard output", receipt);
}

void watch_dropped(const struct common_request *request, const struct filter_counts *counts) {
	uint64_t dropped = 0;
	for (enum filter_rule rule = 0; rule < FILTER_RULES; rule++)
		dropped += counts->dropped[rule];
	if (dropped)
		fprintf(stderr, "%" PRIu64 " of the %" PRIu64 " texts drawn are in %s%s instead\n",
		        dropped, counts->drawn, request->output, OUTPUT_DROPPED);
}

void watch_grammar(const struct filter_counts *counts) {
	fprintf(stderr, "%" PRIu64 " tokens, %" PRIu64 " of them free", counts->tokens,
	        counts->free_tokens);
	if (counts->closed)
		fprintf(stderr,
		        "; %" PRIu64 " of %" PRIu64 " texts were brought to their end: a "
		        "larger -n leaves more of them whole",
		        counts->closed, counts->drawn);
	fprintf(stderr, "\n");
}

void watch_form(const struct grammar_choice *grammar) {
	if (grammar->count)
		printf("%s       of each text; what it leaves no choice about is free\n",
		       grammar->schema ? "schema " : "grammar");
}

void watch_closed(const struct filter_counts *counts) {
	if (counts->closed)
		fprintf(stderr,
		        "%" PRIu64 " of %" PRIu64 " texts were brought to their end: a larger -n "
		        "leaves more of them whole\n",
		        counts->closed, counts->drawn);
}

void watch_formulas(uint64_t lines) {
	if (lines)
		fprintf(stderr,
		        "Warning: %" PRIu64
		        " lines have a cell that begins with =, +, -, @, a tab or a carriage "
		        "return. A spreadsheet takes it for a formula. Import the columns as "
		        "text, or write JSONL.\n",
		        lines);
}
