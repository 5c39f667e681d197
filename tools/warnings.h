// SPDX-License-Identifier: Apache-2.0
// Warns before a generate run draws of settings that are legal but hardly ever meant.
//
// tools/generate.c calls it: a run once it is charged, --dry-run below its table. The warnings
// follow from options, model, prompts and public examples. Of the references they use one number:
// what the run costs the owner whom it costs most. They use it only where --unit-key alone declares
// it public. So two inputs that must look alike get the same warnings.
#ifndef CUTTLE_TOOLS_WARNINGS_H
#define CUTTLE_TOOLS_WARNINGS_H

#include "tools/setup.h"

/* Prints a line for each warning on standard error, and in every run one line about cuttle inspect.
 * Prints nothing with --quiet. */
void warnings_print(const struct generate_values *values, const struct setup *setup);

#endif
