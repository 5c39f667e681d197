// SPDX-License-Identifier: Apache-2.0
// categories.h: the categories of records that the operator declares, and the texts of each.
//
// A category is a list of values, one for each declared field, such as genre "sea". Only the
// operator names categories, so no name comes from the data. Values of private records pass through
// categories_find.
//
// Where categories are declared public, those of all records, and nothing else, decide which record
// is read for which text (io/records/places.h). Else how many texts a category has follows from a
// noisy count of its records (workflow/seats.h).
//
// Order: categories_read; categories_spread once N is known, or counts; then categories_of for each
// text.
#ifndef CUTTLE_IO_RECORDS_CATEGORIES_H
#define CUTTLE_IO_RECORDS_CATEGORIES_H

#include "engine/cuttle/status.h"

enum {
	CATEGORY_FIELDS = 4,   /* most fields of a category */
	MOST_CATEGORIES = 1024 /* most categories of a run */
};

struct category {
	char *values[CATEGORY_FIELDS]; /* the value of each field; NULL behind the last field */
	char *heading;                 /* "FIELD: VALUE" for each field, a newline between two */
	uint64_t share;                /* its weight when texts are dealt out, 1 to 1,000,000 */
	size_t texts;                  /* how many texts it got from categories_spread */
};
struct categories {
	const char *fields[CATEGORY_FIELDS]; /* names; the caller's strings; no two are equal */
	size_t field_count;                  /* 1 to CATEGORY_FIELDS */
	size_t count;                        /* of categories in `all` */
	struct category *all; /* [MOST_CATEGORIES], as declared; no two have the same values */
};

/* Whether `declared` is the name of a file: it ends in .csv, .json or .jsonl. */
bool categories_in_file(const char *declared);
/* Whether `declared` is one name, and ends like that of a file which is none of these. No file is
 * looked for: who may name categories need not learn which files there are. */
bool categories_like_file(const char *declared);
/* Reads the categories. There are two forms of `declared`:
 * "A,B,C"      three values of one field, with a share of 1 each;
 * a file name  (categories_in_file) a file with a column or member for each field. A further one
 *              called "share" may hold the share; 1 where it is missing or empty.
 * No other file is looked for. Call categories_free after it, also after a failure.
 * USAGE: a field is not 1 to 128 bytes of text in one line; a field is one of the output's own or
 * is given twice; a list is given for several fields. INPUT: a value is missing or is not such
 * text; a category is there twice; a share is not a whole number in 1..1000000; there is no
 * category, or more than MOST_CATEGORIES; the file is wrong as for records_read. NOMEM. */
enum cuttle_status categories_read(const char *const *fields, size_t field_count,
                                   const char *declared, struct categories *categories,
                                   struct cuttle_error *error);
void categories_free(struct categories *categories);

/* Whether this line of a heading is of the field: "genre: sea" is of genre. */
bool categories_names(const char *line, const char *field);

/* The sum of all shares. */
uint64_t categories_shares(const struct categories *categories);
/* Deals out `texts` in proportion to the shares, in declared order. The parts add up to `texts`.
 * Each is less than one text away from its exact part: 10 texts and three equal shares give 3, 4
 * and 3. */
void categories_spread(struct categories *categories, size_t texts);

/* The number of the category that has these values, or categories->count if none has them. Both
 * arrays are [field_count]. A NULL value is in no category. */
size_t categories_find(const struct categories *categories, const char *const values[],
                       const size_t sizes[]);
/* The category of text number `text`, which is below the sum of all texts. If the first two
 * categories have 3 and 4 texts, then texts 0 to 2 belong to the first, 3 to 6 to the second. */
const struct category *categories_of(const struct categories *categories, size_t text);

#endif
