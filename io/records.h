// SPDX-License-Identifier: Apache-2.0
// Records of a JSONL or CSV file: one text each, in order, each keeping its place whatever it holds.
//
// A record that is wrong (a line that is not a JSON object, a missing field, one that is not a string, invalid UTF-8, a row that is too
// short, a blank line, more than 16 MiB) is null, silently: under "replace one reference by null" a warning about one record would be a
// leak, and dropping it would move the others to other batches. Only what belongs to the file as a whole is an error.
#ifndef CUTTLE_IO_RECORDS_H
#define CUTTLE_IO_RECORDS_H

#include "engine/cuttle.h"

enum { RECORDS_LABELS = 8 };
enum records_format { RECORDS_AUTO, RECORDS_JSONL, RECORDS_CSV };

struct records_request {
	const char *path;           /* "-" = standard input */
	const char *field;          /* member of the object, or column of the header row */
	const char *id_field;       /* kept beside the text; NULL = none */
	enum records_format format; /* AUTO: CSV when the path ends in .csv, else JSONL */
	size_t limit;               /* reads no record after this many; SIZE_MAX = all */
	/* More members or columns, at most RECORDS_LABELS, kept as plain words; each is what it is whatever the rest of the record holds.
	 */
	const char *const *labels;
	size_t label_count;
	/* Of each text so many bytes are kept, without the white space around it, and an id or a label of more than 1,024 bytes is none;
	 * how much memory is held then follows from the number of records alone. 0: all is kept, which only public records may be. */
	size_t most;
};

struct records;

/* INPUT: the file cannot be read, or its CSV header is missing or lacks the column; no message has a word of the content. NOMEM. */
enum cuttle_status records_read(const struct records_request *request, struct records **records, struct cuttle_error *error);
/* Keeps the texts in memory (mlock) where the system allows it. Whether it did stays unsaid: it would tell how long they are. */
void records_lock(const struct records *records);
/* Wipes the texts; nulls the handle. NULL handles are fine. */
void records_free(struct records **records);

size_t records_count(const struct records *records);
/* The text (valid UTF-8, may hold NUL, no terminator), or NULL for a null record. Valid until records_free. */
const char *records_text(const struct records *records, size_t index, size_t *size);
/* The id as JSON (a string or an integer), or NULL when the record has none. */
const char *records_id(const struct records *records, size_t index, size_t *size);
/* The record's value of one of the request's labels: a string as it is, a number in digits (5 and 5.0 are both "5"), or NULL. */
const char *records_label(const struct records *records, size_t index, size_t label, size_t *size);

#endif
