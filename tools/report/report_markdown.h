// SPDX-License-Identifier: Apache-2.0
// report_markdown.h: writes a report as Markdown: what the HTML says, without charts.
//
// What is PRIVATE is stamped above and below.
#ifndef CUTTLE_TOOLS_REPORT_REPORT_MARKDOWN_H
#define CUTTLE_TOOLS_REPORT_REPORT_MARKDOWN_H

#include "tools/report/report_text.h"

void report_write_markdown(FILE *file, const struct report *report);

#endif
