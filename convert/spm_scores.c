// SPDX-License-Identifier: Apache-2.0
// How scores are found again from merges. The score of a token is minus its place in an order:
//  - Where the merges make tokens in the order of their ids, the place is the id. SentencePiece
//    numbers its tokens best first.
//  - Elsewhere the place is the rank: the number of the first merge that makes the token.
#include "convert/spm_scores.h"

#include "io/disk/fail.h"

#include <stdlib.h>
#include <string.h>

enum {
	TEXT_MOST = 1024, /* bytes of a token that merges make, with its NUL */
	ORDINARY = 1      /* the tokenizer.ggml.token_type of an ordinary token */
};

#define FAIL(...) io_fail(error, CUTTLE_MODEL, "tokenizer.json: " __VA_ARGS__)

struct merges {
	uint64_t *pairs; /* [count] left id << 32 | right id, sorted */
	uint32_t *rank;  /* by id: number of the token's first merge; UINT32_MAX: it has none */
	size_t count;
	bool by_id; /* the merges make tokens in the order of their ids */
};

static int compare_pairs(const void *a, const void *b) {
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

/* The id of the piece text[size], or -1. hf_vocab.c has checked all ids before. */
static json_int_t find_piece(const struct spm_tokens *tokens, const char *text, size_t size) {
	char copy[TEXT_MOST];
	if (size >= sizeof copy) return -1;
	memcpy(copy, text, size);
	copy[size] = 0;
	const json_t *id = json_object_get(tokens->vocab, copy);
	return id ? json_integer_value(id) : -1;
}

/* Reads one merge: ids are those of the left half, the right half and the token they make. False:
 * the merge is malformed, or one of the three is no token. */
static bool read_merge(const struct spm_tokens *tokens, const json_t *merge, json_int_t ids[3]) {
	const char *left = json_string_value(json_array_get(merge, 0)),
	           *right = json_string_value(json_array_get(merge, 1));
	const char *text = json_string_value(merge),
	           *space = text && *text ? strchr(text + 1, ' ') : NULL;
	size_t left_size = left ? strlen(left) : 0;
	char whole[TEXT_MOST];
	if (space) {
		left = text;
		left_size = (size_t)(space - text);
		right = space + 1;
	}
	if (!left || !right || left_size + strlen(right) >= sizeof whole) return false;
	memcpy(whole, left, left_size);
	memcpy(whole + left_size, right, strlen(right));
	ids[0] = find_piece(tokens, left, left_size);
	ids[1] = find_piece(tokens, right, strlen(right));
	ids[2] = find_piece(tokens, whole, left_size + strlen(right));
	return ids[0] >= 0 && ids[1] >= 0 && ids[2] >= 0;
}

static enum cuttle_status read_spm_merges(const struct spm_tokens *tokens, struct merges *merges,
                                          struct cuttle_error *error) {
	json_int_t last = -1;
	merges->by_id = true;
	for (size_t i = 0; i < tokens->size; i++) merges->rank[i] = UINT32_MAX;
	for (size_t i = 0; i < merges->count; i++) {
		json_int_t ids[3];
		if (!read_merge(tokens, json_array_get(tokens->merges, i), ids))
			return FAIL("merge %zu is not two tokens that make a third", i);
		merges->pairs[i] = (uint64_t)ids[0] << 32 | (uint64_t)ids[1];
		if (ids[2] == last || tokens->types[ids[2]] != ORDINARY) continue;
		if (merges->rank[ids[2]] != UINT32_MAX)
			return FAIL(
			    "the merges are not in the order of a SentencePiece vocabulary");
		merges->rank[ids[2]] = (uint32_t)i;
		merges->by_id &= ids[2] > last;
		last = ids[2];
	}
	qsort(merges->pairs, merges->count, sizeof *merges->pairs, compare_pairs);
	return CUTTLE_OK;
}

/* Whether `text`, cut before byte `at`, gives two ordinary tokens that no merge joins. */
static bool lacks_merge(const struct spm_tokens *tokens, const struct merges *merges,
                        struct gguf_string text, size_t at) {
	const json_int_t left = find_piece(tokens, text.text, at),
	                 right = left < 0 ? -1 : find_piece(tokens, text.text + at, text.size - at);
	if (left < 0 || right < 0 || tokens->types[left] != ORDINARY ||
	    tokens->types[right] != ORDINARY)
		return false;
	const uint64_t pair = (uint64_t)left << 32 | (uint64_t)right;
	return !bsearch(&pair, merges->pairs, merges->count, sizeof pair, compare_pairs);
}

static enum cuttle_status check_halves(const struct spm_tokens *tokens, const struct merges *merges,
                                       struct cuttle_error *error) {
	for (size_t id = 0; id < tokens->size; id++) {
		// Where ids give the order, a token without any merge has its place by its id.
		if (tokens->types[id] != ORDINARY ||
		    (merges->by_id && merges->rank[id] == UINT32_MAX))
			continue;
		if (tokens->texts[id].size >= TEXT_MOST)
			return FAIL("token %zu is longer than %d bytes", id, TEXT_MOST);
		for (size_t at = 1; at < tokens->texts[id].size; at++)
			if (lacks_merge(tokens, merges, tokens->texts[id], at))
				return FAIL("token %zu could be made of halves that are no merge: "
				            "this is not a SentencePiece vocabulary",
				            id);
	}
	return CUTTLE_OK;
}

enum cuttle_status spm_scores(const struct spm_tokens *tokens, float **scores,
                              struct cuttle_error *error) {
	struct merges merges = {.count = json_array_size(tokens->merges)};
	merges.pairs = calloc(merges.count + 1, sizeof *merges.pairs);
	merges.rank = calloc(tokens->size, sizeof *merges.rank);
	float *made = calloc(tokens->size, sizeof *made);
	enum cuttle_status status = CUTTLE_OK;
	if (!merges.pairs || !merges.rank || !made)
		status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = read_spm_merges(tokens, &merges, error);
	if (!status) status = check_halves(tokens, &merges, error);
	size_t first = 0;
	while (!status && first < tokens->size && tokens->types[first] != ORDINARY) first++;
	for (size_t id = first; !status && id < tokens->size; id++) {
		const size_t rank = merges.rank[id] == UINT32_MAX ? merges.count : merges.rank[id];
		if (tokens->types[id] == ORDINARY)
			made[id] = -(float)(merges.by_id ? id - first : rank);
	}
	free(merges.pairs);
	free(merges.rank);
	if (status) free(made);
	*scores = status ? NULL : made;
	return status;
}
