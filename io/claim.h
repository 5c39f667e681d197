// SPDX-License-Identifier: Apache-2.0
// claim.h: reads a receipt back and checks that its members agree with each other.
//
// Called by workflow/verification. A receipt is public: no private data is here.
// Some members are what the run chose or was given: parameters, hashes, names. They are taken as
// they stand. All other members follow from them. They are made anew by the code that wrote them,
// and compared. Numbers of the accountants may differ by what two machines round differently.
//
//     struct claim claim;
//     status = attest_open(path, &attested, error);
//     if (!status) status = claim_read(&attested, &claim, error);
//     if (!status) status = claim_check(&claim, NULL, error);
//     claim_free(&claim);
#ifndef CUTTLE_IO_CLAIM_H
#define CUTTLE_IO_CLAIM_H

#include "io/attest.h"

struct claim {
	struct attested attested;
	struct receipt receipt;   /* its members, but without categories, model name and signer */
	const json_t *categories; /* a list, or NULL = the run had none */
	struct cuttle_lots *lots; /* what receipt.lots points to; owned */
	/* With private categories, what the receipt's members of these names point to; owned. */
	struct cuttle_histogram histogram;
	int64_t *counts;
	struct cuttle_lots *seats;
};

/* Reads what was opened into *claim, which takes it over. Call claim_free after it, also after a
 * failure. INPUT: it is not a receipt of cuttle generate. LEDGER: its bytes are not canonical
 * (io/receipt.h). */
enum cuttle_status claim_read(struct attested *attested, struct claim *claim,
                              struct cuttle_error *error);

/* Checks that the receipt agrees with itself and with its signature. `key` is the public key that
 * must have signed it; NULL accepts any key and no signature. The call takes the signature out of
 * the document, so call it once.
 * LEDGER: something does not agree; the message says what, and names the member where it can. */
enum cuttle_status claim_check(struct claim *claim, const char *key, struct cuttle_error *error);

void claim_free(struct claim *claim);

#endif
