// SPDX-License-Identifier: Apache-2.0
// generate.h: the generation loop, InvisibleInk's Algorithm 1.
// Called by: cuttle_job_run (generate.c) over a lockstep; tests over a stub.
// Private data: references and private logits pass through. Only drawn tokens come out, and the
// PRIVATE trace where the job asks for one.
// How: generate_run(plan, job, source, error) draws every token of every text of the job. It joins
// four things: the logit source, the mechanism of the plan, one transcript per batch, and the
// caller's callbacks.
#ifndef CUTTLE_ENGINE_GENERATE_H
#define CUTTLE_ENGINE_GENERATE_H

#include "engine/cuttle/job.h"
#include "engine/forward/logit_source.h"
#include "engine/run/plan.h"

/* Runs a job as cuttle_job_run does, over any logit source. PARTIAL, INTERNAL, NOMEM, MODEL: as
 * there. USAGE when --mlock is refused. */
enum cuttle_status generate_run(struct cuttle_plan *plan, const struct cuttle_job *job,
                                const struct logit_source *source, struct cuttle_error *error);

#endif
