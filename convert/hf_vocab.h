// SPDX-License-Identifier: Apache-2.0
// hf_vocab.h: writes a Hugging Face tokenizer as the GGUF keys tokenizer.ggml.*.
// No private data passes here. Two kinds of tokenizer.json are converted: byte-level BPE with a
// known pre-tokenizer, and SentencePiece's BPE with byte fallback.
#ifndef CUTTLE_CONVERT_HF_VOCAB_H
#define CUTTLE_CONVERT_HF_VOCAB_H

#include "convert/gguf_out.h"
#include <jansson.h>

/* The parsed files, borrowed. */
struct hf_vocab {
	const json_t *tokenizer;        /* tokenizer.json */
	const json_t *tokenizer_config; /* tokenizer_config.json, or NULL */
	const json_t *config;           /* config.json, or NULL */
	size_t size; /* tokens of the model; an id that has none becomes an unused token */
};

/* Adds the keys to `out`. MODEL: the tokenizer contradicts itself, or no GGUF file would give the
 * same tokens for every text; the message says why. NOMEM: out of memory. */
enum cuttle_status hf_vocab_write(const struct hf_vocab *vocab, struct gguf_out *out,
                                  struct cuttle_error *error);

#endif
