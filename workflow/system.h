// SPDX-License-Identifier: Apache-2.0
// system.h: what a system is to a run: a table of functions that workflow/run.c calls, in the order
// below and in no other.
//
// A system reads private records or none, draws texts, and describes them in a receipt. When it is
// charged, what is kept and when anybody sees it, is not its business (workflow/run.h). Each
// function is given the system's own state, which begins with a struct run. A failure is a status
// and one line. Whoever wants a run calls, of the system evolve for example:
//
//     evolve_default(&request);
//     request.common.input = "notes.jsonl", request.common.output = "out.jsonl";
//     status = evolve_check(&request, &error);
//     if (!status) status = evolve_paths(&request, &error);
//     if (!status) status = evolve_open(&request, &opened, &evolve, &error);
//     if (!status) status = evolve_run(&request, &evolve, &events, &error);
//     evolve_free(&evolve);
//
// *_open reads nothing private. Messages name a member as the option of the verb does.
#ifndef CUTTLE_WORKFLOW_SYSTEM_H
#define CUTTLE_WORKFLOW_SYSTEM_H

#include "io/ledger/ledger.h"
#include "io/output/output.h"
#include "io/receipts/receipt.h"

/* A seed that was not given. */
#define SYSTEM_NO_SEED UINT64_MAX

/* What a run writes and costs, once its input is read. */
struct system_terms {
	/* The run itself sets path, receipt_path, overwrite and user, which is the state. */
	struct output_request output;
	struct ledger_request charge;
	bool free;         /* there is nothing to pay for: no ledger is asked */
	uint64_t *seed;    /* of public draws; where it is not given it becomes the output's own */
	const char *trace; /* path of the PRIVATE diagnostics; NULL = none */
	struct receipt_ledger *charged; /* becomes what the receipt tells; NULL = it tells none */
};

struct system {
	/* Opens what it needs before anything private is read: what fails here fails by public
	 * things alone. NULL = nothing. */
	enum cuttle_status (*open)(void *state, struct cuttle_error *error);
	/* Reads the input, all of it. NULL = there is none. */
	enum cuttle_status (*read)(void *state, struct cuttle_error *error);
	/* Sets *terms, which is 0 before. What it points to must live until `free`. */
	void (*terms)(void *state, struct system_terms *terms);
	/* The run is charged, and its output open. Takes noisy counts before the first text. The
	 * receipt's guarantee is final behind it. NULL = nothing. */
	enum cuttle_status (*take)(void *state, struct cuttle_error *error);
	/* Draws and writes all texts, those that the journal has included. PARTIAL: something said
	 * stop; the run finds out what. */
	enum cuttle_status (*draw)(void *state, struct cuttle_error *error);
	/* The receipt of the output with this hash, not signed. NULL: out of memory. */
	json_t *(*receipt)(void *state, const struct filter_counts *counts, const char *sha256);
	/* Frees and wipes the state, whatever was called before. NULL = there is nothing. */
	void (*free)(void *state);
};

#endif
