// SPDX-License-Identifier: Apache-2.0
// places.h: decides which record is read for which text.
//
// Text t reads places t B .. t B + B - 1; with B = 4, text 1 reads places 4 .. 7. Each place has
// one record or is null. Ids and labels decide this, never a text. So it is for rows of one place.
// With shots a row is R places that follow each other: text t has B rows, and B R places.
//
// Without categories, record p stands in place p. With categories, each category has the places of
// its own texts. Its records fill them in the order of the file; those of no declared category
// stand nowhere. With two texts for x, then one for y, and B = 2, x has places 0 .. 3, y 4 and 5.
//
// With units (a record's id names whose it is) the proof is dp/PRIVACY.md, "Persons with several
// records"; the rules are at struct places_request below.
#ifndef CUTTLE_IO_RECORDS_PLACES_H
#define CUTTLE_IO_RECORDS_PLACES_H

#include "io/records/categories.h"
#include "io/records/records.h"

/* Units. A place whose record has no id becomes null, as nobody could be charged for it.
 *
 * With a limit G each unit keeps at most G rows. In the first G texts that have a record of it,
 * it keeps its first row in each. Its other places become null. With B = 3, G = 1 and a unit in
 * places 1, 2 and 5, it keeps 1; 2 and 5 become null. With two places a row it keeps the row of 0
 * and 1 there. Only the unit's own ids and places decide that. So nulling all its records changes
 * at most one row in at most G texts and no other row. This costs the unit G rho.
 *
 * Without a limit a unit costs the sum over the texts of g^2 rho; g counts the rows that it has in
 * a text. In the example these are 2 and 1, so it costs 5 rho. */
struct places_request {
	const struct records *records; /* read with the categories' fields as labels, and with the
	                                  units' field as owner */
	const struct categories *categories; /* NULL = none; else their texts are the run's */
	const char *path;                    /* of the records, for messages */
	const char *unit_key;                /* the units' field; NULL = each record is a unit */
	size_t texts;                        /* of the run */
	bool per_share;                      /* --num-per-category said how many, not -N */
	uint32_t batch;                      /* B, rows of each text */
	uint32_t shots;                      /* R, places of each row */
	uint64_t limit;                      /* G; 0 = none */
	double rho;                          /* of one record in one text; used without a limit */
};

/* Lots (io/records/lots.h). Text t then has the places t rows .. t rows + rows - 1. Each record has
 * a lot, null or not: a batch of its cluster, which is its category or the whole file. The first
 * batches of a cluster are its texts, and the others are never read. A text's records stand in its
 * places in the order of the file, and those beyond `rows` nowhere. Example: 2 texts of 4 batches,
 * rows 3 and lots 1 3 0 1 1 1. Text 0 has record 2, text 1 has 0, 3 and 4. Nobody learns that 5 was
 * one more. Only the key, the categories and how many records there are decide that. By owner, each
 * has a lot, and the one record of it that has a cluster stands in its batch: places_first says
 * which.
 * With shots R records of a cluster that follow each other are a group, which is a row and has one
 * lot, that of its first record. The last one may lack some; then it is a null row.
 */
struct places_lots {
	const struct records *records;
	const struct categories *categories; /* NULL = none */
	const uint32_t *cluster;  /* [records] the cluster of each, or none; NULL = its category */
	const uint64_t *batches;  /* [categories, or 1] M of each cluster */
	size_t texts;             /* of the run */
	uint32_t rows;            /* of a text */
	uint32_t shots;           /* R, places of each row */
	const unsigned char *key; /* LOTS_KEY bytes */
	bool by_owner;            /* a record's lot is that of its owner, whom `cluster` says */
};

struct places {
	size_t *records; /* [count] the record of each place, by number, or PLACE_NULL */
	size_t count;    /* texts * batch * shots; with lots texts * rows * shots */
	uint32_t row;    /* places of a row */
	size_t lines;    /* all records that are read have numbers below this; null ones count */
	uint64_t weight; /* the run's cost, in rho of one text, for the unit it costs most; the
	                    limit where there is one */
	double rho;      /* the same cost as a ledger charges it, rounded up; 0 with a limit */
};
#define PLACE_NULL SIZE_MAX

/* INPUT: too few records, in all or of one category; no record in any place has an id (the name of
 * the field is wrong). USAGE: there are too many places to count. NOMEM. places_free in any case.
 */
enum cuttle_status places_make(const struct places_request *request, struct places *places,
                               struct cuttle_error *error);
/* The same by lots, of which nobody learns: no error follows from them. There are enough records,
 * as was found when the batches were counted. NOMEM. */
enum cuttle_status places_draw(const struct places_lots *request, struct places *places,
                               struct cuttle_error *error);
/* Whether the owner of the record in a place stands in an earlier place of the same row. A unit
 * pays for rows, each once. */
bool places_repeats(const struct places *places, const struct records *records, size_t place);
/* Counts the records of each category; `counts` has room for as many. */
void places_count(const struct records *records, const struct categories *categories,
                  uint64_t *counts);
/* Sets cluster[records]: the number of each record's category, or CUTTLE_NO_CLUSTER. */
void places_clusters(const struct records *records, const struct categories *categories,
                     uint32_t *cluster);
/* Lists one record of each owner, the first in the file whatever it says, in the order of the file.
 * A record without an owner is left out. first[records] has room for all; *count is how many there
 * are. Which records these are is as private as the owners. False: out of memory. */
bool places_first(const struct records *records, size_t *first, size_t *count);
/* Wipes it: with lots it is as private as they are. */
void places_free(struct places *places);

#endif
