// SPDX-License-Identifier: Apache-2.0
// rows.h: splits CSV and TSV into rows, and a row into cells.
//
// The bytes are private; they stay in the source's buffer.
// A row ends at a line end that no quotes enclose. The file's first line, which is public, says
// whether a carriage return alone is one: where that line ends with a line feed, such a return is
// a character, as other programs write it without quotes. What a broken quote does is limited to
// its own row. A quote is broken that nobody closes within 16 MiB, or that has text behind its end.
// It spoils the row that has it. That row ends with the line on which the quote opens. The next
// line is a row again. So where a row ends follows from its own bytes, but for a quote left open.
// Such a quote reaches to the next quote that is not doubled, and encloses the lines between where
// that one ends a cell.
#ifndef CUTTLE_IO_RECORDS_ROWS_H
#define CUTTLE_IO_RECORDS_ROWS_H

#include "io/records/source.h"

struct rows {
	struct source *source;
	char delimiter;
	bool quotes; /* a cell may be quoted, as in CSV */
	size_t line; /* number of the next row's first line, less 1 */
	bool feeds;  /* no line ends with a carriage return alone; set by the first line */
};

enum row_fault {
	ROW_RIGHT,
	ROW_BLANK,       /* nothing but spaces */
	ROW_OPEN_QUOTE,  /* a quote is not closed */
	ROW_AFTER_QUOTE, /* something follows a closing quote */
	ROW_TOO_LONG,    /* more than SOURCE_LINE bytes */
};

struct row {
	char *bytes;
	size_t size; /* bytes, without the line end */
	size_t at;   /* where the next cell begins */
	bool ended;  /* no cell is left */
	enum row_fault fault;
	size_t line; /* from 1: where the row begins; of a broken quote where it opens */
	bool folded; /* it has line ends within quotes */
};

/* Finds the next row. False, with status OK: there is none. INPUT: read error. The row is valid
 * until the next call. */
bool rows_next(struct rows *rows, struct row *row, enum cuttle_status *status,
               struct cuttle_error *error);
/* The next cell of a row without a fault: without the spaces around it, without its quotes. A
 * doubled quote becomes one in its place, so the cells of a row can be found once. False: there is
 * none. */
bool rows_cell(const struct rows *rows, struct row *row, const char **cell, size_t *size);

#endif
