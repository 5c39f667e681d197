// SPDX-License-Identifier: Apache-2.0
// The schema is read before any record, as in generate; see evaluate_fields.h.
#include "workflow/evaluate/evaluate_fields.h"

#include "workflow/grammar_choice.h"
#include <string.h>

_Static_assert((int)FIELD_RUNS == (int)EVALUATE_RUNS, "as many files as evaluate takes");

struct read_fields {
	struct field_set references;
	struct field_set baseline;
	struct field_set runs[FIELD_RUNS];
};

static enum cuttle_status read_field_sets(const struct evaluate_request *r,
                                          const struct schema *schema, struct read_fields *sets,
                                          struct evaluated_fields *fields,
                                          struct cuttle_error *error) {
	const struct measured_fields *measured = &fields->evaluation.fields;
	enum cuttle_status status =
	    field_set_read(r->against, schema, measured, r->lock, &sets->references, error);
	if (!status && r->baseline) {
		status =
		    field_set_read(r->baseline, schema, measured, r->lock, &sets->baseline, error);
		fields->unprotected |= sets->baseline.unprotected;
	}
	for (size_t i = 0; i < r->run_count && !status; i++) {
		status =
		    field_set_read(r->runs[i], schema, measured, r->lock, &sets->runs[i], error);
		fields->unprotected |= sets->runs[i].unprotected;
	}
	return status;
}

enum cuttle_status evaluate_fields(const struct evaluate_request *request,
                                   struct evaluated_fields *fields, struct cuttle_error *error) {
	struct grammar_choice choice;
	struct read_fields sets = {0};
	*fields = (struct evaluated_fields){0};
	enum cuttle_status status = grammar_choice_read(NULL, request->schema, &choice, error);
	if (!status) {
		memcpy(fields->schema_sha256, choice.sha256, HASH_TEXT);
		status = measured_fields_of(choice.schema, request->schema,
		                            &fields->evaluation.fields, error);
	}
	if (!status) status = read_field_sets(request, choice.schema, &sets, fields, error);
	const struct field_evaluation_input input = {.references = &sets.references,
	                                             .baseline =
	                                                 request->baseline ? &sets.baseline : NULL,
	                                             .runs = sets.runs,
	                                             .run_count = request->run_count};
	if (!status) status = field_evaluation_make(&input, &fields->evaluation, error);
	field_set_free(&sets.references);
	field_set_free(&sets.baseline);
	for (size_t i = 0; i < request->run_count; i++) field_set_free(&sets.runs[i]);
	grammar_choice_free(&choice);
	return status;
}

void evaluated_fields_free(struct evaluated_fields *fields) {
	field_evaluation_free(&fields->evaluation);
	*fields = (struct evaluated_fields){0};
}
