// SPDX-License-Identifier: Apache-2.0
// The smallest GGUF model that opens, about 6 KiB: for files that are cut or changed at every byte, and as a seed for fuzzers.
#ifndef CUTTLE_TESTS_MICRO_MODEL_H
#define CUTTLE_TESTS_MICRO_MODEL_H

#include "tests/gguf_writer.h"

enum { MICRO_WIDTH = 32, MICRO_HEADS = 2, MICRO_VOCAB = 6 };
enum micro_tokenizer { MICRO_SPM, MICRO_BPE };

/* A writer that holds the model but for the key or tensor called `without` (NULL = all of it): a test writes its own version in its place.
 * A `without` that ends in '*' means all that begin like it. 1 layer, width and FFN 32, 2 heads of 16, 6 tokens, Q4_0. */
struct gguf_writer *micro_model_begin(enum micro_tokenizer tokenizer, const char *without);

/* All of it, as gguf_writer_finish. */
uint8_t *micro_model_bytes(enum micro_tokenizer tokenizer, size_t *size);

#endif
