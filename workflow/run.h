// SPDX-License-Identifier: Apache-2.0
// run.h: the order of every run: what is charged, journalled, shown and published, and when.
//
// A system (workflow/system.h) says how texts come about; run_system says what happens around it.
// Private records stay with the system. Nothing is printed: what happens is told to the caller's
// struct run_events, a failure is a status and one line. The order is the promise, and holds
// wherever a run ends:
//
//     the data set is looked up in the ledger          before anything private is read
//     the input is read
//     output and trace are opened, the run is charged  before anything is drawn
//     noisy counts are taken, the caller is told       begin
//     texts are drawn                                  each token in the journal before it is seen
//     the output is sealed, its charge closed          before the receipt is made
//     receipt and output are put in place              publish
//     the run's name goes                              if all went well
//     all is closed and freed                          in any case
//
// A run whose output stands already is told so, and draws nothing.
#ifndef CUTTLE_WORKFLOW_RUN_H
#define CUTTLE_WORKFLOW_RUN_H

#include "workflow/common.h"
#include "workflow/delivery.h"
#include "workflow/system.h"

/* What a run tells its caller, in the thread that called it. All is public: it follows from the
 * request and the tokens. But WHEN it is told follows from how long references are. No member but
 * `user` may be NULL. */
struct run_events {
	void *user; /* first argument of all others */
	/* The run is charged, and nothing is drawn yet. The receipt's guarantee is final. complete:
	 * the output stands already; no other event comes. */
	void (*begin)(void *user, bool complete);
	/* The references of text number `text` are being read. Called now and then meanwhile. */
	void (*reading)(void *user, size_t text);
	/* This run drew a token, and it is journalled. */
	void (*token)(void *user);
	/* One more text is written, by this run or an earlier one; with a token bank, one more
	 * batch has its first. */
	void (*text)(void *user);
	/* Asked after each step. true: the run stops with PARTIAL. */
	bool (*stop)(void *user);
	/* Drawing has ended, well or not. */
	void (*end)(void *user);
	/* Output and receipt are in place. receipt_path NULL: there is no receipt. */
	void (*publish)(void *user, const char *receipt_path);
};

/* The first member of a system's state. */
struct run {
	/* Set by the system, before. */
	const struct common_request *request;
	const struct run_events *events;
	const struct signature_key *signer; /* NULL = the receipt is not signed */
	bool counted;                       /* the output is private: a ledger counts it */
	/* Set by the run. */
	struct spending spending;
	struct delivery delivery;
	/* Set by the system, while it draws. An engine's job counts its texts from 0. Example: the
	 * second job begins at text 30 of the run; `first` is 30, and its text 2 is text 32. */
	size_t first;
	size_t reading; /* 1 + the text whose private contexts were asked for last; 0 = none */
};

/* Runs the system, once for each state. Also OK when the output was complete already. PARTIAL: an
 * event or a full disk stopped it; the same request continues, but not on standard output. Else as
 * the system's functions, spending_open, delivery_open, delivery_seal and output_publish. */
enum cuttle_status run_system(const struct system *system, void *state, struct cuttle_error *error);

/* Members of an engine's job; user is the state. */
size_t run_drawn(void *state, size_t text, const int32_t **tokens);
int run_token(void *state, size_t text, uint32_t step, int32_t token);
int run_text(void *state, const struct cuttle_text *text);
int run_progress(void *state, const struct cuttle_progress *progress);
/* Whether the caller asks the run to stop, for a system that asks between jobs of its own. */
bool run_stop(void *state);

#endif
