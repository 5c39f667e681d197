// SPDX-License-Identifier: Apache-2.0
// grammar_choice.c: see grammar_choice.h.
#include "workflow/grammar_choice.h"

#include "base/utf8.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GRAMMAR = 1 << 20 }; /* bytes of a file, at most */

/* Appends the grammar of a schema. */
static enum cuttle_status add_schema(struct grammar_choice *choice, const struct schema *schema,
                                     struct cuttle_error *error) {
	const enum cuttle_status status =
	    schema_compile(schema, &choice->grammars[choice->count], error);
	choice->count += !status;
	return status;
}

static enum cuttle_status compile_choice(bool is_schema, size_t size, struct grammar_choice *choice,
                                         struct cuttle_error *error) {
	choice->grammars = calloc(MOST_CATEGORIES, sizeof *choice->grammars);
	if (!choice->grammars) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!is_schema) {
		const enum cuttle_status status =
		    cuttle_grammar_read(choice->text, size, choice->grammars, error);
		choice->count = !status;
		return status;
	}
	const enum cuttle_status status = schema_read(choice->text, size, &choice->schema, error);
	if (status) return status;
	return schema_is_object(choice->schema)
	           ? add_schema(choice, choice->schema, error)
	           : io_fail(error, CUTTLE_INPUT,
	                     "a record must be an object: the schema needs \"type\": \"object\"");
}

const char *grammar_choice_fault(const char *grammar, const char *schema, size_t stop_count) {
	if (grammar && schema) return "--grammar and --schema exclude each other: leave out one";
	return (grammar || schema) && stop_count
	           ? "--grammar and --schema say where a text ends: leave out --stop"
	           : NULL;
}

/* Drops a byte order mark. Returns the size that is left. */
static size_t drop_mark(char *text, size_t size) {
	const size_t mark = utf8_mark(text, size);
	memmove(text, text + mark, size - mark + 1);
	return size - mark;
}

enum cuttle_status grammar_choice_read(const char *grammar, const char *schema,
                                       struct grammar_choice *choice, struct cuttle_error *error) {
	const char *path = schema ? schema : grammar;
	struct cuttle_error reason;
	struct hash hash;
	size_t size;
	*choice = (struct grammar_choice){0};
	if (!path) return CUTTLE_OK;
	enum cuttle_status status = file_read(path, MOST_GRAMMAR, &choice->text, &size, error);
	if (status) return status;
	hash_begin(&hash);
	hash_add(&hash, choice->text, size);
	hash_end(&hash, choice->sha256);
	size = drop_mark(choice->text, size);
	status = compile_choice(schema != NULL, size, choice, &reason);
	return status ? io_fail(error, status, "%s: %s", file_shown(path), reason.message)
	              : CUTTLE_OK;
}

void grammar_choice_tell(const struct grammar_choice *choice, char grammar_sha256[HASH_TEXT],
                         char schema_sha256[HASH_TEXT]) {
	memcpy(choice->schema ? schema_sha256 : grammar_sha256, choice->sha256, HASH_TEXT);
}

/* ---- categories ------------------------------------------------------------------------------ */

/* Sets *value to what the field has where its label is this. */
static enum cuttle_status find_value(const struct schema_fields *fields, const char *name,
                                     const char *label, json_t **value,
                                     struct cuttle_error *error) {
	size_t i = 0, j = 0;
	while (i < fields->count && strcmp(fields->list[i].name, name) != 0) i++;
	if (i == fields->count || fields->list[i].kind != FIELD_CATEGORY)
		return io_fail(error, CUTTLE_USAGE,
		               "--category-field %s: the schema has no enum of that name", name);
	const struct schema_field *field = &fields->list[i];
	while (j < field->count && strcmp(field->labels[j], label) != 0) j++;
	if (j == field->count)
		return io_fail(error, CUTTLE_USAGE,
		               "--categories: \"%s\" is not in the schema's enum of %s", label,
		               name);
	*value = json_loads(field->values[j], JSON_DECODE_ANY, NULL);
	if (json_is_null(*value))
		return io_fail(error, CUTTLE_USAGE,
		               "--categories: no record has null for its category of %s: leave it "
		               "out",
		               name);
	return *value ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

/* Whether the list has the name, which is added where it has not. */
static bool require_member(json_t *root, const char *name) {
	json_t *required = json_object_get(root, "required");
	if (!required) {
		required = json_array();
		if (json_object_set_new(root, "required", required)) return false;
	}
	for (size_t i = 0; i < json_array_size(required); i++)
		if (!strcmp(json_string_value(json_array_get(required, i)), name)) return true;
	return json_array_append_new(required, json_string(name)) == 0;
}

/* Makes the schema's field a constant. */
static enum cuttle_status fix_field(json_t *root, const struct schema_fields *fields,
                                    const char *name, const char *label,
                                    struct cuttle_error *error) {
	json_t *properties = json_object_get(root, "properties"), *value = NULL;
	if (!json_object_get(properties, name))
		return io_fail(error, CUTTLE_USAGE,
		               "--category-field %s: the schema's own properties lack it", name);
	const enum cuttle_status status = find_value(fields, name, label, &value, error);
	if (status) return status;
	json_t *fixed = json_pack("{s:o}", "const", value);
	return !json_object_set_new(properties, name, fixed) && require_member(root, name)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

enum cuttle_status grammar_choice_check(const struct grammar_choice *choice,
                                        const struct categories *categories,
                                        struct cuttle_error *error) {
	struct schema_fields *fields = schema_fields(choice->schema);
	enum cuttle_status status =
	    fields ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < categories->count * categories->field_count && !status; i++) {
		const size_t number = i / categories->field_count,
		             field = i % categories->field_count;
		json_t *value = NULL;
		status = find_value(fields, categories->fields[field],
		                    categories->all[number].values[field], &value, error);
		json_decref(value);
	}
	schema_fields_free(fields);
	return status;
}

/* Appends the grammar of one category. */
static enum cuttle_status add_category_grammar(struct grammar_choice *choice,
                                               const struct schema_fields *fields,
                                               const struct categories *categories, size_t number,
                                               struct cuttle_error *error) {
	json_t *root = json_loads(choice->text, JSON_ALLOW_NUL, NULL);
	struct schema *schema = NULL;
	enum cuttle_status status =
	    root ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; i < categories->field_count && !status; i++)
		status = fix_field(root, fields, categories->fields[i],
		                   categories->all[number].values[i], error);
	char *text = status ? NULL : json_dumps(root, JSON_COMPACT);
	if (!status && !text) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = schema_read(text, strlen(text), &schema, error);
	if (!status) status = add_schema(choice, schema, error);
	schema_free(schema);
	free(text);
	json_decref(root);
	return status;
}

static void free_grammars(struct grammar_choice *choice) {
	for (size_t i = 0; i < choice->count; i++) cuttle_grammar_free(&choice->grammars[i]);
	choice->count = 0;
}

enum cuttle_status grammar_choice_divide(struct grammar_choice *choice,
                                         const struct categories *categories,
                                         struct cuttle_error *error) {
	struct schema_fields *fields = schema_fields(choice->schema);
	enum cuttle_status status =
	    fields ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	free_grammars(choice);
	for (size_t i = 0; i < categories->count && !status; i++)
		status = add_category_grammar(choice, fields, categories, i, error);
	schema_fields_free(fields);
	return status;
}

void grammar_choice_free(struct grammar_choice *choice) {
	free_grammars(choice);
	free(choice->grammars);
	free(choice->text);
	schema_free(choice->schema);
	*choice = (struct grammar_choice){0};
}
