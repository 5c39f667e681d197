// SPDX-License-Identifier: Apache-2.0
// canonical.h: a JSON value in the canonical form of io/schema/schema.h.
//
// Values may be private. They are written to the caller's arena, which is wiped.
// Example: {"a":1.50,"b":"\u00e9\/"} becomes {"a": 1.5, "b": "e/"}, with the accent as UTF-8.
#ifndef CUTTLE_IO_SCHEMA_CANONICAL_H
#define CUTTLE_IO_SCHEMA_CANONICAL_H

#include "io/disk/arena.h"
#include <jansson.h>
#include <stdint.h>

/* Writes how the canonical form spells a character within a string. Returns how many bytes. */
size_t canonical_character(uint32_t code_point, char text[8]);

/* These append. False: out of memory. */
bool canonical_string(struct arena *out, const char *text, size_t size);
bool canonical_number(struct arena *out, const json_t *number);
/* The value's numbers are decimals (io/schema/decimal.h). Members keep their order. */
bool canonical_value(struct arena *out, const json_t *value);

/* Whether two values are equal as JSON Schema says: 1 is 1.0, and members have no order. */
bool canonical_same(const json_t *a, const json_t *b);

#endif
