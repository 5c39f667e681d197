// SPDX-License-Identifier: Apache-2.0
// JSONL through jansson line by line, CSV through libcsv in its lenient mode.
#include "io/records.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "io/fail.h"
#include "io/file.h"
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

/* JSON: what jansson may take for one record, more than any line needs that is one text. WORD: bytes of an id or a label beside a cut text,
 * six times as many as JSON at most, in quotes. */
enum { NONE = -1, JSON = 3 << 25, WORD = 1024, WORD_JSON = 6 * WORD + 2 };

struct span {
	size_t offset, size;
	bool present;
};
/* A record is a row of spans: its text, its id, its labels. */
enum { TEXT, ID, LABELS };
struct records {
	struct arena texts, spans;
	size_t width;      /* spans in a row */
	size_t most, each; /* of a text, and of all that is kept of a record; 0 = any number */
};

struct csv_walk {
	struct records *records;
	const struct records_request *request;
	struct span row[LABELS + RECORDS_LABELS];
	long column, columns[LABELS + RECORDS_LABELS]; /* NONE until the header names them */
	int ended_by;                                  /* the character that ended the last row, while nothing came after it */
	size_t header_line;
	bool header_read, too_long, no_memory; /* too_long: the field being read */
};

static bool keep(struct records *records, struct span *span, const char *text, size_t size) {
	*span = (struct span){records->texts.used, size, true};
	return arena_append(&records->texts, text, size);
}

/* The text as it is, or cut at a character. */
static bool keep_text(struct records *records, struct span *span, const char *text, size_t size) {
	if (records->most) utf8_trim(&text, &size);
	if (records->most && size > records->most) {
		size = records->most;
		while (size && ((unsigned char)text[size] & 0xC0) == 0x80) size--;
	}
	return keep(records, span, text, size);
}

static bool keep_word(struct records *records, struct span *span, const char *text, size_t size) {
	return (records->most && size > WORD) || keep(records, span, text, size);
}

/* Room for one more record, whatever it will hold: what is taken depends on how many there are. */
static bool make_room(struct records *records) {
	size_t all;
	if (!records->most) return true;
	return !__builtin_mul_overflow(records->each, records_count(records) + 1, &all) &&
	       arena_reserve(&records->texts, all - records->texts.used);
}

static bool add(struct records *records, const struct span *row) {
	return arena_append(&records->spans, row, records->width * sizeof *row) && make_room(records);
}

static bool keep_number(struct records *records, struct span *span, double value) {
	char digits[32];
	int size = snprintf(digits, sizeof digits, "%.15g", value);
	bool kept = keep(records, span, digits, (size_t)size);
	sodium_memzero(digits, sizeof digits);
	return kept;
}

static bool keep_id(struct records *records, struct span *span, const json_t *id) {
	// An integer was read as a real where another member was too large for one; it is the same id.
	const double value = json_real_value(id);
	if (json_is_real(id)) return value != rint(value) || fabs(value) >= 1e15 || keep_number(records, span, value);
	if (!json_is_string(id) && !json_is_integer(id)) return true;
	if (records->most && json_string_length(id) > WORD) return true;
	char *text = json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT);
	bool kept = !text || keep(records, span, text, strlen(text));
	secrecy_free(text);
	return kept;
}

static bool keep_label(struct records *records, struct span *span, const json_t *label) {
	if (json_is_string(label)) return keep_word(records, span, json_string_value(label), json_string_length(label));
	return !json_is_number(label) || keep_number(records, span, json_number_value(label));
}

static bool add_json(struct records *records, const struct records_request *request, const char *line, size_t size) {
	struct span row[LABELS + RECORDS_LABELS] = {0};
	secrecy_json(JSON);
	json_t *root = json_loadb(line, size, JSON_ALLOW_NUL, NULL);
	// An integer too large for jansson elsewhere in the object does not make the record wrong. One that takes too much memory is null.
	if (!root) {
		secrecy_json(JSON);
		root = json_loadb(line, size, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, NULL);
	}
	const json_t *text = json_object_get(root, request->field);
	bool kept = true;
	if (json_is_string(text)) kept = keep_text(records, &row[TEXT], json_string_value(text), json_string_length(text));
	if (kept && request->id_field) kept = keep_id(records, &row[ID], json_object_get(root, request->id_field));
	for (size_t i = 0; kept && i < request->label_count; i++)
		kept = keep_label(records, &row[LABELS + i], json_object_get(root, request->labels[i]));
	json_decref(root);
	return kept && add(records, row);
}

static enum cuttle_status read_jsonl(struct records *records, const struct records_request *request, struct source *source,
                                     struct cuttle_error *error) {
	for (;;) {
		const char *line = NULL;
		size_t size = 0;
		enum cuttle_status status = CUTTLE_OK;
		if (records_count(records) < request->limit) status = source_line(source, &line, &size, error);
		if (status || !line) return status;
		if (!add_json(records, request, line, size))
			return io_fail(error, CUTTLE_NOMEM, "out of memory while reading %s", source->path);
	}
}

/* What the member or column of a span is called, or NULL. */
static const char *wanted(const struct records_request *request, size_t span) {
	return span == TEXT ? request->field : span == ID ? request->id_field : request->labels[span - LABELS];
}

static bool names(const char *field, size_t size, const char *name) {
	return name && size == strlen(name) && !memcmp(field, name, size);
}

