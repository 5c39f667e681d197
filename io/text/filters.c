// SPDX-License-Identifier: Apache-2.0
// How filters.h decides. A text is remembered as its shape: a hash of the whole, and the sorted
// hashes of its runs of five words. Two shapes are compared by walking both lists once.
#include "io/text/filters.h"

#include "base/misuse.h"
#include "base/words.h"
#include "io/disk/fail.h"
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum {
	RUN_WORDS = 5,      /* words of a run, for duplicates */
	LOOP_TOKENS = 4,    /* tokens of a run that may not stand there too often */
	LOOP_TIMES = 5,     /* that is too often */
	DISTINCT_TOKENS = 3 /* tokens of a run that should differ from the others */
};

static const char *const NAMES[FILTER_RULES] = {"duplicates", "unlikely", "loops"};

const char *filters_name(enum filter_rule rule) {
	return NAMES[rule];
}

enum cuttle_status filters_read(const char *list, struct filters *filters,
                                struct cuttle_error *error) {
	for (const char *name = list;; name++) {
		const size_t size = strcspn(name, ",");
		enum filter_rule rule = 0;
		while (rule < FILTER_RULES &&
		       (strlen(NAMES[rule]) != size || memcmp(NAMES[rule], name, size) != 0))
			rule++;
		if (rule == FILTER_RULES || filters->drop[rule])
			return io_fail(error, CUTTLE_USAGE,
			               "--drop: must be duplicates, loops or unlikely, or "
			               "several with a comma between, not %s",
			               list);
		filters->drop[rule] = true;
		name += size;
		if (!*name) return CUTTLE_OK;
	}
}

bool filters_drop_any(const struct filters *filters) {
	bool any = false;
	for (enum filter_rule rule = 0; rule < FILTER_RULES; rule++) any |= filters->drop[rule];
	return any;
}

/* ---- trimming -------------------------------------------------------------------------------- */

/* Bytes of the first of these characters that text[size] begins with; 0 = none of them. */
static size_t match_any(const char *text, size_t size, const char *const *all, size_t count) {
	for (size_t i = 0; i < count; i++) {
		const size_t length = strlen(all[i]);
		if (length <= size && !memcmp(text, all[i], length)) return length;
	}
	return 0;
}

