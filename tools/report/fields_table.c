// SPDX-License-Identifier: Apache-2.0
// One function for each form. JSON and CSV have all pairs; Markdown has those that depend most on
// each other.
#include "tools/report/fields_table.h"

#include "io/disk/formats.h"
#include "io/disk/jsonout.h"
#include "io/disk/secrecy.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PAIRS_SHOWN = 15 };

static const char *const ROW_KINDS[] = {[EVALUATION_REAL] = "real against real",
                                        [EVALUATION_PUBLIC] = "public prompt alone",
                                        [EVALUATION_RUN] = "run"};
static const char *const FIELD_KINDS[] = {
    [FIELD_CATEGORY] = "category", [FIELD_NUMBER] = "number", [FIELD_DATE] = "date"};

/* Names in JSON and CSV, and headings. */
static const struct {
	const char *key;
	const char *heading;
} MEASURES[FIELDS_MEASURES] = {
    [FIELDS_JOINT] = {"joint", "joint"},
    [FIELDS_APART] = {"apart", "if independent"},
    [FIELDS_V_REAL] = {"v_real", "V real"},
    [FIELDS_V_OTHER] = {"v", "V"},
    [FIELDS_V_DIFFERENCE] = {"v_difference", "V apart"},
    [FIELDS_DEPENDENCE] = {"dependence", "dependence"},
};

/* The numbers of a whole row. */
enum { VALID, MEAN, JOINT, KND, KND_APART, SUMMARY };
static const struct {
	const char *key;
	const char *heading;
} SUMMARIES[SUMMARY] = {
    [VALID] = {"valid", "valid"},
    [MEAN] = {"distance", "distance of a field"},
    [JOINT] = {"joint", "of a pair"},
    [KND] = {"knd", "KND"},
    [KND_APART] = {"knd_apart", "KND if independent"},
};

static struct fields_number find_summary(const struct field_row *row, int which) {
	switch (which) {
	case VALID:
		return row->valid;
	case MEAN:
		return row->result.mean;
	case JOINT:
		return row->result.joint;
	case KND:
		return row->result.knd;
	default:
		return row->result.knd_apart;
	}
}

/* The fields of pair `pair`, in the order of struct fields_result. */
static void find_paired(const struct field_evaluation *e, size_t pair,
                        const struct schema_field **one, const struct schema_field **other) {
	size_t first = 0;
	for (size_t left = e->fields.count - 1; pair >= left; left--, first++) pair -= left;
	*one = e->fields.list[first];
	*other = e->fields.list[first + 1 + pair];
}

static bool has_few_records(const struct field_evaluation *e) {
	return e->fewest < EVALUATION_ENOUGH;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *encode_field_number(struct fields_number number) {
	const struct jsonout_member members[] = {{"value", jsonout_real(number.value)},
	                                         {"error", jsonout_real(number.error)}};
	return jsonout_extend(json_object(), members, 2);
}

static json_t *set_field_number(json_t *object, const char *key, struct fields_number number) {
	return jsonout_extend(object, &(struct jsonout_member){key, encode_field_number(number)},
	                      1);
}

static json_t *encode_field_pair(const struct field_evaluation *e, const struct field_row *row,
                                 size_t pair) {
	const struct schema_field *one, *other;
	find_paired(e, pair, &one, &other);
	json_t *object = json_pack("{s:s, s:s, s:b}", "one", one->name, "other", other->name, "key",
	                           one->kind != FIELD_DATE && other->kind != FIELD_DATE);
	for (int i = 0; i < FIELDS_MEASURES; i++)
		object = set_field_number(object, MEASURES[i].key, row->result.pairs[pair][i]);
	return object;
}

static json_t *encode_field_row(const struct field_evaluation *e, const struct field_row *row) {
	json_t *fields = json_array(), *pairs = json_array();
	json_t *object =
	    json_pack("{s:s, s:s, s:s?, s:I, s:I, s:I, s:I}", "kind", ROW_KINDS[row->kind], "name",
	              file_shown(row->name), "sha256", *row->sha256 ? row->sha256 : NULL, "records",
	              (json_int_t)row->records, "fit", (json_int_t)row->fit, "compared",
	              (json_int_t)row->compared, "against", (json_int_t)row->against);
	for (int i = 0; i < SUMMARY; i++)
		object = set_field_number(object, SUMMARIES[i].key, find_summary(row, i));
	for (size_t i = 0; i < e->fields.count; i++)
		(void)json_array_append_new(
		    fields, set_field_number(json_pack("{s:s}", "name", e->fields.list[i]->name),
		                             "distance", row->result.fields[i]));
	for (size_t i = 0; i < row->result.pair_count; i++)
		(void)json_array_append_new(pairs, encode_field_pair(e, row, i));
	const struct jsonout_member members[] = {{"fields", fields}, {"pairs", pairs}};
	return jsonout_extend(object, members, 2);
}

static json_t *encode_schema_fields(const struct field_evaluation *e) {
	json_t *list = json_array();
	for (size_t i = 0; i < e->fields.count; i++) {
		const struct schema_field *field = e->fields.list[i];
		(void)json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "name", field->name,
		                                            "kind", FIELD_KINDS[field->kind], "key",
		                                            field->kind != FIELD_DATE));
	}
	return list;
}

