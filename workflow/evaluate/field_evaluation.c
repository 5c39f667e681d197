// SPDX-License-Identifier: Apache-2.0
// How field_evaluation.h makes its rows: all sets' values become small numbers by one coding for
// each field, which follows from the real records.
#include "workflow/evaluate/field_evaluation.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "measure/binomial.h"
#include "measure/scratch.h"
#include <math.h>
#include <string.h>

#define SEED 20250912 /* of resamples: public, so that numbers can be made again */

/* How a field's values become small numbers. */
struct field_coding {
	const struct schema_field *field;
	struct fields_bins bins; /* of numbers and dates */
	uint8_t *code;           /* [values] of a category: the commonest is 0 */
	size_t codes;            /* values behind these are: null of a number, and absent */
	uint8_t coarse[FIELDS_CELLS];
	size_t cells;
	size_t coarse_cells;
};

/* A set's codes, or those of every other record. */
struct coded_set {
	size_t count;
	uint8_t *codes[FIELD_SET_MOST];
};

struct field_rows {
	const struct field_evaluation_input *input;
	struct field_evaluation *to;
	struct field_coding codings[FIELD_SET_MOST];
	struct coded_set real;
	struct cuttle_error *error;
};

static enum cuttle_status fail_fields_memory(const struct field_rows *rows) {
	return io_fail(rows->error, CUTTLE_NOMEM, "out of memory");
}

/* ---- the coding ------------------------------------------------------------------------------ */

/* Gives the commonest values the first codes, and one code to all rarer ones if there are too
 * many. Of equally common ones the schema's first comes first. */
static bool code_category(struct field_coding *coding, const double *values, size_t count) {
	const size_t all = coding->field->count,
	             alone = all <= FIELD_COMMON + 1 ? all : FIELD_COMMON;
	coding->code = scratch_make(all, sizeof *coding->code);
	size_t *counts = scratch_make(all, sizeof *counts);
	const bool ok = coding->code && counts;
	for (size_t i = 0; i < count && ok; i++)
		if (!isnan(values[i])) counts[(size_t)values[i]]++;
	memset(coding->code, (int)alone, ok ? all : 0);
	// A count of SIZE_MAX is taken already.
	for (size_t code = 0; code < alone && ok; code++) {
		size_t best = SIZE_MAX;
		for (size_t i = 0; i < all; i++)
			if (counts[i] != SIZE_MAX && (best == SIZE_MAX || counts[i] > counts[best]))
				best = i;
		coding->code[best] = (uint8_t)code;
		counts[best] = SIZE_MAX;
	}
	coding->codes = alone + (alone < all);
	scratch_free(counts);
	return ok;
}

static bool code_number(struct field_coding *coding, const double *values, size_t count) {
	double *finite = scratch_make(count, sizeof *finite);
	size_t kept = 0;
	for (size_t i = 0; i < count && finite; i++)
		if (isfinite(values[i])) finite[kept++] = values[i];
	if (finite) fields_bins_make(finite, kept, &coding->bins);
	scratch_free(finite);
	coding->codes = coding->bins.count + 2;
	return finite != NULL;
}

/* Sets what a code is where fields are paired. Null and absent stay apart from all else. */
static void make_coarse(struct field_coding *coding) {
	const bool category = coding->field->kind == FIELD_CATEGORY;
	size_t most = 0;
	for (size_t i = 0; i < coding->codes; i++) {
		const size_t rank = coding->codes <= FIELD_COMMON_PAIRED + 1 ? i
		                    : i < FIELD_COMMON_PAIRED                ? i
		                                                             : FIELD_COMMON_PAIRED,
		             coarse = category ? rank : fields_coarse(&coding->bins, i);
		coding->coarse[i] = (uint8_t)coarse;
		if (coarse > most) most = coarse;
	}
	coding->coarse[coding->codes] = (uint8_t)(most + 1);
	coding->coarse[coding->codes + 1] = (uint8_t)(most + 2);
	coding->cells = coding->codes + 2;
	coding->coarse_cells = most + 3;
}

static enum cuttle_status make_codings(struct field_rows *rows) {
	const struct field_set *real = rows->input->references;
	for (size_t i = 0; i < rows->to->fields.count; i++) {
		struct field_coding *coding = &rows->codings[i];
		coding->field = rows->to->fields.list[i];
		const bool ok = coding->field->kind == FIELD_CATEGORY
		                    ? code_category(coding, real->values[i], real->count)
		                    : code_number(coding, real->values[i], real->count);
		if (!ok) return fail_fields_memory(rows);
		make_coarse(coding);
	}
	return CUTTLE_OK;
}

static uint8_t code_of(const struct field_coding *coding, double value) {
	if (isnan(value)) return (uint8_t)(coding->codes + 1);
	if (isinf(value)) return (uint8_t)coding->codes;
	return coding->field->kind == FIELD_CATEGORY ? coding->code[(size_t)value]
	                                             : (uint8_t)fields_bin(&coding->bins, value);
}

