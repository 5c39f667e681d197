// SPDX-License-Identifier: Apache-2.0
// marks.h: makes of a text's spans a document of public strings and marks, and writes its contexts.
//
// A mark has a place, a type, a group, and a content. Public are the strings between marks, and
// number, order, types and groups of marks. Private are the contents, with their lengths. So the
// blank text is the same whatever the contents are:
//   text     Ann Roe of Bern met Bo.       marks 0..7 PERSON, 11..15 GPE, 20..22 PERSON
//   blank    _ of _ met _.                 (or [PERSON] of [GPE] met [PERSON].)
//   shown    Ann Roe of _ met Bo.          the group of PERSON shown
//
// Rules. Spans of one group that overlap are one mark. Where spans of two groups overlap, their
// union is one mark, blank in every row (GROUP_BLANK). Marks of one group that touch are one mark.
// A mark's type is that of the span in it which begins first.
//
// A sweep also marks every other place where a span's content stands between the boundaries of
// words (base/words.h), written as it may be (io/text/fold.h). The content must have 3 characters
// or more when the white space around it is gone. What spans say stays as it is. The groups of the
// document are those of its spans. A swept place leaves each mark of theirs in its place, joined
// with none. Only what stands between these is marked anew, by the rules above. Where a swept place
// of another group meets a mark of spans, that mark is blank in every row. So is each place of a
// content that overlaps one of another group.
// So number and groups of what spans mark are the same for all contents. Which other places are
// marked follows from the contents.
#ifndef CUTTLE_IO_DOCUMENTS_MARKS_H
#define CUTTLE_IO_DOCUMENTS_MARKS_H

#include "io/documents/groups.h"
#include "io/documents/spans.h"

struct mark {
	size_t start;   /* byte of the text where it begins */
	size_t end;     /* byte behind it */
	uint32_t group; /* number, or GROUP_BLANK */
	uint32_t type;  /* number in struct span_types */
};

/* Begin with all members zero; it may be used for text after text. */
struct marks {
	struct arena list; /* struct mark, from left to right; no two overlap */
	uint32_t groups;   /* those with a mark before any sweep: bit g for group g */
};

/* Replaces what *marks had. INPUT: the spans overlap so much that a sweep would look for more than
 * twice the text and 1 MiB. NOMEM. */
enum cuttle_status marks_make(const struct spans *spans, const struct span_types *types,
                              const struct groups *groups, bool sweep, struct marks *marks,
                              struct cuttle_error *error);
void marks_free(struct marks *marks);

size_t marks_count(const struct marks *marks);
const struct mark *marks_all(const struct marks *marks);
/* The groups that spans give a mark: bit g for group g. A sweep changes none. */
uint32_t marks_groups(const struct marks *marks);
/* USAGE: the placeholder is empty, not UTF-8 in one line, or longer than 128 bytes. */
enum cuttle_status marks_placeholder(const char *placeholder, struct cuttle_error *error);

#define MARKS_BLANK UINT32_C(0) /* no group is shown: the public context */
/* Puts the placeholder behind what *out has, with `type` for each "{type}". False: no memory. */
bool marks_write_placeholder(const char *placeholder, const char *type, struct arena *out);

/* Puts a context behind what *out has: the text with the contents of the groups in `shown` (bit g
 * for group g). The placeholder stands in place of all others. Each "{type}" in the placeholder is
 * the mark's type. What is written depends on the contents of the shown groups and on what is
 * public, on nothing else. NOMEM. */
enum cuttle_status marks_write(const struct marks *marks, const struct spans *spans,
                               const struct span_types *types, uint32_t shown,
                               const char *placeholder, struct arena *out,
                               struct cuttle_error *error);

#endif
