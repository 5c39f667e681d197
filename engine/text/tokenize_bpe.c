// SPDX-License-Identifier: Apache-2.0
// Byte-level BPE, in two steps. A pre-tokenizer cuts the text into words: "It's 42" into "It",
// "'s" and " 42" by GPT-2's pattern. Then merge.c merges the bytes of each word into tokens.
//
// A pre-tokenizer is published as a regular expression. Here each is written out as a linear
// scanner: no text can make it recurse or backtrack. A scan_ function returns where the word, or
// the run of characters, that begins at `position` ends.
//
// Sources: GPT-2 encoder.py (its pattern); llama.cpp src/llama-vocab.cpp (smollm, which sets each
// digit apart first; the patterns of llama-bpe and qwen2; default, what it does for files that name
// no pre-tokenizer); tiktoken openai_public.py (o200k_base, which gpt-4o names).
#include "engine/text/vocab_internal.h"

#include "engine/status.h"
#include "engine/text/gpt2_bytes.h"
#include "engine/text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* Returns the class of the character at `position` < end, and sets *after to its end. Punctuation
 * counts as OTHER here, as in all patterns but one. The text is valid UTF-8. */
static enum unicode_class read_class(const char *text, size_t position, size_t end, size_t *after) {
	uint32_t code_point;
	*after = position + utf8_decode(text + position, end - position, &code_point);
	const enum unicode_class class = unicode_class(code_point);
	return class == UNICODE_PUNCTUATION ? UNICODE_OTHER : class;
}

/* Returns the end of the run of one class that begins at `position`. *last is where the run's last
 * character begins (`position` when the run is empty). */
static size_t scan_class(const char *text, size_t position, size_t end, enum unicode_class class,
                         size_t *last) {
	*last = position;
	for (size_t after; position < end && read_class(text, position, end, &after) == class;
	     position = after)
		*last = position;
	return position;
}

/* Matches 's|'t|'re|'ve|'m|'ll|'d at the start of text; with any_case also 'S, 'Re and so on.
 * Returns the length, or 0. */
static size_t match_contraction(const char *text, size_t size, bool any_case) {
	if (size < 2 || text[0] != '\'') return 0;
	char fold = any_case ? 0x20 : 0, first = (char)(text[1] | fold),
	     second = size > 2 ? (char)(text[2] | fold) : '\0';
	if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
	if ((first == 'r' && second == 'e') || (first == 'v' && second == 'e') ||
	    (first == 'l' && second == 'l'))
		return 3;
	return 0;
}

/* \s+(?!\S)|\s+ at white space: a run of white space to its end. Where a word follows, the last
 * character is left to it, unless the run has only that one. Of three spaces before "a", two. */
static size_t scan_space(const char *text, size_t position, size_t end) {
	size_t last, after = scan_class(text, position, end, UNICODE_SPACE, &last);
	return after < end && last > position ? last : after;
}

/* 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+ */
static size_t scan_gpt2_word(const char *text, size_t position, size_t end) {
	size_t length = match_contraction(text + position, end - position, false), ignored;
	if (length) return position + length;
	size_t start = position + (text[position] == ' ' && position + 1 < end);
	enum unicode_class class = read_class(text, start, end, &ignored);
	return class == UNICODE_SPACE ? scan_space(text, position, end)
	                              : scan_class(text, start, end, class, &ignored);
}

static bool is_newline(char byte) {
	return byte == '\r' || byte == '\n';
}

/* \p{N}{1,most_digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+ at what is no letter,
 * and none to which one belongs. With `slash` it is [\r\n/]*. */
static size_t scan_between(const char *text, size_t position, size_t end, int most_digits,
                           bool slash) {
	size_t after, ignored;
	const enum unicode_class class = read_class(text, position, end, &after);
	if (class == UNICODE_NUMBER) {
		for (int digits = 1; digits < most_digits && after < end &&
		                     read_class(text, after, end, &ignored) == UNICODE_NUMBER;
		     digits++)
			after = ignored;
		return after;
	}
	const enum unicode_class next =
	    after < end ? read_class(text, after, end, &ignored) : UNICODE_SPACE;
	if (class == UNICODE_OTHER || (text[position] == ' ' && next == UNICODE_OTHER)) {
		size_t word = scan_class(text, class == UNICODE_OTHER ? position : after, end,
		                         UNICODE_OTHER, &ignored);
		while (word < end && (is_newline(text[word]) || (slash && text[word] == '/')))
			word++;
		return word;
	}
	size_t run = scan_class(text, position, end, UNICODE_SPACE, &ignored);
	for (size_t i = run; i > position; i--)
		if (is_newline(text[i - 1])) return i;
	return scan_space(text, position, end);
}

