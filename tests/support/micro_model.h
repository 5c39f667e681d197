// SPDX-License-Identifier: Apache-2.0
// micro_model.h: the smallest GGUF model that opens, about 6 KiB. Tests cut or change it at every
// byte, and fuzzers begin with it. It has 1 layer, 2 heads of 16, and matrices of Q4_0.
#ifndef CUTTLE_TESTS_MICRO_MODEL_H
#define CUTTLE_TESTS_MICRO_MODEL_H

#include "tests/support/gguf_writer.h"

enum {
	MICRO_WIDTH = 32, /* of the rows and of the FFN */
	MICRO_HEADS = 2,  /* of 16 values each */
	MICRO_VOCAB = 6   /* tokens */
};
enum micro_tokenizer { MICRO_SPM, MICRO_BPE };

/* Returns a writer that holds the model without the key or tensor called `without`; NULL: all of
 * it. The test then writes its own version of that key. A `without` that ends in '*' leaves out all
 * names that begin like it: "blk.0.attn_*" leaves out the attention. */
struct gguf_writer *micro_model_begin(enum micro_tokenizer tokenizer, const char *without);

/* Returns the whole model in *size bytes, which the caller frees. */
uint8_t *micro_model_bytes(enum micro_tokenizer tokenizer, size_t *size);

#endif
