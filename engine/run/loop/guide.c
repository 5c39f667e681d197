// SPDX-License-Identifier: Apache-2.0
// guide.c: see guide.h. No private data.
// Why each text comes to its end. f is how many free tokens are left, d the bytes of the shortest
// way to an end. Before each step d + 1 <= f: a token is a byte at least, and the end is one more.
// A forced token lowers d by its bytes, at least as much as f. Any other token is only allowed
// where d <= f - 2 behind it, and lowers f by one at most. On a shortest way each token is allowed.
#include "engine/run/loop/guide.h"

#include "base/misuse.h"
#include "engine/grammar/mask.h"
#include "engine/status.h"

#include <stdlib.h>
#include <string.h>

enum {
	FORCED_BYTES = 1024, /* that are written at once, at most */
	FURTHER_BYTES =
	    4 << 20 /* memory for states, and for masks, of each grammar but the first */
};

/* A grammar that texts are of, or were. */
struct guiding {
	const struct cuttle_grammar *grammar; /* NULL = none */
	struct automaton *automaton;
	struct mask *mask;
	size_t users; /* texts in flight */
};

/* A text in flight. */
struct guided {
	struct guiding *of; /* NULL = it has not begun */
	uint32_t state;     /* held */
	int32_t *queue;     /* [FORCED_BYTES + 1] tokens that must follow */
	uint32_t queued;    /* tokens in it */
	uint32_t taken;     /* those of them that came */
	uint32_t chosen;    /* tokens that came where others might have */
	bool forced;        /* the next token is no choice */
	bool cut;
};

struct guide {
	const struct vocab *vocab;
	const struct trie *trie; /* NULL = no text had a grammar yet */
	struct trie *own;        /* the same, where nobody gave one */
	bool goes_on;
	bool bounded;     /* guide_new_bounded */
	uint8_t *allowed; /* [vocabulary] */
	struct guided *texts;
	struct guiding *grammars; /* as many as texts */
	size_t count;
};

static bool make_texts(struct guide *guide, size_t texts) {
	guide->allowed = malloc(vocab_size(guide->vocab) + 64);
	guide->texts = calloc(texts, sizeof *guide->texts);
	guide->grammars = calloc(texts, sizeof *guide->grammars);
	if (!guide->allowed || !guide->texts || !guide->grammars) return false;
	for (; guide->count < texts; guide->count++) {
		struct guided *text = &guide->texts[guide->count];
		text->queue = malloc((FORCED_BYTES + 1) * sizeof *text->queue);
		if (!text->queue) return false;
	}
	return true;
}

enum cuttle_status guide_new(const struct vocab *vocab, size_t texts, bool goes_on,
                             struct guide **out, struct cuttle_error *error) {
	struct guide *guide = *out = calloc(1, sizeof *guide);
	if (!guide) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	guide->vocab = vocab;
	guide->goes_on = goes_on;
	if (make_texts(guide, texts)) return CUTTLE_OK;
	guide_free(out);
	return status_fail(error, CUTTLE_NOMEM, "out of memory");
}

static void forget_grammar(struct guiding *of) {
	if (of->mask) mask_free(&of->mask);
	if (of->automaton) automaton_free(&of->automaton);
	of->grammar = NULL;
}

void guide_free(struct guide **handle) {
	struct guide *guide = *handle;
	*handle = NULL;
	if (!guide) return;
	for (size_t i = 0; i < guide->count; i++) {
		free(guide->texts[i].queue);
		forget_grammar(&guide->grammars[i]);
	}
	free(guide->texts);
	free(guide->grammars);
	free(guide->allowed);
	trie_free(guide->own);
	free(guide);
}

static void move_to(struct guided *text, uint32_t state) {
	automaton_hold(text->of->automaton, state);
	automaton_release(text->of->automaton, text->state);
	text->state = state;
}

/* The grammar's place: its own, else the first empty one, else the first that no text uses. There
 * is one, for one of the texts uses none. */
