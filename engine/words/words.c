// SPDX-License-Identifier: Apache-2.0
// words.c: makes lists of words, see cuttle/words.h. The steps of cuttle_words_make:
//   check_words_params  counts, and what goes with what
//   copy_words          every text is a word, and no two are equal
//   map_matrices        memory for vectors, transform and sets
//   pack_vectors        half-whitened first where they are raw; else finite and of length one
//   copy_sets           a partition into sets of one size
// lookup.c answers questions about a list, partition.c cuts it into sets.
#include "engine/words/words.h"

#include "base/misuse.h"
#include "base/words.h"
#include "engine/params.h"
#include "engine/status.h"
#include "engine/text/unicode.h"
#include "engine/words/vector.h"
#include "engine/words/whiten.h"
#include "kernels/pack.h"

#include <stdlib.h>
#include <string.h>

/* What the length of a vector may be off, squared. */
#define SQUARE_TOLERANCE 2e-4

bool cuttle_words_is_word(const char *text, size_t size) {
	REQUIRE(text || !size);
	bool letter = false; // stands before
	size_t at = 0;
	while (at < size && size <= CUTTLE_WORDS_BYTES) {
		const unsigned char first = (unsigned char)text[at];
		uint32_t code_point;
		const size_t length = utf8_decode(text + at, size - at, &code_point);
		const bool apostrophe = first == '\'' && letter;
		letter = first < 0x80 ? first >= 'a' && first <= 'z'
		                      : unicode_class(code_point) == UNICODE_LETTER ||
		                            words_letter_size(text + at, size - at);
		if (!length || (!letter && !apostrophe)) return false;
		at += length;
	}
	return letter && at == size;
}

void cuttle_words_params_default(struct cuttle_words_params *params) {
	*params = (struct cuttle_words_params){.struct_size = sizeof *params};
}

static enum cuttle_status fail_words_memory(struct cuttle_error *error) {
	return status_fail(error, CUTTLE_NOMEM, "out of memory for the vectors of words");
}

static enum cuttle_status check_words_params(const struct cuttle_words_params *p,
                                             struct cuttle_error *error) {
	REQUIRE(p->words && p->vectors);
	REQUIRE(!p->mean == !p->transform && !(p->raw && p->mean) && !p->sets == !p->set_size);
	if (p->count < 2 || p->count > CUTTLE_WORDS_MOST)
		return status_fail(error, CUTTLE_USAGE, "%zu words are outside 2..%d", p->count,
		                   CUTTLE_WORDS_MOST);
	if (p->width < 1 || p->width > CUTTLE_WORDS_WIDTH)
		return status_fail(error, CUTTLE_USAGE, "vectors of %zu floats are outside 1..%d",
		                   p->width, CUTTLE_WORDS_WIDTH);
	if (p->model_sha256 &&
	    (strlen(p->model_sha256) != CUTTLE_WORDS_HASH - 1 ||
	     strspn(p->model_sha256, "0123456789abcdef") != CUTTLE_WORDS_HASH - 1))
		return status_fail(error, CUTTLE_USAGE,
		                   "the model's SHA-256 is not 64 digits 0-9 a-f");
	return CUTTLE_OK;
}

static int compare_word_entries(const void *a, const void *b) {
	return strcmp(((const struct word_entry *)a)->text, ((const struct word_entry *)b)->text);
}

