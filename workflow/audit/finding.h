// SPDX-License-Identifier: Apache-2.0
// finding.h: what an audit found of one mechanism, or of one file of texts: numbers and bounds.
//
// Of private references all of it is PRIVATE.
// Example: finding_add(&game, "hits", "\"with\" said ...", 87, 0).
#ifndef CUTTLE_WORKFLOW_AUDIT_FINDING_H
#define CUTTLE_WORKFLOW_AUDIT_FINDING_H

#include <stdbool.h>
#include <stddef.h>

/* A number of the report. */
struct audit_number {
	const char *key;   /* in JSON */
	const char *words; /* for readers */
	double value;
	int digits; /* behind the point */
};
enum { AUDIT_NUMBERS = 20 };

/* What games of one mechanism gave. */
struct audit_game {
	struct audit_number numbers[AUDIT_NUMBERS];
	size_t count;
	bool bounded;   /* the four below are set */
	double likely;  /* epsilon is at least this, with a chance of error of 5 % */
	double sure;    /* likewise, 1e-6 */
	double most;    /* what `likely` would be, had every game been won */
	double refutes; /* what `sure` would be: no outcome contradicts a claim of this or more */
};

#define FINDING_LIKELY .05 /* chance of error of a bound that illustrates */
#define FINDING_SURE 1e-6  /* of one that refutes a claim */

/* Adds a number; more than AUDIT_NUMBERS are a caller bug. */
void finding_add(struct audit_game *game, const char *key, const char *words, double value,
                 int digits);
void finding_bound(struct audit_game *game, double likely, double sure, double most,
                   double refutes);
/* The number with this key; NaN: there is none. */
double finding_number(const struct audit_game *game, const char *key);

#endif
