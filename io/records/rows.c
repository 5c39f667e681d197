// SPDX-License-Identifier: Apache-2.0
// How rows.h splits. One function finds the end of a cell in the bytes that are at hand. Where they
// do not suffice, at least twice as many are fetched and the cell is begun again: the time follows
// from the size. The buffer's own bytes are rewritten where a cell has doubled quotes.
#include "io/records/rows.h"

#include "base/misuse.h"
#include <string.h>

enum cell_end { CELL_MORE, CELL_DELIMITED, CELL_ENDS_ROW, CELL_OPEN, CELL_BEHIND };
/* Offsets in the bytes that were searched. */
struct cell {
	size_t begin, end; /* what is in it */
	size_t next;       /* its delimiter or line end */
	bool quoted;
};

static bool is_space(const struct rows *rows, char byte) {
	return byte != rows->delimiter && (byte == ' ' || byte == '\t');
}

/* Whether a line ends at bytes[at]. A return that is the last byte may be one of two. */
static bool is_line_end(const struct rows *rows, const char *bytes, size_t size, size_t at) {
	return bytes[at] == '\n' ||
	       (bytes[at] == '\r' && (!rows->feeds || at + 1 == size || bytes[at + 1] == '\n'));
}

static size_t skip_spaces(const struct rows *rows, const char *bytes, size_t size, size_t at) {
	while (at < size && is_space(rows, bytes[at])) at++;
	return at;
}

/* The quote that closes a cell, or `size`. A doubled one closes nothing. */
static size_t find_closing_quote(const char *bytes, size_t size, size_t at) {
	while (at < size) {
		const char *quote = memchr(bytes + at, '"', size - at);
		if (!quote) break;
		at = (size_t)(quote - bytes);
		if (at + 1 >= size || bytes[at + 1] != '"') return at;
		at += 2;
	}
	return size;
}

/* What stands at the end of a cell. `whole`: no bytes follow those given. */
static enum cell_end end_of_cell(const struct rows *rows, const char *bytes, size_t size,
                                 bool whole, size_t at) {
	if (at == size) return whole ? CELL_ENDS_ROW : CELL_MORE;
	// A line end of two characters is taken at once, so its second one is needed.
	if (bytes[at] == '\r' && at + 1 == size && !whole) return CELL_MORE;
	if (is_line_end(rows, bytes, size, at)) return CELL_ENDS_ROW;
	return bytes[at] == rows->delimiter ? CELL_DELIMITED : CELL_BEHIND;
}

static enum cell_end find_cell(const struct rows *rows, const char *bytes, size_t size, bool whole,
                               size_t at, struct cell *cell) {
	at = skip_spaces(rows, bytes, size, at);
	*cell = (struct cell){.begin = at, .quoted = rows->quotes && at < size && bytes[at] == '"'};
	if (cell->quoted) {
		cell->begin++;
		cell->end = find_closing_quote(bytes, size, cell->begin);
		// The last byte may be the first of two quotes.
		if (cell->end + 1 >= size && !whole) return CELL_MORE;
		if (cell->end == size) return CELL_OPEN;
		cell->next = skip_spaces(rows, bytes, size, cell->end + 1);
		return end_of_cell(rows, bytes, size, whole, cell->next);
	}
	while (at < size && bytes[at] != rows->delimiter && !is_line_end(rows, bytes, size, at))
		at++;
	cell->next = cell->end = at;
	while (cell->end > cell->begin && is_space(rows, bytes[cell->end - 1])) cell->end--;
	return end_of_cell(rows, bytes, size, whole, at);
}

static size_t find_line_end(const struct rows *rows, const char *bytes, size_t size, size_t at) {
	while (at < size && !is_line_end(rows, bytes, size, at)) at++;
	return at;
}

/* Line ends among the bytes; \r\n is one. */
static size_t count_lines(const struct rows *rows, const char *bytes, size_t size) {
	size_t lines = 0;
	for (size_t i = 0; i < size; i++)
		lines += is_line_end(rows, bytes, size, i) &&
		         (bytes[i] == '\n' || i + 1 == size || bytes[i + 1] != '\n');
	return lines;
}

