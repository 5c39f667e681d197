// SPDX-License-Identifier: Apache-2.0
// merge.h: makes one output of all shards of a run, with the bytes that one machine would have
// written.
//
// No private data is read: shards' texts and receipts, run.json and the ledger's entries. At the
// end the files with the shards' references are overwritten and removed. It needs no model: filters
// judge the texts in the order of the run, by words and tokens.
#ifndef CUTTLE_WORKFLOW_MERGE_H
#define CUTTLE_WORKFLOW_MERGE_H

#include "io/shards/shard_run.h"
#include "workflow/common.h"

struct merge_request {
	struct common_request common; /* output to sign, ledger, now and overwrite */
	const char *folder;           /* of the run */
	const char *key; /* public key that must have signed run.json and all receipts; NULL = any,
	                    or none */
};

struct merge_result {
	char *lacking;     /* shards that are not complete, as "0-2,5", to be freed; NULL = none */
	bool complete;     /* the output stood already, as this run's */
	uint64_t shards;   /* N */
	uint64_t texts;    /* that were drawn */
	uint64_t kept;     /* of these, in the output */
	uint64_t formulas; /* as in struct filter_counts */
	char guarantee[RECEIPT_SENTENCE];
};

/* Merges. Nothing is written unless all holds, and the same call goes on after a kill.
 * PARTIAL: shards lack, as the result lists; or the output cannot be written. LEDGER: run.json, a
 * receipt, a signature, a shard's bytes or batches, or the ledger's entry contradicts the rest.
 * USAGE: as output_open; the output's ending is of another format; the run was charged and no
 * ledger is given. BUDGET: the charge has paid for another output. Free result->lacking in any
 * case. */
enum cuttle_status merge_outputs(const struct merge_request *request, struct merge_result *result,
                                 struct cuttle_error *error);

#endif
