// SPDX-License-Identifier: Apache-2.0
// How records.h reads: JSONL line by line through jansson, CSV row by row (rows.h).
//
// All that is kept is in two arenas. `texts` has the bytes, one after the other; `spans` says where
// they are. With one label a record has 3 spans, its text, id and label: those of record 2 are
// spans 6, 7 and 8. A third, `room`, is as large as jansson's blocks for one record may need,
// whatever is in it. It goes when all are read.
#include "io/records/records.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/formats.h"
#include "io/disk/jsonline.h"
#include "io/records/rows.h"
#include "io/disk/secrecy.h"
#include "io/records/source.h"
#include "io/schema/record.h"
#include "io/schema/table.h"
#include <jansson.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>

enum {
	NONE = -1,      /* no column, or no character */
	JSON = 3 << 25, /* bytes that jansson may take for one record: 96 MiB. A line that is one
	                   text never needs so many. */
	FORM = 1 << 27, /* bytes of a record in its schema's form, which never needs more: 1e17, has
	                   20 there, and JSON bytes hold 2.1 million such numbers. A cell of 16 MiB
	                   of the byte 1 has 96 MiB: \u0001 for each */
	WORD = 1024,    /* bytes of an id or a label at most, where texts are cut */
	WORD_JSON = 6 * WORD + 2 /* bytes of that id as JSON at most: \u0001 for each byte, and two
	                            quotes */
};

struct span {
	size_t offset, size; /* bytes in `texts` */
	/* RECORD_READABLE: the record has these bytes. Else it has none, and for a text the state
	 * says why. */
	enum record_state state;
};
/* A record is a row of spans: its text, its id, its labels. */
enum { TEXT, ID, LABELS };
struct records {
	struct arena texts, spans;
	struct arena room; /* empty when all are read */
	struct arena form; /* likewise: a record in its schema's form */
	size_t width;      /* spans in a row */
	size_t most;       /* bytes kept of a text at most; 0 = any number */
	size_t each;       /* bytes kept of a record at most; of no meaning when `most` is 0 */
	bool id_is_owner;
};

/* Which column each span comes from. */
struct columns {
	long of[LABELS + RECORDS_LABELS]; /* NONE: no column has its name */
	struct schema_table *table;       /* with a schema: its members; NULL = none */
	long *members;                    /* [columns of the table] likewise */
};

static bool keep_bytes(struct records *records, struct span *span, const char *text, size_t size) {
	*span = (struct span){records->texts.used, size, RECORD_READABLE};
	return arena_append(&records->texts, text, size);
}

/* Keeps a text. With `most` it is trimmed and cut to so many bytes, never inside a character. */
static bool keep_text(struct records *records, struct span *span, const char *text, size_t size) {
	if (records->most) utf8_trim(&text, &size);
	if (records->most && size > records->most) {
		size = records->most;
		while (size && ((unsigned char)text[size] & 0xC0) == 0x80) size--;
	}
	return keep_bytes(records, span, text, size);
}

/* Where texts are cut, an id or label longer than WORD is left out. */
static bool is_left_out(const struct records *records, size_t size) {
	return records->most && size > WORD;
}

/* Keeps a label that is a string. */
static bool keep_word(struct records *records, struct span *span, const char *text, size_t size) {
	return is_left_out(records, size) || keep_bytes(records, span, text, size);
}

/* Reserves the most that one more record can take. So the memory follows from the number of records
 * alone. With `each` = 100 there is room for 400 bytes after 3 records, even if all are null. */
static bool make_room(struct records *records) {
	size_t all;
	if (!records->most) return true;
	return !__builtin_mul_overflow(records->each, records_count(records) + 1, &all) &&
	       arena_reserve(&records->texts, all - records->texts.used);
}

static bool add_row(struct records *records, const struct span *row) {
	return arena_append(&records->spans, row, records->width * sizeof *row) &&
	       make_room(records);
}

