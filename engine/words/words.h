// SPDX-License-Identifier: Apache-2.0
// words.h: the list of words behind cuttle/words.h, and how it is built up.
// Private data: rows that are multiplied belong to words of a text.
// Rule: nothing in a list changes once it is made, except the state of its threads.
#ifndef CUTTLE_ENGINE_WORDS_H
#define CUTTLE_ENGINE_WORDS_H

#include "engine/cuttle/words.h"
#include "engine/machine/region.h"
#include "engine/machine/threads.h"
#include "engine/words/multiply.h"

/* One word in the order of texts. */
struct word_entry {
	const char *text; /* in `texts` */
	uint32_t id;
};

struct cuttle_words {
	size_t count;               /* V */
	size_t width;               /* d, floats */
	char *texts;                /* all words in the order of ids, each with a NUL */
	const char **text;          /* [count] into `texts` */
	struct word_entry *by_text; /* [count] sorted by text */
	struct packed_matrix rows;  /* [count][width] F32: the vectors */
	struct packed_matrix turn;  /* [width][width] F32: the transform; no weights = none */
	float *mean;                /* [width]; NULL = no transform */
	uint32_t *sets;             /* [count]; NULL = none */
	size_t set_size;            /* words of a set; 0 = none */
	char model_sha256[CUTTLE_WORDS_HASH];
	struct region region; /* matrices, mean and sets */
	struct threads *threads;
};

#endif
