// SPDX-License-Identifier: Apache-2.0
// field_evaluation.h: from records of a schema to a table of how near their fields are to those of
// real ones, with errors.
//
// Real records may be PRIVATE. Then every number here is, too: nothing protects it. No files, no
// printing. The rows are those of workflow/evaluate/evaluation.h: real against real (every other
// record against those between), the public prompt alone, and the runs. Bins and the commonest
// values are of all real records. What is measured: see measure/fields.h.
#ifndef CUTTLE_WORKFLOW_EVALUATE_FIELD_EVALUATION_H
#define CUTTLE_WORKFLOW_EVALUATE_FIELD_EVALUATION_H

#include "measure/fields.h"
#include "workflow/evaluate/evaluation.h"
#include "workflow/evaluate/field_set.h"

enum {
	FIELD_EVALUATION_FORMAT = 1, /* the number in the member "fields_evaluation" of the JSON */
	FIELD_RUNS = 16,             /* synthetic files at once, at most */
	FIELD_RESAMPLES = 200,       /* that errors come from */
	FIELD_COMMON = 61,           /* values of a category that count alone; all rarer are one */
	FIELD_COMMON_PAIRED = 15     /* the same where fields are paired */
};

struct field_row {
	enum evaluation_kind kind;
	const char *name;       /* path of its file, the caller's */
	char sha256[HASH_TEXT]; /* of its file; "" = of real records, or of what was no file */
	size_t records;         /* of its file */
	size_t fit;             /* of them, that fit the schema */
	size_t compared;        /* records of the row that are compared: half of them, or all */
	size_t against;         /* real records that they are compared with */
	/* The share that fits; the error is from there down to the exact bound of 99 %. */
	struct fields_number valid;
	struct fields_result result;
};

struct field_evaluation {
	struct measured_fields fields;
	struct field_row rows[2 + FIELD_RUNS];
	size_t row_count;
	size_t references; /* real records */
	size_t fit;        /* of them, that fit the schema */
	size_t fewest;     /* records that fit, of the smallest file */
};

struct field_evaluation_input {
	const struct field_set *references;
	const struct field_set *baseline; /* NULL = none */
	const struct field_set *runs;     /* [run_count], at most FIELD_RUNS */
	size_t run_count;
};

/* Fills in all but `fields`, which are there. Call field_evaluation_free in any case. INPUT: fewer
 * than EVALUATION_LEAST records of a file fit. NOMEM. */
enum cuttle_status field_evaluation_make(const struct field_evaluation_input *input,
                                         struct field_evaluation *evaluation,
                                         struct cuttle_error *error);
void field_evaluation_free(struct field_evaluation *evaluation);

#endif
