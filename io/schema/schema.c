// SPDX-License-Identifier: Apache-2.0
// How schema.h reads: jansson parses, and keeps members in their order. Then each subschema becomes
// a shape; all its keywords are looked up first, so that none is passed over. At the end shapes are
// looked at together: one may contain itself only if it can end.
#include "io/schema/schema.h"

#include "io/disk/fail.h"
#include "io/schema/canonical.h"
#include "io/schema/nfa.h"
#include "io/schema/reading.h"
#include "io/schema/shape.h"
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 10000, DEEPEST = 100, NAME_LONGEST = 1000, CHOICES = 4096 };
/* An automaton follows all that may come next at once, and has room for 1,024. */
enum { ALTERNATIVES = 256, LACKING = 1000 };

/* Types, as bits. */
enum {
	T_NULL = 1,
	T_BOOLEAN = 2,
	T_NUMBER = 4,
	T_INTEGER = 8,
	T_STRING = 16,
	T_OBJECT = 32,
	T_ARRAY = 64
};
/* What a keyword may say something about beside types: nothing, or it stands apart. */
enum { IGNORED = 128, APART = 256, AT_ROOT = 512 };

static const struct type_name {
	const char *name;
	unsigned type;
} TYPES[] = {{"null", T_NULL},       {"boolean", T_BOOLEAN}, {"number", T_NUMBER},
             {"integer", T_INTEGER}, {"string", T_STRING},   {"object", T_OBJECT},
             {"array", T_ARRAY}};

static const struct keyword {
	const char *name;
	unsigned of;
} KEYWORDS[] = {{"title", IGNORED},
                {"description", IGNORED},
                {"default", IGNORED},
                {"examples", IGNORED},
                {"$comment", IGNORED},
                {"deprecated", IGNORED},
                {"example", IGNORED},
                {"discriminator", IGNORED},
                {"readOnly", IGNORED},
                {"writeOnly", IGNORED},
                {"$schema", AT_ROOT},
                {"$id", AT_ROOT},
                {"$defs", AT_ROOT},
                {"definitions", AT_ROOT},
                {"$ref", APART},
                {"anyOf", APART},
                {"oneOf", APART},
                {"allOf", APART},
                {"type", 127},
                {"nullable", 127},
                {"enum", 127},
                {"const", 127},
                {"properties", T_OBJECT},
                {"required", T_OBJECT},
                {"additionalProperties", T_OBJECT},
                {"minLength", T_STRING},
                {"maxLength", T_STRING},
                {"pattern", T_STRING},
                {"format", T_STRING | T_NUMBER | T_INTEGER},
                {"minimum", T_NUMBER | T_INTEGER},
                {"maximum", T_NUMBER | T_INTEGER},
                {"exclusiveMinimum", T_NUMBER | T_INTEGER},
                {"exclusiveMaximum", T_NUMBER | T_INTEGER},
                {"multipleOf", T_NUMBER | T_INTEGER},
                {"items", T_ARRAY},
                {"prefixItems", T_ARRAY},
                {"additionalItems", T_ARRAY},
                {"minItems", T_ARRAY},
                {"maxItems", T_ARRAY},
                {"uniqueItems", T_ARRAY}};

static bool read_schema(struct reading_schema *in, const json_t *json, struct shape_place place,
                        uint32_t *at);

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool add_shape(struct reading_schema *in, struct shape_place place, uint32_t *at) {
	struct schema *to = in->to;
	if (to->count == SHAPES)
		return reading_refuse(in, 0, NULL, "it has more than 10,000 schemas in it");
	if (to->count == to->room) {
		const size_t room = to->room ? 2 * to->room : 16;
		struct shape *shapes = reallocarray(to->shapes, room, sizeof *shapes);
		if (!shapes) return reading_nomem(in);
		to->shapes = shapes;
		to->room = room;
	}
	*at = (uint32_t)to->count;
	to->shapes[to->count++] = (struct shape){.kind = SHAPE_NULL,
	                                         .place = place,
	                                         .most = SIZE_MAX,
	                                         .rest = NO_SHAPE,
	                                         .pattern = SIZE_MAX};
	return true;
}

