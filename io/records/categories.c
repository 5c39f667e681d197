// SPDX-License-Identifier: Apache-2.0
// How categories are declared and dealt out: see categories.h. A list and a file come to the same
// function, add_category. It refuses a value that is missing and a category that is there already.
#include "io/records/categories.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/records/records.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHARE = 1000000 }; /* the largest share that may be declared */
static const char SHARE[] = "share";

static enum cuttle_status check_fields(const char *const *fields, size_t count,
                                       struct cuttle_error *error) {
	// The members that io/output/output writes itself, and the column of the shares.
	static const char *const taken[] = {"index",   "text", "tokens", "finish",
	                                    "private", "note", SHARE};
	for (size_t i = 0; i < count; i++) {
		if (!utf8_name(fields[i], strlen(fields[i])))
			return io_fail(
			    error, CUTTLE_USAGE,
			    "a category's field must be 1 to %d bytes of text in one line",
			    UTF8_NAME);
		for (size_t j = 0; j < sizeof taken / sizeof *taken; j++)
			if (!strcmp(fields[i], taken[j]))
				return io_fail(error, CUTTLE_USAGE,
				               "no category's field can be called %s", taken[j]);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(fields[i], fields[j]))
				return io_fail(error, CUTTLE_USAGE,
				               "category field %s is given twice", fields[i]);
	}
	return CUTTLE_OK;
}

bool categories_names(const char *line, const char *field) {
	const size_t size = strlen(field);
	return !strncmp(line, field, size) && !strncmp(line + size, ": ", 2);
}

/* Makes the heading of a text with these values, such as "genre: sea\nlanguage: English". The
 * caller frees it. NULL: out of memory. */
static char *make_heading(const char *const *fields, size_t field_count, char *const values[]) {
	char *heading = NULL;
	size_t size;
	FILE *out = open_memstream(&heading, &size);
	if (!out) return NULL;
	for (size_t i = 0; i < field_count; i++)
		(void)fprintf(out, "%s%s: %s", i ? "\n" : "", fields[i], values[i]);
	if (!fclose(out)) return heading;
	free(heading);
	return NULL;
}

