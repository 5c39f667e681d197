// SPDX-License-Identifier: Apache-2.0
// kept.h: the texts that an earlier run of cuttle generate kept, with what its receipt says of
// them.
//
// No private data: the texts are an output under a guarantee, and the receipt is public. Nothing is
// taken from a receipt that does not hold, nor from another output.
//
//     status = kept_open(&kept, "out.jsonl", RECORDS_AUTO, "out.receipt.json", &error);
//     ... kept.texts[i] with its group; kept.groups[g] with its heading and weight ...
//     kept_close(&kept);
#ifndef CUTTLE_IO_RECEIPTS_KEPT_H
#define CUTTLE_IO_RECEIPTS_KEPT_H

#include "io/receipts/evidence.h"
#include "io/records/records.h"

struct schema; /* io/schema/schema.h */

/* A text, a line of the output. */
struct kept_text {
	const char *text; /* NULL: the line has no text, or is of no group */
	size_t size;      /* bytes */
	uint64_t index;   /* member "index" of its line: the name of the text */
	size_t group;     /* below group_count */
};

/* Texts of one category, or of one cluster; without either there is one group. */
struct kept_group {
	char *heading;        /* "FIELD: VALUE", lines of a category; NULL = none */
	const json_t *values; /* the category's, by field; NULL = none */
	/* The noisy count of its records, where the receipt has a histogram; a negative one counts
	 * as 0. Else the texts that carry it. */
	uint64_t weight;
};

/* What texts are of: of a grammar or of a schema, by its hash, or of neither. */
struct kept_form {
	const struct schema *schema; /* NULL = none */
	char grammar_sha256[HASH_TEXT], schema_sha256[HASH_TEXT];
};

struct kept {
	const struct schema *schema; /* of the texts, which are objects: the line itself is a text,
	                                and its number is its index. NULL = texts are members */
	struct evidence evidence;    /* of the receipt; it was checked */
	char receipt_sha256[HASH_TEXT];
	struct records *records;
	struct kept_text *texts; /* [count] in the order of the output */
	size_t count;
	struct kept_group
	    *groups; /* [group_count] categories in the receipt's order, or clusters */
	size_t group_count;
	const char *fields[CATEGORY_FIELDS]; /* [field_count] of the categories */
	size_t field_count;
};

/* Reads and checks the receipt, then compares the output with its hash, then reads the texts.
 * `form` is that of texts which are to be like them: where these have a grammar or a schema it must
 * be the same. Where they have none it may be a grammar, as texts of any form are examples. Call
 * kept_close in any case; path, receipt and schema must outlive *kept. INPUT: a file cannot be
 * read, the receipt is not one of cuttle generate, or its texts are of another form. LEDGER: the
 * receipt does not agree with itself, or the output is another one's. NOMEM. */
enum cuttle_status kept_open(struct kept *kept, const char *path, enum records_format format,
                             const char *receipt, const struct kept_form *form,
                             struct cuttle_error *error);
/* The last part of kept_open: groups and texts, once kept->claim is of a receipt that holds and of
 * this output, and kept->schema is set. INPUT: the file cannot be read, or a line has no index.
 * NOMEM. */
enum cuttle_status kept_read(struct kept *kept, const char *path, enum records_format format,
                             struct cuttle_error *error);
void kept_close(struct kept *kept);

#endif
