// SPDX-License-Identifier: Apache-2.0
// budget_split.h: which share of a budget is best spent on a bias, and which on references.
//
// A bias (cuttle learn) helps every text and is paid once; references help the text that they are
// shown for. Both read the same records, and their rho adds up. What each is worth follows from a
// formula that was fitted to one table of measurements (bench/SPENDING.md, "A learnt bias"). It is
// no theorem. Its numbers are public ones.
// Example: epsilon 1, 1000 records, 15 rows a text, T = 100: .7 of rho for the bias.
#ifndef CUTTLE_TOOLS_COMMON_BUDGET_SPLIT_H
#define CUTTLE_TOOLS_COMMON_BUDGET_SPLIT_H

#include "tools/common/verbs.h"

struct budget_split_request {
	double epsilon; /* of both together */
	double delta;
	uint64_t texts;   /* N, that references are shown for */
	uint32_t batch;   /* B, rows of a text */
	uint32_t tokens;  /* T, of a text */
	uint64_t records; /* of the input */
	uint64_t width;   /* numbers of the model's state, and of a bias */
	bool json;
};

/* Prints the share, and the two commands that spend it; prints on failure. Returns the exit code.
 */
int budget_split_print(const struct verb *verb, const struct budget_split_request *request);

#endif
