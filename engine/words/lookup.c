// SPDX-License-Identifier: Apache-2.0
// lookup.c: what is asked of a list of words: ids, vectors, cosines, sets. See cuttle/words.h.
// Private words pass through. What is computed from them on the way is wiped.
#include "base/misuse.h"
#include "engine/model/model.h"
#include "engine/status.h"
#include "engine/words/vector.h"
#include "engine/words/words.h"
#include "kernels/pack.h"

#include <stdlib.h>
#include <string.h>

size_t cuttle_words_count(const struct cuttle_words *words) {
	REQUIRE(words);
	return words->count;
}

size_t cuttle_words_width(const struct cuttle_words *words) {
	REQUIRE(words);
	return words->width;
}

const char *cuttle_words_text(const struct cuttle_words *words, size_t id) {
	REQUIRE(words && id < words->count);
	return words->text[id];
}

void cuttle_words_row(const struct cuttle_words *words, size_t id, float *vector) {
	REQUIRE(words && vector && id < words->count);
	pack_row(&words->rows, id, vector);
}

const char *cuttle_words_model_sha256(const struct cuttle_words *words) {
	REQUIRE(words);
	return words->model_sha256;
}

bool cuttle_words_pieces(const struct cuttle_words *words, float *mean, float *transform) {
	REQUIRE(words && mean && transform);
	if (!words->mean) return false;
	memcpy(mean, words->mean, words->width * sizeof *mean);
	for (size_t i = 0; i < words->width; i++)
		pack_row(&words->turn, i, transform + i * words->width);
	return true;
}

const uint32_t *cuttle_words_sets(const struct cuttle_words *words, size_t *set_size) {
	REQUIRE(words && set_size);
	*set_size = words->set_size;
	return words->sets;
}

int32_t cuttle_words_find(const struct cuttle_words *words, const char *text, size_t size) {
	REQUIRE(words && (text || !size));
	size_t low = 0, high = words->count;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		// A text with a NUL in it ends there for strncmp, and its length tells it apart.
		const char *there = words->by_text[middle].text;
		const size_t length = strlen(there);
		int order = memcmp(there, text, length < size ? length : size);
		if (!order) order = (length > size) - (length < size);
		if (!order) return (int32_t)words->by_text[middle].id;
		if (order < 0) low = middle + 1;
		else high = middle;
	}
	return -1;
}

/* Writes the tokens of the word as it stands inside a text, behind a space. Returns their number; 0
 * when there are none, or memory is short. */
static size_t tokenize_unknown(const struct vocab *vocab, const char *text, size_t size,
                               int32_t *ids, size_t capacity) {
	char spaced[1 + CUTTLE_WORDS_BYTES] = " ";
	memcpy(spaced + 1, text, size);
	const bool spm = vocab_is_spm(vocab);
	size_t count = 0;
	const enum cuttle_status status =
	    spm ? vocab_tokenize_piece(vocab, VOCAB_SPACE, spaced + 1, size, false, ids, capacity,
	                               &count, NULL)
	        : vocab_tokenize(vocab, spaced, size + 1, false, ids, capacity, &count, NULL);
	explicit_bzero(spaced, sizeof spaced);
	return status ? 0 : count;
}

/* The vector of a word that the list lacks. False: it has none. */
static bool vector_of_pieces(const struct cuttle_words *words, const struct model *m,
                             const char *text, size_t size, float *vector) {
	// Every byte is a token at most; a SentencePiece space is one more.
	enum { PIECES = 2 * CUTTLE_WORDS_BYTES };
	int32_t ids[PIECES];
	double sum[CUTTLE_WORDS_WIDTH];
	float row[CUTTLE_WORDS_WIDTH];
	const size_t count = tokenize_unknown(m->vocab, text, size, ids, PIECES), d = words->width;
	memset(sum, 0, d * sizeof *sum);
	for (size_t i = 0; i < count; i++) {
		pack_row(&m->embedding, (size_t)ids[i], row);
		for (size_t j = 0; j < d; j++) sum[j] += (double)row[j];
	}
	for (size_t j = 0; j < d; j++)
		row[j] = (float)(sum[j] / (double)(count ? count : 1) - (double)words->mean[j]);
	multiply_rows(words->threads, &words->turn, row, 1, vector);
	explicit_bzero(ids, sizeof ids);
	explicit_bzero(sum, d * sizeof *sum);
	explicit_bzero(row, d * sizeof *row);
	return vector_to_unit(vector, d) && count;
}

bool cuttle_words_vector(const struct cuttle_words *words, const struct cuttle_model *model,
                         const char *text, size_t size, float *vector) {
	REQUIRE(words && vector && (text || !size));
	REQUIRE(!model || !words->mean ||
	        (!model->model.vocabulary_only && model->model.width == words->width));
	const int32_t id = cuttle_words_find(words, text, size);
	if (id >= 0) {
		pack_row(&words->rows, (size_t)id, vector);
		return true;
	}
	if (model && words->mean && size && size <= CUTTLE_WORDS_BYTES &&
	    vector_of_pieces(words, &model->model, text, size, vector))
		return true;
	memset(vector, 0, words->width * sizeof *vector);
	return false;
}

void cuttle_words_cosines(const struct cuttle_words *words, const float *vectors, size_t places,
                          float *cosines) {
	REQUIRE(words && (!places || (vectors && cosines)));
	multiply_rows(words->threads, &words->rows, vectors, places, cosines);
}
