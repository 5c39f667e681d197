// SPDX-License-Identifier: Apache-2.0
// spans.h: reads one line of a JSONL file: a text, and the spans of it that are private.
//
// It also reads the answers of a tagger (io/documents/tagger.h). Texts and spans are private: they
// stay in memory that is wiped. io/documents/marks.h makes marks of them.
//
// Two forms are read. Ours is that of Presidio; half-open, so this one is the text's first 7
// characters; the type is entity_type, label or type:
//   {"id":1,"text":"Dr. Roe","spans":[{"start":0,"end":7,"entity_type":"PERSON","score":0.9}]}
// That of TAB (Pilan et al. 2022) has annotators, whose spans are united:
//   {"text":..,"annotations":{"annotator1":{"entity_mentions":[{"start_offset":0,"end_offset":7,
//     "entity_type":"PERSON","identifier_type":"DIRECT"}]}}}
// Where byte_start, byte_end, text or span_text stand beside a span, they must agree with it.
//
// A wrong span is no null: silence would leave it unprotected. Any failure is INPUT, with the
// file, line, number of the span, and the rule that it breaks, never with a word of the content.
#ifndef CUTTLE_IO_DOCUMENTS_SPANS_H
#define CUTTLE_IO_DOCUMENTS_SPANS_H

#include "base/utf8.h"
#include "io/disk/arena.h"
#include "engine/cuttle/status.h"
#include <jansson.h>

enum spans_format {
	SPANS_AUTO,
	SPANS_PRESIDIO,
	SPANS_TAB
}; /* AUTO: by the members that are there */
enum spans_offsets { SPANS_CODEPOINTS, SPANS_BYTES, SPANS_UTF16 }; /* what start and end count */
enum { SPANS_FORMATS = 3, SPANS_UNITS = 3 };                       /* how many of each */
/* Their names, as in options and receipts: "auto", and "codepoints". */
extern const char *const SPANS_FORMAT_NAMES[SPANS_FORMATS];
extern const char *const SPANS_OFFSETS_NAMES[SPANS_UNITS];

struct spans_request {
	const char *path;        /* of the file, for messages */
	const char *text_field;  /* member with the text */
	const char *id_field;    /* member with the id, a string or an integer; may be absent */
	const char *spans_field; /* member with the list of spans; NULL = read no spans */
	const char
	    *leave_identifier;   /* TAB: spans of this identifier_type are public; NULL = none */
	const char *owner_field; /* member that says whose it is, a string or an integer; NULL = it
	                            is not read */
	bool may_lack;           /* true: a line without the list of spans has none of its own */
	enum spans_format format;
	enum spans_offsets offsets;
};

enum { SPANS_TYPES = 256 }; /* types that a run may name, at most */
/* The names of types, in the order they were met. Begin with count 0. */
struct span_types {
	char names[SPANS_TYPES][UTF8_NAME + 1];
	size_t count;
};

struct text_span {
	size_t start;  /* byte of the text where it begins */
	size_t end;    /* byte behind it */
	uint32_t type; /* number in struct span_types */
};

/* What a line has. Begin with all members zero; it may be used for line after line. */
struct spans {
	struct arena text; /* bytes of the text, UTF-8 */
	struct arena list; /* struct text_span, in the order of the line */
	json_t *id;        /* NULL = the line has none */
	json_t *owner;     /* NULL = it was not asked for */
};

/* Reads the line number `number` (from 1), bytes line[size]. What *spans held is gone.
 * INPUT: the line or a span is wrong. NOMEM. */
enum cuttle_status spans_read(const struct spans_request *request, const char *line, size_t size,
                              size_t number, struct span_types *types, struct spans *spans,
                              struct cuttle_error *error);
/* Reads a tagger's answer to line `number`: {"id":number,"spans":[..]} in our form, by code points.
 * Its spans go behind those that *spans has, whose text they are of. A member text must agree.
 * INPUT: the answer is wrong. NOMEM. */
enum cuttle_status spans_read_answer(const struct spans_request *request, const char *line,
                                     size_t size, size_t number, struct span_types *types,
                                     struct spans *spans, struct cuttle_error *error);
/* Adds a span of bytes start .. end - 1, which are whole characters of the text. INPUT: there are
 * more than SPANS_TYPES types. NOMEM. */
enum cuttle_status spans_add(struct spans *spans, struct span_types *types, size_t start,
                             size_t end, const char *type, struct cuttle_error *error);
/* Wipes all. */
void spans_free(struct spans *spans);

size_t spans_count(const struct spans *spans);
const struct text_span *spans_all(const struct spans *spans);

/* Writes the line {"id":..,"text":..,"spans":[..]}, in our form and the request's names and
 * offsets. NOMEM: NULL is returned. */
json_t *spans_encode(const struct spans_request *request, const struct spans *spans,
                     const struct span_types *types);

#endif
