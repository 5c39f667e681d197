// SPDX-License-Identifier: Apache-2.0
// spm_scores.h: finds the scores of a SentencePiece vocabulary from the merges of tokenizer.json.
// No private data passes here.
// SentencePiece joins the two neighbours that make the token with the best score, again and again.
// tokenizer.json has a list of merges instead, best first. A GGUF file needs the scores.
#ifndef CUTTLE_CONVERT_SPM_SCORES_H
#define CUTTLE_CONVERT_SPM_SCORES_H

#include "engine/gguf.h"
#include <jansson.h>

struct spm_tokens {
	const json_t *vocab;             /* text -> id */
	const json_t *merges;            /* pairs, best first: ["a", "b"] or "a b" */
	const struct gguf_string *texts; /* [size] by id */
	const int32_t *types;            /* [size] tokenizer.ggml.token_type; 1: ordinary token */
	size_t size;                     /* tokens */
};

/* Makes (*scores)[size], which the caller frees. Joining neighbours by these scores gives the same
 * tokens as the merges. That holds when every way to cut a merged token into two tokens is a merge,
 * and a token's merges follow one another in the list. MODEL: it does not hold, or a merge is
 * malformed. NOMEM: out of memory. After a failure *scores is NULL. */
enum cuttle_status spm_scores(const struct spm_tokens *tokens, float **scores,
                              struct cuttle_error *error);

#endif
