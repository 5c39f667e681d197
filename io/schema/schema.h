// SPDX-License-Identifier: Apache-2.0
// schema.h: reads a JSON Schema, and makes of it a grammar that writes such JSON and nothing else.
//
// A schema is public. What is private, records, goes through io/schema/record.h alone.
//
//     {"type":"object","properties":{"ward":{"enum":["A","B"]},"age":{"type":"integer",
//       "minimum":0,"maximum":99}},"required":["ward","age"]}
//
// is the texts {"ward": "A", "age": 0} to {"ward": "B", "age": 99}. A text is in canonical form:
// - one line, members in the schema's order, ", " and ": " between them, no other white space;
// - strings as UTF-8, with \" \\ \b \f \n \r \t, and \u00XX in lower case for other controls;
// - numbers as digits, without an exponent, a plus, a zero too many at either end, or -0. 1.0 is 1.
//   They have at most 18 digits, or 15 where there is a point, before which a 0 is none.
//
// What is read: type (one, or a list), OpenAPI's nullable beside it, enum, const; properties,
// required, additionalProperties false or true (no other member is ever written); minLength,
// maxLength, pattern (io/schema/pattern.h); minimum, maximum, exclusiveMinimum, exclusiveMaximum,
// multipleOf 1 of integers; items, prefixItems, minItems, maxItems, and what draft 7 wrote for
// them: a list of items, additionalItems. The formats date, date-time, time, uuid, email (a local
// part without quotes, a host by its name) and ipv4 of strings; of numbers int8 to int64, uint8 to
// uint64, int and uint, which bound them, float and double, which do not.
// $ref to any place in the file. anyOf; oneOf whose alternatives no value fits two of, because of
// their types, their values, or a member that one of the two requires and whose values differ, or
// that the other may not have. OpenAPI's discriminator is a hint that may not contradict them.
// allOf, and what stands beside $ref: the schemas become one, and are refused where no keyword says
// both (io/schema/join.c). Titles, descriptions, what begins with x- and the like are ignored. A
// length or count is at most 1,000,000; greater maxima are
// taken as that, and from 10^9 on as none. An automaton follows 1,024 texts at once: of more values
// or alternatives that part at the same character, some are not written. All else is refused, since
// whoever ignored it would write what does not fit.
#ifndef CUTTLE_IO_SCHEMA_SCHEMA_H
#define CUTTLE_IO_SCHEMA_SCHEMA_H

#include "engine/cuttle/grammar.h"
#include "engine/cuttle/status.h"

enum { SCHEMA_LARGEST = 1 << 19 }; /* bytes of a schema's text, at most */

struct schema;

/* Reads json[size]. INPUT: it is no schema that cuttle reads; the message has the place as a JSON
 * pointer, and the reason: "/properties/ward/if": cuttle does not read "if"; ... NOMEM. */
enum cuttle_status schema_read(const char *json, size_t size, struct schema **schema,
                               struct cuttle_error *error);
/* NULL is allowed. */
void schema_free(struct schema *schema);

/* The grammar of all texts that fit, in canonical form: GBNF, as llama.cpp describes it, with the
 * rule root first. It reads the bytes of UTF-8. The caller frees it; NULL without memory. */
char *schema_grammar(const struct schema *schema);
/* The same, read. The caller frees *grammar; it is NULL on failure. INPUT: the grammar is one that
 * cuttle_grammar_read refuses. NOMEM. */
enum cuttle_status schema_compile(const struct schema *schema, struct cuttle_grammar **grammar,
                                  struct cuttle_error *error);

/* ---- fields ---------------------------------------------------------------------------------- */

enum field_kind {
	FIELD_CATEGORY, /* enum, const or boolean */
	FIELD_NUMBER,   /* integer or number */
	FIELD_DATE,     /* a string of format date */
	FIELD_TEXT,     /* any other string */
	FIELD_OTHER     /* an array, null alone, alternatives, or what contains itself */
};

/* A member that is no object itself. */
struct schema_field {
	char
	    *name; /* the member's name; of a member of a member its JSON pointer: "/patient/age" */
	enum field_kind kind;
	bool inner;    /* a member of a member: its name is a pointer */
	bool may_lack; /* it, or an object that it is in, is optional */
	bool may_null; /* null is one of its values */
	size_t count;  /* of values: 0 unless it is a category */
	char **values; /* in the schema's order, as canonical JSON: "\"A\"", "true" */
	char **labels; /* the same as plain words: "A", "true" */
};

struct schema_fields {
	size_t count;
	struct schema_field *list; /* in the schema's order */
};

/* What fields the schema's object has: none if it is no object. NULL without memory; otherwise
 * the caller ends it with schema_fields_free, for which NULL is allowed. */
struct schema_fields *schema_fields(const struct schema *schema);
void schema_fields_free(struct schema_fields *fields);
/* Whether all that fits is an object. */
bool schema_is_object(const struct schema *schema);

#endif
