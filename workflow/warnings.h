// SPDX-License-Identifier: Apache-2.0
// warnings.h: warns before a run draws of settings that are legal but hardly ever meant.
//
// A run is warned once it is charged, a dry run below its table. What is said of a small model all
// verbs say that write with one. The warnings follow from request, model, prompts and public
// examples. Of the references they use one number: what the run costs the owner whom it costs most.
// They use it only where --unit-key alone declares it public. So two inputs that must look alike
// get the same warnings.
#ifndef CUTTLE_WORKFLOW_WARNINGS_H
#define CUTTLE_WORKFLOW_WARNINGS_H

#include "workflow/setup.h"
#include <stdio.h>

/* Says of a model below a billion parameters what it is for, and what larger ones take. */
void warnings_model(FILE *file, const struct cuttle_model_info *model);

/* Says where a bias was learnt behind another public prompt than that of the texts, whose template
 * this is (cuttle_plan_template). */
void warnings_bias(FILE *file, const struct setup *setup, const char *template);

/* Says of a bias that its epsilon or its delta protects little. The number of records is public. */
void warnings_learn(FILE *file, const struct learn_receipt *receipt);

/* Prints a line for each warning to the file, and in every run one line about cuttle inspect. */
void warnings_print(FILE *file, const struct generate_request *request, const struct setup *setup);

#endif
