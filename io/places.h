// SPDX-License-Identifier: Apache-2.0
// places.h: decides which record is read for which text.
//
// Called by workflow/references.c. Text t reads places t B .. t B + B - 1; with B = 4, text 1 reads
// places 4 .. 7. Each place has one record or is null. Ids and labels decide this, never a text.
//
// Without categories, record p stands in place p. With categories, each category has the places of
// its own texts. Its records fill them in the order of the file; those of no declared category
// stand nowhere. With two texts for x, then one for y, and B = 2, x has places 0 .. 3, y 4 and 5.
//
// With units (a record's id names whose it is) the proof is dp/PRIVACY.md, "Persons with several
// records"; the rules are at struct places_request below.
#ifndef CUTTLE_IO_PLACES_H
#define CUTTLE_IO_PLACES_H

#include "io/categories.h"
#include "io/records.h"

/* Units. A place whose record has no id becomes null, as nobody could be charged for it.
 *
 * With a limit G each unit keeps at most G places: in the first G texts that have a record of it,
 * its first place in each. Its other places become null. With B = 3, G = 1 and a unit in places 1,
 * 2 and 5, it keeps 1; 2 and 5 become null. Only the unit's own ids and places decide that. So
 * nulling all its records changes at most one place in at most G texts and no other place. This
 * costs the unit G rho.
 *
 * Without a limit a unit costs the sum over the texts of g^2 rho; g counts its records in a text.
 * In the example these are 2 and 1, so it costs 5 rho. */
struct places_request {
	const struct records *records; /* read with the categories' fields as labels, and with the
	                                  units' field as owner */
	const struct categories *categories; /* NULL = none; else their texts are the run's */
	const char *path;                    /* of the records, for messages */
	const char *unit_key;                /* the units' field; NULL = each record is a unit */
	size_t texts;                        /* of the run */
	uint32_t batch;                      /* B, places of each text */
	uint64_t limit;                      /* G; 0 = none */
};

struct places {
	size_t *records; /* [count] the record of each place, by number, or PLACE_NULL */
	size_t count;    /* texts * batch */
	size_t lines;    /* all records that are read have numbers below this; null ones count */
	uint64_t weight; /* the run's cost, in rho of one text, for the unit it costs most; the
	                    limit where there is one */
};
#define PLACE_NULL SIZE_MAX

/* INPUT: too few records, in all or of one category; no record in any place has an id (the name of
 * the field is wrong). USAGE: there are too many places to count. NOMEM. places_free in any case.
 */
enum cuttle_status places_make(const struct places_request *request, struct places *places,
                               struct cuttle_error *error);
void places_free(struct places *places);

#endif
