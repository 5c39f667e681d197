// SPDX-License-Identifier: Apache-2.0
// The text of report_markdown.h. Foreign strings go through report_markdown, which also keeps them
// in their line, so none of them ends a table, a list or a paragraph.
#include "tools/report/report_markdown.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A row of a table with two columns. */
static void print_pair_row(FILE *file, const char *label, const char *text) {
	fputs("| ", file);
	report_markdown(file, label);
	fputs(" | ", file);
	report_markdown(file, text);
	fputs(" |\n", file);
}

static void begin_pairs(FILE *file) {
	fputs("\n| | |\n|---|---|\n", file);
}

static void print_text_line(FILE *file, const char *before, const char *text) {
	fputs(before, file);
	report_markdown(file, text);
	fputc('\n', file);
}

static void head_receipt(FILE *file, const struct report *report, size_t i) {
	if (report->receipt_count < 2) return;
	fprintf(file, "\n### %zu\\. ", i + 1);
	report_markdown(file, report_base_name(report->receipts[i].path));
	fputc('\n', file);
}

static void print_stamp(FILE *file, bool is_private) {
	if (is_private) fputs("\n**PRIVATE: " REPORT_STAMP "**\n", file);
}

static void print_first(FILE *file, const struct report *report) {
	const struct report_receipt *first = &report->receipts[0];
	char number[UNITS_NUMBER];
	fputs("# Privacy report: ", file);
	report_markdown(file, first->v.dataset ? first->v.dataset : report_base_name(first->path));
	fprintf(file, "\n\nBegun %s, %zu receipts, %zu evaluations, %zu audits, cuttle %s.\n",
	        first->v.date, report->receipt_count, report->evaluation_count, report->audit_count,
	        cuttle_version());
	if (report_contradicted(report))
		fputs("\n**An audit contradicts the guarantee. See Audits.**\n", file);
	if (report->unguarded)
		fprintf(file, "\n**PRIVATE: numbers of %zu files below are " REPORT_STAMP ".**\n",
		        report->unguarded);
	if (report->left_out)
		fprintf(
		    file,
		    "\n%zu files were left out (--publish): computed from the references without "
		    "protection.\n",
		    report->left_out);
	fputs("\n## What is promised\n", file);
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct report_receipt *receipt = &report->receipts[i];
		head_receipt(file, report, i);
		fprintf(file, "\n**%s %s", report_epsilon_words(receipt, false),
		        report_number(receipt->epsilon, true, number));
		if (receipt->epsilon_all > 0)
			fprintf(file, ", %s %s", report_epsilon_words(receipt, true),
			        report_number(receipt->epsilon_all, true, number));
		if (receipt->delta > 0)
			fprintf(file, ", delta %s", report_number(receipt->delta, true, number));
		if (receipt->epsilon_known != receipt->epsilon)
			fprintf(file, "; epsilon %s if the record's batch is known",
			        report_number(receipt->epsilon_known, true, number));
		fputs("**\n\n", file);
		print_text_line(file, "> ", receipt->v.attested->sentence);
		fputc('\n', file);
		for (size_t k = 1; k < receipt->promise.kept.count; k++)
			print_text_line(file, "- ", receipt->promise.kept.all[k].text);
	}
	fputs("\n## Whose privacy\n", file);
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct report_receipt *receipt = &report->receipts[i];
		head_receipt(file, report, i);
		begin_pairs(file);
		print_pair_row(file, "Protected",
		               json_string_value(json_object_get(receipt->document, "unit")));
		print_pair_row(file, "Neighbouring inputs",
		               json_string_value(json_object_get(receipt->document, "adjacency")));
		if (receipt->v.dataset) print_pair_row(file, "Data set", receipt->v.dataset);
	}
}

static void print_limits(FILE *file, const struct report *report) {
	const uint64_t all = (UINT64_C(1) << report->receipt_count) - 1;
	fputs("\n## What is not covered\n\n", file);
	for (size_t i = 0; i < report->limit_count; i++) {
		fputs("- ", file);
		report_markdown(file, report->limits[i].text);
		const uint64_t whose = report->limits[i].receipts;
		const char *before = whose & (whose - 1) ? " (receipts " : " (receipt ";
		for (size_t k = 0; k < report->receipt_count; k++) {
			if (report->limits[i].receipts == all ||
			    !(report->limits[i].receipts >> k & 1))
				continue;
			fprintf(file, "%s%zu", before, k + 1);
			before = ", ";
		}
		fputs(report->limits[i].receipts == all ? "\n" : ")\n", file);
	}
}

static void print_budgets(FILE *file, const struct report *report) {
	char number[UNITS_NUMBER];
	fputs("\n## Budget\n\n", file);
	if (!report->budget_count)
		fputs("No ledger was given (--ledger). What other runs over the same records cost "
		      "is not known here, and adds to the above.\n",
		      file);
	for (size_t i = 0; i < report->budget_count; i++) {
		const struct ledger_standing *standing = &report->budgets[i];
		fputs("- ", file);
		report_markdown(file, standing->dataset.name);
		fprintf(file, ": epsilon %s spent",
		        report_number(report_epsilon_spent(standing), true, number));
		fprintf(file, ", %s left",
		        report_number(report_epsilon_left(standing), false, number));
		fprintf(file, " of %s", report_number(standing->dataset.epsilon, false, number));
		fprintf(file, " at delta %s, by %" PRIu64 " runs; counted per ",
		        report_number(standing->dataset.delta, true, number), standing->runs);
		report_markdown(file,
		                *standing->dataset.unit_key ? standing->dataset.unit_key : "line");
		fputs(".\n", file);
	}
}