static struct guiding *place_of_grammar(struct guide *guide, const struct cuttle_grammar *grammar) {
	struct guiding *empty = NULL, *unused = NULL;
	for (size_t i = guide->count; i--;) {
		struct guiding *of = &guide->grammars[i];
		if (of->grammar == grammar) return of;
		if (!of->grammar) empty = of;
		else if (!of->users) unused = of;
	}
	return empty ? empty : unused;
}

/* Gets a grammar ready. NULL: out of memory. */
static struct guiding *find_grammar(struct guide *guide, const struct cuttle_grammar *grammar) {
	struct guiding *of = place_of_grammar(guide, grammar);
	if (of->grammar == grammar) return of;
	forget_grammar(of);
	if (!guide->trie) guide->trie = guide->own = trie_new(guide->vocab);
	if (!guide->trie) return NULL;
	const size_t bytes = guide->bounded          ? GUIDE_BYTES / 2
	                     : of == guide->grammars ? 0
	                                             : FURTHER_BYTES;
	if (automaton_new(grammar, bytes, &of->automaton, NULL) ||
	    mask_new(of->automaton, guide->vocab, guide->trie, bytes, &of->mask, NULL)) {
		forget_grammar(of);
		return NULL;
	}
	of->grammar = grammar;
	return of;
}

enum cuttle_status guide_new_bounded(const struct cuttle_grammar *grammar,
                                     const struct vocab *vocab, const struct trie *trie,
                                     size_t texts, struct guide **out, struct cuttle_error *error) {
	enum cuttle_status status = guide_new(vocab, texts, false, out, error);
	if (status) return status;
	(*out)->trie = trie;
	(*out)->bounded = true;
	const struct guiding *of = find_grammar(*out, grammar);
	status = of ? mask_check(of->automaton, vocab, error)
	            : status_fail(error, CUTTLE_NOMEM, "out of memory");
	if (status) guide_free(out);
	else automaton_ration(of->automaton, GUIDE_RATIONS, GUIDE_RATIONS);
	return status;
}

bool guide_begin(struct guide *guide, size_t number, const struct cuttle_grammar *grammar) {
	REQUIRE(number < guide->count && grammar);
	struct guided *text = &guide->texts[number];
	if (text->of) {
		automaton_release(text->of->automaton, text->state);
		text->of->users--;
	}
	*text = (struct guided){.queue = text->queue, .of = find_grammar(guide, grammar)};
	if (!text->of) return false;
	text->of->users++;
	text->state = automaton_begin(text->of->automaton);
	automaton_hold(text->of->automaton, text->state);
	return true;
}

/* Whether these tokens spell the bytes and nothing else. */
static bool spells(const struct guide *guide, const int32_t *ids, size_t count, const char *bytes,
                   size_t size) {
	char spelt[FORCED_BYTES + 1];
	size_t length = 0;
	for (size_t i = 0; i < count; i++)
		if (!vocab_drawable(guide->vocab, ids[i]) || vocab_ends_text(guide->vocab, ids[i]))
			return false;
	vocab_detokenize(guide->vocab, ids, count, false, spelt, sizeof spelt, &length);
	return length == size && !memcmp(spelt, bytes, size);
}

/* Queues the tokens of what must follow, if there is such a thing. A tokenizer that spells it in
 * another way, as one that adds a space, is left to choose among the tokens that may come. */
static void queue_forced(struct guide *guide, struct guided *text) {
	char bytes[FORCED_BYTES];
	size_t count = 0;
	const size_t size = automaton_forced(text->of->automaton, text->state, bytes, sizeof bytes);
	text->queued = text->taken = 0;
	if (!size || vocab_tokenize_piece(guide->vocab, VOCAB_TEXT, bytes, size, false, text->queue,
	                                  FORCED_BYTES + 1, &count, NULL))
		return;
	if (count <= size && spells(guide, text->queue, count, bytes, size))
		text->queued = (uint32_t)count;
}

/* A byte for each token, from a bit. */
static void spread_allowed(struct guide *guide, const uint64_t *bits) {
	const size_t size = vocab_size(guide->vocab);
	for (size_t i = 0; i < size; i += 64)
		for (size_t j = 0; j < 64; j++)
			guide->allowed[i + j] = (uint8_t)(bits[i / 64] >> j & 1);
}

