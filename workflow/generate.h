// SPDX-License-Identifier: Apache-2.0
// generate.h: the system that writes texts like those of private records (workflow/system.h).
//
// The PRIVATE references pass through here, from workflow/references.c to the engine. With lots
// their key does, too, and is wiped. The order of a run is that of workflow/run.h.
#ifndef CUTTLE_WORKFLOW_GENERATE_H
#define CUTTLE_WORKFLOW_GENERATE_H

#include "workflow/run.h"
#include "workflow/setup.h"

/* Runs the request, once for each setup. It must have passed generate_check, have input and
 * output, and be the one that setup was made from. Changes the receipt in setup. The guarantee
 * becomes that of the unit which the run costs most. The charge and what became of the texts are
 * set. Statuses as run_system, likelihood_open, references_read and cuttle_job_run. */
enum cuttle_status generate_texts(const struct generate_request *request, struct setup *setup,
                                  const struct run_events *events, struct cuttle_error *error);

#endif
