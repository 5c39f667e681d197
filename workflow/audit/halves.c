// SPDX-License-Identifier: Apache-2.0
// How halves.h splits. What is in which half is decided before a byte is written. The halves are
// made in memory that is wiped.
#include "workflow/audit/halves.h"

#include "base/utf8.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/secrecy.h"
#include "io/records/rows.h"
#include "io/records/units.h"
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SPLIT_ENDING ".split.json"
enum { FORMAT = 1, SPLIT_MOST = 1 << 20 };
#define INPUT_MOST ((size_t)1 << 32)

/* ---- names ----------------------------------------------------------------------------------- */

/* The ending of both halves: they are read as the input is. */
static const char *ending_of(const char *input) {
	const struct records_request request = {.path = input};
	return !records_are_csv(&request)    ? ".jsonl"
	       : file_ends_in(input, ".tsv") ? ".tsv"
	                                     : ".csv";
}

bool halves_paths(const char *input, const char *name, char *paths[HALVES_FILES]) {
	char ending[2][16];
	(void)snprintf(ending[0], sizeof ending[0], ".used%s", ending_of(input));
	(void)snprintf(ending[1], sizeof ending[1], ".aside%s", ending_of(input));
	paths[HALVES_USED] = file_name(name, ending[0]);
	paths[HALVES_ASIDE] = file_name(name, ending[1]);
	paths[HALVES_SPLIT] = file_name(name, SPLIT_ENDING);
	return paths[HALVES_USED] && paths[HALVES_ASIDE] && paths[HALVES_SPLIT];
}

/* Bytes of NAME in NAME.used.jsonl; 0 = the path has no such name. */
static size_t name_length(const char *used) {
	static const char *const endings[] = {".used.jsonl", ".used.csv", ".used.tsv"};
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (file_ends_in(used, endings[i])) return strlen(used) - strlen(endings[i]);
	return 0;
}

/* The path of the split beside a half, which the caller frees; NULL: out of memory. */
static char *split_beside(const char *used) {
	char *name = strndup(used, name_length(used)), *path = NULL;
	if (name) path = file_name(name, SPLIT_ENDING);
	free(name);
	return path;
}

bool halves_named(const char *used) {
	struct stat is;
	char *path = name_length(used) ? split_beside(used) : NULL;
	const bool there = path && stat(path, &is) == 0;
	free(path);
	return there;
}

/* ---- the lot --------------------------------------------------------------------------------- */

size_t *halves_units(const struct records *records, size_t *units) {
	const size_t count = records_count(records);
	size_t *unit = calloc(count + 1, sizeof *unit), *first = calloc(count + 1, sizeof *first);
	struct unit_record *owned = calloc(count + 1, sizeof *owned);
	size_t owners = 0, size;
	*units = 0;
	for (size_t i = 0; owned && i < count; i++) {
		const char *id = records_id(records, i, &size);
		if (!id) continue;
		(void)crypto_generichash(owned[owners].unit, UNIT_NAME, (const unsigned char *)id,
		                         size, NULL, 0);
		owned[owners++].batch = i;
	}
	if (unit && first && owned) {
		// first[i]: the first record of the unit of record i.
		for (size_t i = 0; i < count; i++) first[i] = i;
		units_sort(owned, owners);
		for (size_t i = 1; i < owners; i++)
			if (units_same(&owned[i - 1], &owned[i]))
				first[owned[i].batch] = first[owned[i - 1].batch];
		for (size_t i = 0; i < count; i++)
			unit[i] = first[i] == i ? (*units)++ : unit[first[i]];
	} else {
		secrecy_free(unit);
		unit = NULL;
	}
	secrecy_free(first);
	secrecy_free(owned);
	return unit;
}

/* Draws which units are kept aside: a shuffle, of which the first half is used. The caller frees
 * it. NULL: out of memory. */
