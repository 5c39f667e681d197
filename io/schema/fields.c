// SPDX-License-Identifier: Apache-2.0
// How schema_fields lists: objects in objects are gone through, anything else is a field.
#include "io/schema/canonical.h"
#include "io/schema/shape.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 100, MOST = 10000 };

struct listing {
	const struct schema *schema;
	struct schema_fields *to;
	uint32_t path[DEEPEST]; /* the objects that it is in */
	const char *names[DEEPEST];
	unsigned depth;
	bool may_lack;
};

static char *copy_arena(struct arena *text) {
	char *copy = malloc(text->used + 1);
	if (copy) {
		memcpy(copy, text->bytes, text->used);
		copy[text->used] = 0;
	}
	return copy;
}

static char *name_field(const struct listing *in) {
	char *name = NULL;
	size_t size;
	if (in->depth == 1) return strdup(in->names[0]);
	FILE *out = open_memstream(&name, &size);
	if (!out) return NULL;
	for (unsigned i = 0; i < in->depth; i++) {
		fputc('/', out);
		for (const char *at = in->names[i]; *at; at++)
			if (*at == '~') fputs("~0", out);
			else if (*at == '/') fputs("~1", out);
			else fputc(*at, out);
	}
	if (fclose(out) == 0) return name;
	free(name);
	return NULL;
}

static bool add_field_value(struct schema_field *field, const json_t *value) {
	struct arena text = {0};
	if (json_is_null(value)) field->may_null = true;
	char **values = reallocarray(field->values, field->count + 1, sizeof *values);
	if (values) field->values = values;
	char **labels = reallocarray(field->labels, field->count + 1, sizeof *labels);
	if (labels) field->labels = labels;
	bool done = values && labels && canonical_value(&text, value);
	if (done) {
		values[field->count] = copy_arena(&text);
		labels[field->count] =
		    json_is_string(value) ? strdup(json_string_value(value)) : copy_arena(&text);
		done = values[field->count] && labels[field->count];
		field->count++;
	}
	arena_free(&text);
	return done;
}

static bool add_choices(struct schema_field *field, const struct shape *shape) {
	bool done = true;
	field->kind = FIELD_CATEGORY;
	if (shape->kind == SHAPE_BOOLEAN)
		return add_field_value(field, json_true()) && add_field_value(field, json_false());
	for (size_t i = 0; i < json_array_size(shape->values) && done; i++)
		done = add_field_value(field, json_array_get(shape->values, i));
	return done;
}

/* Of a type and null the type counts. */
static const struct shape *without_null(const struct schema *schema, const struct shape *shape,
                                        bool *may_null) {
	if ((shape->kind != SHAPE_TYPED && shape->kind != SHAPE_EITHER) || shape->count != 2)
		return shape;
	const struct shape_member *members = schema->members + shape->first;
	const struct shape *first = shape_of(schema, members[0].shape),
	                   *second = shape_of(schema, members[1].shape);
	*may_null = first->kind == SHAPE_NULL || second->kind == SHAPE_NULL;
	return !*may_null ? shape : first->kind == SHAPE_NULL ? second : first;
}

static bool fill_field(const struct listing *in, const struct shape *shape,
                       struct schema_field *field) {
	*field = (struct schema_field){
	    .kind = FIELD_OTHER, .inner = in->depth > 1, .may_lack = in->may_lack};
	field->name = name_field(in);
	if (!field->name) return false;
	shape = without_null(in->schema, shape, &field->may_null);
	switch (shape->kind) {
	case SHAPE_NULL:
		field->may_null = true;
		return true;
	case SHAPE_NUMBER:
		field->kind = FIELD_NUMBER;
		return true;
	case SHAPE_STRING:
		field->kind = shape->date ? FIELD_DATE : FIELD_TEXT;
		return true;
	case SHAPE_BOOLEAN:
	case SHAPE_CHOICE:
		break;
	default:
		return true;
	}
	const bool null = field->may_null;
	return add_choices(field, shape) && (!null || add_field_value(field, json_null()));
}

static bool is_within(const struct listing *in, uint32_t shape) {
	for (unsigned i = 0; i < in->depth; i++)
		if (in->path[i] == shape) return true;
	return in->depth == DEEPEST;
}

static bool list_fields(struct listing *in, uint32_t number) {
	const struct shape *object = &in->schema->shapes[number];
	const bool lacked = in->may_lack;
	bool done = true;
	if (is_within(in, number)) return true;
	in->path[in->depth] = number;
	for (size_t i = 0; i < object->count && done; i++) {
		const struct shape_member *member = &in->schema->members[object->first + i];
		const struct shape *shape = shape_of(in->schema, member->shape);
		in->names[in->depth++] = member->key;
		in->may_lack = lacked || !member->required;
		const uint32_t inner = (uint32_t)(shape - in->schema->shapes);
		if (shape->kind == SHAPE_OBJECT && !is_within(in, inner)) {
			done = list_fields(in, inner);
		} else if (in->to->count < MOST) {
			struct schema_field *list =
			    reallocarray(in->to->list, in->to->count + 1, sizeof *list);
			if (list) in->to->list = list;
			done = list && fill_field(in, shape, &list[in->to->count++]);
		}
		in->depth--;
	}
	in->may_lack = lacked;
	return done;
}

bool schema_is_object(const struct schema *schema) {
	return shape_of(schema, 0)->kind == SHAPE_OBJECT;
}

struct schema_fields *schema_fields(const struct schema *schema) {
	struct listing in = {.schema = schema, .to = calloc(1, sizeof *in.to)};
	if (!in.to || !schema_is_object(schema)) return in.to;
	if (list_fields(&in, (uint32_t)(shape_of(schema, 0) - schema->shapes))) return in.to;
	schema_fields_free(in.to);
	return NULL;
}

void schema_fields_free(struct schema_fields *fields) {
	for (size_t i = 0; fields && i < fields->count; i++) {
		struct schema_field *field = &fields->list[i];
		for (size_t j = 0; j < field->count; j++) {
			free(field->values[j]);
			free(field->labels[j]);
		}
		free(field->name);
		free(field->values);
		free(field->labels);
	}
	if (fields) free(fields->list);
	free(fields);
}
