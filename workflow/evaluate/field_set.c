// SPDX-License-Identifier: Apache-2.0
// How field_set.h reads: records come in canonical form (io/schema/schema.h), so a value is one of
// a category's when their texts are the same.
#include "workflow/evaluate/field_set.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/records/records.h"
#include "io/schema/canonical.h"
#include "measure/scratch.h"
#include "workflow/text_set.h"
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum cuttle_status measured_fields_of(const struct schema *schema, const char *path,
                                      struct measured_fields *fields, struct cuttle_error *error) {
	*fields = (struct measured_fields){.all = schema_fields(schema)};
	if (!fields->all) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < fields->all->count; i++) {
		const struct schema_field *field = &fields->all->list[i];
		if (field->kind == FIELD_TEXT || field->kind == FIELD_OTHER) continue;
		if (fields->count == FIELD_SET_MOST)
			return io_fail(error, CUTTLE_INPUT,
			               "%s has more than %d fields of categories, numbers and "
			               "dates: leave some out of the schema",
			               file_shown(path), FIELD_SET_MOST);
		fields->list[fields->count++] = field;
	}
	if (fields->count) return CUTTLE_OK;
	return io_fail(error, CUTTLE_INPUT,
	               "%s has no field of categories, numbers or dates, and no others are "
	               "measured. For texts: -m MODEL --text-field NAME without --schema",
	               file_shown(path));
}

void measured_fields_free(struct measured_fields *fields) {
	schema_fields_free(fields->all);
	*fields = (struct measured_fields){0};
}

/* ---- a record's values ----------------------------------------------------------------------- */

/* The member that a JSON pointer leads to, or NULL. Keys are in its own copy. */
static const json_t *follow_pointer(const json_t *object, const char *pointer) {
	char key[1024]; // a schema's names have at most 1,000 bytes
	while (object && *pointer == '/') {
		size_t size = 0;
		for (pointer++; *pointer && *pointer != '/'; pointer++) {
			char c = *pointer;
			if (c == '~') c = *++pointer == '0' ? '~' : '/';
			if (size + 1 < sizeof key) key[size++] = c;
		}
		key[size] = 0;
		object = json_object_get(object, key);
	}
	return object;
}

static const json_t *find_member(const json_t *record, const struct schema_field *field) {
	return field->inner ? follow_pointer(record, field->name)
	                    : json_object_get(record, field->name);
}

/* The number of a category's value; a record that fits has one. False: out of memory. */
static bool find_category(const struct schema_field *field, const json_t *member,
                          struct arena *text, double *value) {
	text->used = 0;
	if (!canonical_value(text, member)) return false;
	*value = NAN;
	for (size_t i = 0; i < field->count; i++)
		if (strlen(field->values[i]) == text->used &&
		    !memcmp(field->values[i], text->bytes, text->used)) {
			*value = (double)i;
			break;
		}
	return true;
}

/* 2024-02-29 is 20240229: later days have greater numbers. */
static double number_of_date(const char *date) {
	double number = 0;
	for (; *date; date++)
		if (*date != '-') number = 10 * number + (*date - '0');
	return number;
}

static bool take_field_value(const struct schema_field *field, const json_t *record,
                             struct arena *text, double *value) {
	const json_t *member = find_member(record, field);
	*value = NAN;
	if (!member) return true;
	if (field->kind == FIELD_CATEGORY) return find_category(field, member, text, value);
	if (json_is_null(member)) *value = INFINITY;
	else if (json_is_string(member)) *value = number_of_date(json_string_value(member));
	else *value = json_number_value(member);
	return true;
}

/* Takes the values of record `index`, as number `at` of those that fit. */
static bool take_record(const struct measured_fields *fields, const struct records *records,
                        size_t index, size_t at, struct arena *text, struct field_set *set) {
	size_t size;
	const char *line = records_text(records, index, &size);
	json_t *record = json_loadb(line, size, JSON_ALLOW_NUL, NULL);
	bool ok = record != NULL;
	for (size_t i = 0; i < fields->count && ok; i++)
		ok = take_field_value(fields->list[i], record, text, &set->values[i][at]);
	json_decref(record);
	return ok;
}

static bool take_records(const struct measured_fields *fields, const struct records *records,
                         struct field_set *set) {
	struct arena text = {0};
	bool ok = true;
	for (size_t i = 0; i < set->records; i++)
		set->count += records_state(records, i) == RECORD_READABLE;
	for (size_t i = 0; i < fields->count && ok; i++)
		ok = (set->values[i] = scratch_make(set->count, sizeof **set->values)) != NULL;
	for (size_t i = 0, at = 0; i < set->records && ok; i++)
		if (records_state(records, i) == RECORD_READABLE)
			ok = take_record(fields, records, i, at++, &text, set);
	arena_free(&text);
	return ok;
}

enum cuttle_status field_set_read(const char *path, const struct schema *schema,
                                  const struct measured_fields *fields, bool lock,
                                  struct field_set *set, struct cuttle_error *error) {
	const struct records_request request = {
	    .path = path, .field = "", .schema = schema, .limit = SIZE_MAX};
	struct records *records;
	struct stat file;
	*set = (struct field_set){.path = path};
	enum cuttle_status status = records_read(&request, &records, error);
	if (!status) status = records_need_field(&request, records, NULL, error);
	if (status) {
		records_free(&records);
		return status;
	}
	if (lock) records_lock(records);
	set->records = records_count(records);
	// A record is an object and has no note of its own.
	set->unprotected = text_set_unprotected(&(struct text_set){.path = path});
	if (!take_records(fields, records, set))
		status = io_fail(error, CUTTLE_NOMEM, "out of memory for the records of %s",
		                 file_shown(path));
	records_free(&records);
	// Receipts name an output by this hash. A pipe cannot be read twice.
	if (!status && stat(path, &file) == 0 && S_ISREG(file.st_mode))
		status = hash_file(path, set->sha256, error);
	return status;
}

void field_set_free(struct field_set *set) {
	for (size_t i = 0; i < FIELD_SET_MOST; i++) scratch_free(set->values[i]);
	*set = (struct field_set){0};
}
