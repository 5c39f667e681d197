// SPDX-License-Identifier: Apache-2.0
// odds.h: what an epsilon means for a reader's belief, in numbers that a reader can check.
//
// No private data is here. Somebody holds a chance that a record was read, and then sees the texts.
// Its odds grow by at most the factor e^epsilon, but for delta. docs/EVIDENCE.md says more.
// Example, of epsilon 3: odds of 1 to 99, a chance of 1 %, become at most 20.1 to 99, or 16.9 %.
#ifndef CUTTLE_WORKFLOW_REPORT_ODDS_H
#define CUTTLE_WORKFLOW_REPORT_ODDS_H

enum { ODDS_TEXT = 32 }; /* bytes for a number in words, with its NUL */

/* The factor, e^epsilon, rounded up: "2.72", "20.1", "22,027"; "any number" where epsilon is not
 * finite. */
const char *odds_factor(double epsilon, char text[ODDS_TEXT]);

/* The most that a chance, above 0 and below 1, can become. 1 where epsilon is not finite. */
double odds_after(double epsilon, double chance);
/* The same in percent, rounded up: "16.9 %". */
const char *odds_after_words(double epsilon, double chance, char text[ODDS_TEXT]);

#endif
