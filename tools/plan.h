// SPDX-License-Identifier: Apache-2.0
// The table of cuttle budget plan: what clips, references and hours a list of epsilons and batches would take.
#ifndef CUTTLE_TOOLS_PLAN_H
#define CUTTLE_TOOLS_PLAN_H

#include "tools/verbs.h"

enum plan_format { PLAN_MD, PLAN_JSON, PLAN_CSV };

struct plan_request {
	const char *epsilons, *batches; /* numbers with commas */
	struct cuttle_budget known;     /* delta, temperature, tokens, grid, group, spread; the rest not given */
	double texts;
	double rows_per_s; /* NaN = not given */
	const char *bench; /* what cuttle bench -o json printed; NULL = not given */
	enum plan_format format;
};

/* Prints on standard output, or on failure one line on standard error; returns the exit code. */
int plan_print(const struct verb *verb, const struct plan_request *request);

#endif
