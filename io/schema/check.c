// SPDX-License-Identifier: Apache-2.0
// What is asked of all shapes together (io/schema/reading.h), once each is there: a shape that
// contains itself must read something first and be able to end, and one of oneOf excludes others.
#include "io/schema/canonical.h"
#include "io/schema/nfa.h"
#include "io/schema/reading.h"

#include <stdlib.h>
#include <string.h>

enum { TOLD_DEEP = 20 }; /* how deep in two shapes it is looked for what tells them apart */

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

/* What is_apart follows, and how deep. */
struct telling {
	struct reading_schema *in;
	const unsigned char *types;
	unsigned depth;
};

static bool is_apart(struct telling *with, uint32_t a, uint32_t b);

static bool are_choices_apart(struct telling *with, const struct shape *left,
                              const struct shape *right) {
	for (size_t i = 0; i < json_array_size(left->values); i++)
		for (size_t j = 0; j < json_array_size(right->values); j++)
			if (!nfa_pays(&with->in->budget, 10) ||
			    canonical_same(json_array_get(left->values, i),
			                   json_array_get(right->values, j)))
				return false;
	return true;
}

/* Whether strings alone could fit both, and none of the values does. */
static bool is_choice_apart(struct telling *with, const struct shape *choice, uint32_t other) {
	const struct shape *shape = shape_of(with->in->to, other);
	if (shape->kind != SHAPE_STRING) return false;
	for (size_t i = 0; i < json_array_size(choice->values); i++) {
		const json_t *value = json_array_get(choice->values, i);
		if (!nfa_pays(&with->in->budget, 10 + json_string_length(value)) ||
		    shape_fits(with->in->to, other, value))
			return false;
	}
	return true;
}

static const struct shape_member *find_shape_member(struct telling *with, const struct shape *shape,
                                                    const char *key) {
	const struct shape_member *members = with->in->to->members + shape->first;
	for (size_t i = 0; i < shape->count && nfa_pays(&with->in->budget, 1); i++)
		if (!strcmp(members[i].key, key)) return &members[i];
	return NULL;
}

/* Whether one object has a member that the other, which has it too if it fits both, says otherwise
 * of, or may not have. */
static bool are_objects_apart(struct telling *with, const struct shape *left,
                              const struct shape *right) {
	const struct shape_member *members = with->in->to->members + left->first;
	for (size_t i = 0; i < left->count && nfa_pays(&with->in->budget, 1); i++) {
		const struct shape_member *other = find_shape_member(with, right, members[i].key);
		// Without budget nothing is found.
		if (!other && members[i].required && right->closed && with->in->budget.steps)
			return true;
		if (other && (members[i].required || other->required) &&
		    is_apart(with, members[i].shape, other->shape))
			return true;
	}
	return false;
}

/* Whether no alternative of one fits what fits the other. */
static bool are_all_apart(struct telling *with, const struct shape *either, uint32_t other) {
	for (size_t i = 0; i < either->count; i++)
		if (!is_apart(with, with->in->to->members[either->first + i].shape, other))
			return false;
	return true;
}

/* Whether no value fits both, as far as it is seen. */
static bool is_apart(struct telling *with, uint32_t a, uint32_t b) {
	if (!(with->types[a] & with->types[b])) return true;
	if (with->depth == TOLD_DEEP || !nfa_pays(&with->in->budget, 10)) return false;
	const struct shape *left = shape_of(with->in->to, a), *right = shape_of(with->in->to, b);
	bool apart = false;
	with->depth++;
	if (passes_on(left)) apart = are_all_apart(with, left, b);
	else if (passes_on(right)) apart = are_all_apart(with, right, a);
	else if (left->kind == SHAPE_CHOICE && right->kind == SHAPE_CHOICE)
		apart = are_choices_apart(with, left, right);
	else if (left->kind == SHAPE_CHOICE) apart = is_choice_apart(with, left, b);
	else if (right->kind == SHAPE_CHOICE) apart = is_choice_apart(with, right, a);
	else if (left->kind == SHAPE_OBJECT && right->kind == SHAPE_OBJECT)
		apart =
		    are_objects_apart(with, left, right) || are_objects_apart(with, right, left);
	with->depth--;
	return apart;
}

/* Where a discriminator names the member that should tell, it says which to require. */
static bool refuse_two(struct reading_schema *in, uint32_t at, size_t first, size_t second) {
	const json_t *hint = json_object_get(in->to->shapes[at].json, "discriminator");
	const char *name = json_string_value(json_object_get(hint, "propertyName"));
	if (name)
		return reading_refuse(
		    in, at, "oneOf",
		    "a value may fit two of it, numbers %zu and %zu; name "
		    "\"%.60s\" in required of each (Pydantic leaves out what has a "
		    "default), or write anyOf",
		    first, second, name);
	return reading_refuse(
	    in, at, "oneOf",
	    "a value may fit two of it, numbers %zu and %zu; give each another "
	    "type, other values, or a required member with a const of its own, or "
	    "write anyOf",
	    first, second);
}

