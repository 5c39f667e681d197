// SPDX-License-Identifier: Apache-2.0
// evidence_pages.h: the pages of a folder of evidence, each as text in memory.
//
// A dossier may have PRIVATE numbers; each page is then stamped. Every row names its source: a file
// of the folder, a page of the product, or "to be answered by you". Facts about a standard are
// told in our own words, with its section.
#ifndef CUTTLE_TOOLS_REPORT_EVIDENCE_PAGES_H
#define CUTTLE_TOOLS_REPORT_EVIDENCE_PAGES_H

#include "tools/report/report_text.h"
#include "workflow/report/dossier.h"
#include "workflow/report/odds.h"

/* What stands where only the reader can answer. */
#define EVIDENCE_YOURS "to be answered by you"

/* A file of the folder. */
struct evidence_page {
	const char *name;
	char *text; /* [size] with a NUL behind it */
	size_t size;
};

/* ---- the pages ------------------------------------------------------------------------------- */

/* deployment.yaml: the schema of the Differential Privacy Deployments Registry. */
void evidence_write_deployment(FILE *file, const struct dossier *dossier);
/* sp800-226.md, dpia.md, hipaa.md. */
void evidence_write_nist(FILE *file, const struct dossier *dossier);
void evidence_write_dpia(FILE *file, const struct dossier *dossier);
void evidence_write_hipaa(FILE *file, const struct dossier *dossier);
/* verify.txt: what cuttle receipt verify says of each receipt. LEDGER: it says something else than
 * the dossier, so a file was changed meanwhile. */
enum cuttle_status evidence_write_verify(FILE *file, const struct dossier *dossier,
                                         struct cuttle_error *error);
/* questions.md: each answer with file and line in pages[count], which are the others. False: a line
 * that it names is not there. */
bool evidence_write_questions(FILE *file, const struct dossier *dossier,
                              const struct evidence_page *pages, size_t count);

/* ---- what they share ------------------------------------------------------------------------- */

/* The title of a page in Markdown, the stamps, and what the page is about. */
void evidence_head(FILE *file, const struct dossier *dossier, const char *title, const char *about);
/* Begins a table of what, how it is here, and its source. */
void evidence_begin(FILE *file, const char *heading);
/* A row of it. The format is that of printf; its text is ours, and foreign words in it are not. */
void evidence_row(FILE *file, const char *label, const char *source, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A row that only the reader can answer. */
void evidence_yours(FILE *file, const char *label, const char *what);
/* What pages are about: the data set, or the first receipt. Foreign, not escaped. */
const char *evidence_subject(const struct dossier *dossier);
/* The rows "evaluation" and the like: how many private files were left out, in words; "" = none. */
void evidence_left_out(FILE *file, const struct dossier *dossier);

/* Whether something is promised for all outputs in the folder. */
bool evidence_guarded(const struct dossier *dossier);

/* What evaluations that asked records through noise cost these, together. */
struct evidence_asked {
	size_t count; /* of such evaluations; 0 = the rest is 0, too */
	double epsilon;
	double delta;
};
struct evidence_asked evidence_asked(const struct dossier *dossier);

/* Which audits of the dossier have one of the names in `names`, such as " canary lot ", in words:
 * what each found, or "not run". */
void evidence_audits(FILE *file, const struct dossier *dossier, const char *names);

#endif