/* (?:'[sS]|..)|[^\r\n\p{L}\p{N}]?\p{L}+, or as scan_between */
static size_t scan_llama3_word(const char *text, size_t position, size_t end, int most_digits) {
	size_t length = match_contraction(text + position, end - position, true), after, ignored;
	if (length) return position + length;
	const enum unicode_class class = read_class(text, position, end, &after);
	if (class == UNICODE_LETTER) return scan_class(text, position, end, class, &ignored);
	if (class != UNICODE_NUMBER && after < end && !is_newline(text[position]) &&
	    read_class(text, after, end, &ignored) == UNICODE_LETTER)
		return scan_class(text, after, end, UNICODE_LETTER, &ignored);
	return scan_between(text, position, end, most_digits, false);
}

/* The end of the run of these cases that begins at `position`. *both is the end of its last
 * character of both cases; 0 = it has none. */
static size_t scan_cases(const char *text, size_t position, size_t end, enum unicode_case one,
                         size_t *both) {
	*both = 0;
	while (position < end) {
		uint32_t code_point;
		const size_t after =
		    position + utf8_decode(text + position, end - position, &code_point);
		const enum unicode_case its = unicode_case(code_point);
		if (its != one && its != UNICODE_BOTH) break;
		if (its == UNICODE_BOTH) *both = after;
		position = after;
	}
	return position;
}

/* With U for [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}] and L for [\p{Ll}\p{Lm}\p{Lo}\p{M}]: the end of U*L+
 * at `position`, or of U+ where `capitals`; 0 = there is none. U* takes all it can. Where no small
 * letter follows it gives back as few characters as leave one for L+. */
static size_t scan_cased(const char *text, size_t position, size_t end, bool capitals) {
	size_t both, ignored;
	const size_t upper = scan_cases(text, position, end, UNICODE_UPPER, &both),
	             lower = scan_cases(text, upper, end, UNICODE_LOWER, &ignored);
	if (capitals) return upper > position ? upper : 0;
	return lower > upper ? lower : both;
}

/* X?U*L+(?i:'s|..)?|X?U+L*(?i:'s|..)? with X for [^\r\n\p{L}\p{N}], or as scan_between. L* finds
 * nothing where the first half did not. */
static size_t scan_gpt4o_word(const char *text, size_t position, size_t end) {
	size_t after, word = 0;
	const enum unicode_class class = read_class(text, position, end, &after);
	const bool before =
	    class != UNICODE_LETTER && class != UNICODE_NUMBER && !is_newline(text[position]);
	for (int capitals = 0; capitals < 2 && !word; capitals++) {
		if (before) word = scan_cased(text, after, end, capitals);
		if (!word) word = scan_cased(text, position, end, capitals);
	}
	if (!word) return scan_between(text, position, end, 3, true);
	return word + match_contraction(text + word, end - word, true);
}

/* [\p{P}$+<=>^~|] */
static bool read_mark(const char *text, size_t position, size_t end, size_t *after) {
	uint32_t code_point;
	*after = position + utf8_decode(text + position, end - position, &code_point);
	return unicode_class(code_point) == UNICODE_PUNCTUATION ||
	       (code_point && code_point < 0x80 && strchr("$+<=>^~|", (int)code_point));
}

static bool has_three_digits(const char *text, size_t position, size_t end) {
	for (size_t i = position; i < position + 3; i++)
		if (i >= end || text[i] < '0' || text[i] > '9') return false;
	return true;
}

/* Three patterns in turn: GPT-2's; then \p{N}+, which parts a number from the space before it; then
 * [0-9][0-9][0-9], which parts three digits from the numbers around them. " 12345" becomes " ",
 * "123" and "45". */
static size_t scan_default_word(const char *text, size_t position, size_t end) {
	size_t after;
	if (text[position] == ' ' && position + 1 < end &&
	    read_class(text, position + 1, end, &after) == UNICODE_NUMBER)
		return position + 1;
	if (read_class(text, position, end, &after) != UNICODE_NUMBER)
		return scan_gpt2_word(text, position, end);
	if (has_three_digits(text, position, end)) return position + 3;
	for (size_t next = after; after < end && !has_three_digits(text, after, end); after = next)
		if (read_class(text, after, end, &next) != UNICODE_NUMBER) break;
	return after;
}

static size_t scan_word(enum vocab_split split, const char *text, size_t position, size_t end) {
	switch (split) {
	case VOCAB_SPLIT_LLAMA3:
		return scan_llama3_word(text, position, end, 3);
	case VOCAB_SPLIT_QWEN2:
		return scan_llama3_word(text, position, end, 1);
	case VOCAB_SPLIT_GPT4O:
		return scan_gpt4o_word(text, position, end);
	case VOCAB_SPLIT_DEFAULT:
		return scan_default_word(text, position, end);
	default:
		return scan_gpt2_word(text, position, end);
	}
}

struct bpe_rules {
	const struct vocab *vocab;
};

