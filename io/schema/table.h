// SPDX-License-Identifier: Apache-2.0
// table.h: a schema's objects as rows of a table: a column for each member.
//
// PRIVATE text passes through: cells. They go into the caller's object; no message tells of one.
//
// Example: with members ward, age and note, the cells A, 7 and an empty one are the object
// {"ward": "A", "age": 7}, where note may be missing.
#ifndef CUTTLE_IO_SCHEMA_TABLE_H
#define CUTTLE_IO_SCHEMA_TABLE_H

#include "io/schema/schema.h"
#include <jansson.h>

struct schema_table;

/* The table of a schema that is an object. It must outlive *table, which the caller frees; it is
 * NULL on failure. INPUT: a member is an object, a list, or may be one; the message has its place.
 * Or its name is none for a column. NOMEM. */
enum cuttle_status schema_table_make(const struct schema *schema, struct schema_table **table,
                                     struct cuttle_error *error);
void schema_table_free(struct schema_table **table);

size_t schema_table_columns(const struct schema_table *table);
/* [columns] the members' names, in the schema's order. They are the schema's. */
const char *const *schema_table_names(const struct schema_table *table);
/* Whether each object has this member. */
bool schema_table_required(const struct schema_table *table, size_t column);

/* Adds a cell's member to the object. A cell is a string where the schema has one that fits, else
 * the number, true (or True), false or null that it spells, else a string that does not fit. An
 * empty cell is no member where it may be missing, else null where that fits, else an empty string.
 * cell[size] is UTF-8. False: out of memory. */
bool schema_table_read(const struct schema_table *table, size_t column, const char *cell,
                       size_t size, json_t *object);
/* A text of the schema's grammar as an object of cells: strings as they are, whole numbers, and all
 * else as the words that stand in the text. null is no member. The caller owns it; NULL without
 * memory. */
json_t *schema_table_row(const char *text, size_t size);

#endif
