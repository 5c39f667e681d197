// SPDX-License-Identifier: Apache-2.0
// literal.h: texts as GBNF writes them, and a choice among many of them that is cheap to follow.
//
// No private data: texts are a schema's keys and values.
// Example: of red, reed and blue the rule is  "blue" | "re" x-c1  with  x-c1 ::= "d" | "ed".  So an
// automaton follows one text at a time, however many there are.
#ifndef CUTTLE_IO_SCHEMA_LITERAL_H
#define CUTTLE_IO_SCHEMA_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct literal {
	const char *text; /* well-formed UTF-8 without controls */
	size_t size;
};

/* Writes the text in quotes. */
void literal_write(FILE *out, const char *text, size_t size);

/* Writes the rest of rule `name` and its end of line: one of list[count], which it sorts. Then the
 * rules that it needs. False: out of memory. */
bool literal_choose(FILE *out, const char *name, struct literal *list, size_t count);

#endif