static enum cuttle_status copy_words(struct cuttle_words *words,
                                     const struct cuttle_words_params *p,
                                     struct cuttle_error *error) {
	size_t bytes = 0;
	for (size_t i = 0; i < p->count; i++) {
		const size_t size = strnlen(p->words[i], CUTTLE_WORDS_BYTES + 1);
		if (!cuttle_words_is_word(p->words[i], size))
			return status_fail(error, CUTTLE_USAGE,
			                   "number %zu, \"%.60s\", is no word: 1 to %d bytes of "
			                   "letters, no capitals, ' between letters",
			                   i, p->words[i], CUTTLE_WORDS_BYTES);
		bytes += size + 1;
	}
	words->texts = malloc(bytes);
	words->text = malloc(p->count * sizeof *words->text);
	words->by_text = malloc(p->count * sizeof *words->by_text);
	if (!words->texts || !words->text || !words->by_text) return fail_words_memory(error);
	char *to = words->texts;
	for (size_t i = 0; i < p->count; i++) {
		words->text[i] = to;
		words->by_text[i] = (struct word_entry){to, (uint32_t)i};
		to = stpcpy(to, p->words[i]) + 1;
	}
	qsort(words->by_text, p->count, sizeof *words->by_text, compare_word_entries);
	for (size_t i = 1; i < p->count; i++)
		if (!strcmp(words->by_text[i - 1].text, words->by_text[i].text))
			return status_fail(error, CUTTLE_USAGE, "\"%.60s\" stands there twice",
			                   words->by_text[i].text);
	return CUTTLE_OK;
}

static enum cuttle_status map_matrices(struct cuttle_words *words,
                                       const struct cuttle_words_params *p,
                                       struct cuttle_error *error) {
	const size_t d = p->width;
	size_t rows, turn, none, total = 0;
	if (!pack_sizes(PACKED_F32, p->count, d, &rows, &none, &none) ||
	    !pack_sizes(PACKED_F32, d, d, &turn, &none, &none) || !region_add(&total, 1, rows) ||
	    !region_add(&total, 1, turn) || !region_add(&total, d, sizeof(float)) ||
	    !region_add(&total, p->count, sizeof(uint32_t)) ||
	    !region_map(&words->region, total, false))
		return fail_words_memory(error);
	words->rows = (struct packed_matrix){.type = PACKED_F32,
	                                     .channels = p->count,
	                                     .k = d,
	                                     .weights = region_carve(&words->region, rows)};
	if (p->mean || p->raw) {
		words->turn = (struct packed_matrix){.type = PACKED_F32,
		                                     .channels = d,
		                                     .k = d,
		                                     .weights = region_carve(&words->region, turn)};
		words->mean = region_carve(&words->region, d * sizeof(float));
	}
	if (p->sets) words->sets = region_carve(&words->region, p->count * sizeof(uint32_t));
	return CUTTLE_OK;
}

static void pack_floats_of(const struct packed_matrix *to, const float *source) {
	pack_groups(to, (const uint8_t *)source, 0, (to->channels + GEMM_GROUP - 1) / GEMM_GROUP);
}

static bool all_finite(const float *numbers, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (!isfinite(numbers[i])) return false;
	return true;
}

static enum cuttle_status check_vectors(const struct cuttle_words_params *p,
                                        struct cuttle_error *error) {
	const size_t d = p->width;
	for (size_t i = 0; i < p->count; i++) {
		const float *vector = p->vectors + i * d;
		if (!all_finite(vector, d))
			return status_fail(error, CUTTLE_USAGE,
			                   "the vector of \"%.60s\" is not finite", p->words[i]);
		if (!p->raw && !(fabs(vector_square(vector, d) - 1.0) <= SQUARE_TOLERANCE))
			return status_fail(error, CUTTLE_USAGE,
			                   "the vector of \"%.60s\" does not have length one",
			                   p->words[i]);
	}
	if (p->mean && (!all_finite(p->mean, d) || !all_finite(p->transform, d * d)))
		return status_fail(error, CUTTLE_USAGE, "the mean or the transform is not finite");
	return CUTTLE_OK;
}

/* Half-whitens the raw vectors and packs them. Their mean and transform are of no use later: the
 * tokens of a model are no part of such a space. */
