// SPDX-License-Identifier: Apache-2.0
// report_text.h: how foreign text and numbers stand in a report.
//
// Names of files, categories and data sets are somebody else's. No byte of them may become markup
// or a link, or turn the direction of the text around it.
// Example: <b>&amp; in HTML is &lt;b&gt;&amp;amp; and in Markdown \<b\>&amp;amp; for one.
#ifndef CUTTLE_TOOLS_REPORT_REPORT_TEXT_H
#define CUTTLE_TOOLS_REPORT_REPORT_TEXT_H

#include "io/records/units.h"
#include "workflow/report/report.h"
#include <stdio.h>

/* Whether a character is not seen as itself: control characters, what turns text around, joiners,
 * spaces of no width, and tags. */
bool report_invisible(uint32_t character);

/* Text for HTML and SVG, inside an element or a quoted attribute. A control character, and one that
 * is not seen or turns text around, is shown as its number: [U+202E]. NULL is nothing. */
void report_html(FILE *file, const char *text);
/* The same for Markdown, within a line: each character that means something there is escaped. */
void report_markdown(FILE *file, const char *text);
/* A word of a command line as a shell takes it: in quotes where it must be. For HTML and Markdown's
 * code it must be escaped on the way, so it comes as text; the caller frees it. NULL: no memory. */
char *report_shell_word(const char *text);

/* The last part of a path: folders tell about somebody's machine. */
const char *report_base_name(const char *path);

/* A number in six digits, rounded up where `up`: epsilons and deltas. "none" for one not finite. */
const char *report_number(double value, bool up, char text[UNITS_NUMBER]);

/* What a receipt's epsilon is of, and the one of all: "epsilon of a word", "epsilon of a text". */
const char *report_epsilon_words(const struct report_receipt *receipt, bool all);

/* Budgets: epsilon of what is spent (rounded up) and left (rounded down). */
double report_epsilon_spent(const struct ledger_standing *standing);
double report_epsilon_left(const struct ledger_standing *standing);

/* What an audit says, in a few words: it contradicts, is void, or found nothing. */
const char *report_finding(const struct report_audit *audit);

/* Columns of the evaluation that are shown together, as a table with a title. */
struct report_group {
	const char *title;
	int first; /* columns of workflow/evaluate/evaluation.h */
	int last;
};
enum { REPORT_GROUPS = 7 };
extern const struct report_group report_groups[REPORT_GROUPS];
/* Whether any row of the evaluation has a number in this column, or in any of a group. */
bool report_column_shown(const struct report_evaluation *e, int column);
bool report_group_shown(const struct report_evaluation *e, const struct report_group *group);

#endif
