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

enum { FORCED_BYTES = 1024 }; /* that are written at once, at most */

/* A text in flight. */
struct guided {
	uint32_t state;  /* held */
	int32_t *queue;  /* [FORCED_BYTES + 1] tokens that must follow */
	uint32_t queued; /* tokens in it */
	uint32_t taken;  /* those of them that came */
	bool cut;
};

struct guide {
	struct automaton *automaton;
	struct mask *mask;
	const struct vocab *vocab;
	bool goes_on;
	bool bounded;     /* guide_new_bounded */
	uint8_t *allowed; /* [vocabulary] */
	struct guided *texts;
	size_t count;
};

static bool make_texts(struct guide *guide, size_t texts) {
	guide->allowed = malloc(vocab_size(guide->vocab) + 64);
	guide->texts = calloc(texts, sizeof *guide->texts);
	if (!guide->allowed || !guide->texts) return false;
	for (; guide->count < texts; guide->count++) {
		struct guided *text = &guide->texts[guide->count];
		text->queue = malloc((FORCED_BYTES + 1) * sizeof *text->queue);
		if (!text->queue) return false;
		text->state = automaton_begin(guide->automaton);
		automaton_hold(guide->automaton, text->state);
	}
	return true;
}

/* `bytes`: for states, and as much for masks; 0 = what these take by themselves. */
static enum cuttle_status make_guide(const struct cuttle_grammar *grammar,
                                     const struct vocab *vocab, size_t texts, size_t bytes,
                                     struct guide **out, struct cuttle_error *error) {
	struct guide *guide = *out = calloc(1, sizeof *guide);
	if (!guide) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	guide->vocab = vocab;
	enum cuttle_status status = automaton_new(grammar, bytes, &guide->automaton, error);
	if (!status) status = mask_new(guide->automaton, vocab, bytes, &guide->mask, error);
	if (!status && !make_texts(guide, texts))
		status = status_fail(error, CUTTLE_NOMEM, "out of memory");
	if (status) guide_free(out);
	return status;
}

enum cuttle_status guide_new(const struct cuttle_grammar *grammar, const struct vocab *vocab,
                             size_t texts, bool goes_on, struct guide **guide,
                             struct cuttle_error *error) {
	const enum cuttle_status status = make_guide(grammar, vocab, texts, 0, guide, error);
	if (!status) (*guide)->goes_on = goes_on;
	return status;
}

enum cuttle_status guide_new_bounded(const struct cuttle_grammar *grammar,
                                     const struct vocab *vocab, size_t texts, struct guide **guide,
                                     struct cuttle_error *error) {
	enum cuttle_status status =
	    make_guide(grammar, vocab, texts, GUIDE_BYTES / 2, guide, error);
	if (!status) status = mask_check((*guide)->automaton, vocab, error);
	if (status) {
		guide_free(guide);
		return status;
	}
	(*guide)->bounded = true;
	automaton_ration((*guide)->automaton, GUIDE_RATIONS, GUIDE_RATIONS);
	return CUTTLE_OK;
}

void guide_free(struct guide **handle) {
	struct guide *guide = *handle;
	*handle = NULL;
	if (!guide) return;
	for (size_t i = 0; i < guide->count; i++) free(guide->texts[i].queue);
	if (guide->mask) mask_free(&guide->mask);
	if (guide->automaton) automaton_free(&guide->automaton);
	free(guide->texts);
	free(guide->allowed);
	free(guide);
}

static void move_to(struct guide *guide, struct guided *text, uint32_t state) {
	automaton_hold(guide->automaton, state);
	automaton_release(guide->automaton, text->state);
	text->state = state;
}

void guide_begin(struct guide *guide, size_t number) {
	REQUIRE(number < guide->count);
	struct guided *text = &guide->texts[number];
	move_to(guide, text, automaton_begin(guide->automaton));
	text->queued = text->taken = 0;
	text->cut = false;
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
	const size_t size = automaton_forced(guide->automaton, text->state, bytes, sizeof bytes);
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
static bool ask_closing(struct guide *guide, struct guided *text, struct mask_answer *answer) {
	struct mask_answer any;
	if (!mask_tokens(guide->mask, text->state, &any)) return false;
	const uint32_t all = any.count;
	if (!mask_closing(guide->mask, text->state, answer)) return false;
	text->cut |= answer->count < all;
	return true;
}

/* What may come where f free tokens are left. */
static bool ask_tokens(struct guide *guide, const struct guided *text, uint64_t f,
                       struct mask_answer *answer) {
	if (f >= 2 && automaton_farthest(guide->automaton) <= f - 2)
		return mask_tokens(guide->mask, text->state, answer);
	// With one left the text may only end, and that is a shortest way.
	return f >= 2 ? mask_within(guide->mask, text->state, f - 2, answer)
	              : mask_closing(guide->mask, text->state, answer);
}

/* Whether a token stands in the queue, which is filled if it can be. */
static bool take_queued(struct guide *guide, struct guided *text, struct guide_step *step) {
	*step = (struct guide_step){.forced = -1};
	if (text->taken == text->queued) queue_forced(guide, text);
	if (text->taken < text->queued) step->forced = text->queue[text->taken];
	return step->forced >= 0;
}

static void take_answer(struct guide *guide, const struct mask_answer *answer,
                        struct guide_step *step) {
	// Tokens that end a text are all the same end.
	if (answer->count == 1 || !answer->going) step->forced = first_allowed(guide, answer);
	else spread_allowed(guide, answer->bits);
	step->allowed = step->forced < 0 ? guide->allowed : NULL;
}

bool guide_next(struct guide *guide, size_t number, const struct transcript *transcript,
                struct guide_step *step) {
	REQUIRE(number < guide->count && !guide->bounded);
	struct guided *text = &guide->texts[number];
	const uint64_t f = transcript_free_left(transcript);
	REQUIRE(automaton_distance(guide->automaton, text->state) < f);
	if (take_queued(guide, text, step)) return true;
	struct mask_answer answer;
	const bool closes = transcript_is_spent(transcript) && !guide->goes_on;
	if (!(closes ? ask_closing(guide, text, &answer) : ask_tokens(guide, text, f, &answer)))
		return false;
	take_answer(guide, &answer, step);
	return true;
}

bool guide_any(struct guide *guide, size_t number, struct guide_step *step) {
	REQUIRE(number < guide->count && guide->bounded);
	struct guided *text = &guide->texts[number];
	struct mask_answer answer;
	automaton_ration(guide->automaton, GUIDE_RATION, GUIDE_RATIONS);
	// What follows a state that is none is no text of the grammar.
	if (automaton_failed(guide->automaton)) return false;
	if (take_queued(guide, text, step)) return !automaton_failed(guide->automaton);
	if (automaton_failed(guide->automaton) || !mask_tokens(guide->mask, text->state, &answer))
		return false;
	take_answer(guide, &answer, step);
	return true;
}

bool guide_starved(const struct guide *guide) {
	return automaton_starved(guide->automaton);
}

void guide_took(struct guide *guide, size_t number, int32_t token) {
	REQUIRE(number < guide->count);
	struct guided *text = &guide->texts[number];
	if (text->taken < text->queued) text->taken++;
	move_to(guide, text, mask_step(guide->mask, text->state, token));
}

bool guide_cut(const struct guide *guide, size_t number) {
	REQUIRE(number < guide->count);
	return guide->texts[number].cut;
}
