// SPDX-License-Identifier: Apache-2.0
// rewrite_claim.h: reads a receipt of cuttle sanitize back and checks that it agrees with itself.
//
// Called by workflow/verification, as io/claim is for receipts of cuttle generate.
// A receipt is public: no private data is here. The caps, parameters, hashes and names are taken as
// they stand. Every cost, the sentence and the charge are made anew by the code that wrote them.
//
//     status = attest_open(path, &attested, error);
//     if (!status) status = rewrite_claim_read(&attested, &claim, error);
//     if (!status) status = rewrite_claim_check(claim, NULL, error);
//     rewrite_claim_free(&claim);
#ifndef CUTTLE_IO_REWRITE_CLAIM_H
#define CUTTLE_IO_REWRITE_CLAIM_H

#include "io/attest.h"
#include "io/rewrite_receipt.h"

struct rewrite_claim {
	struct attested attested;
	struct groups groups;
	struct rewrite_receipt receipt; /* its members, but without model name and signer */
};

/* Reads what was opened into *claim, which takes it over. Call rewrite_claim_free after it, also
 * after a failure. INPUT: it is not a receipt of cuttle sanitize. LEDGER: its bytes are not
 * canonical (io/receipt.h). NOMEM. */
enum cuttle_status rewrite_claim_read(struct attested *attested, struct rewrite_claim **claim,
                                      struct cuttle_error *error);

/* As claim_check. LEDGER: something does not agree; the message says what. */
enum cuttle_status rewrite_claim_check(struct rewrite_claim *claim, const char *key,
                                       struct cuttle_error *error);

void rewrite_claim_free(struct rewrite_claim **claim);

#endif
