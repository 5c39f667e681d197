// SPDX-License-Identifier: Apache-2.0
// One function for each form. Markdown has several tables, so that each fits a screen; a column
// without any number is left out there.
#include "tools/report/evaluate_table.h"

#include "io/disk/formats.h"
#include "io/disk/jsonout.h"
#include "io/disk/secrecy.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const KINDS[] = {[EVALUATION_REAL] = "real against real",
                                    [EVALUATION_PUBLIC] = "public prompt alone",
                                    [EVALUATION_RUN] = "run",
                                    [EVALUATION_NOISY] = "references, with noise"};

/* Whether references answered through noise; a seed makes the answers private. */
static bool is_asked(const struct evaluate_facts *facts) {
	return facts->asked->delta > 0;
}

void evaluate_sentence(const struct evaluation *evaluation, const struct evaluate_facts *facts,
                       char sentence[EVALUATE_SENTENCE]) {
	const struct evaluate_asked *asked = facts->asked;
	(void)snprintf(sentence, EVALUATE_SENTENCE,
	               "%sOf the references, %zu records, only noisy answers are in this table. "
	               "They are (epsilon, delta)-DP with epsilon = %.6g and delta = %.6g, where "
	               "one record becomes null. In zCDP rho is %.6g. What the runs cost comes "
	               "on top.",
	               asked->seeded ? "NOT PRIVATE: the noise is drawn from a chosen seed, so the "
	                               "answers are a function of the references. With secret "
	                               "noise the following would hold. "
	                             : "",
	               evaluation->references, jsonout_round_up(asked->epsilon, 1e5), asked->delta,
	               jsonout_round_up(asked->rho, 1e6));
}

/* ---- what the numbers mean ------------------------------------------------------------------- */

static bool has_few(const struct evaluation *e) {
	return evaluation_fewest(e) < EVALUATION_ENOUGH;
}

static void print_few(FILE *file, const struct evaluation *e) {
	fprintf(file,
	        "Too few to tell: the smallest set has %zu texts in %zu clusters. With fewer than "
	        "%d, the scores and their order say nothing about which texts are better; take "
	        "thousands.",
	        evaluation_fewest(e), e->clusters, EVALUATION_ENOUGH);
}

/* The accuracy of a row: the probe's, or where there are no vectors that of Bayes. */
static struct evaluation_cell find_accuracy(const struct evaluation_row *row) {
	const struct evaluation_cell *probe = &row->cells[EVALUATION_PROBE];
	return isnan(probe->value) ? row->cells[EVALUATION_BAYES] : *probe;
}

/* Says of a run what a classifier learns from it, and from real texts, between two words. False: it
 * has no number. */
static bool print_learnt(FILE *file, const struct evaluation *e, const struct evaluation_row *run,
                         const char *before, const char *behind) {
	const struct evaluation_row *real = &e->rows[0];
	// A report repeats this, and may not say where somebody keeps files.
	const char *const name = file_shown(run->name), *const slash = strrchr(name, '/');
	const struct evaluation_cell x = find_accuracy(run), y = find_accuracy(real);
	if (real->kind != EVALUATION_REAL || run->kind == EVALUATION_REAL || isnan(x.value) ||
	    isnan(y.value))
		return false;
	const double chance =
	                 (x.value * (1 - x.value) + y.value * (1 - y.value)) / (double)e->tested,
	             error = 2 * sqrt(x.error * x.error + y.error * y.error + chance);
	fprintf(file,
	        "%sTaught by %zu texts of %s a classifier is right about %.0f %% of %zu real "
	        "ones. Taught by %zu real ones it is right about %.0f %%. Always the commonest "
	        "label is right about %.0f %%.%s%s",
	        before, run->texts, slash ? slash + 1 : name, 100 * x.value, e->tested, real->texts,
	        100 * y.value, 100 * e->commonest,
	        fabs(x.value - y.value) < error
	            ? " The difference of the first two is within its error: too few to tell."
	            : "",
	        behind);
	return true;
}

