// SPDX-License-Identifier: Apache-2.0
// plain_text.h: the text of a completion as it grows, cut at stop strings and at whole characters.
//
// No protection: plain text alone.
// Example: stop "END", tokens "go", " EN", "D now": after the second token "go " may be told, since
// "EN" may become the stop; after the third the text is "go " and has ended.
#ifndef CUTTLE_SERVE_PLAIN_TEXT_H
#define CUTTLE_SERVE_PLAIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct plain_text {
	const char *const *stops; /* [stop_count] none is empty */
	size_t stop_count;
	char *bytes; /* [size] owned */
	size_t size, capacity;
	size_t told;  /* bytes that were told */
	bool stopped; /* a stop string was found; the text ends before it */
};

/* Appends the bytes of a token. False: out of memory. */
bool plain_text_add(struct plain_text *text, const char *bytes, size_t size);
/* Nothing follows. A character that is cut at the end never becomes whole, so it goes. */
void plain_text_end(struct plain_text *text);
/* What may be told now: bytes[told .. told + result), whole characters. `last`: nothing follows. */
size_t plain_text_ready(const struct plain_text *text, bool last);
void plain_text_free(struct plain_text *text);

#endif