static bool *draw_aside(size_t units, const struct chance *chance) {
	size_t *order = calloc(units + 1, sizeof *order);
	bool *aside = calloc(units + 1, sizeof *aside);
	for (size_t i = 0; order && i < units; i++) {
		const size_t other = (size_t)chance_below(chance, CHANCE_LOT, i, 0, i + 1);
		order[i] = order[other];
		order[other] = i;
	}
	for (size_t i = (units + 1) / 2; order && aside && i < units; i++) aside[order[i]] = true;
	const bool made = order != NULL;
	secrecy_free(order);
	if (made) return aside;
	secrecy_free(aside);
	return NULL;
}

/* ---- the halves ------------------------------------------------------------------------------ */

/* Puts a record into its half, with a line end. A lone \r becomes \r\n, which is one, too: the next
 * record may begin with \n. */
static bool put_record(struct arena *half, const char *bytes, size_t size) {
	const bool ended = size && bytes[size - 1] == '\n';
	return arena_append(half, bytes, size) && (ended || arena_append(half, "\n", 1));
}

/* Whether a line may be an object. Any other is null wherever it stands, and as the first of a half
 * its bytes could be a mark: "\xef\xbb\xbf{...}" would be read, and "%PDF-" refuse the file. */
static bool may_be_object(const char *line, size_t size) {
	size_t at = 0;
	while (at < size && memchr(" \t\r", line[at], 3)) at++;
	return at < size && line[at] == '{';
}

/* Deals records to both halves, and counts them. False: out of memory, or there are other ones than
 * `all`. */
static bool deal_lines(const char *bytes, size_t size, const size_t *unit, const bool *aside,
                       size_t all, struct arena halves[2], size_t counts[2]) {
	size_t record = 0;
	for (size_t at = 0; at < size; record++) {
		const char *end = memchr(bytes + at, '\n', size - at);
		const size_t length = end ? (size_t)(end - bytes) + 1 - at : size - at;
		if (record == all) return false;
		const bool half = aside[unit[record]];
		const size_t kept = may_be_object(bytes + at, length) ? length : 0;
		if (!put_record(&halves[half], bytes + at, kept)) return false;
		counts[half]++;
		at += length;
	}
	return record == all;
}

/* Likewise rows of CSV; the header row goes to both. */
static bool deal_rows(char *bytes, size_t size, char delimiter, const size_t *unit,
                      const bool *aside, size_t all, struct arena halves[2], size_t counts[2]) {
	// All is at hand: the source has nothing to read, and rows_next changes no byte.
	struct source source = {.file = -1, .ended = true};
	source.buffer = (struct arena){.bytes = bytes, .used = size, .capacity = size};
	struct rows rows = {.source = &source, .delimiter = delimiter, .quotes = delimiter != '\t'};
	struct row row;
	struct cuttle_error error;
	enum cuttle_status status = CUTTLE_OK;
	size_t number = 0;
	for (size_t at = 0; rows_next(&rows, &row, &status, &error); at = source.start) {
		// A blank line before the header row is no record.
		if (!number && row.fault == ROW_BLANK) continue;
		const bool broken = row.fault != ROW_RIGHT;
		const char *const from = broken ? "" : bytes + at;
		const size_t length = broken ? 0 : source.start - at;
		if (number > all) return false;
		for (size_t half = 0; half < 2; half++) {
			if (number && half != aside[unit[number - 1]]) continue;
			if (!put_record(&halves[half], from, length)) return false;
			counts[half] += number > 0;
		}
		number++;
	}
	return !status && number == all + 1;
}

static enum cuttle_status write_private(const char *path, const char *bytes, size_t size,
                                        struct cuttle_error *error) {
	struct sink sink;
	enum cuttle_status status = sink_open_private(&sink, path, error);
	if (status) return status;
	sink.fresh = true;
	status = sink_write(&sink, bytes, size, error);
	return sink_close(&sink, status, error);
}

