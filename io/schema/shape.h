// SPDX-License-Identifier: Apache-2.0
// shape.h: what a schema becomes: numbered shapes, of which 0 is the whole text's. Only the files
// of io/schema include it.
//
// A schema is public; the value that shape_fits is asked about may be private.
// Example: {"type":["string","null"]} is SHAPE_TYPED of SHAPE_STRING and SHAPE_NULL.
#ifndef CUTTLE_IO_SCHEMA_SHAPE_H
#define CUTTLE_IO_SCHEMA_SHAPE_H

#include "io/schema/decimal.h"
#include "io/schema/pattern.h"
#include "io/schema/schema.h"
#include <jansson.h>

enum shape_kind {
	SHAPE_NULL,
	SHAPE_BOOLEAN,
	SHAPE_NUMBER,
	SHAPE_STRING,
	SHAPE_CHOICE, /* one of the values */
	SHAPE_OBJECT, /* the members, in this order */
	SHAPE_ARRAY,  /* the members, then any number of `rest` */
	SHAPE_TYPED,  /* the one of its members that has the value's type */
	SHAPE_EITHER, /* any of its members, the first that fits */
	SHAPE_ALIAS   /* its one member */
};

/* What a value can fail by: the keyword in the JSON pointer of a place. */
enum aspect {
	ASPECT_TYPE,
	ASPECT_ENUM,
	ASPECT_CONST,
	ASPECT_REQUIRED,
	ASPECT_MIN_LENGTH,
	ASPECT_MAX_LENGTH,
	ASPECT_PATTERN,
	ASPECT_FORMAT,
	ASPECT_MINIMUM,
	ASPECT_EXCLUSIVE_MINIMUM,
	ASPECT_MAXIMUM,
	ASPECT_EXCLUSIVE_MAXIMUM,
	ASPECT_MIN_ITEMS,
	ASPECT_MAX_ITEMS,
	ASPECT_ANY_OF,
	ASPECT_ONE_OF,
	ASPECTS
};
extern const char *const ASPECT_NAMES[ASPECTS];

enum { NO_SHAPE = UINT32_MAX };

/* Where a shape stands: behind the place of `up`, as /step/key or /step/number. */
struct shape_place {
	uint32_t up;      /* another shape, or NO_SHAPE */
	const char *step; /* "properties"; NULL = at the same place as `up` */
	const char *key;  /* "ward"; NULL = a number, or nothing */
	int number;       /* -1 = nothing */
};

struct shape_member {
	const char *key; /* of an object: its name */
	uint32_t shape;
	bool required;
};

struct shape {
	enum shape_kind kind;
	struct shape_place place;
	size_t first;  /* of its members, in the schema's list */
	size_t count;  /* of them */
	size_t least;  /* characters of a string, or items of an array */
	size_t most;   /* SIZE_MAX = any number */
	uint32_t rest; /* of an array: all further items, or NO_SHAPE */
	bool whole;    /* of a number: integers alone */
	bool closed;   /* of an object: it has no other members */
	bool date;     /* of a string: format date */
	bool format;   /* of a string: its pattern is that of a format */
	decimal low;   /* of a number: the least, and the greatest */
	decimal high;
	enum aspect low_by;  /* which keyword says so; ASPECT_TYPE = none */
	enum aspect high_by; /* of SHAPE_CHOICE: enum or const; of SHAPE_EITHER: anyOf or oneOf */
	size_t pattern;      /* of a string: its number in the schema's list, SIZE_MAX = none */
	json_t *values;      /* of a choice, in the schema's order */
	const json_t *json;  /* of SHAPE_EITHER: the schema that it is of */
};

/* A pattern, and what lengths go with it. Strings with the same have one of these. */
struct shape_pattern {
	const char *text;
	size_t size;
	size_t least;
	size_t most;
	struct pattern any;   /* texts of any length */
	struct pattern bound; /* of these lengths; without states where all lengths are meant */
};

struct schema {
	json_t *json;   /* keys and values are in it */
	json_t *joined; /* and in these: schemas that several became */
	struct shape *shapes;
	size_t count;
	size_t room;
	struct shape_member *members;
	size_t member_count;
	size_t member_room;
	struct shape_pattern *patterns;
	size_t pattern_count;
};

/* The shape behind aliases. */
const struct shape *shape_of(const struct schema *schema, uint32_t shape);
/* Writes the JSON pointer of a shape's place: "/properties/ward"; "" of the whole. False: out of
 * memory. */
bool shape_write_place(const struct schema *schema, uint32_t shape, FILE *out);
/* Whether a value fits a shape (io/schema/record.c). */
bool shape_fits(const struct schema *schema, uint32_t shape, const json_t *value);
/* The same for the price of its steps. It fits no more when the budget is spent. */
bool shape_fits_paid(const struct schema *schema, uint32_t shape, const json_t *value,
                     struct pattern_budget *budget);

#endif
