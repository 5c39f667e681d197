// SPDX-License-Identifier: Apache-2.0
// What is asked of all shapes together (io/schema/reading.h), once each is there: a shape that
// contains itself must read something first and be able to end, and one of oneOf excludes others.
#include "io/schema/canonical.h"
#include "io/schema/nfa.h"
#include "io/schema/reading.h"

#include <stdlib.h>

enum colour { WHITE, GREY, BLACK };

static bool passes_on(const struct shape *shape) {
	return shape->kind == SHAPE_ALIAS || shape->kind == SHAPE_EITHER ||
	       shape->kind == SHAPE_TYPED;
}

/* Follows the shapes that stand for others. One that is met while it is followed is itself alone.
 */
static bool follow_shape(struct reading_schema *in, uint32_t at, unsigned char *colours,
                         unsigned depth) {
	const struct shape *shape = &in->to->shapes[at];
	if (colours[at] == GREY || depth > 1000)
		return reading_refuse(in, at, NULL, "it stands for itself");
	if (colours[at] == BLACK || !passes_on(shape)) return true;
	colours[at] = GREY;
	for (size_t i = 0; i < shape->count; i++)
		if (!follow_shape(in, in->to->members[shape->first + i].shape, colours, depth + 1))
			return false;
	colours[at] = BLACK;
	return true;
}

static bool can_end(const struct schema *schema, const struct shape *shape, const bool *ends) {
	bool all = true, any = false;
	for (size_t i = 0; i < shape->count; i++) {
		const struct shape_member *member = &schema->members[shape->first + i];
		const bool needed =
		    shape->kind == SHAPE_OBJECT ? member->required : i < shape->least;
		any |= ends[member->shape];
		all &= !needed || ends[member->shape];
	}
	if (passes_on(shape)) return any;
	if (shape->kind == SHAPE_ARRAY && shape->least > shape->count) all &= ends[shape->rest];
	return all;
}

static bool check_endings(struct reading_schema *in, bool *ends) {
	bool changed = true;
	while (changed) {
		changed = false;
		for (size_t i = in->to->count; i-- > 0;)
			if (!ends[i] && can_end(in->to, &in->to->shapes[i], ends))
				changed = ends[i] = true;
	}
	for (size_t i = 0; i < in->to->count; i++)
		if (!ends[i])
			return reading_refuse(
			    in, (uint32_t)i, NULL,
			    "it contains itself in all that fits, without an end");
	return true;
}

/* Types of what fits, one bit each, as far as types[] of a shape's members knows. */
static unsigned char types_of(const struct schema *schema, const struct shape *shape,
                              const unsigned char *types) {
	static const unsigned char
	    of_kind[] =
	        {[SHAPE_NULL] = 32, [SHAPE_BOOLEAN] = 16, [SHAPE_NUMBER] = 8, [SHAPE_STRING] = 4,
	         [SHAPE_ARRAY] = 2, [SHAPE_OBJECT] = 1,   [SHAPE_ALIAS] = 0},
	    of_json[] = {[JSON_OBJECT] = 1, [JSON_ARRAY] = 2, [JSON_STRING] = 4, [JSON_INTEGER] = 8,
	                 [JSON_REAL] = 8,   [JSON_TRUE] = 16, [JSON_FALSE] = 16, [JSON_NULL] = 32};
	unsigned char all = of_kind[shape->kind];
	for (size_t i = 0; i < json_array_size(shape->values); i++)
		all |= of_json[json_typeof(json_array_get(shape->values, i))];
	for (size_t i = 0; passes_on(shape) && i < shape->count; i++)
		all |= types[schema->members[shape->first + i].shape];
	return all;
}

static void list_shape_types(const struct schema *schema, unsigned char *types) {
	bool changed = true;
	while (changed) {
		changed = false;
		for (size_t i = schema->count; i-- > 0;) {
			const unsigned char all = types_of(schema, &schema->shapes[i], types);
			changed |= all != types[i];
			types[i] = all;
		}
	}
}

/* Whether no value fits both. */
static bool is_apart(struct reading_schema *in, uint32_t a, uint32_t b,
                     const unsigned char *types) {
	if (!(types[a] & types[b])) return true;
	const struct shape *left = shape_of(in->to, a), *right = shape_of(in->to, b);
	if (left->kind != SHAPE_CHOICE || right->kind != SHAPE_CHOICE) return false;
	for (size_t i = 0; i < json_array_size(left->values); i++)
		for (size_t j = 0; j < json_array_size(right->values); j++)
			if (!nfa_pays(&in->budget, 10) ||
			    canonical_same(json_array_get(left->values, i),
			                   json_array_get(right->values, j)))
				return false;
	return true;
}

static bool check_exclusion(struct reading_schema *in, uint32_t at, const unsigned char *types) {
	const struct schema *schema = in->to;
	const struct shape *shape = &schema->shapes[at];
	if (shape->kind != SHAPE_EITHER || shape->high_by != ASPECT_ONE_OF) return true;
	const struct shape_member *members = schema->members + shape->first;
	for (size_t i = 0; i < shape->count; i++)
		for (size_t j = 0; j < i; j++)
			if (!is_apart(in, members[i].shape, members[j].shape, types))
				return reading_refuse(
				    in, at, "oneOf",
				    "a value may fit two of it; cuttle wants other "
				    "types or values in each, or anyOf");
	return true;
}

bool reading_check(struct reading_schema *in) {
	unsigned char *colours = calloc(in->to->count, sizeof *colours);
	unsigned char *types = calloc(in->to->count, sizeof *types);
	bool *ends = calloc(in->to->count, sizeof *ends);
	bool done = colours && types && ends ? true : reading_nomem(in);
	for (size_t i = 0; i < in->to->count && done; i++)
		done = follow_shape(in, (uint32_t)i, colours, 0);
	if (done) done = check_endings(in, ends);
	if (done) list_shape_types(in->to, types);
	for (size_t i = 0; i < in->to->count && done; i++)
		done = check_exclusion(in, (uint32_t)i, types);
	free(types);
	free(colours);
	free(ends);
	return done;
}