static json_t *encode_fields_table(const struct evaluated_fields *fields,
                                   const struct evaluate_request *request, const char *stamp) {
	const struct field_evaluation *e = &fields->evaluation;
	json_t *rows = json_array();
	for (size_t i = 0; i < e->row_count; i++)
		(void)json_array_append_new(rows, encode_field_row(e, &e->rows[i]));
	const struct jsonout_member members[] = {
	    {"fields_evaluation", json_integer(FIELD_EVALUATION_FORMAT)},
	    {"private", json_boolean(stamp != NULL)},
	    {"stamp", stamp ? json_string(stamp) : json_null()},
	    {"schema", json_string(file_shown(request->schema))},
	    {"schema_sha256", json_string(fields->schema_sha256)},
	    {"against", json_string(file_shown(request->against))},
	    {"references", json_integer((json_int_t)e->references)},
	    {"fit", json_integer((json_int_t)e->fit)},
	    {"too_few", json_boolean(has_few_records(e))},
	    {"error", json_string("standard deviation over resamples; of valid: down to the exact "
	                          "bound of 99 %")},
	    {"resamples", json_integer(FIELD_RESAMPLES)},
	    {"fields", encode_schema_fields(e)},
	    {"rows", rows}};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* What a spreadsheet would take for a formula begins with a folder, or a space. */
static void print_csv_word(FILE *file, const char *text, const char *before) {
	fprintf(file, "\"%s", formats_formula(text, strlen(text)) ? before : "");
	for (; *text; text++) {
		if (*text == '"') fputc('"', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

static void print_csv_line(FILE *file, const struct field_row *row, const char *stamp,
                           const char *measure, const char *one, const char *other,
                           struct fields_number number) {
	fprintf(file, "%s,", ROW_KINDS[row->kind]);
	print_csv_word(file, file_shown(row->name), "./");
	fprintf(file, ",%s,%s,", stamp ? "PRIVATE" : "no", measure);
	if (one) print_csv_word(file, one, " ");
	fputc(',', file);
	if (other) print_csv_word(file, other, " ");
	if (isfinite(number.value)) fprintf(file, ",%.17g,%.17g\n", number.value, number.error);
	else fputs(",,\n", file);
}

static void print_fields_csv(FILE *file, const struct field_evaluation *e, const char *stamp) {
	fputs("kind,name,private,measure,field,other,value,error\n", file);
	for (size_t r = 0; r < e->row_count; r++) {
		const struct field_row *row = &e->rows[r];
		for (int i = 0; i < SUMMARY; i++)
			print_csv_line(file, row, stamp, SUMMARIES[i].key, NULL, NULL,
			               find_summary(row, i));
		for (size_t i = 0; i < e->fields.count; i++)
			print_csv_line(file, row, stamp, "distance", e->fields.list[i]->name, NULL,
			               row->result.fields[i]);
		for (size_t i = 0; i < row->result.pair_count; i++) {
			const struct schema_field *one, *other;
			find_paired(e, i, &one, &other);
			for (int k = 0; k < FIELDS_MEASURES; k++)
				print_csv_line(file, row, stamp, MEASURES[k].key, one->name,
				               other->name, row->result.pairs[i][k]);
		}
	}
}

/* ---- Markdown -------------------------------------------------------------------------------- */

/* A name within a cell. A schema may hold any character. */
static void print_cell_name(FILE *file, const char *text) {
	for (; *text; text++) {
		if (strchr("|`*_<[&~\\", *text)) fputc('\\', file);
		fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
	}
}

static void print_field_row_name(FILE *file, const struct field_row *row) {
	if (row->kind != EVALUATION_REAL) print_cell_name(file, file_shown(row->name));
	if (row->kind == EVALUATION_REAL) fputs(ROW_KINDS[row->kind], file);
	if (row->kind == EVALUATION_PUBLIC) fprintf(file, " (%s)", ROW_KINDS[row->kind]);
}

static void print_field_number(FILE *file, struct fields_number number, const char *sign) {
	if (isnan(number.value)) fputs(" |", file);
	else fprintf(file, " %.3f %s %.3f |", number.value, sign, number.error);
}

static void print_rule(FILE *file, size_t columns) {
	fputs("\n|", file);
	for (size_t i = 0; i < columns; i++) fputs("---|", file);
	fputc('\n', file);
}

static void print_summaries(FILE *file, const struct field_evaluation *e) {
	fputs("\n| records | of the file | fit |", file);
	for (int i = 0; i < SUMMARY; i++) fprintf(file, " %s |", SUMMARIES[i].heading);
	print_rule(file, 3 + SUMMARY);
	for (size_t r = 0; r < e->row_count; r++) {
		const struct field_row *row = &e->rows[r];
		fputs("| ", file);
		print_field_row_name(file, row);
		fprintf(file, " | %zu | %zu |", row->records, row->fit);
		for (int i = 0; i < SUMMARY; i++)
			print_field_number(file, find_summary(row, i), i == VALID ? "−" : "±");
		fputc('\n', file);
	}
}

static void print_distances(FILE *file, const struct field_evaluation *e) {
	fputs("\nDistance of each field's values, from 0 to 1:\n\n| field | kind |", file);
	for (size_t r = 0; r < e->row_count; r++) {
		fputc(' ', file);
		print_field_row_name(file, &e->rows[r]);
		fputs(" |", file);
	}
	print_rule(file, 2 + e->row_count);
	for (size_t i = 0; i < e->fields.count; i++) {
		fputs("| ", file);
		print_cell_name(file, e->fields.list[i]->name);
		fprintf(file, " | %s |", FIELD_KINDS[e->fields.list[i]->kind]);
		for (size_t r = 0; r < e->row_count; r++)
			print_field_number(file, e->rows[r].result.fields[i], "±");
		fputc('\n', file);
	}
}

/* The pair that is next by how much its fields depend on each other among the real records, behind
 * `last`; SIZE_MAX = it is the first one. */
static size_t next_dependent(const struct field_row *row, size_t last) {
	size_t next = SIZE_MAX;
	for (size_t i = 0; i < row->result.pair_count; i++) {
		const double apart = row->result.pairs[i][FIELDS_APART].value;
		if (next != SIZE_MAX && apart <= row->result.pairs[next][FIELDS_APART].value)
			continue;
		if (last == SIZE_MAX || apart < row->result.pairs[last][FIELDS_APART].value ||
		    (apart == row->result.pairs[last][FIELDS_APART].value && i > last))
			next = i;
	}
	return next;
}

static void print_paired(FILE *file, const struct field_evaluation *e,
                         const struct field_row *row) {
	const size_t count = row->result.pair_count;
	size_t pair = SIZE_MAX;
	fputs("\nPairs of fields, ", file);
	print_field_row_name(file, row);
	if (count > PAIRS_SHOWN)
		fprintf(file, ", the %d of %zu that depend most on each other", PAIRS_SHOWN, count);
	fputs(":\n\n| fields |", file);
	for (int i = 0; i < FIELDS_MEASURES; i++) fprintf(file, " %s |", MEASURES[i].heading);
	print_rule(file, 1 + FIELDS_MEASURES);
	for (size_t shown = 0; shown < count && shown < PAIRS_SHOWN; shown++) {
		const struct schema_field *one, *other;
		pair = next_dependent(row, pair);
		find_paired(e, pair, &one, &other);
		fputs("| ", file);
		print_cell_name(file, one->name);
		fputs(", ", file);
		print_cell_name(file, other->name);
		fputs(" |", file);
		for (int i = 0; i < FIELDS_MEASURES; i++)
			print_field_number(file, row->result.pairs[pair][i], "±");
		fputc('\n', file);
	}
}

static void print_fields_markdown(FILE *file, const struct field_evaluation *e,
                                  const struct evaluate_request *request, const char *stamp) {
	if (stamp) fprintf(file, "**%s**\n\n", stamp);
	fputs("# Fields\n\n", file);
	fprintf(file, "%zu real records of ", e->references);
	print_cell_name(file, file_shown(request->against));
	fprintf(file, ", %zu of which fit the schema ", e->fit);
	print_cell_name(file, file_shown(request->schema));
	fprintf(file,
	        ". − goes down to what the share is at least, with 99 %%; ± is a standard "
	        "deviation over %d resamples of the records.\n",
	        FIELD_RESAMPLES);
	if (has_few_records(e))
		fprintf(file,
		        "\n**Too few to tell: of the smallest file %zu records fit. With fewer "
		        "than %d, the numbers say nothing about which records are better.**\n",
		        e->fewest, EVALUATION_ENOUGH);
	print_summaries(file, e);
	print_distances(file, e);
	for (size_t r = 0; r < e->row_count; r++)
		if (e->rows[r].result.pair_count) print_paired(file, e, &e->rows[r]);
	fputs("\nA distance is half the sum of |P - Q| over all values: P is the real share, Q "
	      "that of the row. joint is that of two fields together. If independent: where each "
	      "field is right and knows nothing of the other. V is Cramer's. dependence is half "
	      "the sum of |P(x,y) - P(x)P(y) - (Q(x,y) - Q(x)Q(y))|, and KND its mean over pairs "
	      "of categories and numbers: 0 = kept, KND if independent = lost.\n",
	      file);
	if (stamp) fprintf(file, "\n**%s**\n", stamp);
}

char *fields_render(enum evaluate_form form, const struct evaluated_fields *fields,
                    const struct evaluate_request *request, const char *stamp, size_t *size) {
	if (form == EVALUATE_JSON)
		return jsonout_dump(encode_fields_table(fields, request, stamp), JSON_INDENT(1),
		                    size);
	char *text = NULL;
	*size = 0;
	FILE *file = open_memstream(&text, size);
	if (!file) return NULL;
	if (form == EVALUATE_CSV) print_fields_csv(file, &fields->evaluation, stamp);
	else print_fields_markdown(file, &fields->evaluation, request, stamp);
	const bool failed = ferror(file) != 0;
	if (!fclose(file) && !failed) return text;
	secrecy_free(text);
	return NULL;
}
