// SPDX-License-Identifier: Apache-2.0
// decimal.h: numbers of JSON as decimals: exact, with at most 18 digits before the point and 17
// behind it; and the grammar of those in a range that a double keeps. These are whole, or have at
// most 15 digits, of which a 0 before the point is none. So whoever reads the text as a double and
// writes it again has the same text, and what is below a bound stays below it.
//
// Numbers may be private; what they are written to is the caller's. The digits on the stack are
// wiped.
// Example: 0.5 is 5 * 10^16 units, and from 0.5 to 12 are 0.5, 0.51, 7, 12.
#ifndef CUTTLE_IO_SCHEMA_DECIMAL_H
#define CUTTLE_IO_SCHEMA_DECIMAL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

typedef __int128 decimal; /* in units of 10^-17 */

enum {
	DECIMAL_BEHIND = 17, /* digits behind the point */
	DECIMAL_BEFORE = 18, /* digits before it */
	DECIMAL_DIGITS = 15, /* of a number with a point, in the grammar */
	DECIMAL_ROOM = 40    /* bytes of the longest one, with its NUL */
};

/* 10^17: what 1 is. And the greatest one, all digits 9. */
decimal decimal_one(void);
decimal decimal_most(void);

/* Sets *value to the greatest decimal that is not above the number, and *exact to whether it is the
 * number. A real is what its shortest spelling says: 0.1 is 0.1. Numbers beyond 18 digits become
 * +-(decimal_most() + 1), and are not exact. */
void decimal_of(const json_t *number, decimal *value, bool *exact);
/* Writes it as canonical JSON. Returns how many bytes. */
size_t decimal_write(decimal value, char text[DECIMAL_ROOM]);

/* The greatest decimal of the grammar that is not above the value, the least that is not below it,
 * and the nearest: 0.1234567890123456 is near 0.123456789012346. */
decimal decimal_down(decimal value);
decimal decimal_up(decimal value);
decimal decimal_near(decimal value);

/* Writes an expression of GBNF for the canonical forms of all decimals of the grammar from `least`
 * to `most`, which are two of them. Of whole ones alone, where `whole`; then both are whole. */
void decimal_grammar(FILE *out, decimal least, decimal most, bool whole);

#endif
