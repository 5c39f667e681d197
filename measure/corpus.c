// SPDX-License-Identifier: Apache-2.0
// Words are found again by a hash table of their first occurrences, at most half full. All bytes of
// words stand in one pool, made small.
#include "measure/corpus.h"

#include "measure/scratch.h"

#include <string.h>

enum { NO_WORD = 0 }; /* in the table, which holds numbers plus one */

struct word_table {
	char *pool;      /* bytes of all different words, one after the other */
	size_t *start;   /* [words + 1]: bytes of word i are pool[start[i] .. start[i + 1] - 1] */
	uint32_t *slots; /* [mask + 1] */
	size_t mask;     /* a power of two less one */
};

/* The small letter or apostrophe; 0 for a byte that parts words. */
static char letter_of(char byte) {
	if (byte >= 'A' && byte <= 'Z') return (char)(byte - 'A' + 'a');
	return (byte >= 'a' && byte <= 'z') || byte == '\'' ? byte : 0;
}

static size_t count_letter_runs(const char *text, size_t size) {
	size_t words = 0;
	for (size_t i = 0; i < size; i++)
		words += letter_of(text[i]) && (i == 0 || !letter_of(text[i - 1]));
	return words;
}

/* The number of the word that was just written to the end of the pool, [size]. */
static uint32_t number_word(struct word_table *t, size_t size, uint32_t *distinct) {
	const char *word = t->pool + t->start[*distinct];
	uint64_t hash = 0xCBF29CE484222325u; // FNV-1a
	for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)word[i]) * 0x100000001B3u;
	size_t slot = (size_t)(hash ^ (hash >> 32)) & t->mask;
	for (; t->slots[slot] != NO_WORD; slot = (slot + 1) & t->mask) {
		const uint32_t known = t->slots[slot] - 1;
		if (t->start[known + 1] - t->start[known] == size &&
		    memcmp(t->pool + t->start[known], word, size) == 0)
			return known;
	}
	t->start[*distinct + 1] = t->start[*distinct] + size;
	t->slots[slot] = ++*distinct;
	return *distinct - 1;
}

static void read_words(const char *text, size_t size, struct word_table *t, struct corpus *corpus,
                       size_t *words) {
	for (size_t i = 0; i < size;) {
		char *const end = t->pool + t->start[corpus->distinct];
		size_t length = 0;
		for (char c; i < size && (c = letter_of(text[i])); i++) end[length++] = c;
		if (length) corpus->word[(*words)++] = number_word(t, length, &corpus->distinct);
		else i++;
	}
}

bool corpus_make(const char *const *texts, const size_t *sizes, size_t count,
                 struct corpus *corpus) {
	*corpus = (struct corpus){.texts = count};
	size_t words = 0, bytes = 0;
	for (size_t i = 0; i < count; i++) {
		words += count_letter_runs(texts[i], sizes[i]);
		bytes += sizes[i];
	}
	if (words >= UINT32_MAX) return false;
	struct word_table t = {.mask = 1};
	while (t.mask < 2 * words) t.mask = 2 * t.mask + 1;
	t.pool = scratch_make(bytes, 1);
	t.start = scratch_make(words + 1, sizeof *t.start);
	t.slots = scratch_make(t.mask + 1, sizeof *t.slots);
	corpus->first = scratch_make(count + 1, sizeof *corpus->first);
	corpus->word = scratch_make(words, sizeof *corpus->word);
	const bool ok = t.pool && t.start && t.slots && corpus->first && corpus->word;
	words = 0;
	for (size_t i = 0; ok && i < count; i++) {
		read_words(texts[i], sizes[i], &t, corpus, &words);
		corpus->first[i + 1] = words;
	}
	scratch_free(t.pool);
	scratch_free(t.start);
	scratch_free(t.slots);
	return ok;
}

void corpus_free(struct corpus *corpus) {
	scratch_free(corpus->first);
	scratch_free(corpus->word);
	*corpus = (struct corpus){0};
}