static bool look_up_rule(const void *rules, const struct merge_symbol *left,
                         const struct merge_symbol *right, uint32_t *rank, int32_t *id) {
	const struct vocab *vocab = ((const struct bpe_rules *)rules)->vocab;
	if (left->id < 0 || right->id < 0) return false;
	uint64_t pair = (uint64_t)left->id << 32 | (uint32_t)right->id;
	size_t low = vocab->first_rule[left->id], high = vocab->first_rule[left->id + 1];
	const size_t end = high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (vocab->rules[middle].pair < pair) low = middle + 1;
		else high = middle;
	}
	if (low == end || vocab->rules[low].pair != pair) return false;
	*rank = vocab->rules[low].rank;
	*id = vocab->rules[low].merged;
	return true;
}

/* Returns the token whose text is this whole word, or -1. */
static int32_t find_whole_word(const struct vocab *vocab, const char *word, size_t size) {
	char letters[VOCAB_TOKEN_MAX + 4];
	size_t length = 0;
	for (size_t i = 0; i < size && length <= vocab->longest; i++)
		length += utf8_write(gpt2_letter((unsigned char)word[i]), letters + length);
	int32_t id = length <= vocab->longest ? vocab_find(vocab, letters, length) : -1;
	return id >= 0 && vocab_ordinary(vocab, id) ? id : -1;
}

static enum cuttle_status tokenize_word(struct token_run *run, const char *word, size_t size,
                                        struct cuttle_error *error) {
	const struct vocab *vocab = run->vocab;
	int32_t whole = vocab->ignore_merges ? find_whole_word(vocab, word, size) : -1;
	bool fits = whole < 0 || token_run_put(run, whole);
	if (whole < 0) {
		if (size >= MERGE_NONE)
			return status_fail(error, CUTTLE_USAGE,
			                   "a word is longer than this tokenizer takes (4 GiB)");
		if (!merge_reserve(&run->space, size))
			return status_fail(error, CUTTLE_NOMEM, "out of memory");
		for (size_t i = 0; i < size; i++)
			run->space.symbols[i] =
			    (struct merge_symbol){.start = (uint32_t)i,
			                          .length = 1,
			                          .id = vocab->byte_token[(unsigned char)word[i]]};
		const struct bpe_rules rules = {vocab};
		merge_run(&run->space, size, look_up_rule, &rules);
		// A byte that has no token is left out, as in llama.cpp and in Hugging Face's
		// tokenizers without an unknown token.
		for (uint32_t at = 0; at != MERGE_NONE; at = run->space.symbols[at].next)
			if (run->space.symbols[at].id >= 0)
				fits &= token_run_put(run, run->space.symbols[at].id);
	}
	return fits ? CUTTLE_OK : status_fail(error, CUTTLE_USAGE, "the token array is too small");
}

/* Some pre-tokenizers first cut the text into pieces, and the word scanner sees one piece at a
 * time. Returns the piece's end. smollm makes each \p{N} a piece of its own: "a12" is "a", "1" and
 * "2". default makes each run of marks one: "a!?b" is "a", "!?" and "b". For the others, the whole
 * text is one piece. */
static size_t scan_piece(enum vocab_split split, const char *text, size_t position, size_t end) {
	size_t start = position, after;
	if (split == VOCAB_SPLIT_DEFAULT) {
		const bool mark = read_mark(text, position, end, &after);
		for (position = after;
		     position < end && read_mark(text, position, end, &after) == mark;)
			position = after;
		return position;
	}
	if (split != VOCAB_SPLIT_SMOLLM) return end;
	for (; position < end; position = after)
		if (read_class(text, position, end, &after) == UNICODE_NUMBER)
			return position > start ? position : after;
	return end;
}

static enum cuttle_status tokenize_words(struct token_run *run, const char *text, size_t size,
                                         struct cuttle_error *error) {
	enum vocab_split split = run->vocab->split;
	for (size_t position = 0; position < size;) {
		size_t piece = scan_piece(split, text, position, size);
		while (position < piece) {
			size_t after = scan_word(split, text, position, piece);
			enum cuttle_status status =
			    tokenize_word(run, text + position, after - position, error);
			if (status) return status;
			position = after;
		}
	}
	return CUTTLE_OK;
}

enum cuttle_status tokenize_bpe(struct token_run *run, const char *text, size_t size,
                                struct cuttle_error *error) {
	if (utf8_valid(text, size)) return tokenize_words(run, text, size, error);
	// Each byte that begins no character becomes U+FFFD, which has three bytes. No reference
	// comes here (it is valid UTF-8, or null), so the copy is not wiped.
	char *mended = size > SIZE_MAX / 4 ? NULL : malloc(size * 3);
	if (!mended) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	size_t length = 0;
	for (size_t i = 0, step; i < size; i += step) {
		uint32_t code_point;
		step = utf8_decode(text + i, size - i, &code_point);
		if (!step) step = 1;
		length += utf8_write(code_point, mended + length);
	}
	enum cuttle_status status = tokenize_words(run, mended, length, error);
	free(mended);
	return status;
}