/* Members of a shape stand together: room for all is taken first. */
static bool add_shape_members(struct reading_schema *in, uint32_t at, enum shape_kind kind,
                              size_t count) {
	struct schema *to = in->to;
	if (to->member_count + count > to->member_room) {
		const size_t room = 2 * (to->member_count + count);
		struct shape_member *members = reallocarray(to->members, room, sizeof *members);
		if (!members) return reading_nomem(in);
		to->members = members;
		to->member_room = room;
	}
	to->shapes[at].kind = kind;
	to->shapes[at].first = to->member_count;
	to->shapes[at].count = count;
	for (size_t i = 0; i < count; i++)
		to->members[to->member_count++] = (struct shape_member){NULL, 0, false};
	return true;
}

static struct shape_member *member_of(struct reading_schema *in, uint32_t at, size_t number) {
	return &in->to->members[in->to->shapes[at].first + number];
}

/* Reads a schema and makes it member `number`. */
static bool read_member_schema(struct reading_schema *in, uint32_t at, size_t number,
                               const json_t *json, struct shape_place place) {
	uint32_t shape = NO_SHAPE;
	if (!read_schema(in, json, place, &shape)) return false;
	member_of(in, at, number)->shape = shape;
	return true;
}

/* ---- objects and arrays ---------------------------------------------------------------------- */

static bool read_required(struct reading_schema *in, uint32_t at, const json_t *required) {
	if (required && !json_is_array(required))
		return reading_refuse(in, at, "required", "it is no list of names");
	for (size_t i = 0; i < json_array_size(required); i++) {
		const json_t *name = json_array_get(required, i);
		bool found = false;
		if (!json_is_string(name))
			return reading_refuse(in, at, "required", "it is no list of names");
		for (size_t j = 0; j < in->to->shapes[at].count && !found; j++) {
			struct shape_member *member = member_of(in, at, j);
			found = !strcmp(member->key, json_string_value(name));
			if (found) member->required = true;
		}
		if (!found)
			return reading_refuse(in, at, "required",
			                      "\"%.60s\" is no name in properties",
			                      json_string_value(name));
	}
	return true;
}

/* Any of the members in a row that may lack, and the one behind them, may come next. */
static bool check_lacking(struct reading_schema *in, uint32_t at) {
	size_t lacking = 0;
	for (size_t i = 0; i < in->to->shapes[at].count; i++) {
		lacking = member_of(in, at, i)->required ? 0 : lacking + 1;
		if (lacking > LACKING)
			return reading_refuse(in, at, "properties",
			                      "more than 1,000 members in a row may lack; name "
			                      "some of them in required");
	}
	return true;
}

static bool read_object(struct reading_schema *in, uint32_t at, const json_t *json) {
	json_t *properties = json_object_get(json, "properties");
	const json_t *others = json_object_get(json, "additionalProperties");
	size_t number = 0;
	if (properties && !json_is_object(properties))
		return reading_refuse(in, at, "properties", "it is no object");
	if (others && !json_is_boolean(others))
		return reading_refuse(in, at, "additionalProperties",
		                      "cuttle reads false and true alone");
	if (!add_shape_members(in, at, SHAPE_OBJECT, json_object_size(properties))) return false;
	in->to->shapes[at].closed = json_is_false(others);
	for (void *i = json_object_iter(properties); i;
	     i = json_object_iter_next(properties, i), number++) {
		const char *key = json_object_iter_key(i);
		if (strlen(key) > NAME_LONGEST)
			return reading_refuse(in, at, "properties",
			                      "a name has more than 1,000 bytes");
		member_of(in, at, number)->key = key;
		if (!read_member_schema(in, at, number, json_object_iter_value(i),
		                        (struct shape_place){at, "properties", key, -1}))
			return false;
	}
	return read_required(in, at, json_object_get(json, "required")) && check_lacking(in, at);
}

