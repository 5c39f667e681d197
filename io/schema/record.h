// SPDX-License-Identifier: Apache-2.0
// record.h: puts a record's JSON into a schema's canonical form (io/schema/schema.h).
//
// PRIVATE text passes through: records. It stays in the caller's arena, which is wiped, and on the
// stack. Nothing is logged, and no message says anything of a record: one that does not fit is a
// null to whoever reads records, and nobody may learn that, or why.
//
// Example: with members ward and age, {"age":7.0,"x":1,"ward":"A"} becomes {"ward": "A", "age": 7}.
// Members that the schema does not have are left out, also where additionalProperties is false. Of
// anyOf's alternatives the first counts that fits and has all members; if none has, the first that
// fits. A number with a point becomes the nearest that has 15 digits.
#ifndef CUTTLE_IO_SCHEMA_RECORD_H
#define CUTTLE_IO_SCHEMA_RECORD_H

#include "io/disk/arena.h"
#include "io/schema/schema.h"
#include <jansson.h>

/* Appends the canonical form of `object` to *out and sets *fits. What does not fit leaves out->used
 * as it was. Neither does what needs more than 10^7 comparisons, as only alternatives in
 * alternatives can. NOMEM: *fits is false. */
enum cuttle_status schema_record(const struct schema *schema, const json_t *object,
                                 struct arena *out, bool *fits);

/* For a PRIVATE diagnosis alone: which place of the schema is the first that the record does not
 * fit, from 0 to schema_places - 1; SIZE_MAX where it fits. */
size_t schema_misfit(const struct schema *schema, const json_t *object);
size_t schema_places(const struct schema *schema);
/* A place as a JSON pointer: "/properties/ward/maxLength". The caller frees it; NULL without
 * memory. */
char *schema_place(const struct schema *schema, size_t place);

#endif
