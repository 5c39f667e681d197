// SPDX-License-Identifier: Apache-2.0
// evaluate_fields.h: evaluate with --schema: from a request to a table of fields.
//
// Real records may be PRIVATE, and so is every number then; see workflow/evaluate/evaluate.h, whose
// request this is. No model reads a text, and no ledger is charged. For example:
//
//     request.schema = "visit.schema.json";
//     status = evaluate_check(&request, &error);
//     if (!status) status = evaluate_paths(&request, &error);
//     if (!status) status = evaluate_fields(&request, &fields, &error);
//     ... print ... evaluated_fields_free(&fields);
#ifndef CUTTLE_WORKFLOW_EVALUATE_EVALUATE_FIELDS_H
#define CUTTLE_WORKFLOW_EVALUATE_EVALUATE_FIELDS_H

#include "workflow/evaluate/evaluate.h"
#include "workflow/evaluate/field_evaluation.h"

struct evaluated_fields {
	struct field_evaluation evaluation;
	char schema_sha256[HASH_TEXT];
	bool unprotected; /* the receipt of a run or the baseline says NOT PRIVATE */
};

/* Reads the schema and all files, and makes the table. Call evaluated_fields_free in any case.
 * INPUT: as grammar_choice_read, measured_fields_of, field_set_read and field_evaluation_make.
 * NOMEM. */
enum cuttle_status evaluate_fields(const struct evaluate_request *request,
                                   struct evaluated_fields *fields, struct cuttle_error *error);
void evaluated_fields_free(struct evaluated_fields *fields);

#endif
