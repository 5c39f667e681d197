// SPDX-License-Identifier: Apache-2.0
// What one batch has drawn so far, the texts it spells, and whether it is complete: a function of the tokens alone, so replaying them gives
// the same texts. A batch is one text, or with `bank` as many as its T tokens are enough for.
#ifndef CUTTLE_ENGINE_TRANSCRIPT_H
#define CUTTLE_ENGINE_TRANSCRIPT_H

#include "engine/vocab.h"

struct transcript_rules {
	const struct vocab *vocab;
	const char *stop;     /* NULL = none */
	uint32_t tokens;      /* T: private tokens of the batch */
	uint32_t free_tokens; /* most of those drawn from the public row alone */
	bool bank;            /* private tokens left at the end of a text begin another */
	bool completes;       /* after T, a text goes on with free tokens */
};

struct transcript {
	struct transcript_rules rules;
	int32_t *drawn; /* [tokens + free_tokens] of the batch; a free token t as ~t */
	size_t count;
	uint32_t spent; /* private ones among them */
	bool complete;  /* the batch draws no more */
	/* The text that the last token belongs to. */
	int32_t *ids; /* [tokens + free_tokens] */
	size_t length;
	uint32_t free_tokens; /* free ones among them */
	bool ended;           /* the next token, if any, begins another text */
	enum cuttle_finish finish;
	char *raw;  /* bytes of the tokens, [raw_capacity] */
	char *text; /* cleaned by transcript_text, [3 * raw_capacity] */
	size_t raw_size, raw_capacity;
};

/* Allocates for batches by these rules. NOMEM. */
enum cuttle_status transcript_new(const struct transcript_rules *rules, struct transcript *transcript, struct cuttle_error *error);
void transcript_free(struct transcript *transcript);

void transcript_begin(struct transcript *transcript);              /* a new batch */
void transcript_add(struct transcript *transcript, int32_t drawn); /* t, or ~t for a free one */
int32_t transcript_token(int32_t drawn);                           /* t of either */
/* Whether the batch may go on with such a token. */
bool transcript_may_add(const struct transcript *transcript, int32_t drawn);

/* The text: stop string cut off, bytes that are not UTF-8 replaced by U+FFFD, white space at both ends removed. Owned by the transcript. */
const char *transcript_text(struct transcript *transcript, size_t *size);

#endif
