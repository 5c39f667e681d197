// SPDX-License-Identifier: Apache-2.0
// jsonline.h: what a line of JSON has that a parser stops at, and the line without it.
//
// It is for lines that jansson did not take. The line is private, and so is what is wrong with it.
#ifndef CUTTLE_IO_DISK_JSONLINE_H
#define CUTTLE_IO_DISK_JSONLINE_H

#include "io/disk/arena.h"

enum jsonline_fault {
	JSONLINE_OTHER,     /* it is no JSON, or no reason is known */
	JSONLINE_EMPTY,     /* nothing but white space */
	JSONLINE_NAN,       /* NaN or Infinity, as Python writes them; JSON has neither */
	JSONLINE_HALF_PAIR, /* \ud83d without its other half: a character was cut in two */
};

enum jsonline_fault jsonline_fault(const char *line, size_t size);
/* Appends the line as jansson takes it. JSON sets numbers no limit, so one that no double holds,
 * such as 1e400, becomes null, and a whole one beyond 64 bits the real number that it is.
 *
 * With `words` the copy is for ids and labels, each of which is read whatever stands beside it.
 * Then such a whole number is the string of its digits: 18446744073709551615 becomes
 * "18446744073709551615". What JSON does not have becomes null, and so does what is no id or label:
 * an object or list inside the line's own, whatever is in it; a word such as NaN, 01 or undefined;
 * a string with a fault in it (bytes that are not UTF-8, half a pair, a control character, an
 * unknown escape). A name with such a fault becomes "". A line that is no JSON for another reason
 * stays so. It is then up to 5 / 2 times as long.
 *
 * False: out of memory. */
bool jsonline_mend(struct arena *copy, const char *line, size_t size, bool words);

#endif
