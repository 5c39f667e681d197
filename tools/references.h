// SPDX-License-Identifier: Apache-2.0
// The references of a generate run: the records of the input, each in its place.
#ifndef CUTTLE_TOOLS_REFERENCES_H
#define CUTTLE_TOOLS_REFERENCES_H

#include "io/places.h"
#include "tools/setup.h"

struct references {
	struct records *records;
	struct places places;
};

/* What is wrong with the options that say whose records are, and of which category; or NULL. */
const char *references_contradiction(const struct generate_values *values);

/* Reads the input and puts its records in their places. Without a limit per unit the receipt's guarantee becomes that of the unit that the
 * run costs most. Errors as records_read, places_make and receipt_weigh. references_free in any case. */
enum cuttle_status references_read(const struct generate_values *values, struct setup *setup, struct references *references,
                                   struct cuttle_error *error);
/* Wipes the texts. */
void references_free(struct references *references);

/* The text in a place, or NULL; whose it is, or NULL where no record stands. Valid until references_free. */
const char *references_text(const struct references *references, size_t place, size_t *size);
const char *references_unit(const struct references *references, size_t place, size_t *size);

#endif
