// SPDX-License-Identifier: Apache-2.0
// The scores of a SentencePiece vocabulary, which tokenizer.json has turned into an order of merges.
#ifndef CUTTLE_CONVERT_SPM_SCORES_H
#define CUTTLE_CONVERT_SPM_SCORES_H

#include "engine/gguf.h"
#include <jansson.h>

struct spm_tokens {
	const json_t *vocab, *merges; /* text -> id; pairs, best first */
	const struct gguf_string *texts;
	const int32_t *types; /* tokenizer.ggml.token_type; 1 is an ordinary token */
	size_t size;
};

/* *scores[size], the caller frees, such that merging the neighbours that make the best-scored token does what the merges do. That is so
 * when all ways to halve a merged token are merges, one after another: else MODEL. NOMEM. */
enum cuttle_status spm_scores(const struct spm_tokens *tokens, float **scores, struct cuttle_error *error);

#endif
