// SPDX-License-Identifier: Apache-2.0
// automaton.h: follows a text of a grammar byte by byte. No private data: grammar and text are
// public.
//     uint32_t state = automaton_begin(automaton);
//     state = automaton_step(automaton, state, 'y');
//     if (state == AUTOMATON_DEAD) ... no text of the grammar begins so
//     if (automaton_accepts(automaton, state)) ... the text may end here
//
// A state is a set of stacks: each says one way to understand the bytes so far, with what is open
// and how often each repetition has been begun. States are made when they are first reached, and
// have a number. Equal sets have the same number.
// Promises:
// - From each state that is not AUTOMATON_DEAD some bytes lead to acceptance.
// - What is decided follows from the grammar and the bytes alone, never from what is cached.
// - A set has at most AUTOMATON_STACKS stacks. Of a larger one those nearest to acceptance are
// kept.
//   Only grammars that are ambiguous without end have larger ones; of these some texts are refused.
//
// Memory. A state is valid until the next automaton_tidy or the next call of mask.h, unless it is
// held. Whoever follows several texts at once holds the state of each:
//     uint32_t next = automaton_step(automaton, state, byte);
//     automaton_hold(automaton, next);
//     automaton_release(automaton, state);
// automaton_tidy forgets the others when more than `bytes` are used. Held ones stay, however large.
// One thread at a time may use an automaton. Its grammar may be shared, and must outlive it.
#ifndef CUTTLE_ENGINE_GRAMMAR_AUTOMATON_H
#define CUTTLE_ENGINE_GRAMMAR_AUTOMATON_H

#include "engine/cuttle/grammar.h"

enum {
	AUTOMATON_DEAD = 0,      /* the state behind a byte that the grammar does not allow */
	AUTOMATON_STACKS = 1024, /* stacks of a state, at most */
	AUTOMATON_BYTES = 64 << 20
};

struct automaton;

/* `bytes`: memory above which automaton_tidy forgets states, 0 = AUTOMATON_BYTES. The caller frees
 * *automaton; it is NULL on failure. NOMEM. */
enum cuttle_status automaton_new(const struct cuttle_grammar *grammar, size_t bytes,
                                 struct automaton **automaton, struct cuttle_error *error);
void automaton_free(struct automaton **automaton);

/* The state before the first byte. It is always held. */
uint32_t automaton_begin(const struct automaton *automaton);

/* The state behind this byte, or AUTOMATON_DEAD; from that nothing but itself. Forgets nothing. */
uint32_t automaton_step(struct automaton *automaton, uint32_t state, uint8_t byte);
/* The same for bytes[size], one after the other. */
uint32_t automaton_walk(struct automaton *automaton, uint32_t state, const char *bytes,
                        size_t size);

/* Whether the text may end here. */
bool automaton_accepts(const struct automaton *automaton, uint32_t state);

/* The least number of bytes to a state that accepts; 0 where this one does. UINT64_MAX for
 * AUTOMATON_DEAD. Some byte makes it one less, unless it is 0. */
uint64_t automaton_distance(const struct automaton *automaton, uint32_t state);

/* The most that automaton_distance is for any state; UINT64_MAX = nobody knows a bound. */
uint64_t automaton_farthest(const struct automaton *automaton);

/* The bytes that must follow: the longest run in which each byte is the only one that is possible
 * and the state before it does not accept. Writes the first `capacity` of them and returns how many
 * it wrote. Forgets nothing. */
size_t automaton_forced(struct automaton *automaton, uint32_t state, char *bytes, size_t capacity);

/* Keeps a state's number valid until it was released as often. AUTOMATON_DEAD is fine. */
void automaton_hold(struct automaton *automaton, uint32_t state);
void automaton_release(struct automaton *automaton, uint32_t state);

/* Where more memory is used than was allowed, forgets all states but those that are held and
 * keep[count]. */
void automaton_tidy(struct automaton *automaton, const uint32_t *keep, size_t count);

/* Out of memory or of rations: some step said AUTOMATON_DEAD for that reason alone. It stays so. */
bool automaton_failed(const struct automaton *automaton);

/* Gives rations for `more` units of work, of which at most `most` are kept. Before the first call
 * there is no bound. A step to a state that was not seen costs a unit for each place of the grammar
 * that is looked at, and a few for each stack: about as much time whatever the grammar. */
void automaton_ration(struct automaton *automaton, uint64_t more, uint64_t most);
/* Whether it failed for want of rations. */
bool automaton_starved(const struct automaton *automaton);

/* For mask.h. */

/* A state that allows the same next `reach` bytes. Many states have the same one, such as those
 * inside a long string: its counter is far from its limits. `which` below STACKS_REACHES is a
 * number of this reach, the same at each call. `reach` 0 is not allowed. */
uint32_t automaton_alike(struct automaton *automaton, uint32_t state, size_t reach, size_t which);
/* Whether some set of stacks grew so large that automaton_alike may be wrong. It stays so. Answers
 * that were found before it became true are right. */
bool automaton_crowded(const struct automaton *automaton);

/* Bytes with the same class lead to the same state. */
const uint8_t *automaton_classes(const struct automaton *automaton); /* [256] */
/* The states behind each class of bytes: AUTOMATON_DEAD, AUTOMATON_UNKNOWN where automaton_step was
 * not asked yet. Valid as long as the state. NULL: out of memory. */
#define AUTOMATON_UNKNOWN UINT32_MAX
const uint32_t *automaton_row(struct automaton *automaton, uint32_t state);
/* A byte that texts of the grammar cannot do without and that is not in `bits` (bit b of
 * bits[b / 64]); -1 = there is none. Then each state goes on by a byte of `bits` that lowers the
 * distance. Example: [a-z] can do without a, "a" cannot. */
int automaton_lacks(const struct automaton *automaton, const uint64_t bits[4]);
/* Whether automaton_tidy would forget states now. */
bool automaton_full(const struct automaton *automaton);

#endif