static int32_t first_allowed(const struct guide *guide, const struct mask_answer *answer) {
	for (size_t id = 0; id < vocab_size(guide->vocab); id++)
		if (answer->bits[id / 64] >> id % 64 & 1) return (int32_t)id;
	return -1;
}

/* What may come in a text that is to end on a shortest way. */
static bool ask_closing(struct guided *text, struct mask_answer *answer) {
	struct mask_answer any;
	if (!mask_tokens(text->of->mask, text->state, &any)) return false;
	const uint32_t all = any.count;
	if (!mask_closing(text->of->mask, text->state, answer)) return false;
	text->cut |= answer->count < all;
	return true;
}

/* What may come where f free tokens are left. */
static bool ask_tokens(const struct guided *text, uint64_t f, struct mask_answer *answer) {
	struct mask *mask = text->of->mask;
	if (f >= 2 && automaton_farthest(text->of->automaton) <= f - 2)
		return mask_tokens(mask, text->state, answer);
	// With one left the text may only end, and that is a shortest way.
	return f >= 2 ? mask_within(mask, text->state, f - 2, answer)
	              : mask_closing(mask, text->state, answer);
}

/* Whether T is spent. A text that pays nothing spends its choices. */
static bool has_spent(const struct guided *text, const struct transcript *transcript) {
	return transcript->unpaid ? text->chosen >= transcript->rules.tokens
	                          : transcript_is_spent(transcript);
}

/* Whether a token stands in the queue, which is filled if it can be. */
static bool take_queued(struct guide *guide, struct guided *text, struct guide_step *step) {
	*step = (struct guide_step){.forced = -1};
	if (text->taken == text->queued) queue_forced(guide, text);
	text->forced = true;
	if (text->taken < text->queued) step->forced = text->queue[text->taken];
	return step->forced >= 0;
}

static void take_answer(struct guide *guide, struct guided *text, const struct mask_answer *answer,
                        struct guide_step *step) {
	// Tokens that end a text are all the same end.
	if (answer->count == 1 || !answer->going) step->forced = first_allowed(guide, answer);
	else spread_allowed(guide, answer->bits);
	text->forced = step->forced >= 0;
	step->allowed = text->forced ? NULL : guide->allowed;
}

bool guide_next(struct guide *guide, size_t number, const struct transcript *transcript,
                struct guide_step *step) {
	REQUIRE(number < guide->count && guide->texts[number].of && !guide->bounded);
	struct guided *text = &guide->texts[number];
	const uint64_t f = transcript_free_left(transcript);
	REQUIRE(automaton_distance(text->of->automaton, text->state) < f);
	if (take_queued(guide, text, step)) return true;
	struct mask_answer answer;
	const bool closes = has_spent(text, transcript) && !guide->goes_on;
	if (!(closes ? ask_closing(text, &answer) : ask_tokens(text, f, &answer))) return false;
	take_answer(guide, text, &answer, step);
	return true;
}

bool guide_any(struct guide *guide, size_t number, struct guide_step *step) {
	REQUIRE(number < guide->count && guide->texts[number].of && guide->bounded);
	struct guided *text = &guide->texts[number];
	struct automaton *automaton = text->of->automaton;
	struct mask_answer answer;
	automaton_ration(automaton, GUIDE_RATION, GUIDE_RATIONS);
	// What follows a state that is none is no text of the grammar.
	if (automaton_failed(automaton)) return false;
	if (take_queued(guide, text, step)) return !automaton_failed(automaton);
	if (automaton_failed(automaton) || !mask_tokens(text->of->mask, text->state, &answer))
		return false;
	take_answer(guide, text, &answer, step);
	return true;
}

bool guide_starved(const struct guide *guide) {
	return automaton_starved(guide->grammars->automaton);
}

void guide_took(struct guide *guide, size_t number, int32_t token) {
	REQUIRE(number < guide->count);
	struct guided *text = &guide->texts[number];
	if (text->taken < text->queued) text->taken++;
	text->chosen += !text->forced;
	move_to(text, mask_step(text->of->mask, text->state, token));
}

bool guide_cut(const struct guide *guide, size_t number) {
	REQUIRE(number < guide->count);
	return guide->texts[number].cut;
}
