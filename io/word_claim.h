// SPDX-License-Identifier: Apache-2.0
// word_claim.h: reads a receipt of cuttle perturb back and checks that it agrees with itself.
//
// Called by workflow/verification, as io/claim is for receipts of cuttle generate.
// A receipt is public: no private data is here. Parameters, hashes and names are taken as they
// stand. The table, every epsilon, the sentence and the charge are made anew by the code that wrote
// them.
//
//     status = attest_open(path, &attested, error);
//     if (!status) status = word_claim_read(&attested, &claim, error);
//     if (!status) status = word_claim_check(&claim, NULL, error);
//     word_claim_free(&claim);
#ifndef CUTTLE_IO_WORD_CLAIM_H
#define CUTTLE_IO_WORD_CLAIM_H

#include "io/attest.h"
#include "io/word_receipt.h"

struct word_claim {
	struct attested attested;
	struct word_receipt receipt; /* its members, but without the signer */
};

/* Reads what was opened into *claim, which takes it over. Call word_claim_free after it, also after
 * a failure. INPUT: it is not a receipt of cuttle perturb. LEDGER: its bytes are not canonical
 * (io/receipt.h). */
enum cuttle_status word_claim_read(struct attested *attested, struct word_claim *claim,
                                   struct cuttle_error *error);

/* As claim_check. LEDGER: something does not agree; the message says what. */
enum cuttle_status word_claim_check(struct word_claim *claim, const char *key,
                                    struct cuttle_error *error);

void word_claim_free(struct word_claim *claim);

#endif