/* `keyword` says what items behind the first ones are. */
static bool read_items(struct reading_schema *in, uint32_t at, const json_t *json,
                       const char *keyword) {
	const json_t *items = json_object_get(json, keyword);
	struct shape *shape = &in->to->shapes[at];
	if (json_is_false(items)) {
		if (shape->most > shape->count) shape->most = shape->count;
		return true;
	}
	if (shape->most <= shape->count && !json_is_object(items)) return true;
	if (!items || json_is_true(items))
		return reading_refuse(in, at, NULL,
		                      "any item would fit; say what items are, or false");
	uint32_t rest;
	if (!read_schema(in, items, (struct shape_place){at, keyword, NULL, -1}, &rest))
		return false;
	in->to->shapes[at].rest = rest;
	return true;
}

static bool read_array(struct reading_schema *in, uint32_t at, const json_t *json) {
	// To draft 7 a list of items is what prefixItems are now, and additionalItems the items.
	const bool list = json_is_array(json_object_get(json, "items"));
	const char *const first = list ? "items" : "prefixItems";
	const json_t *prefix = json_object_get(json, first),
	             *unique = json_object_get(json, "uniqueItems");
	size_t least, most;
	if (prefix && (!json_is_array(prefix) || !json_array_size(prefix)))
		return reading_refuse(in, at, first, "it is no list of schemas");
	if (list && json_object_get(json, "prefixItems"))
		return reading_refuse(in, at, "items",
		                      "beside prefixItems it is no list; leave one of them out");
	if (!list && json_object_get(json, "additionalItems"))
		return reading_refuse(in, at, "additionalItems",
		                      "it says nothing where items is no list; leave it out");
	if (unique && !json_is_false(unique))
		return reading_refuse(in, at, "uniqueItems", "cuttle reads false alone");
	if (!reading_count(in, at, json, "minItems", 0, &least) ||
	    !reading_count(in, at, json, "maxItems", SIZE_MAX, &most) ||
	    !add_shape_members(in, at, SHAPE_ARRAY, json_array_size(prefix)))
		return false;
	in->to->shapes[at].least = least;
	in->to->shapes[at].most = most;
	for (size_t i = 0; i < json_array_size(prefix); i++)
		if (!read_member_schema(in, at, i, json_array_get(prefix, i),
		                        (struct shape_place){at, first, NULL, (int)i}))
			return false;
	if (!read_items(in, at, json, list ? "additionalItems" : "items")) return false;
	return least <= in->to->shapes[at].most ||
	       reading_refuse(in, at, "minItems", "it is greater than how many items there may be");
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool read_one_type(struct reading_schema *in, uint32_t at, const json_t *json,
                          unsigned type) {
	switch (type) {
	case T_NULL:
		in->to->shapes[at].kind = SHAPE_NULL;
		return true;
	case T_BOOLEAN:
		in->to->shapes[at].kind = SHAPE_BOOLEAN;
		return true;
	case T_NUMBER:
		return reading_number(in, at, json, false);
	case T_INTEGER:
		return reading_number(in, at, json, true);
	case T_STRING:
		return reading_string(in, at, json);
	case T_OBJECT:
		return read_object(in, at, json);
	default:
		return read_array(in, at, json);
	}
}

/* The types of one name or a list of them, as bits; they go to list[], in order. OpenAPI's nullable
 * adds null to them. */
static bool list_named_types(struct reading_schema *in, uint32_t at, const json_t *json,
                             unsigned list[7], size_t *count, unsigned *types) {
	const json_t *type = json_object_get(json, "type"),
	             *nullable = json_object_get(json, "nullable");
	const size_t names = json_is_array(type) ? json_array_size(type) : 1;
	*count = *types = 0;
	for (size_t i = 0; i < names; i++) {
		const json_t *name = json_is_array(type) ? json_array_get(type, i) : type;
		unsigned found = 0;
		for (size_t j = 0; j < 7 && json_is_string(name); j++)
			if (!strcmp(TYPES[j].name, json_string_value(name))) found = TYPES[j].type;
		if (!found || (*types & found))
			return reading_refuse(
			    in, at, "type",
			    "it is no type of JSON Schema, or one that stands twice");
		*types |= found;
		list[(*count)++] = found;
	}
	if (!names) return reading_refuse(in, at, "type", "it is an empty list");
	if (nullable && !json_is_boolean(nullable))
		return reading_refuse(in, at, "nullable", "it is neither true nor false");
	if (json_is_true(nullable) && !(*types & T_NULL)) {
		*types |= T_NULL;
		list[(*count)++] = T_NULL;
	}
	// Integers are numbers already.
	size_t kept = 0;
	for (size_t i = 0; i < *count; i++)
		if (list[i] != T_INTEGER || !(*types & T_NUMBER)) list[kept++] = list[i];
	*count = kept;
	return true;
}

static bool read_types(struct reading_schema *in, uint32_t at, const json_t *json,
                       const unsigned *list, size_t count) {
	if (count == 1) return read_one_type(in, at, json, list[0]);
	if (!add_shape_members(in, at, SHAPE_TYPED, count)) return false;
	for (size_t i = 0; i < count; i++) {
		uint32_t shape = NO_SHAPE;
		if (!add_shape(in, (struct shape_place){at, NULL, NULL, -1}, &shape)) return false;
		member_of(in, at, i)->shape = shape;
		if (!read_one_type(in, shape, json, list[i])) return false;
	}
	return true;
}

/* ---- enum and const -------------------------------------------------------------------------- */

static bool is_writable(const json_t *value) {
	decimal number;
	bool exact, fine = true;
	if (json_is_number(value)) {
		decimal_of(value, &number, &exact);
		return exact;
	}
	for (size_t i = 0; i < json_array_size(value) && fine; i++)
		fine = is_writable(json_array_get(value, i));
	for (void *i = json_object_iter((json_t *)value); i && fine;
	     i = json_object_iter_next((json_t *)value, i))
		fine = is_writable(json_object_iter_value(i));
	return fine;
}

/* Whether objects or arrays are equal, which canonical forms do not say. */
static bool is_kept(struct reading_schema *in, const json_t *values, const json_t *value) {
	if (!json_is_object(value) && !json_is_array(value)) return false;
	for (size_t i = 0; i < json_array_size(values) && nfa_pays(&in->budget, 10); i++)
		if (canonical_same(json_array_get(values, i), value)) return true;
	return false;
}

/* Appends the value unless its canonical form is in `seen`, or it is one of the values. */
static bool keep_choice(struct reading_schema *in, json_t *values, json_t *seen, json_t *value) {
	struct arena text = {0};
	bool done = canonical_value(&text, value) && arena_append(&text, "", 1);
	// A canonical form has no NUL: it is a name by itself.
	if (done && !json_object_get(seen, text.bytes) && !is_kept(in, values, value))
		done = !json_object_set_new(seen, text.bytes, json_true()) &&
		       !json_array_append(values, value);
	arena_free(&text);
	return done || reading_nomem(in);
}

/* Appends those values that also fit shape `filter`. */
static bool keep_choices(struct reading_schema *in, uint32_t at, const char *keyword, json_t *list,
                         uint32_t filter, json_t *values) {
	json_t *seen = json_object();
	bool done = seen != NULL || reading_nomem(in);
	for (size_t i = 0; i < json_array_size(list) && done; i++) {
		json_t *value = json_array_get(list, i);
		if (!is_writable(value))
			done = reading_refuse(in, at, keyword,
			                      "a number has more than 18 digits before the point "
			                      "or 17 behind it");
		else if (filter == NO_SHAPE || shape_fits(in->to, filter, value))
			done = keep_choice(in, values, seen, value);
	}
	json_decref(seen);
	return done;
}

/* A shape of the types and other keywords, which chooses among the values. */
static bool read_filter(struct reading_schema *in, uint32_t at, const json_t *json, json_t *list,
                        uint32_t *filter) {
	unsigned types[7], all;
	size_t count;
	*filter = NO_SHAPE;
	if (!json_object_get(json, "type")) return true;
	if (!list_named_types(in, at, json, types, &count, &all)) return false;
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_is_object(json_array_get(list, i)) ||
		    json_is_array(json_array_get(list, i)))
			return reading_refuse(in, at, "type",
			                      "leave it out: cuttle does not read it beside values "
			                      "that are objects or arrays");
	// No value is an object or an array, so what these may be does not matter.
	size_t kept = 0;
	for (size_t i = 0; i < count; i++)
		if (!(types[i] & (T_OBJECT | T_ARRAY))) types[kept++] = types[i];
	if (!kept) return reading_refuse(in, at, "type", "no value has this type");
	return add_shape(in, (struct shape_place){at, NULL, NULL, -1}, filter) &&
	       read_types(in, *filter, json, types, kept);
}

