// SPDX-License-Identifier: Apache-2.0
// table.c: see table.h.
#include "io/schema/table.h"

#include "io/disk/fail.h"
#include "io/schema/shape.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEEP = 100, LONGEST_WORD = 64 };

struct schema_table {
	const struct schema *schema;
	size_t count;
	const char **names;                 /* [count] */
	const struct shape_member *members; /* [count] */
};

/* Whether no value of the shape is an object or a list. */
static bool is_scalar(const struct schema *schema, uint32_t number, unsigned depth) {
	const struct shape *shape = shape_of(schema, number);
	bool scalar = depth < DEEP;
	switch (shape->kind) {
	case SHAPE_OBJECT:
	case SHAPE_ARRAY:
		return false;
	case SHAPE_CHOICE:
		for (size_t i = 0; i < json_array_size(shape->values); i++) {
			const json_t *value = json_array_get(shape->values, i);
			scalar &= !json_is_object(value) && !json_is_array(value);
		}
		return scalar;
	case SHAPE_TYPED:
	case SHAPE_EITHER:
		for (size_t i = 0; i < shape->count && scalar; i++)
			scalar =
			    is_scalar(schema, schema->members[shape->first + i].shape, depth + 1);
		return scalar;
	default:
		return true;
	}
}

/* Whether a header row that has the name is read back: it is one line, whose mark is no text. */
static bool is_column_name(const char *name) {
	return !strpbrk(name, "\r\n") && strncmp(name, "\xEF\xBB\xBF", 3) != 0;
}

static enum cuttle_status refuse_nested(const struct schema *schema, uint32_t shape,
                                        struct cuttle_error *error) {
	char *place = NULL;
	size_t size;
	FILE *out = open_memstream(&place, &size);
	const bool done = out && shape_write_place(schema, shape, out);
	if (out && fclose(out) == 0 && done)
		(void)io_fail(error, CUTTLE_INPUT,
		              "\"%.300s\": a cell of a table holds no object or list: give JSONL, "
		              "which does",
		              place);
	else (void)io_fail(error, CUTTLE_NOMEM, "out of memory");
	free(place);
	return done ? CUTTLE_INPUT : CUTTLE_NOMEM;
}

enum cuttle_status schema_table_make(const struct schema *schema, struct schema_table **out,
                                     struct cuttle_error *error) {
	const struct shape *object = shape_of(schema, 0);
	struct schema_table *table = *out = calloc(1, sizeof *table);
	if (table) table->names = calloc(object->count + 1, sizeof *table->names);
	if (!table || !table->names) {
		schema_table_free(out);
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	table->schema = schema;
	table->count = object->count;
	table->members = schema->members + object->first;
	for (size_t i = 0; i < table->count; i++) {
		table->names[i] = table->members[i].key;
		if (!is_column_name(table->names[i])) {
			schema_table_free(out);
			return io_fail(error, CUTTLE_INPUT,
			               "a member's name has a line end, or begins with a byte "
			               "order mark, which no column's name can: give JSONL");
		}
		if (is_scalar(schema, table->members[i].shape, 0)) continue;
		schema_table_free(out);
		return refuse_nested(schema, schema->members[object->first + i].shape, error);
	}
	return CUTTLE_OK;
}

void schema_table_free(struct schema_table **table) {
	if (*table) free((*table)->names);
	free(*table);
	*table = NULL;
}

size_t schema_table_columns(const struct schema_table *table) {
	return table->count;
}

const char *const *schema_table_names(const struct schema_table *table) {
	return table->names;
}

bool schema_table_required(const struct schema_table *table, size_t column) {
	return table->members[column].required;
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* What an empty cell is; NULL = no member. */
static json_t *read_empty(const struct schema_table *table, const struct shape_member *member) {
	json_t *null = json_null();
	if (!member->required) return NULL;
	return shape_fits(table->schema, member->shape, null) ? null : json_string("");
}

/* The number, true, false or null that a cell spells; NULL = none of them. Many programs write
 * True. */
static json_t *read_word(const char *cell, size_t size) {
	if (size == 4 && !strncasecmp(cell, "true", 4)) return json_true();
	if (size == 5 && !strncasecmp(cell, "false", 5)) return json_false();
	// To jansson a zero byte is an end.
	if (memchr(cell, 0, size)) return NULL;
	json_t *word = size <= LONGEST_WORD ? json_loadb(cell, size, JSON_DECODE_ANY, NULL) : NULL;
	if (json_is_number(word) || json_is_null(word)) return word;
	json_decref(word);
	return NULL;
}

bool schema_table_read(const struct schema_table *table, size_t column, const char *cell,
                       size_t size, json_t *object) {
	const struct shape_member *member = &table->members[column];
	json_t *value = size ? json_stringn(cell, size) : read_empty(table, member);
	if (!value) return !size && !member->required;
	if (size && !shape_fits(table->schema, member->shape, value)) {
		json_t *word = read_word(cell, size);
		if (word && shape_fits(table->schema, member->shape, word)) {
			json_decref(value);
			value = json_incref(word);
		}
		json_decref(word);
	}
	return json_object_set_new(object, member->key, value) == 0;
}

/* The end of the value that begins here, in canonical form: of a string behind its quote. */
static const char *end_of_value(const char *at, const char *end) {
	if (*at != '"') {
		while (at < end && *at != ',' && *at != '}') at++;
		return at;
	}
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\') at++;
	return at < end ? at + 1 : end;
}

static json_t *cell_of_value(const char *value, size_t size) {
	json_t *whole = json_loadb(value, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (json_is_string(whole) || json_is_integer(whole)) return whole;
	json_decref(whole);
	return json_stringn(value, size);
}

json_t *schema_table_row(const char *text, size_t size) {
	const char *const end = text + size;
	json_t *row = json_object();
	bool done = row != NULL;
	// {"name": value, "name": value}
	for (const char *at = text + 1; done && at < end && *at == '"';) {
		const char *name_end = end_of_value(at, end), *value = name_end + 2;
		if (value >= end) break;
		const char *value_end = end_of_value(value, end);
		json_t *name = json_loadb(at, (size_t)(name_end - at), JSON_DECODE_ANY, NULL);
		const size_t length = (size_t)(value_end - value);
		done = json_is_string(name);
		if (done && (length != 4 || memcmp(value, "null", 4) != 0))
			done = json_object_set_new(row, json_string_value(name),
			                           cell_of_value(value, length)) == 0;
		json_decref(name);
		at = value_end + 2;
	}
	if (done) return row;
	json_decref(row);
	return NULL;
}
