// SPDX-License-Identifier: Apache-2.0
// formats.h: refuses files of foreign formats, with the command that turns them into JSONL or CSV.
//
// A file is judged by the ending of its name and its first FORMATS_MARK bytes. These belong to the
// file as a whole. Nothing else of the content is looked at, because then the refusal would tell
// something about a record. For example, a line of JSONL that begins with "[" is a JSON array,
// hence a null record. That holds for the first line too. So a file that is one JSON array is known
// by its ending .json alone.
//
// A mark is how the files of a foreign format begin. JSON, a blank and the byte order mark of UTF-8
// never begin so. A file with a mark is thus no input, and the guarantee is about inputs. So the
// first bytes count as public (dp/PRIVACY.md, "What is wrong with a record, and with the file").
#ifndef CUTTLE_IO_DISK_FORMATS_H
#define CUTTLE_IO_DISK_FORMATS_H

#include "engine/cuttle/status.h"

enum { FORMATS_MARK = 16 }; /* bytes of the longest mark, that of SQLite */

/* INPUT: the name has an ending of a foreign format. Standard input, "-", has no ending: OK. */
enum cuttle_status formats_check_name(const char *path, struct cuttle_error *error);
/* USAGE: an output's name has the ending of a format that cuttle does not write. */
enum cuttle_status formats_check_output(const char *option, const char *path,
                                        struct cuttle_error *error);
/* USAGE: an output of JSON lines is named as a table; a spreadsheet would take a line for cells. */
enum cuttle_status formats_check_lines(const char *option, const char *path,
                                       struct cuttle_error *error);
/* Whether a spreadsheet takes a cell with this text for a formula, and runs it. */
bool formats_formula(const char *text, size_t size);
/* INPUT: the file begins with a foreign format's mark. Pass its first FORMATS_MARK bytes or more;
 * fewer only if the file is shorter. */
enum cuttle_status formats_check_start(const char *path, const char *bytes, size_t size,
                                       struct cuttle_error *error);

#endif