static bool read_value_choice(struct reading_schema *in, uint32_t at, const json_t *json) {
	json_t *list = json_object_get(json, "enum"), *only = json_object_get(json, "const"),
	       *values = json_array();
	const char *keyword = only ? "const" : "enum";
	uint32_t filter;
	in->to->shapes[at].values = values;
	if (!values) return reading_nomem(in);
	if (only && list)
		return reading_refuse(in, at, "const", "it stands beside enum; leave one out");
	if (!only && (!json_is_array(list) || !json_array_size(list)))
		return reading_refuse(in, at, "enum", "it is no list of values");
	if (json_array_size(list) > CHOICES)
		return reading_refuse(in, at, "enum", "it has more than 4,096 values");
	list = only ? json_pack("[O]", only) : json_incref(list);
	if (!list) return reading_nomem(in);
	const bool done = read_filter(in, at, json, list, &filter) &&
	                  keep_choices(in, at, keyword, list, filter, values);
	json_decref(list);
	if (!done) return false;
	if (!json_array_size(values))
		return reading_refuse(in, at, keyword,
		                      "no value fits the type and what stands beside");
	in->to->shapes[at].kind = SHAPE_CHOICE;
	in->to->shapes[at].high_by = only ? ASPECT_CONST : ASPECT_ENUM;
	return true;
}

