// SPDX-License-Identifier: Apache-2.0
// SentencePiece as llama.cpp does it. Each space becomes U+2581 "▁". The symbols are at first the
// characters; merge.c merges the pair whose text has the best score first. A symbol that is no
// token at the end becomes the tokens of its bytes.
#include "engine/text/vocab_internal.h"

#include "engine/status.h"

#include <stdlib.h>
#include <string.h>

struct spm_rules {
	const struct vocab *vocab;
	const char *text;
	struct spm_pair *pairs;
};

static bool look_up_pair(const void *given, const struct merge_symbol *left,
                         const struct merge_symbol *right, uint32_t *rank, int32_t *id) {
	const struct spm_rules *rules = given;
	const struct vocab *vocab = rules->vocab;
	const size_t length = (size_t)left->length + right->length;
	if (length > vocab->longest) return false;
	const bool tokens = left->id >= 0 && right->id >= 0;
	// Fibonacci hashing gives the one entry of the cache where a pair can be. Symbols that are
	// no tokens have no entry.
	const uint64_t pair = (uint64_t)((int64_t)left->id + 1) << 32 | (uint32_t)right->id;
	struct spm_pair *known = &rules->pairs[pair * 0x9e3779b97f4a7c15 >> 32 & (SPM_PAIRS - 1)],
	                unknown;
	if (!tokens) known = &unknown;
	if (!tokens || known->pair != pair) {
		const int32_t found = vocab_find(vocab, rules->text + left->start, length);
		// llama.cpp would also take control and byte tokens here. No text may become those.
		const bool ordinary = found >= 0 && vocab_ordinary(vocab, found);
		*known = (struct spm_pair){pair, ordinary ? vocab->tokens[found].rank : 0,
		                           ordinary ? found : -1};
	}
	if (known->merged < 0) return false;
	*rank = known->rank;
	*id = known->merged;
	return true;
}

/* The length of a character by its first byte alone. The bytes after it are not checked, for
 * SentencePiece vocabularies take any bytes. */
static uint32_t character_length(unsigned char lead) {
	return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

static enum cuttle_status merge_text(struct token_run *run, const char *text, size_t size,
                                     struct cuttle_error *error) {
	const struct vocab *vocab = run->vocab;
	if (size >= MERGE_NONE)
		return status_fail(error, CUTTLE_USAGE,
		                   "a text is longer than this tokenizer takes (4 GiB)");
	size_t count = 0;
	for (size_t i = 0; i < size; i += character_length((unsigned char)text[i])) count++;
	if (!merge_reserve(&run->space, count))
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	count = 0;
	for (size_t i = 0; i < size; count++) {
		size_t length = character_length((unsigned char)text[i]);
		if (length > size - i) length = size - i;
		int32_t id = vocab_find(vocab, text + i, length);
		if (id >= 0 && !vocab_ordinary(vocab, id)) id = -1;
		run->space.symbols[count] = (struct merge_symbol){
		    .start = (uint32_t)i, .length = (uint32_t)length, .id = id};
		i += length;
	}
	const struct spm_rules rules = {vocab, text, run->pairs};
	merge_run(&run->space, count, look_up_pair, &rules);

	bool fits = true;
	for (uint32_t at = 0; at != MERGE_NONE; at = run->space.symbols[at].next) {
		const struct merge_symbol *symbol = &run->space.symbols[at];
		if (symbol->id >= 0) {
			fits &= token_run_put(run, symbol->id);
			continue;
		}
		for (uint32_t i = 0; i < symbol->length; i++)
			fits &= token_run_put(
			    run, vocab->byte_token[(unsigned char)text[symbol->start + i]]);
	}
	return fits ? CUTTLE_OK : status_fail(error, CUTTLE_USAGE, "the token array is too small");
}

enum cuttle_status tokenize_spm(struct token_run *run, const char *text, size_t size,
                                struct cuttle_error *error) {
	char *escaped = size > SIZE_MAX / 4 ? NULL : malloc((size + 1) * 3);
	if (!escaped) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	size_t length = 0;
	if (run->lead == VOCAB_SPACE ||
	    (run->lead == VOCAB_START && run->vocab->add_space_prefix)) {
		memcpy(escaped, "\xe2\x96\x81", 3);
		length = 3;
	}
	for (size_t i = 0; i < size; i++) {
		if (text[i] == ' ') {
			memcpy(escaped + length, "\xe2\x96\x81", 3);
			length += 3;
		} else {
			escaped[length++] = text[i];
		}
	}
	enum cuttle_status status = merge_text(run, escaped, length, error);
	explicit_bzero(escaped, length);
	free(escaped);
	return status;
}
