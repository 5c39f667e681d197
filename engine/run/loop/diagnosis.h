// SPDX-License-Identifier: Apache-2.0
// diagnosis.h: the numbers of a trace (cuttle/trace.h) for one step.
// They are computed after each draw, when the job has a trace.
// Private data: yes. The numbers come from the references without protection.
// No guarantee covers them.
// How: diagnosis_of reads the mechanism and the logit source, which still hold the step. It knows
// InvisibleInk itself (plan->traced), whose numbers these are; other mechanisms have no trace.
#ifndef CUTTLE_ENGINE_RUN_LOOP_DIAGNOSIS_H
#define CUTTLE_ENGINE_RUN_LOOP_DIAGNOSIS_H

#include "engine/forward/logit_source.h"
#include "engine/run/plan/plan.h"
#include "engine/cuttle/trace.h"

/* Fills *step for the token that the slot has just drawn. Call it before the next private_logits or
 * append. step->text, step->step and step->token are given, all else is 0; the rest is filled in.
 * `alone`: the public row alone drew the token, so there are no private rows. */
void diagnosis_of(const struct cuttle_plan *plan, const struct logit_source *source, size_t slot,
                  bool alone, struct cuttle_trace_step *step);

#endif