/* ---- keywords -------------------------------------------------------------------------------- */

/* What a keyword is of; 0 if cuttle does not read it. */
static unsigned find_keyword(const char *name) {
	for (size_t i = 0; i < sizeof KEYWORDS / sizeof *KEYWORDS; i++)
		if (!strcmp(KEYWORDS[i].name, name)) return KEYWORDS[i].of;
	// OpenAPI leaves these to whoever wants to say something of their own.
	return strncmp(name, "x-", 2) ? 0 : IGNORED;
}

static bool is_hint(const char *keyword) {
	const unsigned of = find_keyword(keyword);
	return of == IGNORED || of == AT_ROOT;
}

/* ---- references and alternatives ------------------------------------------------------------- */

static bool read_reference(struct reading_schema *in, uint32_t at, const json_t *json) {
	const json_t *reference = json_object_get(json, "$ref"), *definition;
	const char *pointer = json_string_value(reference);
	struct shape_place place;
	uint32_t target = 0;
	if (!add_shape_members(in, at, SHAPE_ALIAS, 1)) return false;
	if (!reading_target(in, at, reference, &definition, &place)) return false;
	if (strcmp(pointer, "#") == 0) return true;
	const json_t *known = json_object_get(in->referred, pointer);
	if (known) {
		member_of(in, at, 0)->shape = (uint32_t)json_integer_value(known);
		return true;
	}
	// The number is known before the definition is read, which may contain itself.
	if (json_object_set_new(in->referred, pointer, json_integer((json_int_t)in->to->count)))
		return reading_nomem(in);
	if (!read_schema(in, definition, place, &target)) return false;
	member_of(in, at, 0)->shape = target;
	return true;
}

/* Whether several schemas hold together: of allOf, or what stands beside it or $ref. */
static bool holds_together(const json_t *json) {
	const json_t *all = json_object_get(json, "allOf");
	size_t said = 0;
	for (void *i = json_object_iter((json_t *)json); i;
	     i = json_object_iter_next((json_t *)json, i))
		said += !is_hint(json_object_iter_key(i));
	return all ? said > 1 || json_array_size(all) != 1
	           : said > 1 && json_object_get(json, "$ref");
}

static bool read_alternatives(struct reading_schema *in, uint32_t at, const json_t *json,
                              enum aspect aspect) {
	const json_t *list = json_object_get(json, ASPECT_NAMES[aspect]);
	if (!json_is_array(list) || !json_array_size(list))
		return reading_refuse(in, at, ASPECT_NAMES[aspect], "it is no list of schemas");
	if (json_array_size(list) > ALTERNATIVES)
		return reading_refuse(in, at, ASPECT_NAMES[aspect],
		                      "it has more than 256 alternatives");
	if (!add_shape_members(in, at, SHAPE_EITHER, json_array_size(list))) return false;
	in->to->shapes[at].high_by = aspect;
	in->to->shapes[at].json = json;
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!read_member_schema(
		        in, at, i, json_array_get(list, i),
		        (struct shape_place){at, ASPECT_NAMES[aspect], NULL, (int)i}))
			return false;
	return true;
}