static bool keep_number(struct records *records, struct span *span, double value) {
	char digits[32];
	int size = snprintf(digits, sizeof digits, "%.15g", value);
	bool kept = keep_bytes(records, span, digits, (size_t)size);
	sodium_memzero(digits, sizeof digits);
	return kept;
}

static bool keep_id(struct records *records, struct span *span, const json_t *id) {
	// Many programs write 7.0 for 7. Above 1e15 not each whole number is a real one.
	const double real = json_real_value(id);
	const bool whole =
	    json_is_integer(id) || (json_is_real(id) && real == rint(real) && fabs(real) < 1e15);
	if (!json_is_string(id) && !whole) return true;
	if (is_left_out(records, json_string_length(id))) return true;
	char digits[32], *text = digits;
	const json_int_t number = json_is_real(id) ? (json_int_t)real : json_integer_value(id);
	if (json_is_string(id)) text = json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT);
	else
		(void)snprintf(digits, sizeof digits,
		               records->id_is_owner ? "\"%" JSON_INTEGER_FORMAT "\""
		                                    : "%" JSON_INTEGER_FORMAT,
		               number);
	bool kept = !text || keep_bytes(records, span, text, strlen(text));
	if (text != digits) secrecy_free(text);
	sodium_memzero(digits, sizeof digits);
	return kept;
}

static bool keep_label(struct records *records, struct span *span, const json_t *label) {
	if (json_is_string(label))
		return keep_word(records, span, json_string_value(label),
		                 json_string_length(label));
	if (json_is_boolean(label)) {
		const bool yes = json_is_true(label);
		return keep_word(records, span, yes ? "true" : "false", yes ? 4 : 5);
	}
	if (json_is_real(label)) return keep_number(records, span, json_real_value(label));
	if (!json_is_integer(label)) return true;
	char digits[32];
	const int size =
	    snprintf(digits, sizeof digits, "%" JSON_INTEGER_FORMAT, json_integer_value(label));
	const bool kept = keep_bytes(records, span, digits, (size_t)size);
	sodium_memzero(digits, sizeof digits);
	return kept;
}

static bool is_blank(const char *text, size_t size) {
	utf8_trim(&text, &size);
	return !size;
}

/* Keeps an object that fits the schema as its text. */
static bool keep_object(struct records *records, struct span *span,
                        const struct records_request *request, const json_t *root) {
	bool fits;
	records->form.used = 0;
	if (schema_record(request->schema, root, &records->form, &fits)) return false;
	if (fits) return keep_text(records, span, records->form.bytes, records->form.used);
	if (request->on_misfit)
		request->on_misfit(request->user, schema_misfit(request->schema, root));
	return true;
}

/* For a line without a text: why it has none. `root` is the line as JSON, NULL = it is not. */
static enum record_state state_of_line(const struct records_request *request, const char *line,
                                       size_t size, const json_t *root, const json_t *text) {
	if (is_blank(line, size)) return RECORD_BLANK;
	if (!utf8_valid(line, size)) return RECORD_NOT_UTF8;
	if (!root) {
		const enum jsonline_fault fault = jsonline_fault(line, size);
		return fault == JSONLINE_NAN         ? RECORD_NAN
		       : fault == JSONLINE_HALF_PAIR ? RECORD_HALF_PAIR
		                                     : RECORD_NOT_JSON;
	}
	if (!json_is_object(root)) return RECORD_NOT_JSON;
	if (request->schema) return RECORD_MISFIT;
	return text ? RECORD_NOT_TEXT : RECORD_NO_FIELD;
}

static void tell_fields(const struct records_request *request, json_t *root) {
	const char *name;
	json_t *value;
	json_object_foreach(root, name, value)
	    request->on_field(request->user, name, strlen(name), json_string_length(value));
}

/* Parses a line as jsonline_mend writes it, from which jansson's blocks stand in `room` after it.
 */
