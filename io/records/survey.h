// SPDX-License-Identifier: Apache-2.0
// survey.h: counts a file's records and measures their lengths, for their owner.
//
// Every number in here is PRIVATE: no guarantee covers it.
#ifndef CUTTLE_IO_RECORDS_SURVEY_H
#define CUTTLE_IO_RECORDS_SURVEY_H

#include "io/records/records.h"

struct survey_request {
	const struct records *records;    /* read whole: without `most` */
	const struct cuttle_model *model; /* NULL = lengths in bytes alone */
	uint32_t reference_tokens;        /* tokens after which generate cuts a text */
	uint32_t reference_bytes;         /* bytes after which it does */
	bool owners;                      /* the records were read with their owners as ids */
	size_t label_count; /* categories are these labels together; 0 = there are none */
};

/* A summary of `count` numbers. In their order, at[i] is the one SURVEY_PERCENT[i] % of the way
 * from the least to the greatest: 0, 10, 50, 90, 99 and 100 %. Of 0, 1, 2 .. 200 they are 0, 20,
 * 100, 180, 198 and 200. */
enum { SURVEY_QUANTILES = 6 };
extern const unsigned SURVEY_PERCENT[SURVEY_QUANTILES];
struct survey_numbers {
	size_t count;
	size_t at[SURVEY_QUANTILES]; /* all 0 when count is 0 */
};

struct survey_category {
	size_t record; /* one of its records, whose labels name it */
	size_t count;  /* its records, null ones included */
};

struct survey {
	size_t states[RECORD_STATES];       /* records in each state */
	struct survey_numbers bytes;        /* of the readable texts, trimmed of white space */
	struct survey_numbers tokens;       /* likewise; only with a model */
	size_t cut;                         /* readable texts that generate cuts */
	size_t repeated;                    /* readable texts that an earlier record has too */
	struct survey_numbers owners;       /* records of each owner */
	size_t unowned;                     /* records without an owner; null to generate */
	struct survey_category *categories; /* the greatest first */
	size_t category_count;              /* entries in `categories` */
	size_t uncategorised;               /* records that lack one of the labels */
};

/* Counts and measures. NOMEM. survey_free in any case. */
enum cuttle_status survey_make(const struct survey_request *request, struct survey *survey,
                               struct cuttle_error *error);
/* Wipes the numbers. */
void survey_free(struct survey *survey);

#endif
