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
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };

struct span {
	size_t offset, size;
	bool present;
};
struct entry {
	struct span text, id;
};
struct records {
	struct arena texts, entries;
};

struct csv_walk {
	struct records *records;
	const struct records_request *request;
	struct entry row;
	long column, text_column, id_column; /* NONE until the header names them */
	int ended_by;                        /* the character that ended the last row, while nothing came after it */
	bool header_read, no_memory;
};

static struct entry *entries(const struct records *records) {
	return (struct entry *)(void *)records->entries.bytes;
}

static bool keep(struct records *records, struct span *span, const char *text, size_t size) {
	*span = (struct span){records->texts.used, size, true};
	return arena_append(&records->texts, text, size);
}

static bool add(struct records *records, const struct entry *entry) {
	return arena_append(&records->entries, entry, sizeof *entry);
}

static bool keep_id(struct records *records, struct span *span, const json_t *id) {
	if (!json_is_string(id) && !json_is_integer(id)) return true;
	char *text = json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT);
	bool kept = text && keep(records, span, text, strlen(text));
	secrecy_free(text);
	return kept;
}

static bool add_json(struct records *records, const struct records_request *request, const char *line, size_t size) {
	struct entry entry = {0};
	json_error_t problem;
	json_t *root = json_loadb(line, size, JSON_ALLOW_NUL, &problem);
	// An integer too large for jansson elsewhere in the object does not make the record wrong.
	if (!root) root = json_loadb(line, size, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &problem);
	if (!root && json_error_code(&problem) == json_error_out_of_memory) return false;
	const json_t *text = json_object_get(root, request->field);
	bool kept = true;
	if (json_is_string(text)) kept = keep(records, &entry.text, json_string_value(text), json_string_length(text));
	if (kept && request->id_field) kept = keep_id(records, &entry.id, json_object_get(root, request->id_field));
	json_decref(root);
	return kept && add(records, &entry);
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

static bool names(const char *field, size_t size, const char *name) {
	return name && size == strlen(name) && !memcmp(field, name, size);
}

static void csv_field(void *field, size_t size, void *user) {
	struct csv_walk *walk = user;
	long column = walk->column++;
	walk->ended_by = NONE;
	if (walk->no_memory) return;
	if (!walk->header_read) {
		if (walk->text_column == NONE && names(field, size, walk->request->field)) walk->text_column = column;
		if (walk->id_column == NONE && names(field, size, walk->request->id_field)) walk->id_column = column;
		return;
	}
	if (records_count(walk->records) >= walk->request->limit || !utf8_valid(field, size)) return;
	if (column == walk->text_column) walk->no_memory |= !keep(walk->records, &walk->row.text, field, size);
	if (column == walk->id_column) {
		json_t *id = json_stringn(field, size);
		walk->no_memory |= !id || !keep_id(walk->records, &walk->row.id, id);
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
		return;
	}
	if (!walk->no_memory && records_count(walk->records) < walk->request->limit) walk->no_memory |= !add(walk->records, &walk->row);
	walk->row = (struct entry){0};
}

static enum cuttle_status walk_csv(struct csv_walk *walk, struct csv_parser *parser, struct source *source, struct cuttle_error *error) {
	const struct records_request *request = walk->request;
	size_t size = 1;
	while (size && (!walk->header_read || records_count(walk->records) < request->limit)) {
		const char *chunk;
		enum cuttle_status status = source_chunk(source, &chunk, &size, error);
		if (status) return status;
		if (size ? csv_parse(parser, chunk, size, csv_field, csv_row, walk) != size
		         : csv_fini(parser, csv_field, csv_row, walk) != 0)
			walk->no_memory = true;
		if (walk->no_memory) return io_fail(error, CUTTLE_NOMEM, "out of memory while reading %s", source->path);
		if (walk->header_read && walk->text_column == NONE)
			return io_fail(error, CUTTLE_INPUT, "%s: the header row has no column %s", source->path, request->field);
	}
	if (!walk->header_read) return io_fail(error, CUTTLE_INPUT, "%s: there is no header row", source->path);
	return CUTTLE_OK;
}

static enum cuttle_status read_csv(struct records *records, const struct records_request *request, struct source *source,
                                   struct cuttle_error *error) {
	struct csv_walk walk = {.records = records, .request = request, .text_column = NONE, .id_column = NONE, .ended_by = NONE};
	struct csv_parser parser;
	// Every line end is reported, because a blank line is a record too: the null one of a file with one column.
	REQUIRE(csv_init(&parser, CSV_REPALL_NL) == 0);
	csv_set_realloc_func(&parser, secrecy_realloc);
	csv_set_free_func(&parser, secrecy_free);
	enum cuttle_status status = walk_csv(&walk, &parser, source, error);
	csv_free(&parser);
	return status;
}

enum cuttle_status records_read(const struct records_request *request, struct records **records, struct cuttle_error *error) {
	*records = NULL;
	struct records *made = calloc(1, sizeof *made);
	if (!made) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	struct source source;
	enum cuttle_status status = source_open(&source, request->path, error);
	if (!status) {
		bool csv = request->format == RECORDS_AUTO ? file_ends_in(request->path, ".csv") : request->format == RECORDS_CSV;
		status = (csv ? read_csv : read_jsonl)(made, request, &source, error);
		source_close(&source);
	}
	if (status) records_free(&made);
	*records = made;
	return status;
}

void records_free(struct records **records) {
	if (*records) {
		arena_free(&(*records)->texts);
		arena_free(&(*records)->entries);
	}
	free(*records);
	*records = NULL;
}

size_t records_count(const struct records *records) {
	return records->entries.used / sizeof(struct entry);
}

static const char *at(const struct records *records, const struct span *span, size_t *size) {
	*size = span->present ? span->size : 0;
	if (!span->present) return NULL;
	return span->size ? records->texts.bytes + span->offset : "";
}

const char *records_text(const struct records *records, size_t index, size_t *size) {
	REQUIRE(index < records_count(records));
	return at(records, &entries(records)[index].text, size);
}

const char *records_id(const struct records *records, size_t index, size_t *size) {
	REQUIRE(index < records_count(records));
	return at(records, &entries(records)[index].id, size);
}
