// SPDX-License-Identifier: Apache-2.0
// mask.h: which tokens of a vocabulary may come next in a text of a grammar. No private data:
// grammar, vocabulary and drawn tokens are public.
//     mask_check(automaton, vocab, error);
//     struct trie *trie = trie_new(vocab);              once for all grammars
//     mask_new(automaton, vocab, trie, 0, &mask, error);
//     uint32_t state = automaton_begin(automaton);
//     struct mask_answer answer;
//     mask_tokens(mask, state, &answer);
//     uint32_t next = mask_step(mask, state, token);       hold `next`, release `state`
//
// A token is allowed when the automaton lives behind its bytes (vocab_detokenize, not at the start
// of a text). Tokens that end a text are allowed where the automaton accepts. No other token
// without bytes is allowed, and none that vocab_drawable refuses. States: each call here may forget
// states that are not held, but never the one that it is given or returns, see automaton.h. Out of
// memory is the only failure. One thread at a time may use a mask and its automaton. Both must
// outlive neither vocabulary nor trie.
#ifndef CUTTLE_ENGINE_GRAMMAR_MASK_H
#define CUTTLE_ENGINE_GRAMMAR_MASK_H

#include "engine/grammar/automaton.h"
#include "engine/grammar/trie.h"

enum {
	MASK_BYTES = 64 << 20, /* memory for masks of states that were seen */
	MASK_VALID = 512       /* so many answers stay valid, see below */
};

struct mask;

struct mask_answer {
	const uint64_t *bits; /* token t may come next: bit t % 64 of bits[t / 64]; the bits behind
	                         the vocabulary are 0. Valid until MASK_VALID later answers */
	uint32_t count;       /* bits that are set; never 0 for a state, if mask_check is OK */
	uint32_t going;       /* of them, those that do not end the text */
	int32_t only;         /* the one token where count is 1, else -1 */
	bool ends;            /* the text may end here: bits has all tokens that end a text */
};

/* `trie`: of this vocabulary. `bytes`: memory for masks of seen states, 0 = MASK_BYTES; MASK_VALID
 * of them are always kept. The caller frees *mask before the automaton; it is NULL on failure.
 * NOMEM. */
enum cuttle_status mask_new(struct automaton *automaton, const struct vocab *vocab,
                            const struct trie *trie, size_t bytes, struct mask **mask,
                            struct cuttle_error *error);
void mask_free(struct mask **mask);

/* MODEL: the grammar cannot do without a byte that is no token of its own in the vocabulary; the
 * message names it. A text might come to a state where no token is allowed. OK: that never happens,
 * and mask_closing has a token, too. A class may have characters that no token spells, as long as
 * others are left: SmolLM2 has no token for the bytes 0x04 and 0xF1, and [^"] is fine. */
enum cuttle_status mask_check(const struct automaton *automaton, const struct vocab *vocab,
                              struct cuttle_error *error);

/* What may come next. `state` is not AUTOMATON_DEAD. False: out of memory. */
bool mask_tokens(struct mask *mask, uint32_t state, struct mask_answer *answer);

/* What leads to the end on a shortest way: tokens each of whose bytes lowers automaton_distance,
 * and the tokens that end a text where it is 0. Whoever draws from these alone is at the end after
 * automaton_distance bytes. False: out of memory. */
bool mask_closing(struct mask *mask, uint32_t state, struct mask_answer *answer);

/* Those of mask_tokens behind which automaton_distance is at most `most`, and those that end a
 * text. Computed anew at each call, which takes as long as a state that mask_tokens never saw.
 * Where `most` is at least automaton_farthest, ask mask_tokens. bits are valid until the next call
 * of this function. False: out of memory. */
bool mask_within(struct mask *mask, uint32_t state, uint64_t most, struct mask_answer *answer);

/* The state behind this token; AUTOMATON_DEAD where mask_tokens does not allow it. A token that
 * ends a text leads to `state` itself. */
uint32_t mask_step(struct mask *mask, uint32_t state, int32_t token);

#endif
