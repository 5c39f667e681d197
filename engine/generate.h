// SPDX-License-Identifier: Apache-2.0
// The loop of InvisibleInk, Algorithm 1: a logit source, a mechanism, a transcript, and the caller's callbacks.
#ifndef CUTTLE_ENGINE_GENERATE_H
#define CUTTLE_ENGINE_GENERATE_H

#include "engine/logit_source.h"
#include "engine/plan.h"

/* cuttle_job_run over any logit source. */
enum cuttle_status generate_run(struct cuttle_plan *plan, const struct cuttle_job *job, const struct logit_source *source,
                                struct cuttle_error *error);

#endif
