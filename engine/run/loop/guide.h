// SPDX-License-Identifier: Apache-2.0
// guide.h: where the texts in flight stand in their grammar, and what may come next in each.
// No private data: a grammar is public, and so are the tokens that were drawn. What is told here
// follows from these and from what the transcript counts (dp/PRIVACY.md, step 57).
//     guide_begin(guide, i, grammar);               a text of this grammar begins
//     guide_next(guide, i, transcript, &step);      which tokens may come next
//     guide_took(guide, i, token);                  this one did
//
// The plan has checked the grammar (engine/run/plan/grammars.h). Bytes that must follow are written
// as the model's own tokenizer writes them, and are free. Before T tokens are spent any token of
// the grammar may come that leaves the text enough free tokens for its end. Afterwards a text ends
// on a shortest way, or, where it may go on, as before. So each text is one of the grammar, and
// ends by itself. Where a text pays nothing (transcript.h) T counts the tokens that were a choice.
#ifndef CUTTLE_ENGINE_RUN_LOOP_GUIDE_H
#define CUTTLE_ENGINE_RUN_LOOP_GUIDE_H

#include "engine/cuttle/grammar.h"
#include "engine/grammar/trie.h"
#include "engine/run/loop/transcript.h"

enum {
	GUIDE_BYTES = 32 << 20, /* for the states and masks of a guide of guide_new_bounded */
	GUIDE_RATION = 200000,  /* units of work it may spend for each token, see automaton.h */
	GUIDE_RATIONS = 4000000 /* of those that were not spent so many are kept */
};

struct guide;

struct guide_step {
	int32_t forced;         /* the one token that can come, which is free; -1 = a choice */
	const uint8_t *allowed; /* [vocabulary] nonzero = it may come; valid until the next call */
};

/* For texts 0 .. texts - 1 in flight. `goes_on`: after T tokens texts go on with free ones. The
 * caller frees *guide, NULL on failure. NOMEM. */
enum cuttle_status guide_new(const struct vocab *vocab, size_t texts, bool goes_on,
                             struct guide **guide, struct cuttle_error *error);
/* For texts of one grammar, a stranger's, and guide_any alone: its memory is GUIDE_BYTES and a few
 * masks of the vocabulary, and its work is rationed. Grammar and trie (engine/grammar/trie.h) must
 * outlive the guide. MODEL: as mask_check. NOMEM. */
enum cuttle_status guide_new_bounded(const struct cuttle_grammar *grammar,
                                     const struct vocab *vocab, const struct trie *trie,
                                     size_t texts, struct guide **guide,
                                     struct cuttle_error *error);
/* NULL is fine. */
void guide_free(struct guide **guide);

/* The grammar must outlive the guide. False: out of memory. */
bool guide_begin(struct guide *guide, size_t text, const struct cuttle_grammar *grammar);

/* What may come next in a text that has not ended. The transcript is that text's. The same again if
 * asked again. False: out of memory. */
bool guide_next(struct guide *guide, size_t text, const struct transcript *transcript,
                struct guide_step *step);

/* What may come next in a text that may be cut anywhere, so that no thought is given to its end.
 * The same again if asked again. False: out of memory, or guide_starved. */
bool guide_any(struct guide *guide, size_t text, struct guide_step *step);
/* Whether the grammar is so ambiguous that following it asks for more work than a guide of
 * guide_new_bounded does. It stays so for all its texts. */
bool guide_starved(const struct guide *guide);

/* This token came: one of those of guide_next or guide_any. */
void guide_took(struct guide *guide, size_t text, int32_t token);

/* Whether T tokens were spent before the text was at an end, so that it was brought there. */
bool guide_cut(const struct guide *guide, size_t text);

#endif