static json_t *parse_mended_record(struct records *records, const char *line, size_t size,
                                   bool words) {
	enum { APART = 64 };
	struct arena *room = &records->room;
	room->used = 0;
	if (!jsonline_mend(room, line, size, words)) return NULL;
	const size_t mended = room->used;
	room->used = (mended + APART - 1) / APART * APART;
	return json_loadb(room->bytes, mended, JSON_ALLOW_NUL, NULL);
}

/* Parses a line, NULL = it is not JSON. A number that is too large for jansson does not make the
 * record wrong. *plain: the line needed no mending. A line that takes more than JSON bytes fails
 * each time and is null. */
static json_t *parse_record(struct records *records, const char *line, size_t size, bool *plain) {
	json_error_t wrong;
	json_t *root = json_loadb(line, size, JSON_ALLOW_NUL, &wrong);
	*plain = root != NULL;
	if (root || json_error_code(&wrong) != json_error_numeric_overflow) return root;
	return parse_mended_record(records, line, size, false);
}

/* Keeps the id and the labels. Each is a function of its own member alone. */
static bool keep_words(struct records *records, const struct records_request *request,
                       const json_t *root, struct span *row) {
	bool kept = !request->id_field ||
	            keep_id(records, &row[ID], json_object_get(root, request->id_field));
	for (size_t i = 0; kept && i < request->label_count; i++)
		kept = keep_label(records, &row[LABELS + i],
		                  json_object_get(root, request->labels[i]));
	return kept;
}

static bool add_json(struct records *records, const struct records_request *request,
                     const struct source *source, const char *line, size_t size) {
	struct span row[LABELS + RECORDS_LABELS] = {0};
	bool kept = true, plain;
	json_t *root = parse_record(records, line, size, &plain);
	const json_t *text = request->schema ? NULL : json_object_get(root, request->field);
	row[TEXT].state =
	    source->cut ? RECORD_TOO_LONG : state_of_line(request, line, size, root, text);
	if (request->on_field) tell_fields(request, root);
	if (json_is_string(text))
		kept = keep_text(records, &row[TEXT], json_string_value(text),
		                 json_string_length(text));
	if (request->schema && json_is_object(root) && !source->cut)
		kept = keep_object(records, &row[TEXT], request, root);
	// What another member holds must not move a record to another place.
	if (!plain) {
		json_decref(root);
		root = parse_mended_record(records, line, size, true);
	}
	kept = kept && keep_words(records, request, root, row);
	json_decref(root);
	// The next record's blocks lie over these. At the end arena_free wipes as far as any went.
	records->room.used = 0;
	return kept && add_row(records, row);
}

static enum cuttle_status read_jsonl_records(struct records *records,
                                             const struct records_request *request,
                                             struct source *source, struct cuttle_error *error) {
	bool memory = arena_reserve(&records->room, JSON) &&
	              (!request->schema || arena_reserve(&records->form, FORM));
	secrecy_json_in(&records->room);
	enum cuttle_status status = CUTTLE_OK;
	for (const char *line = ""; memory && !status && line;) {
		size_t size = 0;
		line = NULL;
		if (records_count(records) < request->limit)
			status = source_line(source, &line, &size, error);
		if (!status && line) memory = add_json(records, request, source, line, size);
	}
	secrecy_json_in(NULL);
	return memory
	           ? status
	           : io_fail(error, CUTTLE_NOMEM, "out of memory while reading %s", source->path);
}

/* The name of the member or column that a span holds, or NULL. */
static const char *field_of_span(const struct records_request *request, size_t span) {
	return span == TEXT ? (request->schema ? NULL : request->field)
	       : span == ID ? request->id_field
	                    : request->labels[span - LABELS];
}

