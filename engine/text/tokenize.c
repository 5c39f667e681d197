// SPDX-License-Identifier: Apache-2.0
// Text to tokens, as vocab.h describes it. Private text passes through; what is kept of it during a
// call is wiped at its end.
// First special.c finds the special tokens that are written out in the text. Each fragment between
// two of them then goes to the vocabulary's own algorithm: tokenize_bpe.c or tokenize_spm.c.
// Example: "<|im_start|>user" is a special token and the fragment "user".
#include "engine/text/vocab_internal.h"

#include "base/misuse.h"
#include "engine/status.h"

#include <stdlib.h>
#include <string.h>

size_t vocab_tokens_bound(size_t bytes) {
	return bytes > (SIZE_MAX - 4) / 4 ? SIZE_MAX : bytes * 4 + 4;
}

enum vocab_lead vocab_lead_after(const struct vocab *vocab, int32_t id) {
	const enum vocab_token_type type = vocab_type(vocab, id);
	return type == VOCAB_CONTROL || type == VOCAB_UNKNOWN || type == VOCAB_USER_DEFINED
	           ? VOCAB_START
	           : VOCAB_TEXT;
}

enum cuttle_status vocab_tokenize(const struct vocab *vocab, const char *text, size_t size,
                                  bool parse_special, int32_t *ids, size_t capacity, size_t *count,
                                  struct cuttle_error *error) {
	return vocab_tokenize_piece(vocab, VOCAB_START, text, size, parse_special, ids, capacity,
	                            count, error);
}

enum cuttle_status vocab_tokenize_piece(const struct vocab *vocab, enum vocab_lead lead,
                                        const char *text, size_t size, bool parse_special,
                                        int32_t *ids, size_t capacity, size_t *count,
                                        struct cuttle_error *error) {
	REQUIRE(vocab && count && *count <= capacity && (text || !size) && (ids || !capacity));
	struct special_match *matches = NULL;
	size_t match_count = 0, position = 0;
	if (!special_find(&vocab->special, text, size, parse_special, &matches, &match_count))
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	struct token_run run = {
	    .vocab = vocab, .ids = ids, .capacity = capacity, .count = *count, .lead = lead};
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; i <= match_count && !status; i++) {
		size_t end = i < match_count ? matches[i].position : size;
		if (end > position)
			status = (vocab_is_spm(vocab) ? tokenize_spm : tokenize_bpe)(
			    &run, text + position, end - position, error);
		if (status || i == match_count) break;
		if (!token_run_put(&run, matches[i].id))
			status = status_fail(error, CUTTLE_USAGE, "the token array is too small");
		position = end + matches[i].length;
		run.lead = VOCAB_START;
	}
	merge_free(&run.space);
	explicit_bzero(run.pairs, sizeof run.pairs);
	free(matches);
	if (!status) *count = run.count;
	return status;
}
