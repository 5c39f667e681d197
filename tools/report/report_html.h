// SPDX-License-Identifier: Apache-2.0
// report_html.h: writes a report as one HTML file that stands alone.
//
// There is no script, and nothing is fetched: the page says so to the browser, too
// (Content-Security-Policy). What is PRIVATE stands in boxes that are hatched and stamped. It
// prints on A4: the first page for who answers for privacy, the next for who works with the texts.
#ifndef CUTTLE_TOOLS_REPORT_REPORT_HTML_H
#define CUTTLE_TOOLS_REPORT_REPORT_HTML_H

#include "tools/report/report_text.h"

void report_write_html(FILE *file, const struct report *report);

#endif