static bool is_named(const char *field, size_t size, const char *name) {
	return name && size == strlen(name) && !memcmp(field, name, size);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Keeps a cell that holds a span. */
static bool keep_cell(struct records *records, struct span *span, size_t which, const char *cell,
                      size_t size) {
	span->state = RECORD_NOT_UTF8;
	if (!utf8_valid(cell, size)) return true;
	if (which == TEXT) return keep_text(records, span, cell, size);
	if (which != ID) return keep_word(records, span, cell, size);
	if (is_left_out(records, size)) return true;
	json_t *id = json_stringn(cell, size);
	const bool kept = keep_id(records, span, id);
	json_decref(id);
	return kept;
}

/* Adds a cell that is a member of the row's object. *utf8 becomes false where it is not UTF-8. */
static bool add_cell_member(const struct columns *columns, long column, const char *cell,
                            size_t size, json_t *object, bool *utf8) {
	bool done = true;
	for (size_t i = 0; done && i < schema_table_columns(columns->table); i++) {
		if (columns->members[i] != column) continue;
		// The members beside it are read all the same: one of them may be a label.
		const bool valid = utf8_valid(cell, size);
		*utf8 &= valid;
		done = !valid || schema_table_read(columns->table, i, cell, size, object);
	}
	return done;
}

/* Keeps a row's object as its text. Like add_json: what its blocks need is there already. */
static bool keep_row(struct records *records, const struct records_request *request, json_t *object,
                     bool utf8, struct span *span) {
	bool kept = true;
	span->state = utf8 ? RECORD_MISFIT : RECORD_NOT_UTF8;
	if (utf8) kept = keep_object(records, span, request, object);
	json_decref(object);
	records->room.used = 0;
	return kept;
}

/* Adds a row. One with a fault has neither text, id nor labels. rows_cell changes the bytes, so the
 * cells are found once: members go into the object, and where the others lie is remembered. */
static bool add_csv(struct records *records, const struct records_request *request,
                    const struct columns *columns, const struct rows *rows, struct row *row) {
	static const enum record_state states[] = {[ROW_BLANK] = RECORD_BLANK,
	                                           [ROW_OPEN_QUOTE] = RECORD_OPEN_QUOTE,
	                                           [ROW_AFTER_QUOTE] = RECORD_AFTER_QUOTE,
	                                           [ROW_TOO_LONG] = RECORD_TOO_LONG};
	struct span spans[LABELS + RECORDS_LABELS] = {0};
	const char *cell, *cells[LABELS + RECORDS_LABELS] = {NULL};
	size_t size, sizes[LABELS + RECORDS_LABELS];
	if (row->fault != ROW_RIGHT) {
		spans[TEXT].state = states[row->fault];
		// A span without bytes has room for the line, which the owner is told.
		spans[TEXT].offset = row->line;
		return add_row(records, spans);
	}
	json_t *object = request->schema ? json_object() : NULL;
	bool utf8 = true, kept = object || !request->schema;
	for (long column = 0; kept && rows_cell(rows, row, &cell, &size); column++) {
		if (object) kept = add_cell_member(columns, column, cell, size, object, &utf8);
		for (size_t i = 0; i < records->width; i++)
			if (columns->of[i] == column) cells[i] = cell, sizes[i] = size;
	}
	// A label that is a member, too, is what it is there: 1.0 and 1 are one number.
	for (size_t i = LABELS; kept && i < records->width; i++) {
		const json_t *member = json_object_get(object, request->labels[i - LABELS]);
		if (member) kept = keep_label(records, &spans[i], member);
		else if (cells[i]) kept = keep_cell(records, &spans[i], i, cells[i], sizes[i]);
	}
	if (kept && object) kept = keep_row(records, request, object, utf8, &spans[TEXT]);
	for (size_t i = 0; kept && i < LABELS; i++)
		if (cells[i]) kept = keep_cell(records, &spans[i], i, cells[i], sizes[i]);
	return kept && add_row(records, spans);
}

/* What would help where the header row has other delimiters than the file's name says. */
static void advise_on_delimiter(const struct records_request *request, const struct rows *rows,
                                const struct row *row, char advice[256]) {
	const char *const line = row->bytes;
	*advice = 0;
	if (row->size == 5 && !memcmp(line, "sep=", 4)) {
		const char sign[] = {line[4] > ' ' && line[4] <= '~' ? line[4] : ';', 0};
		(void)snprintf(advice, 256,
		               ": sep= is a directive for Excel; leave the line out (tail -n +%zu) "
		               "and give --delimiter '%s'",
		               row->line + 1, line[4] == '\t' ? "\\t" : sign);
	} else if (!request->delimiter && !memchr(line, rows->delimiter, row->size))
		for (const char *c = ";\t|,"; *c && !*advice; c++) {
			const char sign[] = {*c, 0}, *const shown = *c == '\t' ? "\\t" : sign;
			if (memchr(line, *c, row->size))
				(void)snprintf(
				    advice, 256, " and no %s, but '%s': give --delimiter '%s'",
				    rows->delimiter == '\t' ? "tab" : "comma", shown, shown);
		}
}

/* The same where a column is called so but for capitals, or quotes that are none in this file. */
static void advise_on_column(const struct rows *rows, struct row row, const char *name,
                             const char *option, char advice[256]) {
	const char *cell;
	size_t size;
	while (!*advice && rows_cell(rows, &row, &cell, &size)) {
		const bool quoted = !rows->quotes && size > 2 && *cell == '"';
		if (quoted && is_named(cell + 1, size - 2, name))
			(void)snprintf(advice, 256,
			               ", but \"%s\": give --input-format csv, which reads quotes",
			               name);
		else if (size == strlen(name) && size < 64 && !strncasecmp(cell, name, size))
			(void)snprintf(advice, 256, ", but %.*s: give %s '%.*s', as capitals count",
			               (int)size, cell, option, (int)size, cell);
	}
}

/* Finds which member of the schema a column is. Returns the column that was it before, or NONE. */
static long find_its_member(struct columns *columns, long column, const char *cell, size_t size) {
	const size_t count = columns->table ? schema_table_columns(columns->table) : 0;
	long before = NONE;
	for (size_t i = 0; i < count; i++) {
		if (!is_named(cell, size, schema_table_names(columns->table)[i])) continue;
		before = columns->members[i];
		columns->members[i] = column;
	}
	return before;
}

/* Which of two columns with one name is meant nobody can tell. */
static enum cuttle_status refuse_twice(const char *path, size_t line, const char *cell, size_t size,
                                       long first, long second, struct cuttle_error *error) {
	return io_fail(error, CUTTLE_INPUT,
	               "%s, line %zu: columns %ld and %ld of the header row are both called %.*s: "
	               "give one of them another name",
	               path, line, first + 1, second + 1, size < 128 ? (int)size : 128, cell);
}

/* Returns a member that each object has, but no column; NULL = there is none. */
static const char *find_lacking(const struct columns *columns) {
	const size_t count = columns->table ? schema_table_columns(columns->table) : 0;
	for (size_t i = 0; i < count; i++)
		if (columns->members[i] == NONE && schema_table_required(columns->table, i))
			return schema_table_names(columns->table)[i];
	return NULL;
}

/* Whether any column is a member of the schema, or the schema has none. */
static bool has_members(const struct columns *columns) {
	const size_t count = schema_table_columns(columns->table);
	size_t i = 0;
	while (i < count && columns->members[i] == NONE) i++;
	return i < count || !count;
}

/* Finds the columns by the header row, which is public. A header row that needs the next line is
 * none: whether it does would follow from a record. */
static enum cuttle_status read_header_row(const struct records *records,
                                          const struct records_request *request,
                                          const struct rows *rows, struct row *row,
                                          struct columns *columns, struct cuttle_error *error) {
	const char *const path = rows->source->path;
	const struct row whole = *row;
	const char *cell;
	char advice[256];
	size_t size, missing = 0;
	advise_on_delimiter(request, rows, row, advice);
	if (row->folded || row->fault == ROW_OPEN_QUOTE || row->fault == ROW_AFTER_QUOTE)
		return io_fail(error, CUTTLE_INPUT,
		               "%s, line %zu: the header row has a broken quote%s", path, row->line,
		               row->fault == ROW_AFTER_QUOTE ? advice : "");
	if (row->fault == ROW_TOO_LONG)
		return io_fail(error, CUTTLE_INPUT, "%s, line %zu: the header row is too long",
		               path, row->line);
	for (long column = 0; rows_cell(rows, row, &cell, &size); column++) {
		if (request->on_field) request->on_field(request->user, cell, size, 0);
		long before = find_its_member(columns, column, cell, size);
		for (size_t i = 0; i < records->width; i++) {
			if (!is_named(cell, size, field_of_span(request, i))) continue;
			if (columns->of[i] != NONE) before = columns->of[i];
			columns->of[i] = column;
		}
		if (before != NONE)
			return refuse_twice(path, whole.line, cell, size, before, column, error);
	}
	const char *const lacking = find_lacking(columns);
	if (lacking)
		return io_fail(
		    error, CUTTLE_INPUT, "%s, line %zu: the header row has no column %.128s%s",
		    path, whole.line, lacking, *advice ? advice : ", which the schema requires");
	// Objects without a member fit it, so each row would be one, of which nothing is read.
	if (columns->table && !has_members(columns))
		return io_fail(error, CUTTLE_INPUT,
		               "%s, line %zu: the header row has no column of the schema%s", path,
		               whole.line, advice);
	const size_t needed = request->all_columns ? records->width : 1;
	while (missing < needed &&
	       (columns->of[missing] != NONE || !field_of_span(request, missing)))
		missing++;
	if (missing == needed) return CUTTLE_OK;
	const char *name = field_of_span(request, missing);
	// A file of categories has the first one for its text.
	const bool category = missing >= LABELS ||
	                      (request->label_count && !strcmp(request->labels[0], request->field));
	const char *const option = missing == ID     ? "--unit-key"
	                           : category        ? "--category-field"
	                           : request->option ? request->option
	                                             : "--text-field";
	advise_on_column(rows, whole, name, option, advice);
	if (!*advice && request->option && option == request->option)
		(void)snprintf(advice, sizeof advice, ": name it with %s", option);
	return io_fail(error, CUTTLE_INPUT, "%s, line %zu: the header row has no column %s%s", path,
	               whole.line, name, advice);
}

static enum cuttle_status read_table_rows(struct records *records,
                                          const struct records_request *request,
                                          struct source *source, char delimiter,
                                          struct columns *columns, struct cuttle_error *error) {
	// In a file with tabs a quote is a character, unless CSV was asked for by name.
	struct rows rows = {.source = source,
	                    .delimiter = delimiter,
	                    .quotes = delimiter != '\t' || request->format == RECORDS_CSV};
	struct row row;
	enum cuttle_status status = CUTTLE_OK;
	bool header = false, memory = true;
	// A blank line is a record, too: in a file with one column it is how a null one looks.
	while (memory && (!header || records_count(records) < request->limit) &&
	       rows_next(&rows, &row, &status, error)) {
		if (header) memory = add_csv(records, request, columns, &rows, &row);
		else if (row.fault != ROW_BLANK) {
			status = read_header_row(records, request, &rows, &row, columns, error);
			if (status) return status;
			header = true;
		}
	}
	if (status) return status;
	if (!memory)
		return io_fail(error, CUTTLE_NOMEM, "out of memory while reading %s", source->path);
	return header ? CUTTLE_OK
	              : io_fail(error, CUTTLE_INPUT, "%s, line %zu: there is no header row",
	                        source->path, rows.line + 1);
}

/* The columns of a schema's members, none of them found, and memory for the objects of rows. */
static enum cuttle_status prepare_members(struct records *records, const struct schema *schema,
                                          struct columns *columns, struct cuttle_error *error) {
	const enum cuttle_status status = schema_table_make(schema, &columns->table, error);
	if (status) return status;
	const size_t count = schema_table_columns(columns->table);
	columns->members = calloc(count + 1, sizeof *columns->members);
	if (!columns->members || !arena_reserve(&records->room, JSON) ||
	    !arena_reserve(&records->form, FORM))
		return io_fail(error, CUTTLE_NOMEM, "out of memory for the records");
	for (size_t i = 0; i < count; i++) columns->members[i] = NONE;
	return CUTTLE_OK;
}

static enum cuttle_status read_csv_records(struct records *records,
                                           const struct records_request *request,
                                           struct source *source, char delimiter,
                                           struct cuttle_error *error) {
	struct columns columns = {.table = NULL};
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; i < records->width; i++) columns.of[i] = NONE;
	if (request->schema) status = prepare_members(records, request->schema, &columns, error);
	if (request->schema) secrecy_json_in(&records->room);
	if (!status) status = read_table_rows(records, request, source, delimiter, &columns, error);
	secrecy_json_in(NULL);
	schema_table_free(&columns.table);
	free(columns.members);
	return status;
}

