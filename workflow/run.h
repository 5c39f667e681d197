// SPDX-License-Identifier: Apache-2.0
// run.h: writes the texts of a request: reads the references, charges, draws, delivers.
//
// Called by cuttle generate, once setup_make has made the setup. The PRIVATE references pass
// through here, from workflow/references.c to the engine. Nothing is printed: what happens is told
// to the caller's struct run_events, a failure is a status and one line.
//
// With lots their key passes through here, too, and is wiped.
// Order: the data set is looked up in the ledger; the references are read; output and trace are
// opened, the run is charged; the texts are drawn; output, charge and receipt are finished.
#ifndef CUTTLE_WORKFLOW_RUN_H
#define CUTTLE_WORKFLOW_RUN_H

#include "workflow/setup.h"

/* What a run tells its caller, in the thread that called run_texts. All is public: it follows from
 * the request and the tokens. But WHEN it is told follows from how long references are. No member
 * but `user` may be NULL. */
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

/* Runs the request, once for each setup. It must have passed run_request_check, have input and
 * output, and be the one that setup was made from. Changes the receipt in setup: the guarantee
 * becomes that of the unit which the run costs most, and the charge and what became of the texts
 * are set. Also OK when the output was complete already. PARTIAL: an event or a full disk stopped
 * it; the same request continues, but not on standard output. Else as spending_open,
 * likelihood_open, references_read, delivery_open, cuttle_job_run, delivery_seal and
 * output_publish. */
enum cuttle_status run_texts(const struct run_request *request, struct setup *setup,
                             const struct run_events *events, struct cuttle_error *error);

#endif
