// SPDX-License-Identifier: Apache-2.0
// Which record stands in which place: place p is read for text p / B. No text of a record is looked at, and nothing moves because of one.
//
// Without categories record p stands in place p. With them the records of one category, in the order of the file, stand in the places of
// that category's texts; records of no declared category stand nowhere.
//
// With units (the id of a record names whose it is) a record without an id stands nowhere and its place is null, as no charge could be for
// it. With a limit G each unit keeps, of the texts that it stands in, the first G, and in each of them its first place; its other places
// are null. That is decided by the unit's own ids and places alone, so nulling all records of one unit changes at most one place of at most
// G texts, and all other places stay as they are: G rho (dp/PRIVACY.md, Units). Without a limit it costs a unit the sum of g^2 rho over the
// texts, g being its records there.
#ifndef CUTTLE_IO_PLACES_H
#define CUTTLE_IO_PLACES_H

#include "io/categories.h"
#include "io/records.h"

struct places_request {
	const struct records *records;       /* read with the categories' fields as labels, and with the units' field as id */
	const struct categories *categories; /* NULL = none; else their texts are the run's */
	const char *path, *unit_key;         /* for messages; a NULL key = each record is a unit */
	size_t texts;
	uint32_t batch;
	uint64_t limit; /* G, 0 = none */
};

struct places {
	size_t *records; /* [count] numbers of records, or PLACE_NULL */
	size_t count;    /* texts * batch */
	size_t lines;    /* no record from this number on is read; null ones count */
	uint64_t weight; /* what the run costs the unit that it costs most, in rho of one text: the limit where there is one */
};
#define PLACE_NULL SIZE_MAX

/* INPUT: too few records, in all or of one category; no record in any place has an id (the name of the field is wrong). USAGE: there are
 * too many places to count. NOMEM. places_free in any case. */
enum cuttle_status places_make(const struct places_request *request, struct places *places, struct cuttle_error *error);
void places_free(struct places *places);

#endif