bool records_are_csv(const struct records_request *request) {
	return request->format == RECORDS_CSV ||
	       (request->format == RECORDS_AUTO &&
	        (request->delimiter || file_ends_in(request->path, ".csv") ||
	         file_ends_in(request->path, ".tsv")));
}

enum cuttle_status records_check_name(const struct records_request *request,
                                      struct cuttle_error *error) {
	if (request->format != RECORDS_AUTO || records_are_csv(request)) return CUTTLE_OK;
	return formats_check_name(request->path, error);
}

/* Decides by the request and the file's name alone. *delimiter is that of CSV, or 0 for JSONL. */
static enum cuttle_status choose_format(const struct records_request *request, char *delimiter,
                                        struct cuttle_error *error) {
	const char *asked = request->delimiter;
	const bool tsv = file_ends_in(request->path, ".tsv");
	*delimiter = 0;
	if (asked && request->format == RECORDS_JSONL)
		return io_fail(error, CUTTLE_USAGE,
		               "--delimiter is for CSV, but JSONL was asked for");
	if (!records_are_csv(request)) return records_check_name(request, error);
	*delimiter = asked && strcmp(asked, "\\t") ? *asked : asked || tsv ? '\t' : ',';
	if (!asked || *delimiter == '\t' ||
	    (*asked > ' ' && *asked <= '~' && *asked != '"' && !asked[1]))
		return CUTTLE_OK;
	return io_fail(error, CUTTLE_USAGE,
	               "--delimiter: must be one character such as ';', or '\\t' for a tab");
}

