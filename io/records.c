// SPDX-License-Identifier: Apache-2.0
// How records.h reads: JSONL line by line through jansson, CSV through libcsv in its lenient mode.
//
// All that is kept is in two arenas. `texts` has the bytes, one after the other; `spans` says where
// they are. With one label a record has 3 spans, its text, id and label: those of record 2 are
// spans 6, 7 and 8. A third, `room`, is as large as parsing one record may need, whatever is in it:
// jansson's blocks, or libcsv's field. It goes when all are read.
#include "io/records.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/formats.h"
#include "io/secrecy.h"
#include "io/source.h"
#include <csv.h>
#include <jansson.h>
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	NONE = -1,      /* no column, or no character */
	JSON = 3 << 25, /* bytes that jansson may take for one record: 96 MiB. A line that is one
	                   text never needs so many. */
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
	size_t width;      /* spans in a row */
	size_t most;       /* bytes kept of a text at most; 0 = any number */
	size_t each;       /* bytes kept of a record at most; of no meaning when `most` is 0 */
	bool id_is_owner;
};

struct csv_walk {
	struct records *records;
	const struct records_request *request;
	struct span row[LABELS + RECORDS_LABELS]; /* of the record being read */
	long column;                              /* number of the field being read, in its row */
	long columns[LABELS + RECORDS_LABELS];    /* column of each span; NONE until the header row
	                                             names it */
	int ended_by; /* the character that ended the last row; NONE when something came after it */
	size_t header_line; /* number of the header row's line, from 1 */
	bool header_read;
	bool too_long; /* the field being read is too long */
	bool no_memory;
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
 * alone: with `each` = 100 there is room for 400 bytes after 3 records, even if all are null. */
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
	// When an integer in the record is too large for jansson, add_json has all of them read as
	// reals. The real 7.0 is then the same id as 7.
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
	return !json_is_number(label) || keep_number(records, span, json_number_value(label));
}

static bool is_blank(const char *text, size_t size) {
	utf8_trim(&text, &size);
	return !size;
}

/* For a line without a text: why it has none. `root` is the line as JSON, NULL = it is not. */
static enum record_state state_of_line(const char *line, size_t size, const json_t *root,
                                       const json_t *text) {
	if (is_blank(line, size)) return RECORD_BLANK;
	if (!utf8_valid(line, size)) return RECORD_NOT_UTF8;
	if (!json_is_object(root)) return RECORD_NOT_JSON;
	return text ? RECORD_NOT_TEXT : RECORD_NO_FIELD;
}

static void tell_fields(const struct records_request *request, json_t *root) {
	const char *name;
	json_t *value;
	json_object_foreach(root, name, value)
	    request->on_field(request->user, name, strlen(name), json_string_length(value));
}

