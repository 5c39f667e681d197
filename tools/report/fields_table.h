// SPDX-License-Identifier: Apache-2.0
// fields_table.h: writes the table of evaluate --schema as Markdown, JSON or CSV.
//
// Of private records every number is private. Each form then says so in itself, as
// tools/report/evaluate_table.h has it. Example, a line of the CSV:
//     run,"out.jsonl",PRIVATE,distance,"ward",,0.0312,0.011
#ifndef CUTTLE_TOOLS_REPORT_FIELDS_TABLE_H
#define CUTTLE_TOOLS_REPORT_FIELDS_TABLE_H

#include "tools/report/evaluate_table.h"
#include "workflow/evaluate/evaluate_fields.h"

/* The table's bytes, which secrecy_free frees; *size is their number. NULL: out of memory. */
char *fields_render(enum evaluate_form form, const struct evaluated_fields *fields,
                    const struct evaluate_request *request, const char *stamp, size_t *size);

#endif
