// SPDX-License-Identifier: Apache-2.0
// receipt_claim.h: checks that the numbers of a receipt of cuttle generate follow from each other.
#ifndef CUTTLE_IO_RECEIPTS_RECEIPT_CLAIM_H
#define CUTTLE_IO_RECEIPTS_RECEIPT_CLAIM_H

#include "io/receipts/claim.h"
#include "io/receipts/receipt.h"

/* The `check` of GENERATE_KIND. Of a method but InvisibleInk it also sets the claim, which the
 * receipt that is made anew tells. */
const char *receipt_claim_check(const struct attested *attested, void *receipt);

#endif