static bool add_json(struct records *records, const struct records_request *request,
                     const struct source *source, const char *line, size_t size) {
	struct span row[LABELS + RECORDS_LABELS] = {0};
	json_t *root = json_loadb(line, size, JSON_ALLOW_NUL, NULL);
	// jansson fails when any integer of the line is too large for it. That does not make the
	// record wrong: the second try reads integers as reals. A line that takes more than JSON
	// bytes fails twice and is null.
	if (!root) {
		records->room.used = 0;
		root = json_loadb(line, size, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
	}
	const json_t *text = json_object_get(root, request->field);
	bool kept = true;
	row[TEXT].state = source->cut ? RECORD_TOO_LONG : state_of_line(line, size, root, text);
	if (request->on_field) tell_fields(request, root);
	if (json_is_string(text))
		kept = keep_text(records, &row[TEXT], json_string_value(text),
		                 json_string_length(text));
	if (kept && request->id_field)
		kept = keep_id(records, &row[ID], json_object_get(root, request->id_field));
	for (size_t i = 0; kept && i < request->label_count; i++)
		kept = keep_label(records, &row[LABELS + i],
		                  json_object_get(root, request->labels[i]));
	json_decref(root);
	// The next record's blocks lie over these. At the end arena_free wipes as far as any went.
	records->room.used = 0;
	return kept && add_row(records, row);
}

static enum cuttle_status read_jsonl_records(struct records *records,
                                             const struct records_request *request,
                                             struct source *source, struct cuttle_error *error) {
	bool memory = arena_reserve(&records->room, JSON);
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
	return span == TEXT ? request->field
	       : span == ID ? request->id_field
	                    : request->labels[span - LABELS];
}

static bool is_named(const char *field, size_t size, const char *name) {
	return name && size == strlen(name) && !memcmp(field, name, size);
}

/* libcsv calls this at the end of each field. */
static void take_csv_field(void *field, size_t size, void *user) {
	struct csv_walk *walk = user;
	long column = walk->column++;
	const bool too_long = walk->too_long;
	walk->ended_by = NONE;
	walk->too_long = false;
	if (walk->no_memory) return;
	struct span *text = column == walk->columns[TEXT] ? &walk->row[TEXT] : NULL;
	if (too_long) {
		if (text) text->state = RECORD_TOO_LONG;
		return;
	}
	if (!walk->header_read) {
		if (walk->request->on_field)
			walk->request->on_field(walk->request->user, field, size, 0);
		for (size_t i = 0; i < walk->records->width; i++)
			if (walk->columns[i] == NONE &&
			    is_named(field, size, field_of_span(walk->request, i)))
				walk->columns[i] = column;
		return;
	}
	if (text) text->state = RECORD_NOT_UTF8;
	if (records_count(walk->records) >= walk->request->limit || !utf8_valid(field, size))
		return;
	if (text) walk->no_memory |= !keep_text(walk->records, text, field, size);
	for (size_t i = LABELS; i < walk->records->width; i++)
		if (column == walk->columns[i])
			walk->no_memory |= !keep_word(walk->records, &walk->row[i], field, size);
	if (column == walk->columns[ID] && !is_left_out(walk->records, size)) {
		json_t *id = json_stringn(field, size);
		walk->no_memory |= !keep_id(walk->records, &walk->row[ID], id);
		json_decref(id);
	}
}

/* libcsv calls this at the end of each row, with the character that ended it. */
static void end_csv_row(int ended_by, void *user) {
	struct csv_walk *walk = user;
	bool blank = walk->column == 0;
	// libcsv reports both characters of CR LF; the second one is not a blank row.
	if (blank && ended_by == '\n' && walk->ended_by == '\r') {
		walk->ended_by = NONE;
		return;
	}
	walk->ended_by = ended_by;
	walk->column = 0;
	if (!walk->header_read) {
		walk->header_read = !blank;
		walk->header_line += blank;
		return;
	}
	if (blank) walk->row[TEXT].state = RECORD_BLANK;
	if (!walk->no_memory && records_count(walk->records) < walk->request->limit)
		walk->no_memory |= !add_row(walk->records, walk->row);
	memset(walk->row, 0, sizeof walk->row);
}

/* A field has all of its room from the beginning. */
static void *refuse_field(void *block, size_t size) {
	(void)block;
	(void)size;
	return NULL;
}

/* Parses a chunk. libcsv stops where a field is too long for its room, which may not show. Half of
 * the field is then thrown away to go on, and too_long makes it null in the end. */
static void parse_chunk(struct csv_walk *walk, struct csv_parser *parser, const char *chunk,
                        size_t size) {
	struct arena *room = &walk->records->room;
	for (;;) {
		// So many bytes of the room may hold a field before this call ends.
		const size_t left = room->capacity - parser->entry_pos;
		room->used = parser->entry_pos;
		arena_grew(room, size < left ? size : left);
		const size_t done =
		    csv_parse(parser, chunk, size, take_csv_field, end_csv_row, walk);
		if (done == size) return;
		walk->too_long = true;
		parser->entry_pos /= 2;
		parser->spaces = 0;
		chunk += done;
		size -= done;
	}
}

static enum cuttle_status walk_csv(struct csv_walk *walk, struct csv_parser *parser,
                                   struct source *source, struct cuttle_error *error) {
	const struct records_request *request = walk->request;
	size_t size = 1;
	while (size && (!walk->header_read || records_count(walk->records) < request->limit)) {
		const char *chunk;
		enum cuttle_status status = source_chunk(source, &chunk, &size, error);
		if (status) return status;
		if (size) parse_chunk(walk, parser, chunk, size);
		else walk->no_memory |= csv_fini(parser, take_csv_field, end_csv_row, walk) != 0;
		if (walk->no_memory)
			return io_fail(error, CUTTLE_NOMEM, "out of memory while reading %s",
			               source->path);
		if (walk->header_read && walk->columns[TEXT] == NONE)
			return io_fail(error, CUTTLE_INPUT,
			               "%s, line %zu: the header row has no column %s",
			               source->path, walk->header_line, request->field);
	}
	if (!walk->header_read)
		return io_fail(error, CUTTLE_INPUT, "%s, line %zu: there is no header row",
		               source->path, walk->header_line);
	return CUTTLE_OK;
}

static enum cuttle_status read_csv_records(struct records *records,
                                           const struct records_request *request,
                                           struct source *source, char delimiter,
                                           struct cuttle_error *error) {
	struct csv_walk walk = {
	    .records = records, .request = request, .ended_by = NONE, .header_line = 1};
	struct csv_parser parser;
	for (size_t i = 0; i < records->width; i++) walk.columns[i] = NONE;
	// libcsv must report every line end, because a blank line is a record too. In a file with
	// one column it is how a null record looks.
	REQUIRE(csv_init(&parser, CSV_REPALL_NL) == 0);
	csv_set_delim(&parser, (unsigned char)delimiter);
	csv_set_realloc_func(&parser, refuse_field);
	if (!arena_reserve(&records->room, SOURCE_LINE))
		return io_fail(error, CUTTLE_NOMEM, "out of memory while reading %s", source->path);
	// The field is the arena's to free, so there is no csv_free.
	parser.entry_buf = (unsigned char *)records->room.bytes;
	parser.entry_size = SOURCE_LINE;
	return walk_csv(&walk, &parser, source, error);
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

enum record_state records_state(const struct records *records, size_t index) {
	size_t size;
	const char *text = records_text(records, index, &size);
	if (text) return is_blank(text, size) ? RECORD_BLANK : RECORD_READABLE;
	return span_of(records, index, TEXT)->state;
}

const char *records_id(const struct records *records, size_t index, size_t *size) {
	return bytes_of_span(records, index, ID, size);
}

const char *records_label(const struct records *records, size_t index, size_t label, size_t *size) {
	return bytes_of_span(records, index, LABELS + label, size);
}
