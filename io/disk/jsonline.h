// SPDX-License-Identifier: Apache-2.0
// jsonline.h: what a line of JSON has that a parser stops at.
//
// It is for lines that jansson did not take. The line is private, and so is what is wrong with it.
#ifndef CUTTLE_IO_DISK_JSONLINE_H
#define CUTTLE_IO_DISK_JSONLINE_H

#include <stdbool.h>
#include <stddef.h>

enum jsonline_fault {
	JSONLINE_OTHER,     /* it is no JSON, or no reason is known */
	JSONLINE_EMPTY,     /* nothing but white space */
	JSONLINE_NAN,       /* NaN or Infinity, as Python writes them; JSON has neither */
	JSONLINE_HALF_PAIR, /* \ud83d without its other half: a character was cut in two */
};

enum jsonline_fault jsonline_fault(const char *line, size_t size);
/* Writes null over each number that no double can hold, such as 1e400; with `integers` also over
 * whole numbers beyond 64 bits. JSON sets numbers no limit, so the line is right, though that
 * number is nothing to us. */
void jsonline_drop_large(char *line, size_t size, bool integers);

#endif
