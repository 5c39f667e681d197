// SPDX-License-Identifier: Apache-2.0
// A run of tokens is a gram: its first tokens, the parent, and its last one. A hash table, at most
// half full, finds it by these two. Its tail is the run without the first token: 2 3 of 1 2 3.
//
// The likeliest token behind a context h is one that was seen there, or the likeliest behind h':
// tokens that were not seen behind h all have their chance behind h' times one number.
#include "measure/next_token.h"

#include "base/misuse.h"
#include "measure/scratch.h"

#include <math.h>

#define NOWHERE UINT32_MAX /* no gram, no token; as a token, the mark before each text */

enum { NOTHING = 0 }; /* the number of the empty run */

struct gram {
	uint32_t parent;
	uint32_t word; /* its last token */
	uint32_t tail;
	uint32_t depth; /* tokens */
	uint32_t count; /* how often it stands in the texts; 0 = of the mark alone */
	uint32_t total; /* tokens behind it, all */
	uint32_t kinds; /* different ones */
	uint32_t best;  /* the likeliest token behind it */
	double best_chance;
	double chance; /* of its last token behind its parent */
};

struct next_token_model {
	struct gram *grams; /* [count] */
	uint32_t *slots;    /* [mask + 1]; NOTHING = free */
	size_t mask;        /* a power of two less one */
	uint32_t count;
	uint32_t vocabulary;
};

/* The runs of a text's last 0, 1, 2 and 3 tokens; NOWHERE: not taught, or longer than the text. */
struct last_runs {
	uint32_t run[NEXT_TOKEN_ORDER];
};

/* The slot of parent and word, or the free one where they belong. */
static uint32_t *slot_of_gram(const struct next_token_model *model, uint32_t parent,
                              uint32_t word) {
	uint64_t hash = ((uint64_t)parent << 32 | word) * 0x9E3779B97F4A7C15u;
	hash = (hash ^ (hash >> 32)) * 0x9E3779B97F4A7C15u;
	size_t slot = (size_t)(hash >> 24) & model->mask;
	for (; model->slots[slot] != NOTHING; slot = (slot + 1) & model->mask) {
		const struct gram *gram = &model->grams[model->slots[slot]];
		if (gram->parent == parent && gram->word == word) break;
	}
	return &model->slots[slot];
}

static uint32_t find_gram(const struct next_token_model *model, uint32_t parent, uint32_t word) {
	const uint32_t found = *slot_of_gram(model, parent, word);
	return found == NOTHING ? NOWHERE : found;
}

/* The gram, made when it is new. */
static uint32_t make_gram(struct next_token_model *model, uint32_t parent, uint32_t word,
                          uint32_t tail) {
	uint32_t *slot = slot_of_gram(model, parent, word);
	if (*slot == NOTHING) {
		model->grams[model->count] = (struct gram){.parent = parent,
		                                           .word = word,
		                                           .tail = tail,
		                                           .depth = model->grams[parent].depth + 1};
		*slot = model->count++;
	}
	return *slot;
}

/* What stands before a text: the mark. */
static struct last_runs begin_runs(uint32_t mark) {
	struct last_runs last = {{NOTHING, mark}};
	for (int k = 2; k < NEXT_TOKEN_ORDER; k++) last.run[k] = NOWHERE;
	return last;
}

static void teach_word(struct next_token_model *model, struct last_runs *last, uint32_t word) {
	struct last_runs next = begin_runs(NOWHERE);
	uint32_t tail = NOTHING;
	for (int k = 0; k < NEXT_TOKEN_ORDER && last->run[k] != NOWHERE; k++) {
		const uint32_t made = make_gram(model, last->run[k], word, tail);
		struct gram *context = &model->grams[last->run[k]];
		context->kinds += model->grams[made].count == 0;
		context->total++;
		model->grams[made].count++;
		if (k + 1 < NEXT_TOKEN_ORDER) next.run[k + 1] = made;
		tail = made;
	}
	*last = next;
}

