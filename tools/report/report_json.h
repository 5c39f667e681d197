// SPDX-License-Identifier: Apache-2.0
// report_json.h: a report as JSON, with every number of the files that it was made from.
//
// Each receipt, evaluation and audit stands in it whole, as "document", beside what was found about
// it. Numbers may be PRIVATE; each document says so.
#ifndef CUTTLE_TOOLS_REPORT_REPORT_JSON_H
#define CUTTLE_TOOLS_REPORT_REPORT_JSON_H

#include "tools/report/report_text.h"

/* The caller owns it. NULL: out of memory. */
json_t *report_json(const struct report *report);

#endif
