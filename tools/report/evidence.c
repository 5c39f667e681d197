// SPDX-License-Identifier: Apache-2.0
// Which files a folder of evidence has, and in which order they are made. Nothing is written before
// all are.
#include "tools/report/evidence.h"

#include "base/misuse.h"
#include "io/disk/fail.h"
#include "io/disk/folder.h"
#include "io/disk/secrecy.h"
#include "tools/report/evidence_pages.h"
#include "tools/report/report_html.h"
#include <stdlib.h>

enum { EVIDENCE_PAGES = 8, EVIDENCE_FILES = EVIDENCE_PAGES + REPORT_FILES };

/* The page that cuttle report makes. Where no receipt holds there is nothing to report. */
static void write_report_page(FILE *file, const struct dossier *dossier) {
	if (dossier->holding) {
		report_write_html(file, &dossier->report);
		return;
	}
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<title>Privacy report</title>\n</head>\n<body>\n",
	      file);
	for (size_t i = 0; i < dossier->stamps.count; i++) {
		fputs("<p><b>", file);
		report_html(file, dossier->stamps.all[i].text);
		fputs("</b></p>\n", file);
	}
	fputs("<p>No receipt here has a guarantee that holds, so there is nothing to report. See "
	      "verify.txt.</p>\n</body>\n</html>\n",
	      file);
}

/* Pages that need nothing but the dossier. */
static const struct {
	const char *name;
	void (*write)(FILE *file, const struct dossier *dossier);
} PAGES[] = {{"deployment.yaml", evidence_write_deployment},
             {"sp800-226.md", evidence_write_nist},
             {"dpia.md", evidence_write_dpia},
             {"hipaa.md", evidence_write_hipaa},
             {"report.html", write_report_page}};

struct evidence_folder {
	struct evidence_page files[EVIDENCE_FILES];
	size_t count;
	size_t made; /* of these, the first ones were made here; others are the dossier's */
};

/* Begins a page. NULL: out of memory. */
static FILE *begin_page(struct evidence_folder *folder, const char *name) {
	REQUIRE(folder->count < EVIDENCE_FILES);
	struct evidence_page *page = &folder->files[folder->count];
	page->name = name;
	return open_memstream(&page->text, &page->size);
}

/* Ends it, and counts it. */
static enum cuttle_status end_page(struct evidence_folder *folder, FILE *file,
                                   enum cuttle_status status, struct cuttle_error *error) {
	const bool failed = ferror(file) != 0;
	folder->made = ++folder->count;
	return fclose(file) || failed ? io_fail(error, CUTTLE_NOMEM, "out of memory") : status;
}

/* Adds what is there already. */
static void hold_file(struct evidence_folder *folder, const char *name, char *text, size_t size) {
	REQUIRE(folder->count < EVIDENCE_FILES);
	folder->files[folder->count++] = (struct evidence_page){name, text, size};
}

static enum cuttle_status make_pages(struct evidence_folder *folder, const struct dossier *dossier,
                                     struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; i < sizeof PAGES / sizeof *PAGES && !status; i++) {
		FILE *file = begin_page(folder, PAGES[i].name);
		if (!file) return io_fail(error, CUTTLE_NOMEM, "out of memory");
		PAGES[i].write(file, dossier);
		status = end_page(folder, file, CUTTLE_OK, error);
	}
	if (status) return status;
	FILE *file = begin_page(folder, "verify.txt");
	if (!file) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	status = evidence_write_verify(file, dossier, error);
	return end_page(folder, file, status, error);
}

/* The page of questions names lines of all other files, so these come before it. */
static enum cuttle_status make_questions(const struct evidence_folder *folder,
                                         const struct dossier *dossier,
                                         struct evidence_page *questions,
                                         struct cuttle_error *error) {
	questions->name = "questions.md";
	FILE *file = open_memstream(&questions->text, &questions->size);
	if (!file) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	const bool found = evidence_write_questions(file, dossier, folder->files, folder->count);
	const bool failed = ferror(file) != 0;
	if (fclose(file) || failed) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	// A page without a row that the questions name is a page of ours that was changed.
	REQUIRE(found);
	return CUTTLE_OK;
}

static enum cuttle_status put_folder(const char *path, const struct evidence_folder *folder,
                                     bool owner_alone, struct cuttle_error *error) {
	struct folder_file files[EVIDENCE_FILES];
	for (size_t i = 0; i < folder->count; i++)
		files[i] = (struct folder_file){folder->files[i].name, folder->files[i].text,
		                                folder->files[i].size};
	return folder_write(path, files, folder->count, owner_alone, error);
}

enum cuttle_status evidence_write(const char *path, const struct dossier *dossier,
                                  struct cuttle_error *error) {
	struct evidence_folder folder = {.count = 0};
	struct evidence_page questions = {NULL, NULL, 0};
	enum cuttle_status status = make_pages(&folder, dossier, error);
	if (!status) {
		for (size_t i = 0; i < dossier->receipt_count; i++)
			hold_file(&folder, dossier->receipts[i].name, dossier->receipts[i].bytes,
			          dossier->receipts[i].size);
		if (dossier->ledger)
			hold_file(&folder, "ledger.jsonl", dossier->ledger, dossier->ledger_size);
		status = make_questions(&folder, dossier, &questions, error);
	}
	if (!status) {
		hold_file(&folder, questions.name, questions.text, questions.size);
		status = put_folder(path, &folder, dossier->report.unguarded > 0, error);
	}
	for (size_t i = 0; i < folder.made; i++) secrecy_free(folder.files[i].text);
	secrecy_free(questions.text);
	return status;
}