/* The chance of a token that stands `count` times behind the context, when it is `shorter` behind
 * the context without its first token. */
static double mix_chances(const struct gram *context, uint32_t count, double shorter) {
	if (!context->total) return shorter;
	return (count + context->kinds * shorter) / ((double)context->total + context->kinds);
}

static void take_better(struct gram *context, uint32_t word, double chance) {
	if (chance < context->best_chance) return;
	if (chance == context->best_chance && word > context->best) return;
	context->best = word;
	context->best_chance = chance;
}

/* Sets all chances and the likeliest tokens, contexts of fewer tokens first. */
static void settle_chances(struct next_token_model *model) {
	struct gram *grams = model->grams;
	for (uint32_t depth = 0; depth < NEXT_TOKEN_ORDER; depth++) {
		for (uint32_t i = 1; i < model->count && depth; i++) {
			if (grams[i].depth != depth) continue;
			const struct gram *tail = &grams[grams[i].tail];
			grams[i].best = tail->best;
			grams[i].best_chance = mix_chances(&grams[i], 0, tail->best_chance);
		}
		for (uint32_t i = 1; i < model->count; i++) {
			if (grams[i].depth != depth + 1 || !grams[i].count) continue;
			struct gram *context = &grams[grams[i].parent];
			grams[i].chance =
			    mix_chances(context, grams[i].count, grams[grams[i].tail].chance);
			take_better(context, grams[i].word, grams[i].chance);
		}
	}
}

/* Tokens of the texts that teach. */
static size_t count_taught(const struct next_token_text *texts, size_t count) {
	size_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		if (texts[i].count >= NEXT_TOKEN_MOST - sum) return NEXT_TOKEN_MOST;
		sum += texts[i].count;
	}
	return sum;
}

struct next_token_model *next_token_teach(const struct next_token_text *texts, size_t count,
                                          uint32_t vocabulary) {
	REQUIRE(vocabulary >= 1 && vocabulary < NOWHERE);
	size_t left = count_taught(texts, count);
	const size_t most = 2 + left * NEXT_TOKEN_ORDER; // the empty run and the mark, too
	struct next_token_model *model = scratch_make(1, sizeof *model);
	if (!model) return NULL;
	model->vocabulary = vocabulary;
	model->mask = 1;
	while (model->mask < 2 * most) model->mask = 2 * model->mask + 1;
	model->grams = scratch_make(most, sizeof *model->grams);
	model->slots = scratch_make(model->mask + 1, sizeof *model->slots);
	if (!model->grams || !model->slots) {
		next_token_free(model);
		return NULL;
	}
	model->grams[NOTHING] = (struct gram){.best = NOWHERE, .chance = 1 / (double)vocabulary};
	model->count = 1;
	const uint32_t mark = make_gram(model, NOTHING, NOWHERE, NOTHING);
	for (size_t i = 0; i < count && left; i++) {
		struct last_runs last = begin_runs(mark);
		for (size_t t = 0; t < texts[i].count && left; t++, left--) {
			REQUIRE(texts[i].id[t] < vocabulary);
			teach_word(model, &last, texts[i].id[t]);
		}
	}
	settle_chances(model);
	return model;
}

void next_token_free(struct next_token_model *model) {
	if (!model) return;
	scratch_free(model->grams);
	scratch_free(model->slots);
	scratch_free(model);
}

/* ---- other texts ----------------------------------------------------------------------------- */

/* Tokens that stood behind the last token of the text before, the latest first. */
struct cached {
	uint32_t word[NEXT_TOKEN_CACHE];
	size_t count;
};

/* Where tokens stand in a text so far. */
struct places {
	size_t *latest; /* [vocabulary] place of a token in the text, plus one; 0 = none */
	size_t *before; /* [longest text] the same of the token at a place, before it */
};

