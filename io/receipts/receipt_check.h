// SPDX-License-Identifier: Apache-2.0
// receipt_check.h: checks that the numbers of a receipt of cuttle generate follow from each other.
#ifndef CUTTLE_IO_RECEIPTS_RECEIPT_CHECK_H
#define CUTTLE_IO_RECEIPTS_RECEIPT_CHECK_H

#include "io/receipts/evidence.h"
#include "io/receipts/receipt.h"

/* The `check` of GENERATE_KIND. Of a method but InvisibleInk it also sets the claim, which the
 * receipt that is made anew tells. */
const char *receipt_check(const struct attested *attested, void *receipt);

#endif
