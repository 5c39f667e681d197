// SPDX-License-Identifier: Apache-2.0
// sanitize.h: the system that rewrites documents with private marks (workflow/system.h). The
// PRIVATE documents pass through sanitize_run, from workflow/documents to the engine.
#ifndef CUTTLE_WORKFLOW_SANITIZE_H
#define CUTTLE_WORKFLOW_SANITIZE_H

#include "io/receipts/sanitize_receipt.h"
#include "workflow/grammar_choice.h"
#include "workflow/documents.h"
#include "workflow/run.h"
#include "workflow/setup.h"
#include "workflow/stop_choice.h"

/* As struct common_request: NULL is none, and all must outlive what is made from the request. */
struct sanitize_request {
	struct common_request common;
	/* What the rewriter takes. sanitize_open adds the groups, and the instruction that it
	 * reads from the file named below. */
	struct cuttle_rewrite_params params;
	struct groups groups;
	struct spans_request
	    spans; /* how a line is read; path and owner_field are set from below */
	struct documents_tagger tagger;
	const char *tagged_by;   /* who finds spans, in words */
	const char *placeholder; /* in place of a blank mark; holds "{type}" or not */
	const char *names;       /* path of the tagger's list, for sanitize_paths alone */
	const char *instruction; /* path */
	const char *grammar;     /* as in struct generate_request */
	const char *schema;
	bool sweep;
};

/* Sets the defaults: those of the library, temperature 0.5, the placeholder "[{type}]", the fields
 * "id", "text" and "spans", a sweep, the time now. */
void sanitize_default(struct sanitize_request *request);
/* As generate_check and generate_paths, whose check of names is formats_check_name here. */
enum cuttle_status sanitize_check(const struct sanitize_request *request,
                                  struct cuttle_error *error);
enum cuttle_status sanitize_paths(const struct sanitize_request *request,
                                  struct cuttle_error *error);

/* What is fixed before a private byte is read. */
struct sanitize {
	struct cuttle_rewriter *rewriter;
	struct sanitize_receipt receipt; /* without numbers of documents, and without the charge */
	struct signature_key *signer;    /* NULL = the receipt is not signed */
	char fingerprint[HASH_TEXT];
	struct stop_choice stop; /* where texts end; without words nothing is chosen */
	struct grammar_choice grammar;
	char *instruction; /* that of the request's file; NULL = cuttle's own */
	/* What is charged, once the documents are counted: of an owner with several, for all. */
	double charge;
};

/* Call sanitize_free in any case. The receipt points into the request; it and the model must
 * outlive *sanitize. USAGE, INPUT, NOMEM: as generate_open and cuttle_rewriter_make. */
enum cuttle_status sanitize_open(const struct sanitize_request *request,
                                 const struct setup_model *opened, struct sanitize *sanitize,
                                 struct cuttle_error *error);
void sanitize_free(struct sanitize *sanitize);

/* Only reads the documents, checks them, and sets the receipt's numbers of documents and the
 * charge. Errors as documents_read, documents_most and cuttle_rewriter_takes. */
enum cuttle_status sanitize_count(const struct sanitize_request *request, struct sanitize *sanitize,
                                  struct cuttle_error *error);
/* Runs the request, once for each struct sanitize. Statuses as generate_texts. All documents are
 * charged what the costliest of them is: which groups a document has is public. Without any mark
 * nothing is charged. */
enum cuttle_status sanitize_run(const struct sanitize_request *request, struct sanitize *sanitize,
                                const struct run_events *events, struct cuttle_error *error);

#endif
