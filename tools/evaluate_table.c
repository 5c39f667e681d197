// SPDX-License-Identifier: Apache-2.0
// One function for each form. Markdown has several tables, so that each fits a screen; a column
// without any number is left out there.
#include "tools/evaluate_table.h"

#include "io/fail.h"
#include "io/jsonout.h"
#include "io/secrecy.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const KINDS[] = {[EVALUATION_REAL] = "real against real",
                                    [EVALUATION_PUBLIC] = "public prompt alone",
                                    [EVALUATION_RUN] = "run"};

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *encode_row(const struct evaluation_row *row) {
	json_t *object =
	    json_pack("{s:s, s:s, s:I, s:I, s:I}", "kind", KINDS[row->kind], "name",
	              file_shown(row->name), "texts", (json_int_t)row->texts, "references",
	              (json_int_t)row->against, "unreadable", (json_int_t)row->unreadable);
	for (int i = 0; i < EVALUATION_COLUMNS; i++) {
		const struct evaluation_cell *cell = &row->cells[i];
		if (isnan(cell->value)) continue;
		json_t *number = json_object();
		const struct jsonout_member members[] = {{"value", jsonout_real(cell->value)},
		                                         {"error", jsonout_real(cell->error)}};
		number = jsonout_extend(number, members,
		                        evaluation_columns[i].error == EVALUATION_NO_ERROR ? 1 : 2);
		if (evaluation_columns[i].error == EVALUATION_NO_ERROR)
			json_decref(members[1].value);
		object = jsonout_extend(
		    object, &(struct jsonout_member){evaluation_columns[i].key, number}, 1);
	}
	return object;
}