enum cuttle_status records_read(const struct records_request *request, struct records **records,
                                struct cuttle_error *error) {
	REQUIRE(request->label_count <= RECORDS_LABELS);
	*records = NULL;
	struct records *made = calloc(1, sizeof *made);
	if (!made) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	made->width = LABELS + request->label_count;
	made->most = request->most;
	made->id_is_owner = request->id_is_owner;
	struct source source;
	char delimiter;
	enum cuttle_status status = choose_format(request, &delimiter, error);
	const size_t words = (request->id_field ? WORD_JSON : 0) + request->label_count * WORD;
	if (!status &&
	    (__builtin_add_overflow(request->most, words, &made->each) || !make_room(made)))
		status = io_fail(error, CUTTLE_NOMEM, "out of memory for the records");
	if (!status) status = source_open(&source, request->path, error);
	if (!status) {
		status = delimiter ? read_csv_records(made, request, &source, delimiter, error)
		                   : read_jsonl_records(made, request, &source, error);
		source_close(&source);
	}
	arena_free(&made->room);
	arena_free(&made->form);
	if (status) records_free(&made);
	*records = made;
	return status;
}

void records_lock(const struct records *records) {
	if (records->texts.used) (void)mlock(records->texts.bytes, records->texts.used);
}

void records_free(struct records **records) {
	if (*records) {
		arena_free(&(*records)->texts);
		arena_free(&(*records)->spans);
	}
	free(*records);
	*records = NULL;
}

