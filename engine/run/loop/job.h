// SPDX-License-Identifier: Apache-2.0
// job.h: a job of a plan as the generation loop reads it: texts written from references.
// Private data: references pass through, and the PRIVATE trace where the job asks for one.
#ifndef CUTTLE_ENGINE_RUN_LOOP_JOB_H
#define CUTTLE_ENGINE_RUN_LOOP_JOB_H

#include "engine/cuttle/job.h"
#include "engine/forward/logit_source.h"
#include "engine/run/plan/plan.h"

/* Runs a job as cuttle_job_run does, over any logit source. PARTIAL, INTERNAL, NOMEM, MODEL: as
 * there. USAGE when --mlock is refused. */
enum cuttle_status job_generate(struct cuttle_plan *plan, const struct cuttle_job *job,
                                const struct logit_source *source, struct cuttle_error *error);

#endif