/* Writes all three, the split last: where it stands, both halves do. */
static enum cuttle_status write_halves(char *const paths[HALVES_FILES],
                                       const struct arena halves[2], size_t all,
                                       const char *unit_key, struct cuttle_error *error) {
	char sha256[2][HASH_TEXT];
	size_t size = 0;
	for (int half = 0; half < 2; half++)
		hash_of(halves[half].bytes, halves[half].used, sha256[half]);
	const struct jsonout_member members[] = {
	    {"cuttle_split", json_integer(FORMAT)},
	    {"records", json_integer((json_int_t)all)},
	    {"used_sha256", json_string(sha256[HALVES_USED])},
	    {"aside_sha256", json_string(sha256[HALVES_ASIDE])},
	    {"unit_key", unit_key ? jsonout_text(unit_key, strlen(unit_key)) : json_null()}};
	char *text =
	    jsonout_dump(jsonout_extend(json_object(), members, sizeof members / sizeof *members),
	                 JSON_INDENT(1), &size);
	enum cuttle_status status =
	    text ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	int written = 0;
	while (written < HALVES_FILES && !status) {
		status = written == HALVES_SPLIT
		             ? write_private(paths[written], text, size, error)
		             : write_private(paths[written], halves[written].bytes,
		                             halves[written].used, error);
		written += !status;
	}
	// What failed is not removed: another split may have made that file meanwhile.
	while (status && written > 0) (void)unlink(paths[--written]);
	secrecy_free(text);
	return status;
}

enum cuttle_status halves_absent(const char *input, const char *name, struct cuttle_error *error) {
	char *paths[HALVES_FILES] = {NULL};
	struct stat is;
	enum cuttle_status status = halves_paths(input, name, paths)
	                                ? CUTTLE_OK
	                                : io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (int i = 0; i < HALVES_FILES && !status; i++)
		if (lstat(paths[i], &is) == 0)
			status =
			    io_fail(error, CUTTLE_USAGE,
			            "%s is there already, and a split is never overwritten: a "
			            "run may have read it; give --split another name, or remove "
			            "the file",
			            paths[i]);
	for (int i = 0; i < HALVES_FILES; i++) free(paths[i]);
	return status;
}

/* Reads the file a second time and deals its records, as `unit` and `aside` say. */
static enum cuttle_status deal_halves(const char *input, const size_t *unit, const bool *aside,
                                      size_t all, struct arena halves[2], size_t counts[2],
                                      struct cuttle_error *error) {
	char *bytes = NULL;
	size_t size = 0;
	enum cuttle_status status = file_read(input, INPUT_MOST, &bytes, &size, error);
	if (status) return status;
	const size_t mark = utf8_mark(bytes, size);
	const struct records_request request = {.path = input};
	const char delimiter = file_ends_in(input, ".tsv") ? '\t' : ',';
	// With a line end for each record, so that nothing has to grow later.
	const size_t most = size + all + 2;
	if (!arena_reserve(&halves[0], most) || !arena_reserve(&halves[1], most))
		status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	else if (!(records_are_csv(&request)
	               ? deal_rows(bytes + mark, size - mark, delimiter, unit, aside, all, halves,
	                           counts)
	               : deal_lines(bytes + mark, size - mark, unit, aside, all, halves, counts)))
		status = io_fail(error, CUTTLE_INPUT, "%s changed while it was read", input);
	secrecy_free(bytes);
	return status;
}

/* A mistyped name would make each record an owner, and a table that is called JSONL has no record:
 * no lot would be drawn of what the audit compares. */
static enum cuttle_status need_fields(const struct records_request *wanted,
                                      const struct records *records, struct cuttle_error *error) {
	size_t size, i = 0;
	const enum cuttle_status status =
	    records_need_field(wanted, records, "--text-field", error);
	if (status || !wanted->id_field || !records_count(records)) return status;
	while (i < records_count(records) && !records_id(records, i, &size)) i++;
	return i < records_count(records)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_INPUT,
	                     "%s: no record has a field %.64s: name it with --unit-key",
	                     wanted->path, wanted->id_field);
}

