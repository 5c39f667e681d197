// SPDX-License-Identifier: Apache-2.0
// How terms.h finds: terms are folded into one arena. base/phrases.c keeps pointers into it, so it
// gets them when all are there. It finds them in a folded text, and io/text/fold.c knows where that
// is.
#include "io/text/terms.h"

#include "base/phrases.h"
#include <stdlib.h>

struct term {
	size_t start; /* byte of `bytes` */
	size_t size;  /* bytes */
	size_t name;  /* the caller's number for it */
};

struct terms {
	struct arena bytes;   /* of all terms, folded */
	struct arena list;    /* struct term */
	struct folded folded; /* the one that is added */
	struct phrases *phrases;
};

struct terms *terms_make(void) {
	struct terms *terms = calloc(1, sizeof *terms);
	if (!terms || (terms->phrases = phrases_make())) return terms;
	free(terms);
	return NULL;
}

void terms_free(struct terms *terms) {
	if (!terms) return;
	phrases_free(terms->phrases);
	arena_free(&terms->bytes);
	arena_free(&terms->list);
	fold_free(&terms->folded);
	free(terms);
}

bool terms_add(struct terms *terms, const char *text, size_t size, size_t least, size_t name) {
	fold_trim(&text, &size);
	if (!size) return true;
	if (!fold_text(&terms->folded, text, size)) return false;
	const struct arena *folded = &terms->folded.text;
	size_t characters = 0;
	for (size_t i = 0; i < folded->used && characters < least; i++)
		characters += ((unsigned char)folded->bytes[i] & 0xc0) != 0x80;
	if (characters < least) return true;
	const struct term term = {terms->bytes.used, folded->used, name};
	return arena_append(&terms->bytes, folded->bytes, folded->used) &&
	       arena_append(&terms->list, &term, sizeof term);
}

size_t terms_count(const struct terms *terms) {
	return terms->list.used / sizeof(struct term);
}

bool terms_seal(struct terms *terms) {
	const struct term *list = (const void *)terms->list.bytes;
	bool good = true;
	for (size_t i = 0; good && i < terms_count(terms); i++)
		good = phrases_add(terms->phrases, terms->bytes.bytes + list[i].start, list[i].size,
		                   list[i].name);
	return good && phrases_seal(terms->phrases);
}

/* What phrases_scan needs to give places of the text. */
struct term_walk {
	const struct folded *folded;
	void (*found)(void *user, size_t start, size_t end, size_t name);
	void *user;
};

static void place_term(void *user, size_t start, size_t end, size_t name) {
	const struct term_walk *walk = user;
	size_t from, to;
	fold_place(walk->folded, start, end, &from, &to);
	walk->found(walk->user, from, to, name);
}

void terms_scan(const struct terms *terms, const struct folded *folded,
                void (*found)(void *user, size_t start, size_t end, size_t name), void *user) {
	struct term_walk walk = {folded, found, user};
	if (terms_count(terms))
		phrases_scan(terms->phrases, folded->text.bytes, folded->text.used, place_term,
		             &walk);
}
