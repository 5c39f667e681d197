// SPDX-License-Identifier: Apache-2.0
// Each line becomes a word in `bytes`, in its place. A word is rarely longer than its line. One
// that is has room, as `bytes` has three times the size of the file.
#include "io/text/word_list.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/text/split.h"
#include <stdlib.h>
#include <string.h>

enum {
	MOST_LIST = 1 << 26, /* bytes of a list */
	FOLDING = 3          /* a character has at most so many times its bytes when folded */
};

/* Reads the word of a line. False: it is not one word. A line of white space has none: *size is 0.
 */
static bool read_list_word(const char *line, size_t length, char word[SPLIT_BYTES], size_t *size) {
	struct split split;
	enum split_kind kind;
	const char *bytes;
	size_t used;
	bool right = true;
	*size = 0;
	split_begin(&split, line, length, true);
	while ((kind = split_next(&split, &bytes, &used)) != SPLIT_END) {
		if (kind == SPLIT_SHAPE) {
			for (size_t i = 0; i < used; i++)
				right &= bytes[i] == ' ' || bytes[i] == '\n';
			continue;
		}
		right &= kind == SPLIT_WORD && !*size;
		if (!right) break;
		memcpy(word, bytes, used);
		*size = used;
	}
	split_end(&split);
	return right;
}

static int compare_list_words(const void *one, const void *other) {
	return strcmp(*(const char *const *)one, *(const char *const *)other);
}

/* Sorts the words and drops those that stand twice. */
static void sort_list(struct word_list *list) {
	size_t kept = 0;
	qsort(list->words, list->count, sizeof *list->words, compare_list_words);
	for (size_t i = 0; i < list->count; i++)
		if (!kept || strcmp(list->words[kept - 1], list->words[i]) != 0)
			list->words[kept++] = list->words[i];
	list->count = kept;
}

static enum cuttle_status take_lines(const char *path, const char *text, size_t size,
                                     struct word_list *list, struct cuttle_error *error) {
	char *at = list->bytes, word[SPLIT_BYTES];
	size_t number = 0, length;
	for (const char *line = text; line < text + size; number++) {
		const size_t left = (size_t)(text + size - line);
		const char *newline = memchr(line, '\n', left),
		           *end = newline ? newline : line + left;
		if (!read_list_word(line, (size_t)(end - line), word, &length))
			return io_fail(error, CUTTLE_INPUT, "%s: line %zu is not one word", path,
			               number + 1);
		line = end + 1;
		if (!length) continue;
		list->words[list->count++] = memcpy(at, word, length);
		at[length] = 0;
		at += length + 1;
	}
	return list->count ? CUTTLE_OK
	                   : io_fail(error, CUTTLE_INPUT, "%s: there is no word in it", path);
}

enum cuttle_status word_list_read(const char *path, struct word_list *list, char sha256[HASH_TEXT],
                                  struct cuttle_error *error) {
	char *text;
	size_t size, lines = 1;
	*list = (struct word_list){0};
	enum cuttle_status status = file_read(path, MOST_LIST, &text, &size, error);
	if (status) return status;
	for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
	hash_of(text, size, sha256);
	list->words = calloc(lines, sizeof *list->words);
	list->bytes = malloc(FOLDING * size + lines);
	if (!list->words || !list->bytes) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = take_lines(path, text, size, list, error);
	if (!status) sort_list(list);
	free(text);
	return status;
}

void word_list_free(struct word_list *list) {
	free(list->words);
	free(list->bytes);
	*list = (struct word_list){0};
}