static void csv_field(void *field, size_t size, void *user) {
	struct csv_walk *walk = user;
	long column = walk->column++;
	const bool too_long = walk->too_long;
	walk->ended_by = NONE;
	walk->too_long = false;
	if (walk->no_memory || too_long) return;
	if (!walk->header_read) {
		for (size_t i = 0; i < walk->records->width; i++)
			if (walk->columns[i] == NONE && names(field, size, wanted(walk->request, i))) walk->columns[i] = column;
		return;
	}
	if (records_count(walk->records) >= walk->request->limit || !utf8_valid(field, size)) return;
	if (column == walk->columns[TEXT]) walk->no_memory |= !keep_text(walk->records, &walk->row[TEXT], field, size);
	for (size_t i = LABELS; i < walk->records->width; i++)
		if (column == walk->columns[i]) walk->no_memory |= !keep_word(walk->records, &walk->row[i], field, size);
	if (column == walk->columns[ID]) {
		json_t *id = json_stringn(field, size);
		walk->no_memory |= !keep_id(walk->records, &walk->row[ID], id);
		json_decref(id);
	}
}

static void csv_row(int ended_by, void *user) {
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
	if (!walk->no_memory && records_count(walk->records) < walk->request->limit) walk->no_memory |= !add(walk->records, walk->row);
	memset(walk->row, 0, sizeof walk->row);
}

static void *grow_field(void *block, size_t size) {
	return size > SOURCE_LINE ? NULL : secrecy_realloc(block, size);
}

/* Parses, and gives up the beginning of a field that cannot grow: it is too long, or memory is short, which must not show either. False:
 * there is no memory at all. */
static bool parse_chunk(struct csv_walk *walk, struct csv_parser *parser, const char *chunk, size_t size) {
	for (;;) {
		size_t done = csv_parse(parser, chunk, size, csv_field, csv_row, walk);
		if (done == size) return true;
		if (parser->entry_size < 2) return false;
		walk->too_long = true;
		parser->entry_pos /= 2;
		parser->spaces = 0;
		chunk += done;
		size -= done;
	}
}

static enum cuttle_status walk_csv(struct csv_walk *walk, struct csv_parser *parser, struct source *source, struct cuttle_error *error) {
	const struct records_request *request = walk->request;
	size_t size = 1;
	while (size && (!walk->header_read || records_count(walk->records) < request->limit)) {
		const char *chunk;
		enum cuttle_status status = source_chunk(source, &chunk, &size, error);
		if (status) return status;
		if (size ? !parse_chunk(walk, parser, chunk, size) : csv_fini(parser, csv_field, csv_row, walk) != 0)
			walk->no_memory = true;
		if (walk->no_memory) return io_fail(error, CUTTLE_NOMEM, "out of memory while reading %s", source->path);
		if (walk->header_read && walk->columns[TEXT] == NONE)
			return io_fail(error, CUTTLE_INPUT, "%s, line %zu: the header row has no column %s", source->path,
			               walk->header_line, request->field);
	}
	if (!walk->header_read)
		return io_fail(error, CUTTLE_INPUT, "%s, line %zu: there is no header row", source->path, walk->header_line);
	return CUTTLE_OK;
}

static enum cuttle_status read_csv(struct records *records, const struct records_request *request, struct source *source,
                                   struct cuttle_error *error) {
	struct csv_walk walk = {.records = records, .request = request, .ended_by = NONE, .header_line = 1};
	struct csv_parser parser;
	for (size_t i = 0; i < records->width; i++) walk.columns[i] = NONE;
	// Every line end is reported, because a blank line is a record too: the null one of a file with one column.
	REQUIRE(csv_init(&parser, CSV_REPALL_NL) == 0);
	csv_set_realloc_func(&parser, grow_field);
	csv_set_free_func(&parser, secrecy_free);
	enum cuttle_status status = walk_csv(&walk, &parser, source, error);
	csv_free(&parser);
	return status;
}

enum cuttle_status records_read(const struct records_request *request, struct records **records, struct cuttle_error *error) {
	REQUIRE(request->label_count <= RECORDS_LABELS);
	*records = NULL;
	struct records *made = calloc(1, sizeof *made);
	if (!made) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	made->width = LABELS + request->label_count;
	made->most = request->most;
	struct source source;
	enum cuttle_status status = CUTTLE_OK;
	if (__builtin_add_overflow(request->most, (request->id_field ? WORD_JSON : 0) + request->label_count * WORD, &made->each) ||
	    !make_room(made))
		status = io_fail(error, CUTTLE_NOMEM, "out of memory for the records");
	if (!status) status = source_open(&source, request->path, error);
	if (!status) {
		bool csv = request->format == RECORDS_AUTO ? file_ends_in(request->path, ".csv") : request->format == RECORDS_CSV;
		status = (csv ? read_csv : read_jsonl)(made, request, &source, error);
		source_close(&source);
		secrecy_json(SIZE_MAX);
	}
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

static const char *at(const struct records *records, size_t index, size_t which, size_t *size) {
	REQUIRE(index < records_count(records) && which < records->width);
	const struct span *span = (const struct span *)(const void *)records->spans.bytes + index * records->width + which;
	*size = span->present ? span->size : 0;
	if (!span->present) return NULL;
	return span->size ? records->texts.bytes + span->offset : "";
}

const char *records_text(const struct records *records, size_t index, size_t *size) {
	return at(records, index, TEXT, size);
}

const char *records_id(const struct records *records, size_t index, size_t *size) {
	return at(records, index, ID, size);
}

const char *records_label(const struct records *records, size_t index, size_t label, size_t *size) {
	return at(records, index, LABELS + label, size);
}