static json_t *encode_pair(const struct evaluation *e, const struct evaluation_pair *pair) {
	const struct jsonout_member members[] = {
	    {"better", json_string(file_shown(e->rows[pair->one].name))},
	    {"worse", json_string(file_shown(e->rows[pair->other].name))},
	    {"difference", jsonout_real(pair->difference)},
	    {"deviation", jsonout_real(pair->deviation)},
	    {"p", jsonout_real(pair->p)},
	    {"p_holm", jsonout_real(pair->holm)}};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

/* What the error of a column is, in JSON. */
static json_t *encode_evaluation_columns(void) {
	static const char *const errors[] = {[EVALUATION_NO_ERROR] = "none",
	                                     [EVALUATION_DEVIATION] = "standard deviation",
	                                     [EVALUATION_HALF_WIDTH] = "half width of 99 %"};
	json_t *columns = json_object();
	for (int i = 0; i < EVALUATION_COLUMNS; i++)
		columns = jsonout_extend(
		    columns,
		    &(struct jsonout_member){evaluation_columns[i].key,
		                             json_pack("{s:s, s:s}", "heading",
		                                       evaluation_columns[i].heading, "error",
		                                       errors[evaluation_columns[i].error])},
		    1);
	return columns;
}

static json_t *encode_table(const struct evaluation *e, const struct evaluate_facts *facts) {
	json_t *rows = json_array(), *pairs = json_array();
	for (size_t i = 0; i < e->row_count; i++)
		(void)json_array_append_new(rows, encode_row(&e->rows[i]));
	for (size_t i = 0; i < e->pair_count; i++)
		(void)json_array_append_new(pairs, encode_pair(e, &e->pairs[i]));
	const struct jsonout_member members[] = {
	    {"private", json_boolean(facts->is_private)},
	    {"stamp", facts->is_private ? json_string(EVALUATE_STAMP) : json_null()},
	    {"model", json_string(facts->model)},
	    {"model_sha256", json_string(facts->model_sha256)},
	    {"features", json_string(facts->imported ? "imported" : "model")},
	    {"against", json_string(file_shown(facts->against))},
	    {"references", json_integer((json_int_t)e->references)},
	    {"unreadable", json_integer((json_int_t)e->unreadable)},
	    {"clusters", json_integer((json_int_t)e->clusters)},
	    {"axes", json_integer((json_int_t)e->axes)},
	    {"compared", json_integer((json_int_t)e->compared)},
	    {"task", facts->task ? json_string(facts->task) : json_null()},
	    {"classes", json_integer((json_int_t)e->classes)},
	    {"columns", encode_evaluation_columns()},
	    {"rows", rows},
	    {"order", pairs}};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void print_csv_number(FILE *file, double value) {
	if (isfinite(value)) fprintf(file, ",%.17g", value);
	else fputc(',', file);
}

static void print_csv_text(FILE *file, const char *text) {
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"') fputc('"', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

static void print_csv(FILE *file, const struct evaluation *e, const struct evaluate_facts *facts) {
	fputs("kind,name,private,texts,references,unreadable", file);
	for (int i = 0; i < EVALUATION_COLUMNS; i++)
		fprintf(file, ",%s,%s_error", evaluation_columns[i].key, evaluation_columns[i].key);
	for (size_t r = 0; r < e->row_count; r++) {
		const struct evaluation_row *row = &e->rows[r];
		fprintf(file, "\n%s,", KINDS[row->kind]);
		print_csv_text(file, file_shown(row->name));
		fprintf(file, ",%s,%zu,%zu,%zu", facts->is_private ? "PRIVATE" : "no", row->texts,
		        row->against, row->unreadable);
		for (int i = 0; i < EVALUATION_COLUMNS; i++) {
			print_csv_number(file, row->cells[i].value);
			print_csv_number(file, row->cells[i].error);
		}
	}
	fputc('\n', file);
}

/* ---- Markdown -------------------------------------------------------------------------------- */

/* Whether any row has a number in this column. */
static bool column_has_number(const struct evaluation *e, int column) {
	for (size_t i = 0; i < e->row_count; i++)
		if (!isnan(e->rows[i].cells[column].value)) return true;
	return false;
}

static void print_row_name(FILE *file, const struct evaluation_row *row) {
	if (row->kind == EVALUATION_REAL) {
		fputs(KINDS[row->kind], file);
		return;
	}
	for (const char *at = file_shown(row->name); *at; at++) {
		if (*at == '|' || *at == '`') fputc('\\', file);
		fputc(*at, file);
	}
	if (row->kind == EVALUATION_PUBLIC) fprintf(file, " (%s)", KINDS[row->kind]);
}

/* One table: the columns from `first` to `last` that have a number. */
static void print_columns(FILE *file, const struct evaluation *e, const char *title, int first,
                          int last) {
	int shown = 0;
	for (int i = first; i <= last; i++) shown += column_has_number(e, i);
	if (!shown) return;
	fprintf(file, "\n%s\n\n| texts |", title);
	for (int i = first; i <= last; i++)
		if (column_has_number(e, i)) fprintf(file, " %s |", evaluation_columns[i].heading);
	fputs("\n|---|", file);
	for (int i = 0; i < shown; i++) fputs("---|", file);
	for (size_t r = 0; r < e->row_count; r++) {
		fputs("\n| ", file);
		print_row_name(file, &e->rows[r]);
		for (int i = first; i <= last; i++) {
			const struct evaluation_cell *cell = &e->rows[r].cells[i];
			const int digits = evaluation_columns[i].digits;
			if (!column_has_number(e, i)) continue;
			if (isnan(cell->value)) fputs(" | -", file);
			else fprintf(file, " | %.*f", digits, cell->value);
			if (!isnan(cell->value) && !isnan(cell->error))
				fprintf(file, " ± %.*f", digits, cell->error);
		}
		fputs(" |", file);
	}
	fputc('\n', file);
}

static void print_order(FILE *file, const struct evaluation *e) {
	if (!e->pair_count) return;
	fputs("\nOrder by MAUVE with c = 5; p over all pairs, by Holm. Below .01 the order is "
	      "found.\n\n| better | worse | difference | p |\n|---|---|---|---|",
	      file);
	for (size_t i = 0; i < e->pair_count; i++) {
		const struct evaluation_pair *pair = &e->pairs[i];
		fputs("\n| ", file);
		print_row_name(file, &e->rows[pair->one]);
		fputs(" | ", file);
		print_row_name(file, &e->rows[pair->other]);
		fprintf(file, " | %.4f ± %.4f | %.2g |", pair->difference, pair->deviation,
		        pair->holm);
	}
	fputc('\n', file);
}

static void print_markdown(FILE *file, const struct evaluation *e,
                           const struct evaluate_facts *facts) {
	if (facts->is_private) fprintf(file, "**%s**\n\n", EVALUATE_STAMP);
	fprintf(file,
	        "%zu references, %zu clusters on %zu axes of %s vectors; model %s, SHA-256 "
	        "%.16s...\n",
	        e->references, e->clusters, e->axes, facts->imported ? "imported" : "the model's",
	        facts->model, facts->model_sha256);
	print_columns(file, e, "Near the references: ± is a standard deviation.", EVALUATION_MAUVE,
	              EVALUATION_FRONTIER);
	print_columns(file, e, "Perplexity and length: ± holds the mean with 99 %.",
	              EVALUATION_PERPLEXITY, EVALUATION_ENDED);
	print_columns(file, e, "Variety: of equally many texts of each row.", EVALUATION_DISTINCT_1,
	              EVALUATION_COSINE);
	print_columns(file, e, "Terms of the lexicon in a text: ± holds the mean with 99 %.",
	              EVALUATION_ENTITIES, EVALUATION_ENTITIES);
	print_columns(file, e,
	              "Task: learnt from these texts, tested on real ones; ± is a standard "
	              "deviation.",
	              EVALUATION_BAYES, EVALUATION_PROBE_RECALL);
	print_order(file, e);
	if (facts->is_private) fprintf(file, "\n**%s**\n", EVALUATE_STAMP);
}

enum cuttle_status evaluate_write(struct sink *sink, enum evaluate_form form,
                                  const struct evaluation *evaluation,
                                  const struct evaluate_facts *facts, struct cuttle_error *error) {
	if (form == EVALUATE_JSON)
		return jsonout_write(sink, encode_table(evaluation, facts), JSON_INDENT(1), error);
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	if (!file) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (form == EVALUATE_CSV) print_csv(file, evaluation, facts);
	else print_markdown(file, evaluation, facts);
	const bool failed = ferror(file) != 0;
	const enum cuttle_status status = fclose(file) || failed
	                                      ? io_fail(error, CUTTLE_NOMEM, "out of memory")
	                                      : sink_write(sink, text, size, error);
	secrecy_free(text);
	return status;
}
