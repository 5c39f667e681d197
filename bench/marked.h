// SPDX-License-Identifier: Apache-2.0
// marked.h: documents with marks, for the programs of this folder that measure DP-Fusion.
// Private data: none is protected here; use documents that may be shown.
// How: marked_read takes the beginnings of the first documents of a file. Each type of span is a
// group. marked_write then writes a document with some groups shown.
// Example: 400 characters of "Ann Roe of Bern ..", types PERSON and LOC: groups 0 and 1.
#ifndef CUTTLE_BENCH_MARKED_H
#define CUTTLE_BENCH_MARKED_H

#include "io/documents/marks.h"

struct marked_document {
	struct spans spans; /* its text, and the spans in it */
	struct marks marks; /* every mention of a span's content is one */
	uint32_t groups;    /* bit g: group g has a mark */
};

struct marked {
	struct span_types types;
	struct groups groups; /* group g is the type number g */
	size_t count;
	struct marked_document *documents; /* [count] */
};

/* Ends the program with a message. */
_Noreturn void marked_stop(const char *what);

/* Ends the program with status 0 and a line that says so when the file is not there. */
void marked_skip_without(const char *path);

/* Reads the first `count` documents of a JSONL file, and keeps `characters` code points of each. A
 * document ends before a span that would be cut in two. Any failure ends the program. */
void marked_read(const char *path, size_t count, size_t characters, struct marked *marked);
void marked_free(struct marked *marked);

/* Writes a document into *out, whose content is gone: the groups in `shown` with their contents,
 * the placeholder for all others. */
void marked_write(const struct marked *marked, size_t document, uint32_t shown,
                  const char *placeholder, struct arena *out);

#endif