/* ---- one schema ------------------------------------------------------------------------------ */

/* Refuses keywords that cuttle does not read, that say nothing about these types, or that stand
 * beside `apart`, one that stands alone. */
static bool check_keywords(struct reading_schema *in, uint32_t at, const json_t *json,
                           unsigned types, const char *apart) {
	for (void *i = json_object_iter((json_t *)json); i;
	     i = json_object_iter_next((json_t *)json, i)) {
		const char *name = json_object_iter_key(i);
		const unsigned of = find_keyword(name);
		char short_name[64];
		(void)snprintf(short_name, sizeof short_name, "%.60s", name);
		if (!of)
			return reading_refuse(
			    in, at, short_name,
			    "cuttle does not read \"%s\"; leave it out, or say the "
			    "same by keywords that it reads",
			    short_name);
		if (of == AT_ROOT && at != 0)
			return reading_refuse(in, at, name, "cuttle reads it at the root alone");
		if (of == AT_ROOT || of == IGNORED || (apart && !strcmp(apart, name))) continue;
		if (apart)
			return reading_refuse(in, at, name, "cuttle does not read it beside \"%s\"",
			                      apart);
		if (!(of & types))
			return reading_refuse(in, at, name, "it says nothing about the type here");
	}
	return true;
}

static bool read_typed(struct reading_schema *in, uint32_t at, const json_t *json) {
	const json_t *type = json_object_get(json, "type");
	unsigned list[7], types = 0;
	size_t count = 0;
	if (type && !list_named_types(in, at, json, list, &count, &types)) return false;
	const bool choice = json_object_get(json, "enum") || json_object_get(json, "const");
	if (!check_keywords(in, at, json, type ? types : 127, NULL)) return false;
	if (!type && json_object_get(json, "nullable"))
		return reading_refuse(in, at, "nullable", "say the type, too");
	if (!type && choice) {
		for (void *i = json_object_iter((json_t *)json); i;
		     i = json_object_iter_next((json_t *)json, i))
			if (find_keyword(json_object_iter_key(i)) < 127)
				return reading_refuse(in, at, json_object_iter_key(i),
				                      "say the type, too");
	}
	if (choice) return read_value_choice(in, at, json);
	if (!type)
		return reading_refuse(in, at, NULL,
		                      "values of any type would fit; say a type, enum or const");
	return read_types(in, at, json, list, count);
}

/* A schema that stands for others; `apart` is the keyword that says so. */
static bool read_apart(struct reading_schema *in, uint32_t at, const json_t *json,
                       const char *apart) {
	if (!check_keywords(in, at, json, 0, apart)) return false;
	if (!strcmp(apart, "$ref")) return read_reference(in, at, json);
	if (strcmp(apart, "allOf") != 0)
		return read_alternatives(in, at, json,
		                         strcmp(apart, "anyOf") ? ASPECT_ONE_OF : ASPECT_ANY_OF);
	return add_shape_members(in, at, SHAPE_ALIAS, 1) &&
	       read_member_schema(in, at, 0, json_array_get(json_object_get(json, apart), 0),
	                          (struct shape_place){at, apart, NULL, 0});
}

