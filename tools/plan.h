// SPDX-License-Identifier: Apache-2.0
// Prints the table of cuttle budget plan: one row for each pair of an epsilon and a batch. A row
// says which clip each accountant allows and how many references N texts need. With -m or --bench
// it also has hours and memory. tools/budget.c calls it. No private data passes through.
#ifndef CUTTLE_TOOLS_PLAN_H
#define CUTTLE_TOOLS_PLAN_H

#include "tools/common/verbs.h"

enum plan_format { PLAN_MD, PLAN_JSON, PLAN_CSV };

struct plan_request {
	const char *epsilons; /* numbers with commas, as in "1,3,5" */
	const char *batches;  /* whole numbers with commas, as in "7,15" */
	/* Holds delta, temperature, tokens, grid, group and spread. The rest is not given. */
	struct cuttle_budget known;
	double texts;             /* to be written */
	uint64_t shots;           /* R, references of a row */
	uint64_t records;         /* of the input; COUNT_NONE = not given */
	double rows_per_s;        /* NaN = not given */
	const char *bench;        /* file from cuttle bench -o json; NULL = not given */
	struct model_values open; /* the model to be measured; its path is NULL = not given */
	enum plan_format format;
};

/* Prints the table on standard output, or on failure one line on standard error. Returns the exit
 * code. */
int plan_print(const struct verb *verb, const struct plan_request *request);

#endif