static double chance_of_word(const struct next_token_model *model, const struct last_runs *last,
                             uint32_t word) {
	double chance = model->grams[NOTHING].chance;
	for (int k = 0; k < NEXT_TOKEN_ORDER && last->run[k] != NOWHERE; k++) {
		const uint32_t found = find_gram(model, last->run[k], word);
		chance = mix_chances(&model->grams[last->run[k]],
		                     found == NOWHERE ? 0 : model->grams[found].count, chance);
	}
	return chance;
}

static struct last_runs follow_word(const struct next_token_model *model,
                                    const struct last_runs *last, uint32_t word) {
	struct last_runs next = begin_runs(NOWHERE);
	for (int k = 0; k + 1 < NEXT_TOKEN_ORDER && last->run[k] != NOWHERE; k++)
		next.run[k + 1] = find_gram(model, last->run[k], word);
	return next;
}

/* The cache before place t of a text. */
static struct cached look_back(const struct next_token_text *text, size_t t,
                               const struct places *places) {
	struct cached cached = {.count = 0};
	if (!t) return cached;
	for (size_t at = places->before[t - 1]; at && cached.count < NEXT_TOKEN_CACHE;
	     at = places->before[at - 1])
		cached.word[cached.count++] = text->id[at];
	return cached;
}

/* The chance of a token, with what the cache says of it. */
static double add_cache(const struct cached *cached, uint32_t word, double chance) {
	size_t found = 0;
	if (!cached->count) return chance;
	for (size_t i = 0; i < cached->count; i++) found += cached->word[i] == word;
	return (1 - NEXT_TOKEN_CACHE_SHARE) * chance +
	       NEXT_TOKEN_CACHE_SHARE * ((double)found / (double)cached->count);
}

static uint32_t guess_word(const struct next_token_model *model, const struct last_runs *last,
                           const struct cached *cached) {
	int longest = 0;
	while (longest + 1 < NEXT_TOKEN_ORDER && last->run[longest + 1] != NOWHERE) longest++;
	struct gram best = model->grams[last->run[longest]];
	best.best_chance = add_cache(cached, best.best, best.best_chance);
	for (size_t i = 0; i < cached->count; i++) {
		const uint32_t word = cached->word[i];
		take_better(&best, word,
		            add_cache(cached, word, chance_of_word(model, last, word)));
	}
	return best.best;
}

static struct next_token_score score_guesses(const struct next_token_model *model,
                                             const struct next_token_text *text, uint32_t mark,
                                             struct places *places) {
	struct next_token_score score = {.tokens = (double)text->count};
	struct last_runs last = begin_runs(mark);
	for (size_t t = 0; t < text->count; t++) {
		const uint32_t word = text->id[t];
		REQUIRE(word < model->vocabulary);
		const struct cached cached = look_back(text, t, places);
		score.right += guess_word(model, &last, &cached) == word;
		score.bits -= log2(add_cache(&cached, word, chance_of_word(model, &last, word)));
		last = follow_word(model, &last, word);
		places->before[t] = places->latest[word];
		places->latest[word] = t + 1;
	}
	for (size_t t = 0; t < text->count; t++) places->latest[text->id[t]] = 0;
	return score;
}

bool next_token_measure(const struct next_token_model *model, const struct next_token_text *texts,
                        size_t count, struct next_token_score *scores) {
	size_t longest = 0;
	for (size_t i = 0; i < count; i++)
		if (texts[i].count > longest) longest = texts[i].count;
	struct places places = {.latest = scratch_make(model->vocabulary, sizeof *places.latest),
	                        .before = scratch_make(longest, sizeof *places.before)};
	const bool done = places.latest && places.before;
	const uint32_t mark = find_gram(model, NOTHING, NOWHERE);
	for (size_t i = 0; i < count && done; i++)
		scores[i] = score_guesses(model, &texts[i], mark, &places);
	scratch_free(places.latest);
	scratch_free(places.before);
	return done;
}
