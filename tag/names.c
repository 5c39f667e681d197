// SPDX-License-Identifier: Apache-2.0
// How names.h finds: list and text are folded, then base/phrases.c does the rest. Folding makes
// capitals small and white space a space, and keeps the number of bytes. So a place in the folded
// text is the same place in the text.
#include "tag/names.h"

#include "base/phrases.h"
#include "base/utf8.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct names {
	char *bytes;        /* the folded list; a NUL in place of each tab and line end */
	size_t size;        /* bytes of it */
	const char **types; /* [count] of each name, within `bytes` or a literal */
	size_t count;
	struct phrases *phrases;
};

/* Capitals of two bytes in UTF-8 whose small letters have two bytes as well: those of first..last
 * are `distance` below theirs. Distance 1: every second character is the small one. */
static const struct fold_range {
	uint16_t first, last, distance;
} FOLDS[] = {
    {0x00c0, 0x00d6, 32}, {0x00d8, 0x00de, 32}, {0x0100, 0x012f, 1},  {0x0132, 0x0137, 1},
    {0x014a, 0x0177, 1},  {0x0391, 0x03a9, 32}, {0x0400, 0x040f, 80}, {0x0410, 0x042f, 32},
    {0x0460, 0x0481, 1},  {0x048a, 0x04bf, 1},
};
/* Here the small letters are the even ones: U+0139 is the capital of U+013A, U+0179 of U+017A. */
static const uint16_t ODD_FOLDS[][2] = {{0x0139, 0x0148}, {0x0179, 0x017e}};

static uint32_t fold_letter(uint32_t c) {
	for (size_t i = 0; i < sizeof FOLDS / sizeof *FOLDS; i++)
		if (c >= FOLDS[i].first && c <= FOLDS[i].last)
			return FOLDS[i].distance > 1 ? c + FOLDS[i].distance : c | 1;
	for (size_t i = 0; i < sizeof ODD_FOLDS / sizeof *ODD_FOLDS; i++)
		if (c >= ODD_FOLDS[i][0] && c <= ODD_FOLDS[i][1]) return c + (c & 1);
	return c;
}

/* Folds bytes in place. */
static void fold_text(char *bytes, size_t size) {
	for (size_t at = 0; at < size;) {
		uint32_t code_point;
		const size_t length = utf8_decode(bytes + at, size - at, &code_point);
		if (length == 1) {
			if (bytes[at] >= 'A' && bytes[at] <= 'Z') bytes[at] |= 0x20;
			else if (bytes[at] >= '\t' && bytes[at] <= '\r') bytes[at] = ' ';
		} else if (length == 2) (void)utf8_write(fold_letter(code_point), bytes + at);
		at += length ? length : 1;
	}
}

/* Adds the name on line[size]. False: out of memory, or the line is wrong, which sets *wrong. */
static bool keep_name(struct names *names, char *line, size_t size, bool *wrong) {
	char *tab = memchr(line, '\t', size);
	const char *name = line, *type = tab ? tab + 1 : "PERSON";
	size_t length = tab ? (size_t)(tab - line) : size;
	size_t type_size = tab ? size - length - 1 : strlen(type);
	utf8_trim(&name, &length);
	if (tab) utf8_trim(&type, &type_size);
	*wrong = !utf8_valid(line, size) || (size && tab && !utf8_name(type, type_size)) ||
	         (tab && !length);
	if (*wrong || !length) return !*wrong;
	if (tab) line[(size_t)(type - line) + type_size] = 0;
	fold_text(line, (size_t)(name - line) + length);
	names->types[names->count] = type;
	return phrases_add(names->phrases, name, length, names->count++);
}

bool names_make(const char *text, size_t size, struct names **names, size_t *wrong) {
	struct names *made = *names = calloc(1, sizeof *made);
	size_t lines = 1;
	*wrong = 0;
	if (!made) return false;
	for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
	made->bytes = malloc(size + 1);
	made->types = calloc(lines, sizeof *made->types);
	made->phrases = phrases_make();
	if (!made->bytes || !made->types || !made->phrases) return false;
	made->size = size;
	if (size) memcpy(made->bytes, text, size);
	made->bytes[size] = 0;
	for (size_t at = 0, line = 1; at < size; line++) {
		const char *newline = memchr(made->bytes + at, '\n', size - at);
		const size_t end = newline ? (size_t)(newline - made->bytes) : size;
		const bool returned = end > at && made->bytes[end - 1] == '\r';
		bool is_wrong;
		const bool kept = keep_name(made, made->bytes + at, end - at - returned, &is_wrong);
		if (is_wrong) *wrong = line;
		if (!kept) return false;
		at = end + 1;
	}
	return phrases_seal(made->phrases);
}

void names_free(struct names *names) {
	if (!names) return;
	phrases_free(names->phrases);
	if (names->bytes) explicit_bzero(names->bytes, names->size);
	free(names->bytes);
	free(names->types);
	free(names);
}

size_t names_count(const struct names *names) {
	return names->count;
}

/* What phrases_scan needs to give a type in place of a number. */
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
	char *folded = malloc(size + 1);
	struct names_walk walk = {names, found, user};
	if (!folded) return false;
	if (size) memcpy(folded, text, size);
	fold_text(folded, size);
	phrases_scan(names->phrases, folded, size, name_found, &walk);
	explicit_bzero(folded, size);
	free(folded);
	return true;
}