/* Adds a category with these values. `where` names it in messages. */
static enum cuttle_status add_category(struct categories *categories, const char *where,
                                       const char *const values[], const size_t sizes[],
                                       uint64_t share, struct cuttle_error *error) {
	const char *const *fields = categories->fields;
	for (size_t i = 0; i < categories->field_count; i++)
		if (!values[i] || !utf8_name(values[i], sizes[i]))
			return io_fail(error, CUTTLE_INPUT,
			               "%s: %s must be 1 to %d bytes of text in one line", where,
			               fields[i], UTF8_NAME);
	const size_t found = categories_find(categories, values, sizes);
	if (found < categories->count) {
		char name[2 * UTF8_NAME];
		(void)snprintf(name, sizeof name, "%s", categories->all[found].heading);
		for (char *at = name; (at = strchr(at, '\n')); at++) *at = ',';
		return io_fail(error, CUTTLE_INPUT, "%s: %s is there twice; leave out one of them",
		               where, name);
	}
	if (categories->count == MOST_CATEGORIES)
		return io_fail(error, CUTTLE_INPUT, "more than %d categories", MOST_CATEGORIES);
	struct category *category = &categories->all[categories->count++];
	bool made = true;
	for (size_t i = 0; i < categories->field_count; i++)
		made &= (category->values[i] = strndup(values[i], sizes[i])) != NULL;
	category->share = share;
	if (made)
		category->heading = make_heading(fields, categories->field_count, category->values);
	return category->heading ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

static enum cuttle_status read_category_list(struct categories *categories, const char *list,
                                             struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	if (categories->field_count != 1)
		return io_fail(
		    error, CUTTLE_USAGE,
		    "categories of several fields are declared in a file: --categories FILE.csv");
	while (!status && list) {
		const char *comma = strchrnul(list, ',');
		const size_t size = (size_t)(comma - list);
		status = add_category(categories, "--categories", &list, &size, 1, error);
		list = *comma ? comma + 1 : NULL;
	}
	return status;
}

/* Returns the share that `words` spell in digits. No words mean 1. 0: they are no share. */
static uint64_t parse_share(const char *words, size_t size) {
	char digits[8], *end;
	if (!words || !size) return 1;
	if (size >= sizeof digits || strspn(words, "0123456789") < size) return 0;
	memcpy(digits, words, size);
	digits[size] = 0;
	const uint64_t share = strtoull(digits, &end, 10);
	return *end || share > MOST_SHARE ? 0 : share;
}

static enum cuttle_status read_category_file(struct categories *categories, const char *path,
                                             struct cuttle_error *error) {
	const char *labels[CATEGORY_FIELDS + 1];
	for (size_t i = 0; i < categories->field_count; i++) labels[i] = categories->fields[i];
	labels[categories->field_count] = SHARE;
	const struct records_request request = {
	    .path = path,
	    .field = categories->fields[0],
	    .format = file_ends_in(path, ".csv") ? RECORDS_CSV : RECORDS_JSONL,
	    .limit = MOST_CATEGORIES + 1,
	    .labels = labels,
	    .label_count = categories->field_count + 1};
	struct records *records;
	enum cuttle_status status = records_read(&request, &records, error);
	for (size_t i = 0; !status && i < records_count(records); i++) {
		const char *values[CATEGORY_FIELDS + 1];
		size_t sizes[CATEGORY_FIELDS + 1];
		char where[UTF8_NAME];
		for (size_t j = 0; j <= categories->field_count; j++)
			values[j] = records_label(records, i, j, &sizes[j]);
		const uint64_t share =
		    parse_share(values[categories->field_count], sizes[categories->field_count]);
		(void)snprintf(where, sizeof where, "%.90s: record %zu", path, i + 1);
		if (!share)
			status = io_fail(error, CUTTLE_INPUT,
			                 "%s: a share must be a whole number from 1 to %d", where,
			                 MOST_SHARE);
		else status = add_category(categories, where, values, sizes, share, error);
	}
	records_free(&records);
	return status;
}

bool categories_in_file(const char *declared) {
	return file_ends_in(declared, ".csv") || file_ends_in(declared, ".json") ||
	       file_ends_in(declared, ".jsonl");
}

bool categories_like_file(const char *declared) {
	static const char *const endings[] = {".txt",  ".tsv", ".ndjson", ".list", ".lst",
	                                      ".yaml", ".yml", ".xlsx",   ".gz"};
	if (categories_in_file(declared) || strchr(declared, ',')) return false;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		if (file_ends_in(declared, endings[i])) return true;
	return false;
}

enum cuttle_status categories_read(const char *const *fields, size_t field_count,
                                   const char *declared, struct categories *categories,
                                   struct cuttle_error *error) {
	REQUIRE(field_count && field_count <= CATEGORY_FIELDS);
	*categories = (struct categories){.field_count = field_count,
	                                  .all = calloc(MOST_CATEGORIES, sizeof(struct category))};
	memcpy(categories->fields, fields, field_count * sizeof *fields);
	if (!categories->all) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = check_fields(fields, field_count, error);
	if (!status)
		status = (categories_in_file(declared) ? read_category_file : read_category_list)(
		    categories, declared, error);
	if (!status && !categories->count)
		status = io_fail(error, CUTTLE_INPUT, "%s declares no category", declared);
	return status;
}

void categories_free(struct categories *categories) {
	for (size_t i = 0; i < categories->count; i++) {
		for (size_t j = 0; j < CATEGORY_FIELDS; j++) free(categories->all[i].values[j]);
		free(categories->all[i].heading);
	}
	free(categories->all);
	*categories = (struct categories){0};
}

uint64_t categories_shares(const struct categories *categories) {
	uint64_t sum = 0;
	for (size_t i = 0; i < categories->count; i++) sum += categories->all[i].share;
	return sum;
}

void categories_spread(struct categories *categories, size_t texts) {
	const uint64_t shares = categories_shares(categories);
	uint64_t sum = 0;
	size_t dealt = 0;
	for (size_t i = 0; i < categories->count; i++) {
		// `until` is texts * sum / shares, rounded to the nearest. For 10 texts and shares
		// 1, 1, 1: 3.33, 6.67 and 10 become 3, 7 and 10, hence parts of 3, 4 and 3.
		sum += categories->all[i].share;
		const size_t until =
		    (size_t)(((unsigned __int128)2 * texts * sum + shares) / 2 / shares);
		categories->all[i].texts = until - dealt;
		dealt = until;
	}
}

size_t categories_find(const struct categories *categories, const char *const values[],
                       const size_t sizes[]) {
	for (size_t i = 0; i < categories->count; i++) {
		size_t same = 0;
		for (; same < categories->field_count && values[same]; same++) {
			const char *value = categories->all[i].values[same];
			if (strlen(value) != sizes[same] ||
			    memcmp(value, values[same], sizes[same]) != 0)
				break;
		}
		if (same == categories->field_count) return i;
	}
	return categories->count;
}

const struct category *categories_of(const struct categories *categories, size_t text) {
	const struct category *category = categories->all;
	for (; text >= category->texts; category++) text -= category->texts;
	return category;
}