/* An epsilon of an audit. */
static void print_bound_row(FILE *file, const char *label, double epsilon, bool up) {
	char number[UNITS_NUMBER];
	fprintf(file, "| %s | %s%s |\n", label,
	        isnan(epsilon) ? ""
	        : up           ? "epsilon at most "
	                       : "epsilon at least ",
	        isnan(epsilon) ? "–" : report_number(epsilon, up, number));
}

static void print_audit_part(FILE *file, const struct report_audit *audit) {
	print_stamp(file, audit->is_private);
	print_text_line(file, "\n### ",
	                json_string_value(json_object_get(audit->document, "audit")));
	begin_pairs(file);
	print_bound_row(file, "Shown, with 95 %", audit->game.likely, false);
	print_bound_row(file, "Shown, but for one in a million", audit->game.sure, false);
	print_bound_row(file, "Promised", audit->claimed, true);
	print_bound_row(file, "Control, which has no protection, with 95 %", audit->control.likely,
	                false);
	print_pair_row(file, "So", report_finding(audit));
	print_stamp(file, audit->is_private);
}

static void print_checks(FILE *file, const struct report *report) {
	fputs("\n## Signature and checks\n\nEach receipt was made anew from what its run chose, "
	      "and every member compared. One that does not hold is refused.\n",
	      file);
	for (size_t i = 0; i < report->receipt_count; i++) {
		const struct report_receipt *receipt = &report->receipts[i];
		head_receipt(file, report, i);
		begin_pairs(file);
		print_pair_row(file, "agrees", receipt->promise.opening);
		for (size_t k = 0; k < receipt->promise.about.count; k++)
			print_pair_row(file, receipt->promise.about.all[k].label,
			               receipt->promise.about.all[k].text);
		print_pair_row(file, "not checked", receipt->promise.unchecked);
		print_pair_row(file, "receipt", receipt->sha256);
		print_pair_row(file, "output", receipt->v.attested->output_sha256);
		print_pair_row(file, "command", receipt->v.attested->command_sha256);
	}
}

static void print_group(FILE *file, const struct report_evaluation *e,
                        const struct report_group *group) {
	size_t i;
	json_t *row;
	if (!report_group_shown(e, group)) return;
	fprintf(file, "\n%s\n\n| texts |", group->title);
	for (int k = group->first; k <= group->last; k++)
		if (report_column_shown(e, k))
			fprintf(file, " %s |", evaluation_columns[k].heading);
	fputs("\n|---|", file);
	for (int k = group->first; k <= group->last; k++)
		if (report_column_shown(e, k)) fputs("--:|", file);
	json_array_foreach(json_object_get(e->document, "rows"), i, row) {
		const char *kind = json_string_value(json_object_get(row, "kind")),
		           *name = json_string_value(json_object_get(row, "name"));
		fputs("\n| ", file);
		report_markdown(file, strcmp(kind, "run") != 0 ? kind : report_base_name(name));
		for (int k = group->first; k <= group->last; k++) {
			double value, error;
			if (!report_column_shown(e, k)) continue;
			const int digits = evaluation_columns[k].digits;
			if (!report_cell(row, k, &value, &error)) fputs(" | –", file);
			else fprintf(file, " | %.*f", digits, value);
			if (!isnan(error)) fprintf(file, " ± %.*f", digits, error);
		}
		fputs(" |", file);
	}
	fputc('\n', file);
}

static void print_evaluation(FILE *file, const struct report_evaluation *e) {
	print_text_line(file, "\n## Evaluation: ", report_base_name(e->path));
	print_stamp(file, e->is_private);
	fprintf(file, "\n%lld references, %lld clusters; SHA-256 %s.\n",
	        (long long)json_integer_value(json_object_get(e->document, "references")),
	        (long long)json_integer_value(json_object_get(e->document, "clusters")), e->sha256);
	const json_t *asked = json_object_get(e->document, "asked");
	char number[UNITS_NUMBER];
	if (asked && json_is_object(asked)) {
		fprintf(file, "\nOf the references only noisy answers are here: epsilon %s",
		        report_number(json_number_value(json_object_get(asked, "epsilon")), true,
		                      number));
		fprintf(file, ", delta %s of each record, on top of what the runs cost.\n",
		        report_number(json_number_value(json_object_get(asked, "delta")), true,
		                      number));
	}
	for (size_t i = 0; i < json_array_size(json_object_get(e->document, "notes")); i++)
		print_text_line(
		    file, "\n",
		    json_string_value(json_array_get(json_object_get(e->document, "notes"), i)));
	for (size_t i = 0; i < REPORT_GROUPS; i++) print_group(file, e, &report_groups[i]);
	print_stamp(file, e->is_private);
}

void report_write_markdown(FILE *file, const struct report *report) {
	print_first(file, report);
	print_limits(file, report);
	print_budgets(file, report);
	fputs("\n## Audits\n", file);
	if (!report->audit_count)
		fputs("\nNone in this report. An audit attacks the output; it can show a guarantee "
		      "broken, never kept.\n",
		      file);
	for (size_t i = 0; i < report->audit_count; i++) print_audit_part(file, &report->audits[i]);
	print_checks(file, report);
	for (size_t i = 0; i < report->evaluation_count; i++)
		print_evaluation(file, &report->evaluations[i]);
	fputs("\nA report is no proof: it repeats what its files say, once the receipts hold. All "
	      "numbers are in its JSON form.\n",
	      file);
}