static bool read_schema(struct reading_schema *in, const json_t *json, struct shape_place place,
                        uint32_t *at) {
	static const char *const apart[] = {"$ref", "anyOf", "oneOf", "allOf"};
	if (!add_shape(in, place, at)) return false;
	if (json_is_true(json))
		return reading_refuse(in, *at, NULL, "anything would fit; say a type");
	if (json_is_false(json))
		return reading_refuse(in, *at, NULL, "nothing can be written here");
	if (!json_is_object(json)) return reading_refuse(in, *at, NULL, "it is no schema");
	if (in->depth == DEEPEST)
		return reading_refuse(in, *at, NULL, "it is nested more than 100 deep");
	if (holds_together(json)) json = reading_join(in, *at, json, is_hint);
	if (!json) return false;
	in->depth++;
	size_t which = 0;
	while (which < 4 && !json_object_get(json, apart[which])) which++;
	const bool done =
	    which < 4 ? read_apart(in, *at, json, apart[which]) : read_typed(in, *at, json);
	in->depth--;
	return done;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Copies a text of JSON, with ".0" behind integers of 19 digits and more: as integers jansson does
 * not read such, and a bound may be one. */
static char *write_long_integers(const char *text, size_t *size) {
	char *copy = malloc(*size + *size / 8 + 1), *to = copy;
	bool quoted = false;
	for (size_t i = 0; copy && i < *size;) {
		size_t digits = 0, end = i;
		if (!quoted && text[i] >= '0' && text[i] <= '9')
			while (end < *size && text[end] && strchr("0123456789.eE+-", text[end]))
				digits += text[end] >= '0' && text[end] <= '9', end++;
		quoted ^= text[i] == '"';
		if (end == i) end += 1 + (quoted && text[i] == '\\' && i + 1 < *size);
		memcpy(to, text + i, end - i);
		to += end - i;
		if (digits >= 19 && digits == end - i) to = stpcpy(to, ".0");
		i = end;
	}
	if (copy) *size = (size_t)(to - copy);
	return copy;
}

static enum cuttle_status parse_schema(const char *text, size_t size, json_t **json,
                                       struct cuttle_error *error) {
	json_error_t fault;
	if (size > SCHEMA_LARGEST)
		return io_fail(error, CUTTLE_INPUT, "\"\": it has more than 512 KiB");
	char *const plain = write_long_integers(text, &size);
	if (!plain) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	*json = json_loadb(plain, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL,
	                   &fault);
	free(plain);
	if (*json) return CUTTLE_OK;
	// Where jansson has no memory, it often says nothing, and no line.
	if (json_error_code(&fault) == json_error_out_of_memory || fault.line < 0)
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return io_fail(error, CUTTLE_INPUT, "\"\": it is no JSON, line %d: %s", fault.line,
	               fault.text);
}

/* Refuses what APIs of models wrap a schema in, by the name of the member that is the schema. */
static bool check_wrapper(struct reading_schema *in, const json_t *json) {
	static const char *const outer[] = {"", "json_schema", "function"}, *const inner[] = {
	                                                                        "schema",
	                                                                        "parameters",
	                                                                        "input_schema",
	                                                                        "inputSchema"};
	for (size_t i = 0; i < 12; i++) {
		const char *const in_it = outer[i / 4], *const name = inner[i % 4];
		const json_t *wrapper = *in_it ? json_object_get(json, in_it) : json;
		if (!json_is_object(json_object_get(wrapper, name)) ||
		    json_object_get(json, "properties"))
			continue;
		in->status = io_fail(
		    in->error, CUTTLE_INPUT,
		    "\"\": it is no schema, but has one in its member %s%s%s: give that alone (jq "
		    ".%s%s%s FILE)",
		    in_it, *in_it ? "." : "", name, in_it, *in_it ? "." : "", name);
		return false;
	}
	return true;
}

enum cuttle_status schema_read(const char *text, size_t size, struct schema **schema,
                               struct cuttle_error *error) {
	struct reading_schema in = {.error = error, .budget = {30000000, 1 << 16, 1 << 21}};
	uint32_t root;
	*schema = NULL;
	in.to = calloc(1, sizeof *in.to);
	in.referred = json_object();
	if (in.to) in.to->joined = json_array();
	if (!in.to || !in.to->joined || !in.referred) (void)reading_nomem(&in);
	if (!in.status) in.status = parse_schema(text, size, &in.to->json, error);
	if (!in.status && check_wrapper(&in, in.to->json) &&
	    read_schema(&in, in.to->json, (struct shape_place){NO_SHAPE, NULL, NULL, -1}, &root))
		(void)reading_check(&in);
	json_decref(in.referred);
	if (in.status) schema_free(in.to);
	else *schema = in.to;
	return in.status;
}
