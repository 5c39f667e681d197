// SPDX-License-Identifier: Apache-2.0
// What generate --dry-run prints on standard output: configuration, guarantee, time and memory. It
// knows nothing of the references, so no private data passes through. tools/generate.c calls it.
#ifndef CUTTLE_TOOLS_COMMON_PREVIEW_H
#define CUTTLE_TOOLS_COMMON_PREVIEW_H

#include "tools/common/values.h"
#include "workflow/setup.h"

/* Prints the effective configuration and the guarantee. */
void preview_print(const struct generate_values *values, const struct setup *setup);
/* Prints how much time and memory the run would take. It measures for some seconds, or reads the
 * file that --bench names. On failure prints one line on standard error and returns the exit code,
 * else returns 0. */
int preview_print_cost(const struct verb *verb, const struct generate_values *values,
                       const struct setup *setup);
/* Prints one line when the weights cannot hold the clip for the epsilon that was asked for. Clip
 * and epsilon are then smaller. Else prints nothing. A run says it, too. */
void preview_say_cap(const struct generate_values *values, const struct setup *setup, FILE *file);

#endif
