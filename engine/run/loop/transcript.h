// SPDX-License-Identifier: Apache-2.0
// transcript.h: what one batch has drawn so far, and where its texts begin and end.
// Private data: drawn tokens. A mechanism has protected them, but for those of a completion. So all
// of them are kept in memory that is wiped.
// How: transcript_begin for each batch, then transcript_add for each token until `complete`.
// A batch is one text. With `bank` it is as many texts as its T private tokens are enough for.
// A private token is drawn from the references and counts against T. A free token is drawn from the
// public row alone. It is written as ~t: free token 5 is -6. A batch without a private context is
// unpaid: all its tokens are free.
// With `thresholds` what counts against T is units, which are thresholds (dp/amin.h). A unit begins
// with the first token, and with the one after a private token. A process that resumes a batch has
// no threshold, so its first token begins a unit, too. Where that cannot be seen otherwise, behind
// a free token, it is written with TRANSCRIPT_MARK: 5 as 5 + 2^30. Rule: everything here is a
// function of the tokens alone, so replayed tokens give the same texts.
#ifndef CUTTLE_ENGINE_RUN_LOOP_TRANSCRIPT_H
#define CUTTLE_ENGINE_RUN_LOOP_TRANSCRIPT_H

#include "engine/cuttle/job.h"
#include "engine/machine/region.h"
#include "engine/run/plan/stops.h"
#include "engine/text/vocab.h"

struct transcript_rules {
	const struct vocab *vocab;
	const struct stops *stops; /* a text ends before one of them; NULL = none */
	uint32_t tokens;           /* T: private tokens of the batch, or units, at most */
	uint32_t free_tokens;      /* free tokens of the batch, at most, unless it is unpaid */
	uint32_t length;           /* all tokens of the batch, at most */
	bool bank;                 /* private tokens left at the end of a text begin another text */
	bool completes;            /* after T private tokens, a text goes on with free tokens */
	bool thresholds;           /* units are thresholds; free_tokens is not read */
	bool exact;                /* texts are of a grammar: no white space of theirs is removed */
};

struct transcript {
	struct transcript_rules rules;
	struct region region; /* the arrays below */

	/* The batch. */
	int32_t *drawn;  /* [rules.length] t, or ~t for a free token */
	size_t count;    /* tokens in drawn */
	size_t replayed; /* those of them that an earlier process drew */
	uint32_t spent;  /* private tokens among them, or units */
	bool standing;   /* the last unit's threshold is there: the next token belongs to it */
	bool resumed;    /* that threshold was lost: the next token begins a unit, and is marked */
	bool unpaid;     /* all tokens are free */
	bool complete;   /* the batch draws no more */
	bool cut;        /* its text was brought to its end; set by whoever knows the grammar */

	/* The text that the last token belongs to. */
	int32_t *ids;              /* [rules.length] its tokens, each as t */
	size_t length;             /* tokens in ids */
	uint32_t free_tokens;      /* free tokens among them */
	bool ended;                /* the text is at its end; the next token begins another one */
	enum cuttle_finish finish; /* why it ended */
	char *raw;                 /* [raw_capacity] the bytes its tokens spell */
	char *text;                /* [3 * raw_capacity] what transcript_text made of them */
	size_t raw_size;           /* bytes in raw */
	size_t raw_capacity;
};

/* Allocates a transcript for batches under these rules. NOMEM. transcript_free wipes it. */
enum cuttle_status transcript_new(const struct transcript_rules *rules,
                                  struct transcript *transcript, struct cuttle_error *error);
void transcript_free(struct transcript *transcript);

/* Begins a new batch: no token is drawn yet. */
void transcript_begin(struct transcript *transcript, bool unpaid);

/* Adds a token: t, or ~t when it is free. transcript_may_add must be true. */
void transcript_add(struct transcript *transcript, int32_t drawn);

/* What was replayed so far was drawn by an earlier process. A unit that stood there ends; where T
 * leaves no other one, the batch ends with it, by length. */
void transcript_resume(struct transcript *transcript);

/* `drawn`, as it is to be written and added: with the mark where it needs one. */
int32_t transcript_marked(const struct transcript *transcript, int32_t drawn);

#define TRANSCRIPT_MARK (INT32_C(1) << 30) /* above every token */

/* The token t, of t as well as of ~t, marked or not. */
int32_t transcript_token(int32_t drawn);

/* Whether the batch may draw one more token of this kind: free when drawn < 0, else private. */
bool transcript_may_add(const struct transcript *transcript, int32_t drawn);

/* Free tokens that the batch may still draw. Not with thresholds. */
uint32_t transcript_free_left(const struct transcript *transcript);

/* Whether no private token is left to the batch, so that no private context is needed. */
bool transcript_is_spent(const struct transcript *transcript);

/* The text that the last token belongs to, *size bytes, not NUL-terminated. The stop is cut
 * off. Bytes that are not UTF-8 become U+FFFD. White space at both ends is removed, unless the
 * rules are exact. The text belongs to the transcript, and is valid until the next call for it. */
const char *transcript_text(struct transcript *transcript, size_t *size);

#endif
