// SPDX-License-Identifier: Apache-2.0
// tokenizer.json -> tokenizer.ggml.*: byte-level BPE with a known pre-tokenizer, or SentencePiece's BPE with byte fallback.
#ifndef CUTTLE_CONVERT_HF_VOCAB_H
#define CUTTLE_CONVERT_HF_VOCAB_H

#include "convert/gguf_out.h"
#include <jansson.h>

/* The parsed files; those but `tokenizer` may be NULL. `size` is the model's vocabulary: ids without a token become unused ones. */
struct hf_vocab {
	const json_t *tokenizer, *tokenizer_config, *config;
	size_t size;
};

/* MODEL: a tokenizer GGUF cannot express to the token, or that contradicts itself; the message says what. NOMEM. */
enum cuttle_status hf_vocab_write(const struct hf_vocab *vocab, struct gguf_out *out, struct cuttle_error *error);

#endif
