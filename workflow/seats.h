// SPDX-License-Identifier: Apache-2.0
// seats.h: how many texts each private cluster gets: by noisy counts, which are drawn once.
//
// Call it after the run was charged and before a record has a place. The cluster of each record
// passes through, and is private; the noisy counts are not (dp/PRIVACY.md, step 40). Whatever gives
// each record its cluster, or none, may stand before it: here the category does. Example: N = 20
// and noisy counts 11, 151 and 302 with B = 15: 0, 7 and 13 texts.
#ifndef CUTTLE_WORKFLOW_SEATS_H
#define CUTTLE_WORKFLOW_SEATS_H

#include "workflow/delivery.h"
#include "workflow/references.h"

/* Takes the counts of a run that is continued from its journal, or draws them and makes them
 * durable there. To draw them is to spend: before that the charge counts as drawn. Then it deals
 * out the texts. It changes the seats of setup, and the texts of its categories and of its receipt,
 * which may become fewer, and 0. Sets references->cluster. PARTIAL: the journal has tokens and no
 * counts, or cannot be written. INTERNAL: there are no random bits. NOMEM. Else as delivery_draw.
 */
enum cuttle_status seats_take(const struct generate_request *request, struct setup *setup,
                              struct delivery *delivery, struct references *references,
                              struct cuttle_error *error);

#endif
