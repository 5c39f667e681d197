// SPDX-License-Identifier: Apache-2.0
// The text of the tokens drawn so far, and whether it is complete: a function of the tokens alone, so replaying them gives the same text.
#ifndef CUTTLE_ENGINE_TRANSCRIPT_H
#define CUTTLE_ENGINE_TRANSCRIPT_H

#include "engine/vocab.h"

struct transcript {
	const struct vocab *vocab;
	const char *stop; /* NULL = none */
	size_t limit;     /* T */
	int32_t *ids;     /* [limit] */
	size_t count;
	char *raw;  /* bytes of the tokens, [raw_capacity] */
	char *text; /* cleaned by transcript_text, [3 * raw_capacity] */
	size_t raw_size, raw_capacity;
	bool complete;
	enum cuttle_finish finish;
};

/* Allocates for texts of `limit` tokens. NOMEM. */
enum cuttle_status transcript_new(const struct vocab *vocab, const char *stop, size_t limit, struct transcript *transcript,
                                  struct cuttle_error *error);
void transcript_free(struct transcript *transcript);

void transcript_begin(struct transcript *transcript);              /* a new text */
void transcript_add(struct transcript *transcript, int32_t token); /* not after completion */

/* The text: stop string cut off, bytes that are not UTF-8 replaced by U+FFFD, white space at both ends removed. Owned by the transcript. */
const char *transcript_text(struct transcript *transcript, size_t *size);

#endif
