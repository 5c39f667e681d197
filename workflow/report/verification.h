// SPDX-License-Identifier: Apache-2.0
// verification.h: a receipt of any system, checked against itself and against other files.
//
// A receipt is public: no private data is here. io/receipts/evidence.h checks it against itself and
// its signature. Here are its system, and the checks against other files.
//
//     status = verification_open(&v, "out.receipt.json", NULL, &error);
//     if (!status) status = verification_compare(&v, &files, &error);
//     verification_close(&v);
#ifndef CUTTLE_WORKFLOW_REPORT_VERIFICATION_H
#define CUTTLE_WORKFLOW_REPORT_VERIFICATION_H

#include "io/receipts/evidence.h"
#include "io/receipts/evolve_receipt.h"
#include "io/receipts/expand_receipt.h"
#include "io/receipts/learn_receipt.h"
#include "io/receipts/sample_receipt.h"
#include "io/receipts/sanitize_receipt.h"
#include "io/receipts/perturb_receipt.h"

struct verification {
	struct evidence evidence; /* its kind says which system wrote the receipt */
	const void *receipt;      /* the struct of its system: evidence.receipt */
	/* What receipts of all systems say about other files. It points into the evidence. */
	const struct attested *attested;
	const char *model_sha256; /* "" = the run had no model */
	uint64_t model_bytes;
	const char *words_sha256;        /* of the words file; NULL = the run had none */
	const char *grammar_sha256;      /* of the texts' grammar; NULL = the run had none */
	const char *schema_sha256;       /* of their schema; NULL = the run had none */
	const char *dropped_sha256;      /* of the texts that were dropped; NULL = none could be */
	const struct receipt_bias *bias; /* a learnt bias that was added; NULL = none */
	const char *dataset;             /* NULL = none */
	const char *unit_key;            /* "" = lines */
	const char *date;
	struct receipt_ledger ledger; /* its entry is "" = nobody counted */
	unsigned order;               /* of the losses that the ledger counts; 0 = rho of zCDP */
	bool private_output;
};

/* What a receipt is compared with. Paths are the caller's; NULL = not compared. */
struct verification_files {
	const char *output;
	const char *dropped; /* texts that were dropped */
	const char *model;
	const char *words;
	const char *grammar;
	const char *schema;
	const char *parent; /* receipt of the output that an expansion expanded */
	const char *bias;   /* the learnt bias, its receipt beside it */
	const char *ledger;
	bool key;   /* the signature's key was given */
	bool hints; /* words name the option of receipt verify that would compare */
};

/* Reads the receipt at path and checks it against itself and its signature. `key`: the public key
 * that must have signed it; NULL accepts any and none. Call verification_close in any case; path
 * must outlive *v. INPUT: it cannot be read, or is no receipt of this version. LEDGER: it does not
 * agree with itself or its signature. NOMEM. */
enum cuttle_status verification_open(struct verification *v, const char *path, const char *key,
                                     struct cuttle_error *error);
void verification_close(struct verification *v);

/* Compares with the files that are given. LEDGER: one of them is not the receipt's, or the ledger
 * does not hold. INPUT: a file cannot be read, or the output is NOT PRIVATE. */
enum cuttle_status verification_compare(const struct verification *v,
                                        const struct verification_files *files,
                                        struct cuttle_error *error);

#endif
