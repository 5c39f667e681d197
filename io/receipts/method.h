// SPDX-License-Identifier: Apache-2.0
// method.h: what a receipt says of a method other than InvisibleInk.
//
// A receipt of InvisibleInk has none of these members. No private data: all numbers are public. For
// example:
//     "claim": {"eta": 0.05, "ledger": "rho", "null": "nothing", "units": 200}
//     "method": "dp-prompt"
//     "parameters": {"clip_width": 0.05}
#ifndef CUTTLE_IO_RECEIPTS_METHOD_H
#define CUTTLE_IO_RECEIPTS_METHOD_H

#include "engine/cuttle/guarantee.h"
#include "io/receipts/receipt.h"
#include <jansson.h>

/* Adds "method", "claim", "parameters" and "vocabulary". Takes the object; NULL: out of memory. */
json_t *method_add(json_t *object, const struct cuttle_guarantee *guarantee);

/* The guarantee's sentence goes on with this, behind a space; "" = nothing to add. */
enum { METHOD_SENTENCE = 320 };
void method_sentence(const struct cuttle_guarantee *guarantee, enum receipt_wording wording,
                     char sentence[METHOD_SENTENCE]);

/* What every text and receipt of a method that promises nothing says, without a full stop. */
void method_not_private(const struct cuttle_guarantee *guarantee, enum receipt_wording wording,
                        char sentence[METHOD_SENTENCE]);

#endif
