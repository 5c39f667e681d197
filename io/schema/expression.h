// SPDX-License-Identifier: Apache-2.0
// expression.h: the tree of a regular expression, which io/schema/pattern.c makes an automaton of.
//
// No private data. What is read stands in io/schema/pattern.h.
// Example: "ab|c*" is EITHER of the list ab, of SET a and SET b, and REPEAT of SET c, 0 times or
// more.
#ifndef CUTTLE_IO_SCHEMA_EXPRESSION_H
#define CUTTLE_IO_SCHEMA_EXPRESSION_H

#include "io/schema/codepoints.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	EXPRESSION_LONGEST = 4096,      /* bytes of a pattern */
	EXPRESSION_DEEPEST = 100,       /* groups in groups */
	EXPRESSION_MANY = 100000,       /* the greatest number in braces */
	EXPRESSION_ENDLESS = UINT32_MAX /* no greatest number of times */
};

enum part_kind {
	PART_SET,    /* one character of a set; also a set without any */
	PART_LIST,   /* its parts, one behind the other; none is the empty text */
	PART_EITHER, /* one of its parts */
	PART_REPEAT, /* its one part, least to most times */
	PART_START,  /* ^ */
	PART_END     /* $ */
};

enum { NO_PART = UINT32_MAX };

struct part {
	enum part_kind kind;
	uint32_t last;   /* its last part, or NO_PART */
	uint32_t before; /* the part that stands before it where it is, or NO_PART */
	uint32_t set;    /* PART_SET: which of the sets */
	uint32_t least;  /* PART_REPEAT */
	uint32_t most;   /* PART_REPEAT: or EXPRESSION_ENDLESS */
};

struct expression {
	struct part *parts;
	uint32_t count;
	uint32_t room;
	uint32_t root;
	struct codepoints *sets; /* no two are equal */
	uint32_t set_count;
	uint32_t set_room;
};

/* Reads text[size], well-formed UTF-8. Returns NULL, or why not: a fixed text, "" without memory.
 * Whatever it returns, expression_free ends it. */
const char *expression_read(const char *text, size_t size, struct expression *expression);
void expression_free(struct expression *expression);

#endif
