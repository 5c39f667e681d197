// SPDX-License-Identifier: Apache-2.0
// Hashed TF-IDF: see tfidf.h. Counting and the feature share one walk over the words.
#include "topics/tfidf.h"

#include <sodium.h>
#include <string.h>

_Static_assert((int)TFIDF_WORDS <= (int)FEATURE_MOST, "each word may be an entry");

/* steps[i] = 2^((2 i + 1) / 32), times 2^32 and rounded up. A quotient within one octave has the
 * logarithm i where i of these numbers are at most it. Example: 1.03 gives 1, as 1.0219 <= 1.03. */
static const uint64_t steps[16] = {
    4389014834, 4583333122, 4786254615, 4998160210, 5219447668, 5450532359, 5691848042, 5943847684,
    6207004303, 6481811861, 6768786189, 7068465956, 7381413680, 7708216783, 8049488696, 8405870007};

uint32_t tfidf_log(uint64_t above, uint64_t below) {
	uint32_t result = 0;
	for (; above >= 2 * below; below *= 2) result += 16;
	for (size_t i = 0; i < 16 && (above << 32) >= below * steps[i]; i++) result++;
	return result;
}

static bool is_word_byte(unsigned char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

/* BLAKE2b-64 of the word in small letters, little-endian. */
static uint64_t hash_word(const char *word, size_t size) {
	enum { PIECE = 64 }; // bytes that are lowered at once
	crypto_generichash_blake2b_state state;
	unsigned char piece[PIECE], digest[8];
	uint64_t hash = 0;
	(void)crypto_generichash_blake2b_init(&state, NULL, 0, sizeof digest);
	for (size_t at = 0; at < size; at += PIECE) {
		const size_t some = size - at < PIECE ? size - at : PIECE;
		for (size_t i = 0; i < some; i++) {
			const unsigned char c = (unsigned char)word[at + i];
			piece[i] = c >= 'A' && c <= 'Z' ? (unsigned char)(c - 'A' + 'a') : c;
		}
		(void)crypto_generichash_blake2b_update(&state, piece, some);
	}
	(void)crypto_generichash_blake2b_final(&state, digest, sizeof digest);
	for (size_t i = sizeof digest; i-- > 0;) hash = hash << 8 | digest[i];
	sodium_memzero(&state, sizeof state);
	sodium_memzero(piece, sizeof piece);
	sodium_memzero(digest, sizeof digest);
	return hash;
}

bool tfidf_next(const char **text, size_t *size, struct tfidf_word *word) {
	if (!*size) return false; // a null text has no address to count from
	const char *at = *text, *end = at + *size;
	while (at < end && !is_word_byte((unsigned char)*at)) at++;
	const char *begin = at;
	while (at < end && is_word_byte((unsigned char)*at)) at++;
	*text = at;
	*size = (size_t)(end - at);
	if (at == begin) return false;
	*word = (struct tfidf_word){begin, (size_t)(at - begin),
	                            hash_word(begin, (size_t)(at - begin))};
	return true;
}

static void tally_words(const char *text, size_t size, struct tfidf_work *work) {
	struct tfidf_word word;
	for (size_t i = 0; i < TFIDF_WORDS && tfidf_next(&text, &size, &word); i++) {
		const size_t at = word.hash % TFIDF_WIDTH;
		if (!work->counts[at]++) work->seen[work->seen_count++] = (uint16_t)at;
	}
	sodium_memzero(&word, sizeof word);
}

void tfidf_count(const char *text, size_t size, struct tfidf_work *work, uint32_t *df) {
	tally_words(text, size, work);
	for (size_t i = 0; i < work->seen_count; i++) df[work->seen[i]]++;
	sodium_memzero(work, sizeof *work);
}

void tfidf_weigh(const uint32_t *df, size_t texts, uint16_t *weights) {
	for (size_t i = 0; i < TFIDF_WIDTH; i++)
		weights[i] = (uint16_t)(df[i] < 2 ? 0 : tfidf_log(1 + texts, 1 + df[i]));
}

void tfidf_feature(const uint16_t *weights, const char *text, size_t size, struct tfidf_work *work,
                   struct text_feature *feature) {
	uint64_t square = 0;
	feature->count = 0;
	tally_words(text, size, work);
	for (size_t i = 0; i < work->seen_count; i++) {
		const uint16_t at = work->seen[i];
		const uint32_t count = work->counts[at];
		const uint32_t v =
		    tfidf_log(1 + (count < TFIDF_COUNT ? count : TFIDF_COUNT), 1) * weights[at];
		if (!v) continue;
		feature->at[feature->count] = at;
		feature->value[feature->count++] = (int32_t)v;
		square += (uint64_t)v * v;
	}
	const uint64_t root = feature_root(square);
	for (size_t i = 0; i < feature->count; i++)
		feature->value[i] = (int32_t)((uint64_t)feature->value[i] * FEATURE_ONE / root);
	sodium_memzero(work, sizeof *work);
}
