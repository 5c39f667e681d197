// SPDX-License-Identifier: Apache-2.0
// How schemas that hold together become one (io/schema/reading.h): what stands beside $ref, and the
// schemas of allOf. A value fits all of them if it fits one that has the keywords of all. Where two
// have the same keyword, the narrower one is taken; where no keyword says both, it is refused.
//
// No private data.
// Example: {"$ref":"#/$defs/S","maxLength":9}, where S is {"type":"string"}, is
// {"type":"string","maxLength":9}.
#include "io/schema/canonical.h"
#include "io/schema/nfa.h"
#include "io/schema/reading.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 100, JOINED = 300 }; /* how deep, and steps for a value */

struct joining {
	struct reading_schema *in;
	uint32_t at;
	json_t *all; /* what the schemas so far say */
	bool (*is_hint)(const char *keyword);
	unsigned depth;
};

static bool join_schema(struct joining *to, const json_t *json);

/* What is joined again and again has a bound: each value is paid for. */
static bool pays_for(struct joining *to, const json_t *value) {
	bool paid = nfa_pays(&to->in->budget, JOINED);
	for (size_t i = 0; i < json_array_size(value) && paid; i++)
		paid = pays_for(to, json_array_get(value, i));
	for (void *i = json_object_iter((json_t *)value); i && paid;
	     i = json_object_iter_next((json_t *)value, i))
		paid = pays_for(to, json_object_iter_value(i));
	return paid || reading_refuse(to->in, to->at, NULL,
	                              "it joins too many schemas; write out what they say");
}

static bool set_keyword(struct joining *to, json_t *object, const char *name, json_t *value) {
	return !json_object_set_new(object, name, value) || reading_nomem(to->in);
}

/* ---- one keyword in two schemas -------------------------------------------------------------- */

static bool join_required(struct joining *to, const json_t *names) {
	json_t *all = json_object_get(to->all, "required");
	for (size_t i = 0; i < json_array_size(names); i++) {
		json_t *name = json_array_get(names, i);
		bool found = false;
		for (size_t j = 0; j < json_array_size(all) && !found; j++) {
			if (!pays_for(to, name)) return false;
			found = json_equal(json_array_get(all, j), name);
		}
		if (!found && json_array_append(all, name)) return reading_nomem(to->in);
	}
	return true;
}

/* A member of both must fit what each says of it. */
static bool join_properties(struct joining *to, const json_t *properties) {
	json_t *all = json_object_get(to->all, "properties");
	for (void *i = json_object_iter((json_t *)properties); i;
	     i = json_object_iter_next((json_t *)properties, i)) {
		const char *name = json_object_iter_key(i);
		json_t *value = json_object_iter_value(i), *old = json_object_get(all, name);
		if (!pays_for(to, value)) return false;
		json_t *new = !old || canonical_same(old, value)
		                  ? json_incref(value)
		                  : json_pack("{s:[O,O]}", "allOf", old, value);
		if (!set_keyword(to, all, name, new)) return false;
	}
	return true;
}

/* -1: of two values the lesser holds, 1: the greater, 0: the keyword is no bound. */
static int side_of_bound(const char *name) {
	static const char *const lower[] = {"minLength", "minItems", "minimum", "exclusiveMinimum"},
	                         *const upper[] = {"maxLength", "maxItems", "maximum",
	                                           "exclusiveMaximum"};
	for (size_t i = 0; i < 4; i++)
		if (!strcmp(lower[i], name)) return 1;
		else if (!strcmp(upper[i], name)) return -1;
	return 0;
}

/* Whether the bound is narrower than the one that is there. */
static bool is_narrower(const json_t *old, const json_t *value, int side) {
	decimal before, after;
	bool before_exact, after_exact;
	decimal_of(old, &before, &before_exact);
	decimal_of(value, &after, &after_exact);
	if (before != after) return side > 0 ? after > before : after < before;
	// What is not exact lies above the decimal.
	return side > 0 ? before_exact && !after_exact : after_exact && !before_exact;
}

static bool join_keyword(struct joining *to, const char *name, json_t *value) {
	json_t *old = json_object_get(to->all, name);
	const int side = side_of_bound(name);
	if (!pays_for(to, value)) return false;
	// What is changed later is a copy.
	if (!old) {
		const bool changes = !strcmp(name, "properties") || !strcmp(name, "required");
		return set_keyword(to, to->all, name,
		                   changes ? json_copy(value) : json_incref(value));
	}
	if (!strcmp(name, "required") && json_is_array(old) && json_is_array(value))
		return join_required(to, value);
	if (!strcmp(name, "properties") && json_is_object(old) && json_is_object(value))
		return join_properties(to, value);
	if (!strcmp(name, "additionalProperties") && json_is_boolean(old) && json_is_boolean(value))
		return json_is_true(value) || set_keyword(to, to->all, name, json_false());
	if (side && json_is_number(old) && json_is_number(value))
		return !is_narrower(old, value, side) ||
		       set_keyword(to, to->all, name, json_incref(value));
	return canonical_same(old, value) ||
	       reading_refuse(to->in, to->at, name,
	                      "two schemas that hold together differ in it; write one");
}