static bool check_exclusion(struct reading_schema *in, uint32_t at, const unsigned char *types) {
	const struct schema *schema = in->to;
	const struct shape *shape = &schema->shapes[at];
	if (shape->kind != SHAPE_EITHER || shape->high_by != ASPECT_ONE_OF) return true;
	const struct shape_member *members = schema->members + shape->first;
	struct telling with = {in, types, 0};
	for (size_t i = 0; i < shape->count; i++)
		for (size_t j = 0; j < i; j++)
			if (!is_apart(&with, members[i].shape, members[j].shape))
				return refuse_two(in, at, j, i);
	return true;
}

/* ---- discriminators -------------------------------------------------------------------------- */

/* Whether the member may have the value that a key of the mapping is: 1 has the key "1". */
static bool takes_key(struct reading_schema *in, uint32_t member, const char *key) {
	json_t *text = json_string(key), *word = json_loads(key, JSON_DECODE_ANY, NULL);
	if (!text) (void)reading_nomem(in);
	const bool takes = (text && shape_fits_paid(in->to, member, text, &in->budget)) ||
	                   (word && shape_fits_paid(in->to, member, word, &in->budget));
	json_decref(text);
	json_decref(word);
	return takes;
}

/* Whether an object of the shape may have the key as its member `name`. */
static bool may_be_told(struct telling *with, uint32_t at, const char *name, const char *key) {
	const struct shape *shape = shape_of(with->in->to, at);
	if (with->depth == TOLD_DEEP || !nfa_pays(&with->in->budget, 10)) return false;
	bool told = false;
	with->depth++;
	if (shape->kind == SHAPE_OBJECT) {
		const struct shape_member *member = find_shape_member(with, shape, name);
		told = member && takes_key(with->in, member->shape, key);
	}
	for (size_t i = 0; passes_on(shape) && i < shape->count && !told; i++)
		told = may_be_told(with, with->in->to->members[shape->first + i].shape, name, key);
	with->depth--;
	return told;
}

/* Whether the mapping's value names the alternative: by its $ref, by the last name of that, or as
 * Pydantic does where it has no $ref, by being it. */
static bool names_alternative(const json_t *named, const json_t *alternative) {
	const char *name = json_string_value(named),
	           *reference = json_string_value(json_object_get(alternative, "$ref"));
	if (!name || !reference) return !name && canonical_same(named, alternative);
	const char *last = strrchr(reference, '/');
	return !strcmp(name, reference) || (last && !strcmp(name, last + 1));
}

/* A discriminator is a hint, which must not say what the alternatives do not. */
static bool check_discriminator(struct reading_schema *in, uint32_t at,
                                const unsigned char *types) {
	const struct shape *shape = &in->to->shapes[at];
	const json_t *hint = json_object_get(shape->json, "discriminator");
	if (shape->kind != SHAPE_EITHER || !hint) return true;
	const char *name = json_string_value(json_object_get(hint, "propertyName"));
	json_t *mapping = json_object_get(hint, "mapping");
	const json_t *list = json_object_get(shape->json, ASPECT_NAMES[shape->high_by]);
	struct telling with = {in, types, 0};
	if (!name || (mapping && !json_is_object(mapping)))
		return reading_refuse(in, at, "discriminator",
		                      "it has no propertyName that is a string, or a mapping that "
		                      "is no object; leave it out");
	for (void *i = json_object_iter(mapping); i; i = json_object_iter_next(mapping, i)) {
		const char *key = json_object_iter_key(i);
		bool told = false;
		for (size_t j = 0; j < shape->count && !told; j++)
			told =
			    nfa_pays(&in->budget, 100) &&
			    names_alternative(json_object_iter_value(i), json_array_get(list, j)) &&
			    may_be_told(&with, in->to->members[shape->first + j].shape, name, key);
		if (!told)
			return reading_refuse(in, at, "discriminator",
			                      "its mapping of \"%.60s\" names no alternative whose "
			                      "member \"%.60s\" may be that; mend it or leave the "
			                      "discriminator out",
			                      key, name);
	}
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
		done = check_exclusion(in, (uint32_t)i, types) &&
		       check_discriminator(in, (uint32_t)i, types);
	free(types);
	free(colours);
	free(ends);
	return done;
}
