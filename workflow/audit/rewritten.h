// SPDX-License-Identifier: Apache-2.0
// rewritten.h: what an audit of cuttle sanitize plays with: the rewriter of a receipt, and a
// control.
//
// The action recover uses it. Nothing private is here: the documents of the run are not read, and
// those of the games are invented (workflow/audit/canaries.h).
#ifndef CUTTLE_WORKFLOW_AUDIT_REWRITTEN_H
#define CUTTLE_WORKFLOW_AUDIT_REWRITTEN_H

#include "io/receipts/evidence.h"
#include "workflow/sanitize.h"

/* What a receipt has only the hash of; as the run had it. NULL where it had none. */
struct rewritten_prompt {
	enum cuttle_form form;
	const char *chat_format;
	const char *system;
	const char *instruction; /* path */
	const char *prefill;
	const uint64_t *insecure_seed; /* for tests */
	uint32_t parallel;
};

/* Makes the claim's rewriter, for documents with one mark. With `control` it has the same lengths
 * and mixes in all of the private row: it protects nothing. Call sanitize_free in any case;
 * prompt, claim and model must outlive *made. INPUT: the run had another model or other prompts,
 * mixed rows of groups, or promised nothing since no document had a mark. Else as sanitize_open.
 */
enum cuttle_status rewritten_make(const struct rewritten_prompt *prompt,
                                  const struct evidence *evidence, const struct setup_model *opened,
                                  bool control, struct sanitize *made, struct cuttle_error *error);

#endif