/* Takes the row's bytes and the line end behind them. */
static void take_row(struct rows *rows, struct row *row) {
	char *const end = row->bytes + row->size;
	const size_t left = source_left(rows->source) - row->size;
	const size_t ending = !left ? 0 : left > 1 && end[0] == '\r' && end[1] == '\n' ? 2 : 1;
	rows->line += count_lines(rows, row->bytes, row->size) + (ending > 0);
	if (rows->line == 1) rows->feeds = ending && end[ending - 1] == '\n';
	source_take(rows->source, row->size + ending);
}

/* Takes all to the next line end, however far that is. */
static enum cuttle_status skip_line(struct rows *rows, struct cuttle_error *error) {
	for (;;) {
		// Two bytes: the line end may have two.
		const enum cuttle_status status = source_more(rows->source, 2, error);
		if (status) return status;
		struct row row = {.bytes = source_bytes(rows->source)};
		const size_t left = source_left(rows->source);
		row.size = find_line_end(rows, row.bytes, left, 0);
		if (row.size + 1 < left || rows->source->ended) {
			take_row(rows, &row);
			return CUTTLE_OK;
		}
		source_take(rows->source, row.size);
	}
}

/* Ends a row in which no more cells can be found, from `at` on: with the line on which it went
 * wrong. */
static void end_broken_row(const struct rows *rows, struct row *row, const struct cell *cell,
                           enum cell_end end, size_t at, size_t size) {
	row->line += count_lines(rows, row->bytes, at);
	row->size = find_line_end(rows, row->bytes, size, at);
	row->fault = !cell->quoted || row->size > SOURCE_LINE      ? ROW_TOO_LONG
	             : end == CELL_BEHIND && row->size > cell->end ? ROW_AFTER_QUOTE
	                                                           : ROW_OPEN_QUOTE;
}

/* Finds where the row ends, or goes wrong, in at most SOURCE_LINE bytes. */
static enum cuttle_status find_row(struct rows *rows, struct row *row, struct cuttle_error *error) {
	enum { MOST = SOURCE_LINE + 2 }; // a longest row and its line end
	size_t at = 0;
	for (;;) {
		const size_t left = source_left(rows->source), size = left < MOST ? left : MOST;
		const bool whole = rows->source->ended && left <= MOST;
		struct cell cell;
		row->bytes = source_bytes(rows->source);
		const enum cell_end end = find_cell(rows, row->bytes, size, whole, at, &cell);
		if (end == CELL_MORE && size < MOST) {
			const size_t wanted = size < MOST / 2 ? 2 * size + 1 : MOST;
			const enum cuttle_status status = source_more(rows->source, wanted, error);
			if (status) return status;
			continue;
		}
		if (end == CELL_DELIMITED) {
			at = cell.next + 1;
			continue;
		}
		if (end != CELL_ENDS_ROW) {
			end_broken_row(rows, row, &cell, end, at, size);
			return CUTTLE_OK;
		}
		row->size = cell.next;
		row->fault = cell.next > SOURCE_LINE                         ? ROW_TOO_LONG
		             : !at && !cell.quoted && cell.begin == cell.end ? ROW_BLANK
		                                                             : ROW_RIGHT;
		return CUTTLE_OK;
	}
}

bool rows_next(struct rows *rows, struct row *row, enum cuttle_status *status,
               struct cuttle_error *error) {
	*row = (struct row){.line = rows->line + 1};
	*status = source_more(rows->source, 1, error);
	if (*status || !source_left(rows->source)) return false;
	*status = find_row(rows, row, error);
	if (*status) return false;
	row->folded = count_lines(rows, row->bytes, row->size) > 0;
	// The bytes of a row that is too long are not kept, and its end may be far.
	if (row->fault == ROW_TOO_LONG) *status = skip_line(rows, error);
	else take_row(rows, row);
	return !*status;
}

/* Writes one quote for each two. */
static size_t halve_quotes(char *bytes, size_t size) {
	size_t used = 0;
	for (size_t i = 0; i < size; i++) {
		bytes[used++] = bytes[i];
		i += bytes[i] == '"';
	}
	return used;
}

bool rows_cell(const struct rows *rows, struct row *row, const char **cell, size_t *size) {
	struct cell found;
	REQUIRE(row->fault == ROW_RIGHT);
	if (row->ended) return false;
	row->ended =
	    find_cell(rows, row->bytes, row->size, true, row->at, &found) != CELL_DELIMITED;
	row->at = found.next + 1;
	*cell = row->bytes + found.begin;
	*size = found.end - found.begin;
	if (found.quoted) *size = halve_quotes(row->bytes + found.begin, *size);
	return true;
}
