// SPDX-License-Identifier: Apache-2.0
// The numbers of a trace, read off the mechanism and the logit source after a draw.
#ifndef CUTTLE_ENGINE_DIAGNOSIS_H
#define CUTTLE_ENGINE_DIAGNOSIS_H

#include "engine/logit_source.h"
#include "engine/plan.h"
#include "engine/trace.h"

/* Of the slot's step that was just drawn, before its next private_logits or append. step->text, step and token are given, the rest is
 * filled in. */
void diagnosis_of(const struct cuttle_plan *plan, const struct logit_source *source, size_t slot, bool alone,
                  struct cuttle_trace_step *step);

#endif
