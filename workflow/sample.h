// SPDX-License-Identifier: Apache-2.0
// sample.h: the system that writes texts from the public prompt and a learnt bias, as generate -B 0
// (workflow/system.h). No private data: no record is read. What is written is post-processing of
// the bias (dp/PRIVACY.md, step 56): it costs nothing, and no ledger is asked. The tokens of a text
// follow from the seed, its category and its number there. So a run that is continued ends in the
// same bytes.
#ifndef CUTTLE_WORKFLOW_SAMPLE_H
#define CUTTLE_WORKFLOW_SAMPLE_H

#include "io/receipts/sample_receipt.h"
#include "workflow/run.h"
#include "workflow/setup.h"

/* What is fixed before a token is drawn. */
struct sample {
	struct generate_request asked; /* by which generate_open makes prompts and plan */
	struct setup setup;
	struct sample_receipt receipt;
	char fingerprint[HASH_TEXT];
};

/* What contradicts -B 0, before any file is opened. Of the paths generate_paths. */
enum cuttle_status sample_check(const struct generate_request *request, struct cuttle_error *error);

/* Makes prompts, plan and receipt. Call sample_free in any case; *sample must not move. Request and
 * model must outlive it. Else as generate_open. */
enum cuttle_status sample_open(const struct generate_request *request,
                               const struct setup_model *opened, struct sample *sample,
                               struct cuttle_error *error);
void sample_free(struct sample *sample);

/* Draws, delivers and publishes all texts. Sets seed and counts of the receipt. Statuses as
 * expand_run. */
enum cuttle_status sample_run(struct sample *sample, const struct run_events *events,
                              struct cuttle_error *error);

#endif
