// SPDX-License-Identifier: Apache-2.0
// A Llama-family model in memory: hyper-parameters, packed weights, vocabulary, worker threads. Immutable after model_open, but for the
// threads.
#ifndef CUTTLE_ENGINE_MODEL_H
#define CUTTLE_ENGINE_MODEL_H

#include "engine/architecture.h"
#include "engine/chat.h"
#include "engine/region.h"
#include "engine/threads.h"
#include "engine/vocab.h"
#include "kernels/kernels.h"

enum { MAX_HEAD_SIZE = 256 };

struct layer {
	const float *attention_norm, *ffn_norm;          /* [width] */
	const float *query_bias, *key_bias, *value_bias; /* as many as outputs; NULL where the architecture has none */
	const float *query_norm, *key_norm;              /* [head_size]; NULL where the architecture has none */
	struct packed_matrix query, key, value,
	    output;                          /* [heads*head_size or kv_heads*head_size][width], output [width][heads*head_size] */
	struct packed_matrix gate, up, down; /* [ffn][width], down [width][ffn] */
};

/* Where the file's heads rotate in halves, the rows of query and key are put into adjacent pairs as they are read: one rotation for all. */
struct model {
	const struct architecture *architecture;
	size_t layers, width, heads, kv_heads, head_size, ffn, vocab_size, context, rotated;
	float norm_epsilon;
	double *rope_frequencies;             /* [rotated/2] */
	struct layer *layer;                  /* [layers] */
	struct packed_matrix embedding, head; /* [vocab_size][width]; the same matrix when tied */
	const float *output_norm;             /* [width] */
	struct vocab *vocab;
	enum chat_format chat;
	bool chat_bos; /* the chat template puts BOS first */
	struct threads *threads;
	struct region weights;
	bool blas_prompts; /* --isa blas */
	bool lock;         /* --mlock */
	struct cuttle_model_info info;
};

/* The public handle is the model itself. */
struct cuttle_model {
	struct model model;
};

/* Fills *model from the bytes of a GGUF file, whose tensor pages it lets go as it packs them (bytes must be a private writable mapping).
 * On failure what was built is released by model_release. MODEL, NOMEM. */
enum cuttle_status model_build(struct model *model, uint8_t *bytes, size_t size, struct cuttle_error *error);
void model_release(struct model *model);

#endif