static enum cuttle_status pack_raw_vectors(struct cuttle_words *words,
                                           const struct cuttle_words_params *p,
                                           struct cuttle_error *error) {
	const size_t d = p->width;
	size_t bad = p->count;
	float *transform = malloc(d * d * sizeof *transform);
	float *rows = malloc(p->count * d * sizeof *rows);
	enum cuttle_status status = transform && rows
	                                ? whiten_measure(words->threads, p->vectors, p->count, d,
	                                                 words->mean, transform, error)
	                                : fail_words_memory(error);
	if (!status) {
		pack_floats_of(&words->turn, transform);
		status = whiten_apply(words->threads, words->mean, &words->turn, p->vectors,
		                      p->count, rows, &bad, error);
	}
	if (!status && bad < p->count)
		status =
		    status_fail(error, CUTTLE_USAGE,
		                "the vector of \"%.60s\" is the mean of all: it has no direction",
		                p->words[bad]);
	if (!status) pack_floats_of(&words->rows, rows);
	words->mean = NULL;
	free(transform);
	free(rows);
	return status;
}

static enum cuttle_status pack_vectors(struct cuttle_words *words,
                                       const struct cuttle_words_params *p,
                                       struct cuttle_error *error) {
	const enum cuttle_status status = check_vectors(p, error);
	if (status) return status;
	if (p->raw) return pack_raw_vectors(words, p, error);
	pack_floats_of(&words->rows, p->vectors);
	if (p->mean) {
		pack_floats_of(&words->turn, p->transform);
		memcpy(words->mean, p->mean, p->width * sizeof *words->mean);
	}
	return CUTTLE_OK;
}

static enum cuttle_status copy_sets(struct cuttle_words *words, const struct cuttle_words_params *p,
                                    struct cuttle_error *error) {
	if (!p->sets) return CUTTLE_OK;
	const size_t sets = (p->count + p->set_size - 1) / p->set_size;
	uint32_t *members = calloc(sets, sizeof *members);
	if (!members) return fail_words_memory(error);
	bool ok = p->set_size >= 2 && p->set_size <= p->count;
	for (size_t i = 0; ok && i < p->count; i++)
		ok = p->sets[i] < sets && ++members[p->sets[i]] <= p->set_size;
	// No set has too many, so only the last one can have fewer.
	for (size_t i = 0; ok && i + 1 < sets; i++) ok = members[i] == p->set_size;
	free(members);
	if (!ok)
		return status_fail(error, CUTTLE_USAGE,
		                   "the words are not cut into sets of %zu words each",
		                   p->set_size);
	memcpy(words->sets, p->sets, p->count * sizeof *words->sets);
	words->set_size = p->set_size;
	return CUTTLE_OK;
}

enum cuttle_status cuttle_words_make(const struct cuttle_words_params *params,
                                     struct cuttle_words **out, struct cuttle_error *error) {
	REQUIRE(params && out);
	*out = NULL;
	struct cuttle_words_params p;
	cuttle_words_params_default(&p);
	enum cuttle_status status =
	    params_take(&p, sizeof p, params, "struct cuttle_words_params", error);
	if (!status) status = check_words_params(&p, error);
	if (status) return status;
	struct cuttle_words *words = calloc(1, sizeof *words);
	if (!words) return fail_words_memory(error);
	words->count = p.count;
	words->width = p.width;
	if (p.model_sha256) memcpy(words->model_sha256, p.model_sha256, CUTTLE_WORDS_HASH - 1);
	status = threads_new(p.threads, &words->threads, error);
	if (!status) status = copy_words(words, &p, error);
	if (!status) status = map_matrices(words, &p, error);
	if (!status) status = pack_vectors(words, &p, error);
	if (!status) status = copy_sets(words, &p, error);
	if (status) cuttle_words_free(&words);
	*out = words;
	return status;
}

void cuttle_words_free(struct cuttle_words **words) {
	REQUIRE(words);
	if (!*words) return;
	region_unmap(&(*words)->region, false);
	threads_free(&(*words)->threads);
	free((*words)->texts);
	free((*words)->text);
	free((*words)->by_text);
	free(*words);
	*words = NULL;
}
