// SPDX-License-Identifier: Apache-2.0
// reading.h: a schema while it is read: what io/schema/schema.c and the readers of single types
// have in common. Only they include it.
//
// No private data. Each function that can fail returns false once something was refused; the first
// refusal stays.
// Example: return reading_refuse(in, at, "if", "cuttle does not read \"if\"");
#ifndef CUTTLE_IO_SCHEMA_READING_H
#define CUTTLE_IO_SCHEMA_READING_H

#include "io/schema/shape.h"

struct reading_schema {
	struct schema *to;
	struct cuttle_error *error;
	enum cuttle_status status;
	struct pattern_budget budget;
	unsigned depth;
	json_t *referred; /* "/$defs/NAME" to its shape's number */
};

/* Says what is wrong at the keyword, or NULL, of shape `at`. Returns false. */
bool reading_refuse(struct reading_schema *in, uint32_t at, const char *keyword, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));
bool reading_nomem(struct reading_schema *in);
/* Sets *target to the schema that a $ref names, and *place to where it stands. */
bool reading_target(struct reading_schema *in, uint32_t at, const json_t *reference,
                    const json_t **target, struct shape_place *place);
/* The schema without $ref and allOf, that all schemas say that hold together in it, but for what
 * is_hint says of nothing. It lives as long as in->to. NULL: refused. */
const json_t *reading_join(struct reading_schema *in, uint32_t at, const json_t *json,
                           bool (*is_hint)(const char *keyword));
/* Sets *value to a length or count, `otherwise` where the keyword is absent. */
bool reading_count(struct reading_schema *in, uint32_t at, const json_t *json, const char *keyword,
                   size_t otherwise, size_t *value);
/* Fill in a string's and a number's shape. */
bool reading_string(struct reading_schema *in, uint32_t at, const json_t *json);
bool reading_number(struct reading_schema *in, uint32_t at, const json_t *json, bool whole);

/* Looks at all shapes together: whether each can end, whether alternatives exclude each other. */
bool reading_check(struct reading_schema *in);

#endif
