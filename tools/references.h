// SPDX-License-Identifier: Apache-2.0
// The references of a generate run: the records of the input, each in its place.
//
// A place is a number: text b reads places b*B to b*B+B-1 (io/places.h). tools/generate.c reads the
// references once, before anything is drawn, and hands their texts to the engine. The texts are
// PRIVATE: they are wiped by references_free, and no message says anything about one of them.
#ifndef CUTTLE_TOOLS_REFERENCES_H
#define CUTTLE_TOOLS_REFERENCES_H

#include "io/places.h"
#include "tools/setup.h"

struct references {
	struct records *records;
	struct places places; /* which record stands in which place */
	size_t categories;    /* labels that each record has */
};

/* Says what is wrong with the options about units and categories; NULL = nothing. */
const char *references_contradiction(const struct generate_values *values);

/* Reads the input and puts its records in their places. Without a limit per unit it also changes
 * the receipt's guarantee: it becomes that of the unit which the run costs most. Call
 * references_free in any case. Errors as secrecy_room, records_read, places_make and receipt_weigh.
 */
enum cuttle_status references_read(const struct generate_values *values, struct setup *setup,
                                   struct references *references, struct cuttle_error *error);
/* Checks only whether the input has enough records, in all and of each category. That is public. It
 * tells nothing else about a record. Errors as references_read, but for those about units. */
enum cuttle_status references_suffice(const struct generate_values *values,
                                      const struct setup *setup, struct cuttle_error *error);
/* Wipes the texts. */
void references_free(struct references *references);

/* The text in a place; NULL: no record stands there, or it is null. Valid until references_free. */
const char *references_text(const struct references *references, size_t place, size_t *size);
/* Whose record stands in a place; NULL: no record stands there, or it has no owner. Valid until
 * references_free. */
const char *references_unit(const struct references *references, size_t place, size_t *size);

/* Digests under the key all that stands in the places: for each place whether there is a record,
 * its text as it is read, its owner and its categories. It is the `digest` of struct
 * output_request; user is the struct references. */
void references_digest(void *user, const unsigned char *key, char *digest);

#endif