size_t records_count(const struct records *records) {
	return records->spans.used / (records->width * sizeof(struct span));
}

static const struct span *span_of(const struct records *records, size_t index, size_t which) {
	REQUIRE(index < records_count(records) && which < records->width);
	return (const struct span *)(const void *)records->spans.bytes + index * records->width +
	       which;
}

/* The bytes of a span, or NULL where there are none. */
static const char *bytes_of_span(const struct records *records, size_t index, size_t which,
                                 size_t *size) {
	const struct span *span = span_of(records, index, which);
	*size = span->state == RECORD_READABLE ? span->size : 0;
	if (span->state != RECORD_READABLE) return NULL;
	return span->size ? records->texts.bytes + span->offset : "";
}

const char *records_text(const struct records *records, size_t index, size_t *size) {
	return bytes_of_span(records, index, TEXT, size);
}

size_t records_fault_line(const struct records *records, size_t index) {
	const struct span *span = span_of(records, index, TEXT);
	return span->state == RECORD_OPEN_QUOTE || span->state == RECORD_AFTER_QUOTE ? span->offset
	                                                                             : 0;
}

const char *records_state_words(enum record_state state) {
	static const char *const words[RECORD_STATES] = {
	    [RECORD_NO_FIELD] = "without the field",
	    [RECORD_NOT_JSON] = "not a JSON object",
	    [RECORD_NAN] = "with NaN or Infinity, which are not JSON: write null",
	    [RECORD_HALF_PAIR] = "with half a surrogate pair, such as \\ud83d alone",
	    [RECORD_MISFIT] = "that does not fit the schema",
	    [RECORD_NOT_TEXT] = "with something else than a text in the field",
	    [RECORD_NOT_UTF8] = "not UTF-8",
	    [RECORD_TOO_LONG] = "longer than 16 MiB",
	    [RECORD_OPEN_QUOTE] = "with a quote that is never closed",
	    [RECORD_AFTER_QUOTE] = "with something behind a closing quote",
	    [RECORD_BLANK] = "blank",
	    [RECORD_READABLE] = "readable",
	};
	return words[state];
}

