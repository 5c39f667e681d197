// SPDX-License-Identifier: Apache-2.0
// What the pages of evidence_pages.h share.
#include "tools/report/evidence_pages.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

void evidence_head(FILE *file, const struct dossier *dossier, const char *title,
                   const char *about) {
	fprintf(file, "# %s: ", title);
	report_markdown(file, evidence_subject(dossier));
	fputs("\n\n", file);
	for (size_t i = 0; i < dossier->stamps.count; i++)
		fprintf(file, "**%s**\n\n", dossier->stamps.all[i].text);
	fprintf(file, "%s\n", about);
	if (dossier->report.left_out) {
		fputc('\n', file);
		evidence_left_out(file, dossier);
		fputc('\n', file);
	}
}

void evidence_left_out(FILE *file, const struct dossier *dossier) {
	const size_t count = dossier->report.left_out;
	if (count)
		fprintf(file,
		        "%zu private file%s left out: computed from the records without "
		        "protection. `--private` adds them, and stamps them.",
		        count, count == 1 ? " was" : "s were");
}

void evidence_begin(FILE *file, const char *heading) {
	fprintf(file, "\n## %s\n\n| what | here | source |\n|---|---|---|\n", heading);
}

void evidence_row(FILE *file, const char *label, const char *source, const char *format, ...) {
	va_list list;
	va_start(list, format);
	fprintf(file, "| %s | ", label);
	vfprintf(file, format, list);
	fprintf(file, " | %s |\n", source);
	va_end(list);
}

void evidence_yours(FILE *file, const char *label, const char *what) {
	evidence_row(file, label, EVIDENCE_YOURS, "%s", what);
}

const char *evidence_subject(const struct dossier *dossier) {
	const struct report *report = &dossier->report;
	return report->receipt_count && report->receipts[0].v.dataset
	           ? report->receipts[0].v.dataset
	           : dossier->receipts[0].name;
}

bool evidence_guarded(const struct dossier *dossier) {
	return dossier->holding == dossier->receipt_count && isfinite(dossier->epsilon);
}

struct evidence_asked evidence_asked(const struct dossier *dossier) {
	const struct report *report = &dossier->report;
	struct evidence_asked sum = {0};
	for (size_t i = 0; i < report->evaluation_count; i++) {
		const json_t *asked = json_object_get(report->evaluations[i].document, "asked");
		const double epsilon = json_number_value(json_object_get(asked, "epsilon")),
		             delta = json_number_value(json_object_get(asked, "delta"));
		if (!(epsilon > 0)) continue;
		sum.count++;
		sum.epsilon = units_add(sum.epsilon, epsilon);
		sum.delta = units_add(sum.delta, fmax(delta, 0));
	}
	return sum;
}

void evidence_audits(FILE *file, const struct dossier *dossier, const char *names) {
	const struct report *report = &dossier->report;
	const char *before = "";
	for (size_t i = 0; i < report->audit_count; i++) {
		const struct report_audit *audit = &report->audits[i];
		const char *name = json_string_value(json_object_get(audit->document, "audit"));
		char word[64], number[UNITS_NUMBER];
		(void)snprintf(word, sizeof word, " %s ", name);
		if (!strstr(names, word)) continue;
		fprintf(file, "%s", before);
		report_markdown(file, name);
		fprintf(file, ": %s", report_finding(audit));
		if (!isnan(audit->game.likely))
			fprintf(file, ", epsilon at least %s (95 %%)",
			        report_number(audit->game.likely, false, number));
		if (audit->is_private) fputs(" (PRIVATE: " REPORT_STAMP ")", file);
		if (!isnan(audit->claimed) && audit->receipt == REPORT_NONE)
			fputs(", but no receipt here promises what it tested", file);
		before = "; ";
	}
	if (!*before) fputs("not run", file);
}
