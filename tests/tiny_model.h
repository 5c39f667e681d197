// SPDX-License-Identifier: Apache-2.0
// A random Llama small enough to run thousands of times: 2 layers, width 64, 4 heads and 2 KV heads of 16, FFN 96, byte-level vocabulary.
#ifndef CUTTLE_TESTS_TINY_MODEL_H
#define CUTTLE_TESTS_TINY_MODEL_H

#include "engine/cuttle.h"
#include "tests/gguf_writer.h"

enum {
	TINY_LAYERS = 2,
	TINY_WIDTH = 64,
	TINY_HEADS = 4,
	TINY_KV_HEADS = 2,
	TINY_FFN = 96,
	TINY_WIDE_WIDTH = 256, /* and head size 64, FFN 512, for types whose blocks are 256 long */
	TINY_CONTEXT = 512,
	TINY_BYTES = 256, /* tokens 0..255 are the bytes */
	TINY_EOS = 256,   /* "<|im_end|>" */
	TINY_START = 257, /* "<|im_start|>" */
	TINY_NAN = 258,   /* "zz", the one merge: its embedding is not finite */
	TINY_VOCAB = 259
};

/* A GGUF file; matrices of type `matrix`, embedding and head of type `embedding`. The caller frees. */
uint8_t *tiny_model_bytes(enum gguf_tensor_type matrix, enum gguf_tensor_type embedding, uint64_t seed, size_t *size);

/* All of one type, `width` instead of 64 and an FFN twice as wide; the output norm is smaller by as much, so that logits vary as before. */
uint8_t *tiny_model_of_width(enum gguf_tensor_type type, size_t width, size_t *size);

/* Its vocabulary, with TINY_VOCAB tokens. */
void tiny_vocab_write(struct gguf_writer *writer);

/* Writes it to a temporary file, opens it with `threads`, removes the file. Ends the test when that fails. */
struct cuttle_model *tiny_model_open(enum gguf_tensor_type matrix, enum gguf_tensor_type embedding, unsigned threads);
/* The same of a file's bytes, which it frees. */
struct cuttle_model *tiny_model_open_bytes(uint8_t *bytes, size_t size, unsigned threads);

/* A reproducible stream of numbers. */
uint64_t tiny_random(uint64_t *state);

#endif