static enum cuttle_status split_records(const struct records *records, const char *input,
                                        const char *unit_key, const struct chance *chance,
                                        char *const paths[HALVES_FILES], size_t counts[2],
                                        struct cuttle_error *error) {
	struct arena halves[2] = {{0}};
	size_t units;
	size_t *unit = halves_units(records, &units);
	bool *aside = unit ? draw_aside(units, chance) : NULL;
	const size_t all = records_count(records);
	enum cuttle_status status =
	    aside ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status && units < 2)
		status = io_fail(error, CUTTLE_INPUT, "%s has fewer than two %s: nothing to split",
		                 input, unit_key ? "owners" : "records");
	if (!status) status = deal_halves(input, unit, aside, all, halves, counts, error);
	if (!status) status = write_halves(paths, halves, all, unit_key, error);
	secrecy_free(unit);
	secrecy_free(aside);
	arena_free(&halves[0]);
	arena_free(&halves[1]);
	return status;
}

enum cuttle_status halves_split(const char *input, const char *field, const char *unit_key,
                                const char *name, const struct chance *chance, size_t counts[2],
                                struct cuttle_error *error) {
	struct records *records = NULL;
	char *paths[HALVES_FILES] = {NULL};
	const struct records_request wanted = {.path = input,
	                                       .field = field,
	                                       .id_field = unit_key,
	                                       .id_is_owner = true,
	                                       .all_columns = true,
	                                       .limit = SIZE_MAX};
	counts[0] = counts[1] = 0;
	enum cuttle_status status = halves_paths(input, name, paths)
	                                ? CUTTLE_OK
	                                : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = halves_absent(input, name, error);
	if (!status) status = records_read(&wanted, &records, error);
	if (!status) status = need_fields(&wanted, records, error);
	if (!status) status = split_records(records, input, unit_key, chance, paths, counts, error);
	records_free(&records);
	for (int i = 0; i < HALVES_FILES; i++) free(paths[i]);
	return status;
}

/* ---- the split, read again ------------------------------------------------------------------- */

static enum cuttle_status compare_half(const char *path, const char *key, const json_t *split,
                                       const char *split_path, struct cuttle_error *error) {
	char sha256[HASH_TEXT];
	const enum cuttle_status status = hash_file(path, sha256, error);
	if (status || !strcmp(sha256, json_string_value(json_object_get(split, key))))
		return status;
	return io_fail(error, CUTTLE_LEDGER,
	               "%s is not the half that %s was written with: other bytes", path,
	               split_path);
}

static enum cuttle_status read_lot(const char *path, json_t **split, struct cuttle_error *error) {
	char *text = NULL;
	size_t size = 0;
	enum cuttle_status status = file_read(path, SPLIT_MOST, &text, &size, error);
	if (status) return status;
	*split = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	const json_t *key = json_object_get(*split, "unit_key");
	if (json_integer_value(json_object_get(*split, "cuttle_split")) != FORMAT ||
	    !json_is_string(json_object_get(*split, "used_sha256")) ||
	    !json_is_string(json_object_get(*split, "aside_sha256")) ||
	    !(json_is_null(key) || json_is_string(key)))
		status = io_fail(error, CUTTLE_INPUT,
		                 "%s was not written by cuttle audit holdout --split", path);
	free(text);
	return status;
}

enum cuttle_status halves_find(const char *used, const char *aside, json_t **split,
                               struct cuttle_error *error) {
	*split = NULL;
	if (!halves_named(used)) return CUTTLE_OK;
	char *path = split_beside(used);
	enum cuttle_status status =
	    path ? read_lot(path, split, error) : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = compare_half(used, "used_sha256", *split, path, error);
	if (!status) status = compare_half(aside, "aside_sha256", *split, path, error);
	free(path);
	return status;
}
