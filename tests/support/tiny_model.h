// SPDX-License-Identifier: Apache-2.0
// tiny_model.h: a random Llama small enough to run thousands of times, for tests. It has 2 layers,
// width 64, 4 heads and 2 KV heads of 16, FFN 96 and a byte-level vocabulary.
#ifndef CUTTLE_TESTS_TINY_MODEL_H
#define CUTTLE_TESTS_TINY_MODEL_H

#include "engine/cuttle.h"
#include "tests/support/gguf_writer.h"

#include <stdbool.h>

enum {
	TINY_LAYERS = 2,
	TINY_WIDTH = 64,
	TINY_HEADS = 4,
	TINY_KV_HEADS = 2,
	TINY_FFN = 96,
	TINY_WIDE_WIDTH = 256, /* for types with blocks of 256; then heads have 64, the FFN 512 */
	TINY_CONTEXT = 512,    /* tokens */
	TINY_BYTES = 256,      /* tokens 0..255 are the bytes */
	TINY_EOS = 256,        /* "<|im_end|>" */
	TINY_START = 257,      /* "<|im_start|>" */
	TINY_NAN = 258,        /* "zz", which the one merge makes: its embedding holds NaN */
	TINY_VOCAB = 259
};

/* Set before a model is made, it leaves the NaN out: for texts of so many tokens that TINY_NAN
 * would be drawn now and then. */
extern bool tiny_model_finite;

/* Makes the model as a GGUF file of *size bytes, which the caller frees. Embedding and head have
 * the type `embedding`, the other matrices the type `matrix`. */
uint8_t *tiny_model_bytes(enum gguf_tensor_type matrix, enum gguf_tensor_type embedding,
                          uint64_t seed, size_t *size);

/* Makes the model with all matrices of one type, with `width` instead of 64. The FFN is twice as
 * wide as that, unless `width` is 64. The output norm is 64 / width times the usual one, so that
 * logits vary as before. */
uint8_t *tiny_model_of_width(enum gguf_tensor_type type, size_t width, size_t *size);

/* Writes its vocabulary of TINY_VOCAB tokens. */
void tiny_vocab_write(struct gguf_writer *writer);

/* Writes the model to a temporary file, opens it with `threads`, and removes the file. A failure
 * ends the test. */
struct cuttle_model *tiny_model_open(enum gguf_tensor_type matrix, enum gguf_tensor_type embedding,
                                     unsigned threads);
/* The same with the bytes of any file. Frees `bytes`. */
struct cuttle_model *tiny_model_open_bytes(uint8_t *bytes, size_t size, unsigned threads);

/* The model of Q4_1, with embedding and head of F32, and no NaN in it. A run that never ends a text
 * would draw the token TINY_NAN sooner or later. */
struct cuttle_model *tiny_model_open_healthy(unsigned threads);

/* The next of a stream of random numbers (splitmix64). The same state gives the same numbers. */
uint64_t tiny_random(uint64_t *state);

#endif
