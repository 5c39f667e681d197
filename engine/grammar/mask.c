// SPDX-License-Identifier: Apache-2.0
// mask.c: see mask.h. No private data.
// A mask is built by one walk over the trie, which leaves out what stands below a dead byte. States
// that allow the same next bytes share it (automaton_alike): inside a long string one mask serves
// for all counters but the last ones. Near the end of the string short tokens are as before, and
// what few long ones do is asked anew. Example: of [a-z]{1,99} behind 50 letters tokens of up to 16
// bytes are as behind 20, and those of up to 81 are not.
#include "engine/grammar/mask.h"

#include "base/misuse.h"
#include "engine/grammar/stacks.h"
#include "engine/grammar/trie.h"
#include "engine/status.h"

#include <stdlib.h>
#include <string.h>

#define NO_ENTRY UINT32_MAX

/* What an entry is a mask of: tokens of the parts 0 .. kind of the trie that may come next, or
 * tokens that lead to the end. */
enum { ENTRY_CLOSING = TRIE_PARTS, ENTRY_KINDS };
_Static_assert(TRIE_PARTS <= STACKS_REACHES, "each part has its own reach");

struct mask_entry {
	uint64_t *bits; /* [words] */
	uint32_t state; /* held */
	uint32_t kind;
	uint32_t count;
	uint32_t going;
	int32_t only;
	uint32_t chain; /* the next entry with the same place in the table */
	uint32_t newer; /* the entry that was asked for next after it */
	uint32_t older;
};

struct mask {
	struct automaton *automaton;
	const struct trie *trie;
	size_t size;    /* tokens of the vocabulary */
	size_t words;   /* of 64 tokens */
	uint64_t *ends; /* [words] tokens that end a text */
	uint32_t end_count;
	uint32_t *path;        /* [longest + 1] states along the bytes of a token */
	const uint32_t **rows; /* [longest + 1] of automaton_row */
	struct mask_entry *entries;
	size_t entry_count, entry_room;
	uint32_t *table; /* [table_room] the first entry of each place */
	size_t table_room;
	uint32_t newest;
	uint32_t oldest;
	struct mask_entry within; /* of mask_within */
};

static inline void set_bit(uint64_t *bits, int32_t id, bool set) {
	bits[(uint32_t)id / 64] |= (uint64_t)set << (uint32_t)id % 64;
}

/* ---- make and free --------------------------------------------------------------------------- */

static bool make_entries(struct mask *mask, size_t bytes) {
	const size_t each = mask->words * sizeof *mask->ends + sizeof *mask->entries;
	mask->entry_room = (bytes ? bytes : MASK_BYTES) / each;
	// An answer may need an entry for each part.
	const size_t least = (MASK_VALID + 1) * mask->trie->part_count;
	if (mask->entry_room < least) mask->entry_room = least;
	if (mask->entry_room > 1 << 16) mask->entry_room = 1 << 16;
	mask->table_room = 1 << 16;
	mask->newest = mask->oldest = NO_ENTRY;
	mask->entries = calloc(mask->entry_room, sizeof *mask->entries);
	mask->table = malloc(mask->table_room * sizeof *mask->table);
	if (!mask->entries || !mask->table) return false;
	for (size_t i = 0; i < mask->table_room; i++) mask->table[i] = NO_ENTRY;
	return true;
}

static bool make_mask(struct mask *mask, const struct vocab *vocab, size_t bytes) {
	mask->size = vocab_size(vocab);
	mask->words = (mask->size + 63) / 64;
	mask->ends = calloc(mask->words + 1, sizeof *mask->ends);
	if (!mask->ends) return false;
	for (int32_t id = 0; (size_t)id < mask->size; id++) {
		const bool ends = vocab_ends_text(vocab, id);
		set_bit(mask->ends, id, ends);
		mask->end_count += ends;
	}
	mask->path = calloc(mask->trie->longest + 3, sizeof *mask->path);
	mask->rows = calloc(mask->trie->longest + 1, sizeof *mask->rows);
	mask->within.bits = malloc((mask->words + 1) * sizeof *mask->within.bits);
	return mask->path && mask->rows && mask->within.bits && make_entries(mask, bytes);
}

enum cuttle_status mask_new(struct automaton *automaton, const struct vocab *vocab,
                            const struct trie *trie, size_t bytes, struct mask **mask,
                            struct cuttle_error *error) {
	REQUIRE(automaton && vocab && trie && mask);
	*mask = calloc(1, sizeof **mask);
	if (*mask) {
		(*mask)->automaton = automaton;
		(*mask)->trie = trie;
		if (make_mask(*mask, vocab, bytes)) return CUTTLE_OK;
	}
	mask_free(mask);
	return status_fail(error, CUTTLE_NOMEM, "no memory for the grammar's tokens");
}