static bool is_white(char c) {
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Bytes of the end of a sentence that stands at the start of text[size]: `."` has 2. 0 = none. */
static size_t match_sentence_end(const char *text, size_t size) {
	static const char *const stops[] = {".", "!", "?"};
	// The ideographic full stop, and full-width ! ? .
	static const char *const wide[] = {"\xe3\x80\x82", "\xef\xbc\x81", "\xef\xbc\x9f",
	                                   "\xef\xbc\x8e"};
	// Quotes and brackets: typographic, angle, corner.
	static const char *const closing[] = {"\"",
	                                      "'",
	                                      ")",
	                                      "]",
	                                      "\xe2\x80\x9d",
	                                      "\xe2\x80\x99",
	                                      "\xc2\xbb",
	                                      "\xe3\x80\x8d",
	                                      "\xe3\x80\x8f",
	                                      "\xef\xbc\x89"};
	size_t next, end = match_any(text, size, wide, sizeof wide / sizeof *wide);
	const bool is_wide = end > 0;
	if (!end) end = match_any(text, size, stops, sizeof stops / sizeof *stops);
	if (!end) return 0;
	while (
	    (next = match_any(text + end, size - end, closing, sizeof closing / sizeof *closing)))
		end += next;
	return is_wide || end == size || is_white(text[end]) ? end : 0;
}

size_t filters_trim(const char *text, size_t size) {
	for (size_t at = size; at-- > 0;) {
		const size_t end = match_sentence_end(text + at, size - at);
		if (end) return 2 * (at + end) >= size ? at + end : size;
	}
	return size;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* The order by which runs are sorted; equal runs stand side by side. */
static int compare_fours(const void *left, const void *right) {
	return memcmp(left, right, LOOP_TOKENS * sizeof(int32_t));
}

static int compare_threes(const void *left, const void *right) {
	return memcmp(left, right, DISTINCT_TOKENS * sizeof(int32_t));
}

/* Writes all runs of `length` tokens out, one after the other, and sorts them. Returns how many. */
static size_t sort_runs(const int32_t *ids, size_t count, size_t length, int32_t *runs,
                        int (*compare)(const void *, const void *)) {
	const size_t all = count < length ? 0 : count - length + 1;
	for (size_t i = 0; i < all; i++) memcpy(runs + i * length, ids + i, length * sizeof *runs);
	if (all) qsort(runs, all, length * sizeof *runs, compare);
	return all;
}

enum cuttle_status filters_find_loops(const int32_t *ids, size_t count, bool *loops,
                                      struct cuttle_error *error) {
	*loops = false;
	if (count < DISTINCT_TOKENS) return CUTTLE_OK;
	int32_t *runs = calloc(count, LOOP_TOKENS * sizeof *runs);
	if (!runs) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	size_t all = sort_runs(ids, count, LOOP_TOKENS, runs, compare_fours);
	const size_t apart = LOOP_TIMES - 1;
	for (size_t i = apart; i < all; i++)
		*loops |= !compare_fours(runs + i * LOOP_TOKENS, runs + (i - apart) * LOOP_TOKENS);
	all = sort_runs(ids, count, DISTINCT_TOKENS, runs, compare_threes);
	size_t distinct = 1;
	for (size_t i = 1; i < all; i++)
		distinct += compare_threes(runs + i * DISTINCT_TOKENS,
		                           runs + (i - 1) * DISTINCT_TOKENS) != 0;
	*loops |= 5 * distinct < 2 * all;
	free(runs);
	return CUTTLE_OK;
}

/* ---- duplicates ------------------------------------------------------------------------------ */

struct text_shape {
	unsigned char whole[32]; /* hash of the lowered text */
	uint64_t *runs;          /* [count] hashes of its runs of words, ascending, each once */
	size_t count;
};

struct filter_past {
	struct filters filters;
	const struct filter_scale *scale; /* the caller's; NULL = no text is unlikely */
	struct text_shape *shapes;        /* [count] of the texts that were kept */
	size_t count;
	size_t room;
};

static char lower_letter(char c) {
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Writes the text lowered, with one space for each white space, and none at the ends. */
static size_t lower_text(const char *text, size_t size, char *lowered) {
	size_t used = 0;
	for (size_t i = 0; i < size; i++)
		if (!is_white(text[i])) lowered[used++] = lower_letter(text[i]);
		else if (used && lowered[used - 1] != ' ') lowered[used++] = ' ';
	return used && lowered[used - 1] == ' ' ? used - 1 : used;
}

static uint64_t hash_words(const char *words, size_t size) {
	unsigned char digest[crypto_generichash_BYTES_MIN];
	uint64_t first;
	(void)crypto_generichash(digest, sizeof digest, (const unsigned char *)words, size, NULL,
	                         0);
	memcpy(&first, digest, sizeof first);
	return first;
}

static int compare_hashes(const void *left, const void *right) {
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

/* Writes the words of a lowered text one after the other, a space behind each, and where each
 * begins. Returns how many there are. starts has room for size + 1, words for 2 * size bytes. */
static size_t list_words(const char *lowered, size_t size, char *words, size_t *starts) {
	size_t count = 0, used = 0;
	for (size_t at = 0, piece; at < size; at += piece) {
		piece = words_piece(lowered + at, size - at);
		const bool digit = lowered[at] >= '0' && lowered[at] <= '9';
		if (!digit && !words_letter_size(lowered + at, size - at)) continue;
		starts[count++] = used;
		memcpy(words + used, lowered + at, piece);
		used += piece;
		words[used++] = ' ';
	}
	starts[count] = used;
	return count;
}

static void free_shape(struct text_shape *shape) {
	free(shape->runs);
	*shape = (struct text_shape){0};
}

/* Makes the shape of a text. False: out of memory, and nothing is owned. */
static bool make_shape(const char *text, size_t size, struct text_shape *shape) {
	*shape = (struct text_shape){0};
	char *lowered = malloc(size + 1), *words = malloc(2 * size + 1);
	size_t *starts = calloc(size + 1, sizeof *starts);
	shape->runs = calloc(size + 1, sizeof *shape->runs);
	const bool made = lowered && words && starts && shape->runs;
	if (made) {
		const size_t used = lower_text(text, size, lowered),
		             all = list_words(lowered, used, words, starts);
		(void)crypto_generichash(shape->whole, sizeof shape->whole,
		                         (const unsigned char *)lowered, used, NULL, 0);
		for (size_t i = 0; i + RUN_WORDS <= all; i++)
			shape->runs[shape->count++] =
			    hash_words(words + starts[i], starts[i + RUN_WORDS] - starts[i]);
		if (shape->count)
			qsort(shape->runs, shape->count, sizeof *shape->runs, compare_hashes);
		size_t kept = 0;
		for (size_t i = 0; i < shape->count; i++)
			if (!i || shape->runs[i] != shape->runs[i - 1])
				shape->runs[kept++] = shape->runs[i];
		shape->count = kept;
	}
	free(lowered);
	free(words);
	free(starts);
	if (!made) free_shape(shape);
	return made;
}

static bool are_duplicates(const struct text_shape *one, const struct text_shape *other) {
	if (!memcmp(one->whole, other->whole, sizeof one->whole)) return true;
	size_t common = 0;
	for (size_t i = 0, j = 0; i < one->count && j < other->count;) {
		common += one->runs[i] == other->runs[j];
		const bool step = one->runs[i] <= other->runs[j];
		j += other->runs[j] <= one->runs[i];
		i += step;
	}
	// |A and B| / |A or B| >= 4/5. Without a run in common nothing is.
	return common > 0 && 5 * common >= 4 * (one->count + other->count - common);
}

enum cuttle_status filters_open(const struct filters *filters, const struct filter_scale *scale,
                                struct filter_past **past, struct cuttle_error *error) {
	REQUIRE(!filters->drop[FILTER_UNLIKELY] || scale);
	*past = calloc(1, sizeof **past);
	if (!*past) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	(*past)->filters = *filters;
	(*past)->scale = scale;
	return CUTTLE_OK;
}

static bool keep_shape(struct filter_past *past, const struct text_shape *shape) {
	if (past->count == past->room) {
		const size_t room = 2 * past->room + 16;
		struct text_shape *grown = realloc(past->shapes, room * sizeof *grown);
		if (!grown) return false;
		past->shapes = grown;
		past->room = room;
	}
	past->shapes[past->count++] = *shape;
	return true;
}

/* *seen is whether the text is a duplicate; if not, it is remembered. False: out of memory. */
static bool compare_with_past(struct filter_past *past, const char *text, size_t size, bool *seen) {
	struct text_shape shape;
	*seen = false;
	if (!make_shape(text, size, &shape)) return false;
	for (size_t i = 0; i < past->count && !*seen; i++)
		*seen = are_duplicates(&past->shapes[i], &shape);
	if (!*seen && keep_shape(past, &shape)) return true;
	free_shape(&shape);
	return *seen;
}

/* *below is whether the text's mean is below the scale's least. */
static enum cuttle_status weigh_text(const struct filter_scale *scale, const char *text,
                                     size_t size, bool *below, struct cuttle_error *error) {
	double mean;
	const enum cuttle_status status = scale->mean(scale->user, text, size, &mean, error);
	// A text without a token has no mean: NaN is below nothing.
	*below = !status && mean < scale->least;
	return status;
}

enum cuttle_status filters_judge(struct filter_past *past, const char *text, size_t size,
                                 const int32_t *ids, size_t count, enum filter_rule *rule,
                                 struct cuttle_error *error) {
	bool found = false;
	*rule = FILTER_KEEP;
	if (past->filters.drop[FILTER_LOOPS]) {
		const enum cuttle_status status = filters_find_loops(ids, count, &found, error);
		if (status) return status;
		if (found) *rule = FILTER_LOOPS;
	}
	if (!found && past->filters.drop[FILTER_UNLIKELY]) {
		const enum cuttle_status status =
		    weigh_text(past->scale, text, size, &found, error);
		if (status) return status;
		if (found) *rule = FILTER_UNLIKELY;
	}
	if (found || !past->filters.drop[FILTER_DUPLICATES]) return CUTTLE_OK;
	if (!compare_with_past(past, text, size, &found))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (found) *rule = FILTER_DUPLICATES;
	return CUTTLE_OK;
}

void filters_close(struct filter_past **past) {
	if (!*past) return;
	for (size_t i = 0; i < (*past)->count; i++) free_shape(&(*past)->shapes[i]);
	free((*past)->shapes);
	free(*past);
	*past = NULL;
}