enum record_state records_state(const struct records *records, size_t index) {
	size_t size;
	const char *text = records_text(records, index, &size);
	if (text) return is_blank(text, size) ? RECORD_BLANK : RECORD_READABLE;
	return span_of(records, index, TEXT)->state;
}

/* Whether some record has the field, whatever is in it; with a schema, whether some line is a JSON
 * object. This is all that is asked. */
static bool have_field(const struct records_request *request, const struct records *records) {
	size_t size;
	for (size_t i = 0; i < records_count(records); i++)
		if (records_text(records, i, &size) ||
		    span_of(records, i, TEXT)->state ==
		        (request->schema ? RECORD_MISFIT : RECORD_NOT_TEXT))
			return true;
	return false;
}

enum cuttle_status records_need_field(const struct records_request *request,
                                      const struct records *records, const char *option,
                                      struct cuttle_error *error) {
	if (records_are_csv(request) || !records_count(records) || have_field(request, records))
		return CUTTLE_OK;
	const char *const csv =
	    strcmp(request->path, "-") ? "name it .csv" : "give --input-format csv";
	if (request->schema)
		return io_fail(error, CUTTLE_INPUT,
		               "%s: no line is a JSON object. Is it CSV? Then %s",
		               file_shown(request->path), csv);
	return io_fail(error, CUTTLE_INPUT,
	               "%s: no record has a field %.64s: name it with %s; cuttle inspect shows "
	               "which fields there are. Is it CSV? Then %s",
	               file_shown(request->path), request->field, option, csv);
}

const char *records_id(const struct records *records, size_t index, size_t *size) {
	return bytes_of_span(records, index, ID, size);
}

const char *records_label(const struct records *records, size_t index, size_t label, size_t *size) {
	return bytes_of_span(records, index, LABELS + label, size);
}
