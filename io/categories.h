// SPDX-License-Identifier: Apache-2.0
// Categories of records: declared by the operator, so that no name of one comes from the data, each with its part of the texts.
//
// Declaring them says that the category of every record counts as public: which record is read for which text follows from the categories
// of all records alone (io/places.h).
#ifndef CUTTLE_IO_CATEGORIES_H
#define CUTTLE_IO_CATEGORIES_H

#include "engine/cuttle.h"

enum { CATEGORY_FIELDS = 4, MOST_CATEGORIES = 1024 };

struct category {
	char *values[CATEGORY_FIELDS]; /* one of each field */
	char *heading;                 /* "FIELD: VALUE", a line for each field, without the last newline */
	uint64_t share;
	size_t texts;
};
struct categories {
	const char *fields[CATEGORY_FIELDS]; /* the caller's; no two alike */
	size_t field_count, count;
	struct category *all; /* in the order of their declaration, no two alike */
};

/* Reads what was declared: "A,B,C", values of one field with a share of 1 each; or, when `declared` ends in .csv, .json or .jsonl, the file
 * of that name, with a column or member for each field and, if wanted, one called "share". No file is looked for otherwise.
 * USAGE: a field is one of the output's own, is given twice, is not 1 to 128 bytes of text in one line; a list for several fields. INPUT: a
 * value is missing, is not such text, or a category is there twice; a share is not in 1..1000000; none, or more than MOST_CATEGORIES.
 * NOMEM. categories_free in any case. */
enum cuttle_status categories_read(const char *const *fields, size_t field_count, const char *declared, struct categories *categories,
                                   struct cuttle_error *error);
void categories_free(struct categories *categories);

/* What all shares add up to. */
uint64_t categories_shares(const struct categories *categories);
/* Deals out `texts` in proportion to the shares, in declared order; the parts add up to it and each is less than one text off. */
void categories_spread(struct categories *categories, size_t texts);

/* The category that has these values (NULL = none), or categories->count. */
size_t categories_find(const struct categories *categories, const char *const values[], const size_t sizes[]);
/* The category that text number `text` of the run is written for. */
const struct category *categories_of(const struct categories *categories, size_t text);

#endif
