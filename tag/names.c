// SPDX-License-Identifier: Apache-2.0
// How names.h finds: each line becomes a term, and io/text/terms.c does the rest.
#include "tag/names.h"

#include "base/utf8.h"
#include "io/text/terms.h"
#include <stdlib.h>
#include <string.h>

struct names {
	char *bytes;        /* the list; a NUL behind each type */
	size_t size;        /* bytes of it */
	const char **types; /* [lines] of the name on each line, within `bytes` or a literal */
	struct terms *terms;
};

/* Adds the name on line[size]. False: out of memory, or the line is wrong, which sets *wrong. */
static bool keep_name(struct names *names, char *line, size_t size, size_t number, bool *wrong) {
	char *tab = memchr(line, '\t', size);
	const char *type = tab ? tab + 1 : "PERSON";
	const size_t length = tab ? (size_t)(tab - line) : size, before = terms_count(names->terms);
	size_t type_size = tab ? size - length - 1 : strlen(type);
	if (tab) fold_trim(&type, &type_size);
	*wrong = !utf8_valid(line, size) || (tab && !utf8_name(type, type_size));
	if (*wrong || !terms_add(names->terms, line, length, 1, number)) return false;
	*wrong = tab && terms_count(names->terms) == before;
	if (tab) line[(size_t)(type - line) + type_size] = 0;
	names->types[number] = type;
	return !*wrong;
}

bool names_make(const char *text, size_t size, struct names **names, size_t *wrong) {
	struct names *made = *names = calloc(1, sizeof *made);
	size_t lines = 1;
	*wrong = 0;
	if (!made) return false;
	for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
	made->bytes = malloc(size + 1);
	made->types = calloc(lines, sizeof *made->types);
	made->terms = terms_make();
	if (!made->bytes || !made->types || !made->terms) return false;
	made->size = size;
	if (size) memcpy(made->bytes, text, size);
	made->bytes[size] = 0;
	for (size_t at = 0, line = 0; at < size; line++) {
		const char *newline = memchr(made->bytes + at, '\n', size - at);
		const size_t end = newline ? (size_t)(newline - made->bytes) : size;
		bool is_wrong;
		const bool kept = keep_name(made, made->bytes + at, end - at, line, &is_wrong);
		if (is_wrong) *wrong = line + 1;
		if (!kept) return false;
		at = end + 1;
	}
	return terms_seal(made->terms);
}

void names_free(struct names *names) {
	if (!names) return;
	terms_free(names->terms);
	if (names->bytes) explicit_bzero(names->bytes, names->size);
	free(names->bytes);
	free(names->types);
	free(names);
}

size_t names_count(const struct names *names) {
	return terms_count(names->terms);
}

/* What terms_scan needs to give a type in place of a number. */
struct names_walk {
	const struct names *names;
	void (*found)(void *user, size_t start, size_t end, const char *type);
	void *user;
};

static void name_found(void *user, size_t start, size_t end, size_t name) {
	const struct names_walk *walk = user;
	walk->found(walk->user, start, end, walk->names->types[name]);
}

bool names_scan(const struct names *names, const char *text, size_t size,
                void (*found)(void *user, size_t start, size_t end, const char *type), void *user) {
	struct folded folded = {.size = 0};
	struct names_walk walk = {names, found, user};
	const bool good = fold_text(&folded, text, size);
	if (good) terms_scan(names->terms, &folded, name_found, &walk);
	fold_free(&folded);
	return good;
}