/* ---- whole schemas --------------------------------------------------------------------------- */

/* Whether `json` forbids members that it does not name, and `other` names such. */
static bool forbids_members(struct joining *to, const json_t *json, const json_t *other) {
	const json_t *own = json_object_get(json, "properties"),
	             *more = json_object_get(other, "properties");
	if (!json_is_false(json_object_get(json, "additionalProperties"))) return false;
	for (void *i = json_object_iter((json_t *)more); i;
	     i = json_object_iter_next((json_t *)more, i))
		if (!json_object_get(own, json_object_iter_key(i)))
			return !reading_refuse(
			    to->in, to->at, "additionalProperties",
			    "it forbids the member \"%.60s\" of a schema that it holds together "
			    "with; write one schema",
			    json_object_iter_key(i));
	return false;
}

/* What one schema says of items depends on what it says of the first ones. */
static bool has_items(const json_t *json) {
	return json_object_get(json, "items") || json_object_get(json, "prefixItems") ||
	       json_object_get(json, "additionalItems");
}

/* OpenAPI's nullable belongs to the type beside it: with null among the types it is said. */
static json_t *without_nullable(struct joining *to, const json_t *json) {
	json_t *plain = json_copy((json_t *)json), *type = json_object_get(json, "type");
	const json_t *nullable = json_object_get(json, "nullable");
	if (!plain) (void)reading_nomem(to->in);
	if (!plain || !nullable) return plain;
	if (json_is_true(nullable) && type) {
		json_t *types = json_is_array(type) ? json_copy(type) : json_pack("[O]", type);
		bool found = !types;
		for (size_t i = 0; i < json_array_size(types) && !found; i++) {
			const char *name = json_string_value(json_array_get(types, i));
			found = name && !strcmp(name, "null");
		}
		if (!found && json_array_append_new(types, json_string("null")))
			(void)reading_nomem(to->in);
		(void)set_keyword(to, plain, "type", types);
	} else if (!json_is_false(nullable)) {
		(void)reading_refuse(to->in, to->at, "nullable",
		                     "cuttle reads it beside type alone; write anyOf with "
		                     "{\"type\":\"null\"}");
	}
	if (json_object_del(plain, "nullable")) (void)reading_nomem(to->in);
	return plain;
}

static bool join_keywords(struct joining *to, const json_t *json) {
	if (forbids_members(to, json, to->all) || forbids_members(to, to->all, json)) return false;
	if (has_items(json) && has_items(to->all))
		return reading_refuse(to->in, to->at, NULL,
		                      "two schemas that hold together say what items are; write "
		                      "one schema");
	for (void *i = json_object_iter((json_t *)json); i;
	     i = json_object_iter_next((json_t *)json, i)) {
		const char *name = json_object_iter_key(i);
		if (!strcmp(name, "$ref") || !strcmp(name, "allOf") || to->is_hint(name)) continue;
		if (!join_keyword(to, name, json_object_iter_value(i))) return false;
	}
	return true;
}

static bool join_all_of(struct joining *to, const json_t *list) {
	if (list && (!json_is_array(list) || !json_array_size(list)))
		return reading_refuse(to->in, to->at, "allOf", "it is no list of schemas");
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!join_schema(to, json_array_get(list, i))) return false;
	return true;
}

static bool join_schema(struct joining *to, const json_t *json) {
	struct shape_place place;
	const json_t *reference = json_object_get(json, "$ref"), *target = NULL;
	if (json_is_true(json)) return true;
	if (!json_is_object(json))
		return reading_refuse(to->in, to->at, NULL, "it is joined with what is no schema");
	if (to->depth == DEEPEST)
		return reading_refuse(to->in, to->at, NULL, "it stands for itself");
	if (reference && !reading_target(to->in, to->at, reference, &target, &place)) return false;
	to->depth++;
	json_t *plain = without_nullable(to, json);
	const bool done = plain && !to->in->status && (!target || join_schema(to, target)) &&
	                  join_all_of(to, json_object_get(json, "allOf")) &&
	                  join_keywords(to, plain);
	json_decref(plain);
	to->depth--;
	return done;
}

const json_t *reading_join(struct reading_schema *in, uint32_t at, const json_t *json,
                           bool (*is_hint)(const char *keyword)) {
	struct joining to = {.in = in, .at = at, .all = json_object(), .is_hint = is_hint};
	if (!to.all || json_array_append_new(in->to->joined, to.all)) {
		(void)reading_nomem(in);
		return NULL;
	}
	return join_schema(&to, json) ? to.all : NULL;
}
