// SPDX-License-Identifier: Apache-2.0
// claim.h: reads a receipt back and checks that its members agree with each other.
//
// Called by tools/receipt (cuttle receipt verify). A receipt is public: no private data is here.
// Some members are what the run chose or was given: parameters, hashes, names. They are taken as
// they stand. All other members follow from them. They are made anew by the code that wrote them,
// and compared. Numbers of the accountants may differ by what two machines round differently.
//
//     struct claim claim;
//     status = claim_read(path, &claim, error);
//     if (!status) status = claim_check(&claim, NULL, error);
//     claim_free(&claim);
#ifndef CUTTLE_IO_CLAIM_H
#define CUTTLE_IO_CLAIM_H

#include "io/receipt.h"

struct claim {
	const char *path;           /* for messages; the caller's string */
	json_t *root;               /* the document; the pointers below point into it */
	struct receipt receipt;     /* its members, but without categories, model name and signer */
	const char *sentence;       /* the guarantee in words: member "guarantee" */
	const char *command_sha256; /* hex */
	const char *output_sha256;  /* hex */
	const char *public_key;     /* NULL = not signed */
	const char *signature;      /* NULL = not signed */
	const json_t *categories;   /* a list, or NULL = the run had none */
};

/* Reads the receipt at path ("-" is standard input) into *claim. Call claim_free after it, also
 * after a failure.
 * INPUT: the file cannot be read, is not a receipt, or another version of cuttle wrote it. LEDGER:
 * its bytes are not canonical (io/receipt.h). NOMEM. */
enum cuttle_status claim_read(const char *path, struct claim *claim, struct cuttle_error *error);

/* Checks that the receipt agrees with itself and with its signature. `key` is the public key that
 * must have signed it; NULL accepts any key and no signature. The call takes the signature out of
 * the document, so call it once.
 * LEDGER: something does not agree; the message says what, and names the member where it can. */
enum cuttle_status claim_check(struct claim *claim, const char *key, struct cuttle_error *error);

void claim_free(struct claim *claim);

#endif
