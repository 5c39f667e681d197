// SPDX-License-Identifier: Apache-2.0
// Makes the generate line that fits a file of records. cuttle inspect prints it. How many texts the
// line asks for follows from the number of records, which is public; where the line declares
// categories public, from theirs. Names of fields, and of categories that are declared public, can
// come from the records, so control characters in them are replaced.
#ifndef CUTTLE_TOOLS_COMMON_SUGGESTION_H
#define CUTTLE_TOOLS_COMMON_SUGGESTION_H

#include "io/records/survey.h"
#include "tools/common/values.h"

/* Makes the line. The caller gives it to secrecy_free. NULL: no category that is declared public
 * has enough records for one text, there is no record at all, or no memory. Categories stay
 * private, but where owners are units or categories have shares. Lots then use half of the records.
 * The line repeats the options in `given`: the table is that of `verb`, and its names are
 * generate's. text_field replaces the field given there, unless it is NULL. Last comes the number
 * of texts that there are records for: with 100 records and B = 7 it is -N 14. */
char *suggestion_line(const struct verb *verb, const struct generate_values *given,
                      const struct records *records, const struct survey *survey,
                      const char *text_field);

/* The shots of that line: 1, whatever was given, where generate refuses more because categories
 * stay private. Also 1 where owners are units: places over an owner's limit would take most rows
 * away. */
uint32_t suggestion_shots(const struct generate_values *given);

/* Prints the bytes, with '?' for each control character. So nothing in a document can command a
 * terminal. */
void suggestion_clean(FILE *file, const char *text, size_t size);

#endif
