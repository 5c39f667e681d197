// SPDX-License-Identifier: Apache-2.0
// records.h: reads a JSONL or CSV file into records: a text each, in the order of the file.
//
// The texts are private: they stay in memory that is wiped (io/disk/arena.h). Each record keeps its
// number, whatever it holds.
//
// A wrong record is null, silently: a line that is no JSON object, a field that is missing or no
// string, an object that does not fit the schema, invalid UTF-8, a row that is too short, a broken
// quote (io/records/rows.h), a blank line, more than 16 MiB. The guarantee is for "replace one
// reference by null". A warning about one record would leak that it is wrong. Dropping the record
// would move the others to other batches. Only the file as a whole can be an error: by its name, by
// first bytes that mark a foreign format (io/disk/formats.h), or by its CSV header row.
#ifndef CUTTLE_IO_RECORDS_RECORDS_H
#define CUTTLE_IO_RECORDS_RECORDS_H

#include "engine/cuttle/status.h"

struct schema; /* io/schema/schema.h */

enum { RECORDS_LABELS = 8 }; /* labels of a request, at most */
enum records_format { RECORDS_AUTO, RECORDS_JSONL, RECORDS_CSV };

struct records_request {
	const char *path;  /* "-" = standard input */
	const char *field; /* of the text: member of the object, or column of the header row */
	/* The text is the whole object, in this schema's form (io/schema/record.h); `field` is not
	 * read. In CSV its members are columns (io/schema/table.h). NULL = it is a member. */
	const struct schema *schema;
	const char *id_field; /* likewise of the id; NULL = no ids */
	bool id_is_owner;     /* the id 7 is read as "7", so both are one person */
	bool all_columns; /* a header row that lacks that of the id or a label is refused, too */
	enum records_format format; /* AUTO: CSV when the path ends in .csv or .tsv or a delimiter
	                               is given, else JSONL. Where a tab is the delimiter, cells are
	                               quoted with CSV alone: TSV knows no quotes. */
	const char *delimiter; /* of CSV: one visible ASCII character, or "\\t" for a tab; NULL = a
	                          tab for .tsv, else a comma */
	const char *option;    /* names `field` in messages; NULL = --text-field */
	size_t limit;          /* reads no record after this many; SIZE_MAX = all */
	/* More members or columns, at most RECORDS_LABELS, kept as plain words. A wrong text does
	 * not change them. */
	const char *const *labels;
	size_t label_count;
	/* Bytes kept of each text, after the white space around it is gone. An id or a label of
	 * more than 1,024 bytes is then none. So the memory follows from the number of records
	 * alone. 0 = everything is kept: for public records, or for their owner alone. */
	size_t most;
	/* For the owner of the records alone. Told each member of each object with the bytes of its
	 * text (0 = no text), or each column of the header row. NULL = nobody is told. */
	void (*on_field)(void *user, const char *name, size_t name_size, size_t text_size);
	/* Likewise: told of each object that does not fit, with the place of the schema
	 * (schema_misfit). */
	void (*on_misfit)(void *user, size_t place);
	void *user;
};

/* Whether the request's file is read as CSV or TSV: its format and name decide. */
bool records_are_csv(const struct records_request *request);

/* What became of a record. Private: nothing that others see may depend on it. */
enum record_state {
	RECORD_NO_FIELD,  /* the object has no such member, or the row is too short */
	RECORD_NOT_JSON,  /* the line is not a JSON object */
	RECORD_NAN,       /* NaN or Infinity is in the line */
	RECORD_HALF_PAIR, /* half a surrogate pair is */
	RECORD_NOT_TEXT,  /* the member is not a string */
	RECORD_MISFIT,    /* the object does not fit the schema */
	RECORD_NOT_UTF8,
	RECORD_TOO_LONG,    /* the line or the row has more than 16 MiB */
	RECORD_OPEN_QUOTE,  /* CSV: a quote that nobody closes */
	RECORD_AFTER_QUOTE, /* CSV: something stands behind a closing quote */
	RECORD_BLANK,       /* the line or the text is empty, or all white space */
	RECORD_READABLE,
	RECORD_STATES /* how many states there are */
};

struct records;

/* INPUT: the ending of the file's name is that of a foreign format. Asks for path, format and
 * delimiter alone, and opens nothing. records_read asks the same; ask first what takes long to
 * prepare for. */
enum cuttle_status records_check_name(const struct records_request *request,
                                      struct cuttle_error *error);
/* INPUT: the file cannot be read, is of a foreign format (AUTO: also by the ending of its name), or
 * its CSV header is missing or lacks the column. USAGE: a delimiter that is none, or one for JSONL.
 * With a schema also as schema_table_make, or its CSV header lacks a member that each object has.
 * NOMEM. No message has a word of the content. */
enum cuttle_status records_read(const struct records_request *request, struct records **records,
                                struct cuttle_error *error);
/* Keeps the texts out of the swap (mlock) where the system allows it. Whether it did stays unsaid:
 * it would tell how long they are. */
void records_lock(const struct records *records);
/* Wipes the texts; nulls the handle. NULL handles are fine. */
void records_free(struct records **records);

size_t records_count(const struct records *records);
/* The text (valid UTF-8, may hold NUL, no terminator), or NULL for a null record. Valid until
 * records_free. */
const char *records_text(const struct records *records, size_t index, size_t *size);
/* RECORD_READABLE: the record has a text that is not blank. Else: why it has none. */
enum record_state records_state(const struct records *records, size_t index);
/* What is the matter with a record in that state, in words that go behind its number. */
const char *records_state_words(enum record_state state);
/* The line on which a record's broken quote opens, from 1; 0 = it has none. Private, too. */
size_t records_fault_line(const struct records *records, size_t index);
/* OK, or why records that were read by this request may not be charged: none of them has the text's
 * field, whatever is in it, or, with a schema, none is a JSON object. Of many records that is a
 * fact of form, which dp/PRIVACY.md declares public. A CSV file tells it by its header, so
 * records_read does. `option` names the field. INPUT. */
enum cuttle_status records_need_field(const struct records_request *request,
                                      const struct records *records, const char *option,
                                      struct cuttle_error *error);
/* The id as JSON (a string or an integer), or NULL when the record has none. An integer that 64
 * bits do not hold is the string of its digits. Like a label it is what its own member or cell
 * says, and it is there where the record is null, as far as the line is JSON or the row has its
 * quotes. */
const char *records_id(const struct records *records, size_t index, size_t *size);
/* The record's value of one of the request's labels, or NULL. A string is given as it is, a whole
 * number in its digits, however many, another number in up to 15 (5 and 5.0 are both "5"), and true
 * as "true". */
const char *records_label(const struct records *records, size_t index, size_t label, size_t *size);

#endif
