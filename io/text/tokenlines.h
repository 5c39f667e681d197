// SPDX-License-Identifier: Apache-2.0
// tokenlines.h: reads back the lines {"ids":[5,17,2]} that cuttle tokenize prints.
//
// The user chooses the file. Open, read until *ids is NULL, close.
#ifndef CUTTLE_IO_TEXT_TOKENLINES_H
#define CUTTLE_IO_TEXT_TOKENLINES_H

#include "io/records/source.h"

struct tokenlines {
	struct source source;
	int32_t *ids;
	size_t capacity; /* ids that fit in `ids` */
	size_t line;     /* number of the line last read, from 1 */
};

/* Errors as source_open. */
enum cuttle_status tokenlines_open(struct tokenlines *lines, const char *path,
                                   struct cuttle_error *error);
/* The next line's ids (valid until the next call), or *ids = NULL at the end. A null list counts as
 * an empty one. INPUT: read error, or the line is not an object whose "ids" is a list of 32-bit
 * integers. NOMEM. */
enum cuttle_status tokenlines_next(struct tokenlines *lines, const int32_t **ids, size_t *count,
                                   struct cuttle_error *error);
void tokenlines_close(struct tokenlines *lines);

#endif
