// SPDX-License-Identifier: Apache-2.0
// What shapes are by themselves: where they stand, what they are behind aliases, how they are
// freed.
#include "io/schema/shape.h"

#include <stdlib.h>

const char *const ASPECT_NAMES[ASPECTS] = {"type",      "enum",
                                           "const",     "required",
                                           "minLength", "maxLength",
                                           "pattern",   "format",
                                           "minimum",   "exclusiveMinimum",
                                           "maximum",   "exclusiveMaximum",
                                           "minItems",  "maxItems",
                                           "anyOf",     "oneOf"};

const struct shape *shape_of(const struct schema *schema, uint32_t shape) {
	while (schema->shapes[shape].kind == SHAPE_ALIAS)
		shape = schema->members[schema->shapes[shape].first].shape;
	return &schema->shapes[shape];
}

static void write_pointer_key(const char *key, FILE *out) {
	for (; *key; key++) {
		if (*key == '~') fputs("~0", out);
		else if (*key == '/') fputs("~1", out);
		else fputc(*key, out);
	}
}

bool shape_write_place(const struct schema *schema, uint32_t shape, FILE *out) {
	uint32_t *path = calloc(schema->count, sizeof *path);
	size_t count = 0;
	if (!path) return false;
	for (; shape != NO_SHAPE; shape = schema->shapes[shape].place.up) path[count++] = shape;
	while (count--) {
		const struct shape_place *place = &schema->shapes[path[count]].place;
		if (!place->step) continue;
		fprintf(out, "/%s", place->step);
		if (place->number >= 0) fprintf(out, "/%d", place->number);
		if (!place->key) continue;
		fputc('/', out);
		write_pointer_key(place->key, out);
	}
	free(path);
	return !ferror(out);
}

void schema_free(struct schema *schema) {
	if (!schema) return;
	for (size_t i = 0; i < schema->count; i++) json_decref(schema->shapes[i].values);
	for (size_t i = 0; i < schema->pattern_count; i++) {
		pattern_free(&schema->patterns[i].any);
		pattern_free(&schema->patterns[i].bound);
	}
	json_decref(schema->json);
	json_decref(schema->joined);
	free(schema->shapes);
	free(schema->members);
	free(schema->patterns);
	free(schema);
}
