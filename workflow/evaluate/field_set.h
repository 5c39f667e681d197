// SPDX-License-Identifier: Apache-2.0
// field_set.h: the records of one file as values of a schema's fields.
//
// Records may be PRIVATE, and all numbers of a record are as private as it is: memory is wiped. A
// record that does not fit the schema is passed over and counted.
// Example: {"ward": "B", "age": 7} of a ward A, B or C is 1 and 7; without an age 1 and NaN.
#ifndef CUTTLE_WORKFLOW_EVALUATE_FIELD_SET_H
#define CUTTLE_WORKFLOW_EVALUATE_FIELD_SET_H

#include "io/disk/hash.h"
#include "io/schema/schema.h"

enum { FIELD_SET_MOST = 64 }; /* fields that are measured, at most */

/* Which fields of a schema are measured: categories, numbers and dates, in its order. */
struct measured_fields {
	struct schema_fields *all;
	const struct schema_field *list[FIELD_SET_MOST]; /* in `all` */
	size_t count;
};

/* Call measured_fields_free in any case. INPUT: there is none, or there are too many; `path` names
 * the schema. NOMEM. */
enum cuttle_status measured_fields_of(const struct schema *schema, const char *path,
                                      struct measured_fields *fields, struct cuttle_error *error);
void measured_fields_free(struct measured_fields *fields);

struct field_set {
	const char *path;       /* the caller's */
	char sha256[HASH_TEXT]; /* of the file; "" = it is none, but a pipe */
	size_t records;         /* all of them */
	size_t count;           /* those that fit */
	bool unprotected;       /* the receipt beside the file says NOT PRIVATE */
	/* values[field][count]: of a category the number of the value, of a date YYYYMMDD. NaN =
	 * the member is absent. Infinity = it is null, but where null is a category's value. */
	double *values[FIELD_SET_MOST];
};

/* Reads the file's records. Call field_set_free in any case. INPUT: as records_read. NOMEM. */
enum cuttle_status field_set_read(const char *path, const struct schema *schema,
                                  const struct measured_fields *fields, bool lock,
                                  struct field_set *set, struct cuttle_error *error);
void field_set_free(struct field_set *set);

#endif