/* Whether any row has a number in this column. */
static bool column_has_number(const struct evaluation *e, int column) {
	for (size_t i = 0; i < e->row_count; i++)
		if (!isnan(e->rows[i].cells[column].value)) return true;
	return false;
}

/* All sentences, one after the other. */
static json_t *list_notes(const struct evaluation *e) {
	json_t *list = json_array();
	if (column_has_number(e, EVALUATION_NEXT))
		(void)json_array_append_new(list, json_string(EVALUATE_NEXT));
	for (size_t i = 0; i <= e->row_count; i++) {
		char *text = NULL;
		size_t size = 0;
		bool said = true;
		FILE *file = open_memstream(&text, &size);
		if (!file) break;
		if (i) said = print_learnt(file, e, &e->rows[i - 1], "", "");
		else if ((said = has_few(e))) print_few(file, e);
		if (!fclose(file) && said)
			(void)json_array_append_new(list, jsonout_text(text, size));
		secrecy_free(text);
	}
	return list;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* The counts of a histogram; `line` 0 is the references, then come the rows. */
static json_t *encode_counts(const struct evaluation_histogram *histogram, size_t line) {
	json_t *list = json_array();
	for (size_t i = 0; i < histogram->bins; i++)
		(void)json_array_append_new(
		    list, json_integer(histogram->counts[line * histogram->bins + i]));
	return list;
}

/* The histograms of all references, and the edges that those of the rows have, too. */
static json_t *encode_histograms(const struct evaluation *e) {
	json_t *object = json_object();
	for (int i = 0; i < EVALUATION_HISTOGRAMS; i++) {
		const struct evaluation_histogram *histogram = &e->histograms[i];
		json_t *edges = histogram->edges ? json_array() : json_null();
		if (!histogram->bins) continue;
		for (size_t k = 0; histogram->edges && k <= histogram->bins; k++)
			(void)json_array_append_new(edges, jsonout_real(histogram->edges[k]));
		const struct jsonout_member members[] = {
		    {"edges", edges}, {"references", encode_counts(histogram, 0)}};
		object = jsonout_extend(
		    object,
		    &(struct jsonout_member){evaluation_histograms[i],
		                             jsonout_extend(json_object(), members, 2)},
		    1);
	}
	return object;
}

static json_t *encode_row(const struct evaluation *e, size_t which) {
	const struct evaluation_row *row = &e->rows[which];
	json_t *histograms = json_object();
	json_t *object =
	    json_pack("{s:s, s:s, s:s?, s:I, s:I, s:I}", "kind", KINDS[row->kind], "name",
	              file_shown(row->name), "sha256", *row->sha256 ? row->sha256 : NULL, "texts",
	              (json_int_t)row->texts, "references", (json_int_t)row->against, "unreadable",
	              (json_int_t)row->unreadable);
	for (int i = 0; i < EVALUATION_HISTOGRAMS; i++)
		if (e->histograms[i].bins)
			histograms = jsonout_extend(
			    histograms,
			    &(struct jsonout_member){evaluation_histograms[i],
			                             encode_counts(&e->histograms[i], 1 + which)},
			    1);
	object = jsonout_extend(object, &(struct jsonout_member){"histograms", histograms}, 1);
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

/* What the answers cost, and how far noise moved them. */
static json_t *encode_asked(const struct evaluate_facts *facts) {
	const struct evaluate_asked *asked = facts->asked;
	if (!is_asked(facts)) return json_null();
	json_t *object = json_pack("{s:b, s:s, s:s}", "private_output", !asked->seeded, "adjacency",
	                           "one record becomes null", "command_sha256", asked->fingerprint);
	static const char *const names[] = {"votes", "sums"};
	for (int i = 0; i < EVALUATE_QUERIES; i++) {
		const struct cuttle_query *q = &asked->queries[i];
		object = jsonout_extend(
		    object,
		    &(struct jsonout_member){
		        names[i],
		        json_pack("{s:I, s:I, s:I, s:I}", "square", (json_int_t)q->square, "times",
		                  (json_int_t)q->times, "variance_num", (json_int_t)q->num,
		                  "variance_den", (json_int_t)q->den)},
		    1);
	}
	const struct jsonout_member members[] = {
	    {"epsilon", jsonout_real(asked->epsilon)},
	    {"delta", jsonout_real(asked->delta)},
	    {"rho", jsonout_real(asked->rho)},
	    {"ledger_entry",
	     *asked->ledger.entry ? json_string(asked->ledger.entry) : json_null()}};
	return jsonout_extend(object, members, sizeof members / sizeof *members);
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
		(void)json_array_append_new(rows, encode_row(e, i));
	for (size_t i = 0; i < e->pair_count; i++)
		(void)json_array_append_new(pairs, encode_pair(e, &e->pairs[i]));
	const struct jsonout_member members[] = {
	    {"evaluation", json_integer(EVALUATE_FORMAT)},
	    {"private", json_boolean(facts->stamp != NULL)},
	    {"stamp", facts->stamp ? json_string(facts->stamp) : json_null()},
	    {"asked", encode_asked(facts)},
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
	    {"commonest", e->classes ? jsonout_real(e->commonest) : json_null()},
	    {"chance", e->classes ? jsonout_real(1 / (double)e->classes) : json_null()},
	    {"notes", list_notes(e)},
	    {"columns", encode_evaluation_columns()},
	    {"histograms", encode_histograms(e)},
	    {"rows", rows},
	    {"order", pairs}};
	return jsonout_extend(json_object(), members, sizeof members / sizeof *members);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void print_csv_number(FILE *file, double value) {
	if (isfinite(value)) fprintf(file, ",%.17g", value);
	else fputc(',', file);
}

/* A name that a spreadsheet would take for a formula is told from its folder: ./=a.jsonl. */
static void print_csv_name(FILE *file, const char *text) {
	fputs(formats_formula(text, strlen(text)) ? "\"./" : "\"", file);
	for (; *text; text++) {
		if (*text == '"') fputc('"', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

static void print_csv(FILE *file, const struct evaluation *e, const struct evaluate_facts *facts) {
	fputs("kind,name,private,texts,references,unreadable,too_few", file);
	for (int i = 0; i < EVALUATION_COLUMNS; i++)
		fprintf(file, ",%s,%s_error", evaluation_columns[i].key, evaluation_columns[i].key);
	for (size_t r = 0; r < e->row_count; r++) {
		const struct evaluation_row *row = &e->rows[r];
		fprintf(file, "\n%s,", KINDS[row->kind]);
		print_csv_name(file, file_shown(row->name));
		if (facts->stamp || !is_asked(facts))
			fprintf(file, ",%s", facts->stamp ? "PRIVATE" : "no");
		else
			fprintf(file, ",no: epsilon %.6g delta %.6g",
			        jsonout_round_up(facts->asked->epsilon, 1e5), facts->asked->delta);
		fprintf(file, ",%zu,%zu,%zu,%s", row->texts, row->against, row->unreadable,
		        has_few(e) ? "yes" : "no");
		for (int i = 0; i < EVALUATION_COLUMNS; i++) {
			print_csv_number(file, row->cells[i].value);
			print_csv_number(file, row->cells[i].error);
		}
	}
	fputc('\n', file);
}

/* ---- Markdown -------------------------------------------------------------------------------- */

static void print_row_name(FILE *file, const struct evaluation_row *row) {
	if (row->kind == EVALUATION_REAL || row->kind == EVALUATION_NOISY) {
		fputs(KINDS[row->kind], file);
		return;
	}
	for (const char *at = file_shown(row->name); *at; at++) {
		if (*at == '|' || *at == '`') fputc('\\', file);
		fputc(*at, file);
	}
	if (row->kind == EVALUATION_PUBLIC) fprintf(file, " (%s)", KINDS[row->kind]);
}

/* Whether the row has a number in one of these columns; only noisy references may have none. */
static bool row_has_number(const struct evaluation_row *row, int first, int last) {
	bool some = row->kind != EVALUATION_NOISY;
	for (int i = first; i <= last; i++) some |= !isnan(row->cells[i].value);
	return some;
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
		if (!row_has_number(&e->rows[r], first, last)) continue;
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

/* What two classifiers reach that have learnt nothing: recall is a mean over the labels. */
static void print_baseline_rows(FILE *file, const struct evaluation *e) {
	static const char *const names[] = {"always the commonest label", "a guess"};
	const double chance = 1 / (double)e->classes, accuracy[] = {e->commonest, chance};
	for (size_t i = 0; i < 2; i++) {
		fprintf(file, "| %s |", names[i]);
		for (int k = EVALUATION_BAYES; k <= EVALUATION_PROBE_RECALL; k++)
			if (column_has_number(e, k))
				fprintf(file, " %.3f |",
				        k == EVALUATION_BAYES || k == EVALUATION_PROBE ? accuracy[i]
				                                                       : chance);
		fputc('\n', file);
	}
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
	if (facts->stamp) fprintf(file, "**%s**\n\n", facts->stamp);
	if (is_asked(facts)) {
		char sentence[EVALUATE_SENTENCE];
		evaluate_sentence(e, facts, sentence);
		fprintf(file, "%s\n\n", sentence);
	}
	if (has_few(e)) {
		fputs("**", file);
		print_few(file, e);
		fputs("**\n\n", file);
	}
	fprintf(file,
	        "%zu references, %zu clusters on %zu axes of %s vectors; model %s, SHA-256 "
	        "%.16s...\n",
	        e->references, e->clusters, e->axes, facts->imported ? "imported" : "the model's",
	        facts->model, facts->model_sha256);
	print_columns(file, e, "Near the references: ± is a standard deviation.", EVALUATION_MAUVE,
	              EVALUATION_FRONTIER);
	print_columns(file, e,
	              "Length and loss of a token, clamped: ± of the references is of the noise, "
	              "else it holds the mean with 99 %.",
	              EVALUATION_NEAR_LENGTH, EVALUATION_NEAR_LOSS);
	print_columns(file, e, "Perplexity and length: ± holds the mean with 99 %.",
	              EVALUATION_PERPLEXITY, EVALUATION_ENDED);
	print_columns(file, e, "Variety: of equally many texts of each row.", EVALUATION_DISTINCT_1,
	              EVALUATION_COSINE);
	print_columns(file, e,
	              EVALUATE_NEXT " Equally many texts of each row teach. ± holds the number "
	                            "with 99 %.",
	              EVALUATION_NEXT, EVALUATION_NEXT_PUBLIC_BITS);
	print_columns(file, e, "Terms of the lexicon in a text: ± holds the mean with 99 %.",
	              EVALUATION_ENTITIES, EVALUATION_ENTITIES);
	print_columns(file, e,
	              "Task: learnt from these texts, tested on real ones; ± is a standard "
	              "deviation.",
	              EVALUATION_BAYES, EVALUATION_PROBE_RECALL);
	if (column_has_number(e, EVALUATION_BAYES)) print_baseline_rows(file, e);
	for (size_t i = 0; i < e->row_count; i++) print_learnt(file, e, &e->rows[i], "\n", "\n");
	print_order(file, e);
	if (is_asked(facts))
		fputs("\nThe references are asked nothing else. So these are left out: real "
		      "against real, deviations over seeds, distances of perplexity and of "
		      "lengths.\n",
		      file);
	if (facts->stamp) fprintf(file, "\n**%s**\n", facts->stamp);
}

char *evaluate_render(enum evaluate_form form, const struct evaluation *evaluation,
                      const struct evaluate_facts *facts, size_t *size) {
	if (form == EVALUATE_JSON)
		return jsonout_dump(encode_table(evaluation, facts), JSON_INDENT(1), size);
	char *text = NULL;
	*size = 0;
	FILE *file = open_memstream(&text, size);
	if (!file) return NULL;
	if (form == EVALUATE_CSV) print_csv(file, evaluation, facts);
	else print_markdown(file, evaluation, facts);
	const bool failed = ferror(file) != 0;
	if (!fclose(file) && !failed) return text;
	secrecy_free(text);
	return NULL;
}
