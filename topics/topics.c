// SPDX-License-Identifier: Apache-2.0
// All words of all texts are sorted by hash, then by text. So the uses of one word stand together,
// and so do those of one text: see topics.h.
#include "topics/topics.h"

#include "io/disk/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WORD = 24 }; /* bytes of a word in a name, at most */
_Static_assert(CLUSTERS_WORDS *(NAME_WORD + 1) <= CLUSTERS_NAME, "a name has room");

/* One use of a word. */
struct word_use {
	uint64_t hash;
	const char *word; /* in the text */
	uint32_t size;    /* bytes */
	uint32_t text;    /* number of the text */
};

/* A word that may be in a name. */
struct heavy_word {
	int64_t weight; /* above 0; 0 = there is none */
	const struct word_use *use;
};

static int compare_uses(const void *a, const void *b) {
	const struct word_use *x = a, *y = b;
	if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
	if (x->text != y->text) return x->text < y->text ? -1 : 1;
	return x->word < y->word ? -1 : x->word > y->word;
}

/* All uses of words, to be freed. NULL: out of memory. */
static struct word_use *list_uses(const struct hidden_text *texts, size_t count, size_t *used) {
	struct word_use *uses = malloc(count * TFIDF_WORDS * sizeof *uses);
	*used = 0;
	for (size_t t = 0; uses && t < count; t++) {
		const char *text = texts[t].bytes;
		size_t size = texts[t].size;
		struct tfidf_word word;
		for (size_t i = 0; i < TFIDF_WORDS && tfidf_next(&text, &size, &word); i++)
			if (word.size <= NAME_WORD)
				uses[(*used)++] = (struct word_use){
				    word.hash, word.text, (uint32_t)word.size, (uint32_t)t};
	}
	if (uses) qsort(uses, *used, sizeof *uses, compare_uses);
	return uses;
}

/* Puts the word into its place among the heaviest[CLUSTERS_WORDS], behind its equals. */
static void rank_word(struct heavy_word *heaviest, int64_t weight, const struct word_use *use) {
	size_t at = CLUSTERS_WORDS;
	while (at && weight > heaviest[at - 1].weight) at--;
	if (at == CLUSTERS_WORDS) return;
	memmove(heaviest + at + 1, heaviest + at, (CLUSTERS_WORDS - 1 - at) * sizeof *heaviest);
	heaviest[at] = (struct heavy_word){weight, use};
}

/* What names are made for. */
struct naming {
	const uint32_t *of_text; /* [count] the cluster of each text */
	size_t count;            /* n */
	size_t clusters;
	int64_t *members;            /* [clusters] texts of each */
	int64_t *sums;               /* [clusters] of one word; zero between two words */
	struct heavy_word *heaviest; /* [clusters][CLUSTERS_WORDS] */
};

/* Weighs one word, whose uses stand in uses[size], in each cluster. */
static void weigh_uses(struct naming *n, const struct word_use *uses, size_t size) {
	size_t df = 0;
	int64_t all = 0;
	for (size_t i = 0; i < size; i++) df += !i || uses[i].text != uses[i - 1].text;
	if (df < 2) return;
	const uint32_t rare = tfidf_log(1 + n->count, 1 + df);
	for (size_t i = 0, end; i < size; i = end) {
		for (end = i; end < size && uses[end].text == uses[i].text;) end++;
		const int64_t weight = (int64_t)rare * tfidf_log(1 + end - i, 1);
		n->sums[n->of_text[uses[i].text]] += weight;
		all += weight;
	}
	for (size_t c = 0; c < n->clusters; c++) {
		rank_word(n->heaviest + c * CLUSTERS_WORDS,
		          n->sums[c] * (int64_t)n->count - all * n->members[c], uses);
		n->sums[c] = 0;
	}
}

static void write_name(const struct heavy_word *heaviest, size_t number, char name[CLUSTERS_NAME]) {
	char *to = name;
	for (size_t i = 0; i < CLUSTERS_WORDS && heaviest[i].weight; i++) {
		if (i) *to++ = ' ';
		for (size_t b = 0; b < heaviest[i].use->size; b++) {
			const char c = heaviest[i].use->word[b];
			*to++ = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
		}
	}
	*to = 0;
	if (to == name) (void)snprintf(name, CLUSTERS_NAME, "cluster %zu", number);
}

enum cuttle_status topics_name(const struct hidden_text *texts, const uint32_t *of_text,
                               size_t count, size_t clusters, char (*names)[CLUSTERS_NAME],
                               struct cuttle_error *error) {
	size_t used;
	struct word_use *uses = list_uses(texts, count, &used);
	struct naming n = {.of_text = of_text,
	                   .count = count,
	                   .clusters = clusters,
	                   .members = calloc(clusters, sizeof *n.members),
	                   .sums = calloc(clusters, sizeof *n.sums),
	                   .heaviest = calloc(clusters * CLUSTERS_WORDS, sizeof *n.heaviest)};
	const bool made = uses && n.members && n.sums && n.heaviest;
	for (size_t t = 0; made && t < count; t++) n.members[of_text[t]]++;
	for (size_t i = 0, end; made && i < used; i = end) {
		for (end = i; end < used && uses[end].hash == uses[i].hash;) end++;
		weigh_uses(&n, uses + i, end - i);
	}
	for (size_t c = 0; made && c < clusters; c++)
		write_name(n.heaviest + c * CLUSTERS_WORDS, c, names[c]);
	free(uses);
	free(n.members);
	free(n.sums);
	free(n.heaviest);
	return made ? CUTTLE_OK
	            : io_fail(error, CUTTLE_NOMEM, "out of memory for the names of clusters");
}
