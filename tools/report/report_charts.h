// SPDX-License-Identifier: Apache-2.0
// report_charts.h: the charts of a report, each one inline SVG.
//
// Numbers may be PRIVATE; the box that they stand in says so. A chart that has nothing to show is
// not drawn, and the function says false.
#ifndef CUTTLE_TOOLS_REPORT_REPORT_CHARTS_H
#define CUTTLE_TOOLS_REPORT_REPORT_CHARTS_H

#include "tools/report/report_text.h"

enum { CHART_COLOURS = 6 };
/* The colour of a row of an evaluation, as a class: "run0" to "run5", "real" or "alone". */
const char *chart_colour(const struct report_evaluation *e, size_t row);

/* MAUVE of the rows whose receipts are in the report, over their epsilon; anchors as lines. */
bool chart_mauve(FILE *file, const struct report *report, const struct report_evaluation *e);
/* One histogram of a row, before that of all references. */
bool chart_histogram(FILE *file, const struct report_evaluation *e, int which, size_t row);
/* The share of true alarms that any test can have at most. It follows from a receipt, or from what
 * an audit took as claimed, with the alarms of its games. The other one is NULL. */
bool chart_alarms(FILE *file, const struct report_receipt *receipt,
                  const struct report_audit *audit);
/* Spent and left of a budget, in epsilon. */
bool chart_budget(FILE *file, const struct ledger_standing *standing);

#endif