/* Codes records first, first + step ... of a set. False: out of memory. */
static bool code_set(const struct field_rows *rows, const struct field_set *set, size_t first,
                     size_t step, struct coded_set *coded) {
	*coded = (struct coded_set){.count = (set->count - first + step - 1) / step};
	for (size_t f = 0; f < rows->to->fields.count; f++) {
		coded->codes[f] = scratch_make(coded->count, sizeof *coded->codes[f]);
		if (!coded->codes[f]) return false;
		for (size_t i = 0; i < coded->count; i++)
			coded->codes[f][i] =
			    code_of(&rows->codings[f], set->values[f][first + i * step]);
	}
	return true;
}

static void free_coded(struct coded_set *coded) {
	for (size_t f = 0; f < FIELD_SET_MOST; f++) scratch_free(coded->codes[f]);
	*coded = (struct coded_set){0};
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool compare_coded(const struct field_rows *rows, const struct coded_set *real,
                          const struct coded_set *other, struct field_row *row) {
	struct fields_column columns[FIELD_SET_MOST];
	for (size_t f = 0; f < rows->to->fields.count; f++) {
		const struct field_coding *coding = &rows->codings[f];
		columns[f] = (struct fields_column){
		    real->codes[f], other->codes[f],      coding->cells,
		    coding->coarse, coding->coarse_cells, coding->field->kind != FIELD_DATE};
	}
	const struct fields_comparison comparison = {
	    columns, rows->to->fields.count, real->count, other->count, FIELD_RESAMPLES, SEED};
	row->compared = other->count;
	row->against = real->count;
	return fields_compare(&comparison, &row->result);
}

static enum cuttle_status add_field_row(struct field_rows *rows, enum evaluation_kind kind,
                                        const struct field_set *set) {
	struct field_row *row = &rows->to->rows[rows->to->row_count++];
	struct coded_set one = {0}, other = {0};
	const bool halves = kind == EVALUATION_REAL;
	*row = (struct field_row){
	    .kind = kind, .name = set->path, .records = set->records, .fit = set->count};
	if (!halves) memcpy(row->sha256, set->sha256, HASH_TEXT);
	row->valid.value = (double)set->count / (double)set->records;
	row->valid.error = row->valid.value - binomial_low(set->count, set->records, 0.01);
	const bool ok = code_set(rows, set, halves, halves ? 2 : 1, &other) &&
	                (!halves || code_set(rows, set, 0, 2, &one)) &&
	                compare_coded(rows, halves ? &one : &rows->real, &other, row);
	free_coded(&one);
	free_coded(&other);
	return ok ? CUTTLE_OK : fail_fields_memory(rows);
}

static enum cuttle_status check_field_set(struct field_rows *rows, const struct field_set *set) {
	if (set->count < rows->to->fewest) rows->to->fewest = set->count;
	return set->count >= EVALUATION_LEAST
	           ? CUTTLE_OK
	           : io_fail(rows->error, CUTTLE_INPUT,
	                     "%s must hold at least %d records that fit the schema; cuttle inspect "
	                     "--schema tells its owner where they do not",
	                     file_shown(set->path), EVALUATION_LEAST);
}

enum cuttle_status field_evaluation_make(const struct field_evaluation_input *input,
                                         struct field_evaluation *evaluation,
                                         struct cuttle_error *error) {
	struct field_rows rows = {.input = input, .to = evaluation, .error = error};
	evaluation->references = input->references->records;
	evaluation->fit = evaluation->fewest = input->references->count;
	enum cuttle_status status = check_field_set(&rows, input->references);
	if (!status && input->baseline) status = check_field_set(&rows, input->baseline);
	for (size_t i = 0; i < input->run_count && !status; i++)
		status = check_field_set(&rows, &input->runs[i]);
	if (!status) status = make_codings(&rows);
	if (!status && !code_set(&rows, input->references, 0, 1, &rows.real))
		status = fail_fields_memory(&rows);
	if (!status) status = add_field_row(&rows, EVALUATION_REAL, input->references);
	if (!status && input->baseline)
		status = add_field_row(&rows, EVALUATION_PUBLIC, input->baseline);
	for (size_t i = 0; i < input->run_count && !status; i++)
		status = add_field_row(&rows, EVALUATION_RUN, &input->runs[i]);
	for (size_t i = 0; i < FIELD_SET_MOST; i++) scratch_free(rows.codings[i].code);
	free_coded(&rows.real);
	// Edges of bins are real numbers.
	explicit_bzero(rows.codings, sizeof rows.codings);
	return status;
}

void field_evaluation_free(struct field_evaluation *evaluation) {
	for (size_t i = 0; i < evaluation->row_count; i++) fields_free(&evaluation->rows[i].result);
	measured_fields_free(&evaluation->fields);
	*evaluation = (struct field_evaluation){0};
}
