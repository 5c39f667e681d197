// SPDX-License-Identifier: Apache-2.0
// prior.h: the token prior of a run: the noisy counts of the records' tokens, which are drawn once.
//
// Call it after the run was charged and before a token is drawn. The records pass through, and are
// private; the noisy counts are not (dp/PRIVACY.md, step 44).
#ifndef CUTTLE_WORKFLOW_PRIOR_H
#define CUTTLE_WORKFLOW_PRIOR_H

#include "workflow/delivery.h"
#include "workflow/references.h"

/* Takes the counts of a run that is continued from its journal, or draws them and makes them
 * durable there. To draw them is to spend: before that the charge counts as drawn. Then the plan of
 * setup draws by them, and its receipt says how many stood out. PARTIAL: the journal has tokens and
 * no counts, or cannot be written. INPUT: its counts are none of this model. INTERNAL: there are no
 * random bits. NOMEM. Else as delivery_draw. */
enum cuttle_status prior_take(const struct generate_request *request, struct setup *setup,
                              struct delivery *delivery, const struct references *references,
                              struct cuttle_error *error);

#endif