void mask_free(struct mask **mask) {
	REQUIRE(mask);
	struct mask *m = *mask;
	*mask = NULL;
	if (!m) return;
	for (size_t i = 0; i < m->entry_count; i++) {
		automaton_release(m->automaton, m->entries[i].state);
		free(m->entries[i].bits);
	}
	free(m->ends);
	free(m->within.bits);
	free(m->path);
	free(m->rows);
	free(m->entries);
	free(m->table);
	free(m);
}

enum cuttle_status mask_check(const struct automaton *automaton, const struct vocab *vocab,
                              struct cuttle_error *error) {
	REQUIRE(automaton && vocab);
	uint64_t bytes[4] = {0};
	bool ends = false;
	for (int32_t id = 0; (size_t)id < vocab_size(vocab); id++) {
		char byte;
		ends |= vocab_ends_text(vocab, id);
		if (trie_spell(vocab, id, &byte, 1) == 1)
			bytes[(uint8_t)byte / 64] |= 1ull << (uint8_t)byte % 64;
	}
	if (!ends)
		return status_fail(error, CUTTLE_MODEL,
		                   "the vocabulary has no token that ends a text");
	const int byte = automaton_lacks(automaton, bytes);
	if (byte < 0) return CUTTLE_OK;
	return status_fail(
	    error, CUTTLE_MODEL,
	    "the grammar wants byte 0x%02X, which is no token of its own in the model's "
	    "vocabulary; leave its character out, or take another model",
	    (unsigned)byte);
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* The state behind the node; it was not asked for yet. May forget states that are not on the path.
 * `keep`: two more states that stay. */
static uint32_t step_anew(struct mask *mask, const struct trie_node *node, const uint32_t keep[2]) {
	const size_t depth = node->depth;
	const uint32_t next = automaton_step(mask->automaton, mask->path[depth - 1], node->byte);
	if (!automaton_full(mask->automaton)) return next;
	memset(mask->path + depth + 3, 0,
	       (mask->trie->longest - depth) * sizeof *mask->path); // of other bytes, and forgotten
	mask->path[depth] = next;
	mask->path[depth + 1] = keep[0];
	mask->path[depth + 2] = keep[1];
	automaton_tidy(mask->automaton, mask->path, depth + 3);
	// Rows of these are to be asked for anew.
	mask->path[depth] = mask->path[depth + 1] = mask->path[depth + 2] = 0;
	return next;
}

enum walk_kind { WALK_ALL, WALK_CLOSING, WALK_WITHIN };

/* Whether a byte that leads from `before` to `next` may be on the way. */
static bool may_go(const struct automaton *automaton, enum walk_kind kind, uint32_t before,
                   uint32_t next) {
	return kind != WALK_CLOSING ||
	       automaton_distance(automaton, next) < automaton_distance(automaton, before);
}

/* The other tokens with the bytes of this one. Returns how many they are. */
static uint32_t set_others(const struct trie *trie, int32_t id, uint64_t *bits) {
	uint32_t found = 0;
	for (; (id = trie->same[id]) >= 0; found++) set_bit(bits, id, true);
	return found;
}

/* Sets the bits of a part's tokens below `state`: with WALK_WITHIN of those with at most `most`
 * bytes to the end behind them, with WALK_CLOSING of those on a shortest way alone. Returns how
 * many. It is in line so that WALK_ALL asks nothing at a node. */
static inline __attribute__((always_inline)) uint32_t
walk_part(struct mask *mask, const struct trie_part *part, uint32_t state, enum walk_kind kind,
          uint64_t most, const uint32_t keep[2], uint64_t *bits) {
	struct automaton *automaton = mask->automaton;
	const struct trie_node *nodes = part->nodes;
	const uint8_t *classes = automaton_classes(automaton);
	const uint32_t **rows = mask->rows;
	uint32_t found = 0, *path = mask->path;
	memset(path, 0, (mask->trie->longest + 3) * sizeof *path);
	path[0] = state;
	rows[0] = automaton_row(automaton, state);
	for (size_t i = 0; i < part->count;) {
		const struct trie_node *node = nodes + i;
		const size_t depth = node->depth;
		uint32_t next = rows[depth - 1][classes[node->byte]];
		if (next == AUTOMATON_UNKNOWN) {
			next = step_anew(mask, node, keep);
			if (automaton_failed(automaton)) break;
		}
		if (next == AUTOMATON_DEAD || !may_go(automaton, kind, path[depth - 1], next)) {
			i = node->end;
			continue;
		}
		i++;
		if (kind != WALK_WITHIN || automaton_distance(automaton, next) <= most) {
			// Half of the nodes have a token, one of thousands has two.
			set_bit(bits, node->id, node->tokens != TRIE_NONE);
			found += node->tokens != TRIE_NONE;
			if (node->tokens == TRIE_SEVERAL)
				found += set_others(mask->trie, node->id, bits);
		}
		if (path[depth] == next || node->end == i) continue; // known, or nothing below it
		path[depth] = next;
		rows[depth] = automaton_row(automaton, next);
		if (!rows[depth]) break;
	}
	return found;
}

static uint32_t walk_tokens(struct mask *mask, size_t part, uint32_t state, enum walk_kind kind,
                            uint64_t most, const uint32_t keep[2], uint64_t *bits) {
	const struct trie_part *at = mask->trie->parts + part;
	switch (kind) {
	case WALK_ALL:
		return walk_part(mask, at, state, WALK_ALL, most, keep, bits);
	case WALK_CLOSING:
		return walk_part(mask, at, state, WALK_CLOSING, most, keep, bits);
	default:
		return walk_part(mask, at, state, WALK_WITHIN, most, keep, bits);
	}
}

static int32_t first_bit(const uint64_t *bits, size_t words) {
	for (size_t i = 0; i < words; i++)
		if (bits[i]) return (int32_t)(i * 64 + (size_t)__builtin_ctzll(bits[i]));
	return -1;
}

/* Of the parts from `part` on; what is in the entry already stays. */
static void fill_entry(struct mask *mask, struct mask_entry *entry, size_t part, size_t part_end,
                       enum walk_kind kind, uint64_t most, uint32_t asked) {
	const uint32_t state = entry->state, keep[2] = {state, asked};
	if (!part) {
		memset(entry->bits, 0, mask->words * sizeof *entry->bits);
		entry->going = 0;
		entry->count = 0;
		if (automaton_accepts(mask->automaton, state)) {
			memcpy(entry->bits, mask->ends, mask->words * sizeof *entry->bits);
			entry->count = mask->end_count;
		}
	}
	for (; part < part_end && !automaton_failed(mask->automaton); part++) {
		const uint32_t found =
		    walk_tokens(mask, part, state, kind, most, keep, entry->bits);
		entry->going += found;
		entry->count += found;
	}
	entry->only = entry->count == 1 ? first_bit(entry->bits, mask->words) : -1;
}

/* ---- masks that are kept --------------------------------------------------------------------- */

static size_t place_of(const struct mask *mask, uint32_t state, uint32_t kind) {
	const uint64_t hash = ((uint64_t)state * ENTRY_KINDS + kind) * 0x9e3779b97f4a7c15u;
	return (size_t)(hash >> 40) & (mask->table_room - 1);
}

static uint32_t entry_there(const struct mask *mask, uint32_t state, uint32_t kind) {
	uint32_t number = mask->table[place_of(mask, state, kind)];
	for (; number != NO_ENTRY; number = mask->entries[number].chain)
		if (mask->entries[number].state == state && mask->entries[number].kind == kind)
			break;
	return number;
}

static void take_from_order(struct mask *mask, uint32_t number) {
	const struct mask_entry *entry = mask->entries + number;
	if (entry->newer == NO_ENTRY) mask->newest = entry->older;
	else mask->entries[entry->newer].older = entry->older;
	if (entry->older == NO_ENTRY) mask->oldest = entry->newer;
	else mask->entries[entry->older].newer = entry->newer;
}

static void make_newest(struct mask *mask, uint32_t number) {
	struct mask_entry *entry = mask->entries + number;
	entry->newer = NO_ENTRY;
	entry->older = mask->newest;
	if (mask->newest != NO_ENTRY) mask->entries[mask->newest].newer = number;
	mask->newest = number;
	if (mask->oldest == NO_ENTRY) mask->oldest = number;
}

/* Takes the entry out of the table, and lets its state go. */
static void empty_entry(struct mask *mask, uint32_t number) {
	const struct mask_entry *entry = mask->entries + number;
	uint32_t *link = mask->table + place_of(mask, entry->state, entry->kind);
	while (*link != number) link = &mask->entries[*link].chain;
	*link = entry->chain;
	automaton_release(mask->automaton, entry->state);
	take_from_order(mask, number);
}

/* An entry for this state: a new one, or the one that was asked for longest ago. NO_ENTRY: out of
 * memory. */
static uint32_t entry_anew(struct mask *mask, uint32_t state, uint32_t kind) {
	uint32_t number = mask->oldest;
	if (mask->entry_count < mask->entry_room) {
		uint64_t *bits = malloc((mask->words + 1) * sizeof *bits);
		if (!bits) return NO_ENTRY;
		number = (uint32_t)mask->entry_count++;
		mask->entries[number].bits = bits;
	} else {
		empty_entry(mask, number);
	}
	struct mask_entry *entry = mask->entries + number;
	uint32_t *link = mask->table + place_of(mask, state, kind);
	entry->state = state;
	entry->kind = kind;
	entry->chain = *link;
	*link = number;
	automaton_hold(mask->automaton, state);
	make_newest(mask, number);
	return number;
}

/* The entry of this state and kind, as the newest one; NO_ENTRY = there is none. */
static uint32_t entry_again(struct mask *mask, uint32_t state, uint32_t kind) {
	const uint32_t number = entry_there(mask, state, kind);
	if (number == NO_ENTRY) return number;
	take_from_order(mask, number);
	make_newest(mask, number);
	return number;
}

/* The state whose mask of the parts up to `part` serves for `state`, too. */
static uint32_t shared_state(struct mask *mask, uint32_t state, size_t part, bool alone) {
	return alone ? state
	             : automaton_alike(mask->automaton, state, mask->trie->parts[part].longest + 1,
	                               part);
}

/* The entry with the tokens of the parts up to `part`: what is known of those before is copied.
 * `alone`: of the state itself, since no other one may serve. NO_ENTRY: out of memory. */
static uint32_t entry_of(struct mask *mask, uint32_t state, size_t part, bool alone) {
	const uint32_t kind = (uint32_t)(alone ? mask->trie->part_count - 1 : part);
	uint32_t number = entry_again(mask, shared_state(mask, state, part, alone), kind),
	         before = 0;
	if (number != NO_ENTRY) return number;
	if (part && !alone) {
		before = entry_of(mask, state, part - 1, false);
		if (before == NO_ENTRY) return NO_ENTRY;
	}
	// The walks before may have forgotten the key.
	number = entry_anew(mask, shared_state(mask, state, part, alone), kind);
	if (number == NO_ENTRY) return NO_ENTRY;
	struct mask_entry *entry = mask->entries + number;
	if (part && !alone) {
		const struct mask_entry *less = mask->entries + before;
		memcpy(entry->bits, less->bits, mask->words * sizeof *entry->bits);
		entry->count = less->count;
		entry->going = less->going;
	}
	fill_entry(mask, entry, alone ? 0 : part, part + 1, WALK_ALL, 0, state);
	return number;
}

static bool answer_from(const struct mask *mask, const struct mask_entry *entry,
                        struct mask_answer *answer) {
	if (automaton_failed(mask->automaton)) {
		*answer = (struct mask_answer){.only = -1};
		return false;
	}
	*answer = (struct mask_answer){entry->bits, entry->count, entry->going, entry->only,
	                               automaton_accepts(mask->automaton, entry->state)};
	return true;
}

static bool answer_with(const struct mask *mask, uint32_t number, struct mask_answer *answer) {
	if (number != NO_ENTRY) return answer_from(mask, mask->entries + number, answer);
	*answer = (struct mask_answer){.only = -1};
	return false;
}

bool mask_tokens(struct mask *mask, uint32_t state, struct mask_answer *answer) {
	REQUIRE(mask && answer && state);
	automaton_tidy(mask->automaton, &state, 1);
	const bool crowded = automaton_crowded(mask->automaton);
	const size_t last = mask->trie->part_count - 1;
	uint32_t number = entry_of(mask, state, last, crowded);
	// A walk came to a set so large that the state itself must be asked.
	if (!crowded && automaton_crowded(mask->automaton))
		number = entry_of(mask, state, last, true);
	return answer_with(mask, number, answer);
}

bool mask_within(struct mask *mask, uint32_t state, uint64_t most, struct mask_answer *answer) {
	REQUIRE(mask && answer && state);
	automaton_tidy(mask->automaton, &state, 1);
	struct mask_entry *entry = &mask->within;
	entry->state = state;
	fill_entry(mask, entry, 0, mask->trie->part_count, WALK_WITHIN, most, state);
	return answer_from(mask, entry, answer);
}

bool mask_closing(struct mask *mask, uint32_t state, struct mask_answer *answer) {
	REQUIRE(mask && answer && state);
	automaton_tidy(mask->automaton, &state, 1);
	uint32_t number = entry_again(mask, state, ENTRY_CLOSING);
	if (number == NO_ENTRY) {
		number = entry_anew(mask, state, ENTRY_CLOSING);
		if (number != NO_ENTRY)
			fill_entry(mask, mask->entries + number, 0, mask->trie->part_count,
			           WALK_CLOSING, 0, state);
	}
	return answer_with(mask, number, answer);
}

uint32_t mask_step(struct mask *mask, uint32_t state, int32_t token) {
	REQUIRE(mask && token >= 0 && (size_t)token < mask->size);
	automaton_tidy(mask->automaton, &state, 1);
	if (mask->ends[token / 64] >> token % 64 & 1)
		return automaton_accepts(mask->automaton, state) ? state : AUTOMATON_DEAD;
	const struct trie_token *bytes = mask->trie->by_id + token;
	if (!bytes->size) return AUTOMATON_DEAD;
	return automaton_walk(mask->automaton, state, mask->trie->bytes + bytes->at, bytes->size);
}
