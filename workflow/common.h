// SPDX-License-Identifier: Apache-2.0
// common.h: what the requests of all systems share: where a run reads and writes, who counts it,
// and who signs.
//
// A request of a system has one of these as its member `common`. Texts and paths are NULL when
// there is none. They are the caller's, and must outlive the run. No private data is in it.
// Messages name a member as the option does: --unit-key, -o.
#ifndef CUTTLE_WORKFLOW_COMMON_H
#define CUTTLE_WORKFLOW_COMMON_H

#include "engine/cuttle/plan.h"
#include "workflow/spending.h"

struct common_request {
	const char *model;    /* path of the model's file, for the check of paths alone */
	const char *input;    /* path; "-" = standard input */
	const char *unit_key; /* field that says whose a record is */
	const char *output;   /* path; "-" = standard output */
	const char *receipt;  /* path; NULL = beside the output */
	const char *sign;     /* path of the secret key that signs the receipt */
	const char *ledger;   /* path; NULL = nobody counts */
	const char *dataset;  /* name of the records, in receipt and ledger */
	const char *approved; /* "COMMAND:LOSS" (workflow/spending.h); NULL = nobody was asked */
	const char *const *stops; /* [stop_count] words of --stop (workflow/stop_choice.h) */
	size_t stop_count;        /* 0 = auto, where the system has that */
	uint64_t now;   /* seconds since 1970 when the run begins; the receipt has its day */
	bool overwrite; /* replace another command's output */
	bool lock;      /* keep what is private out of swap */
};

/* What is wrong with them, in words, before any file is opened; NULL = nothing. That there is a
 * receipt to sign is asked apart, as it is told last. */
const char *common_fault(const struct common_request *request);
const char *common_sign_fault(const struct common_request *request);
/* Likewise of chat format and system message, which the form of the prompts must have room for. */
const char *common_chat_fault(const char *chat_format, const char *system, enum cuttle_form form);

/* Sets *beside to the path of the receipt beside an output that is a file, when no other is given;
 * else to NULL. The caller frees it. NOMEM. */
enum cuttle_status common_receipt_beside(const char *output, const char *receipt, char **beside,
                                         struct cuttle_error *error);
/* What the ledger is asked. A run that is not private is not counted. */
struct spending_request common_spending(const struct common_request *request, bool counted);

#endif
