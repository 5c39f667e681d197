// SPDX-License-Identifier: Apache-2.0
// model.h: a model of the Llama family in memory: sizes, packed weights, vocabulary, threads.
// Private data: none.
// How: cuttle_model_open (cuttle.h) reads the file's bytes, and model_build packs them.
// Rule: nothing in it changes once it is open, except the state of its threads.
// Any number of threads may read it at once.
#ifndef CUTTLE_ENGINE_MODEL_H
#define CUTTLE_ENGINE_MODEL_H

#include "engine/cuttle/model.h"
#include "engine/model/architecture.h"
#include "engine/text/chat.h"
#include "engine/text/chat_system.h"
#include "engine/machine/region.h"
#include "engine/machine/threads.h"
#include "engine/text/vocab.h"
#include "kernels/kernels.h"

enum { MAX_HEAD_SIZE = 256 /* floats */, MAX_LAYERS = 512 /* transformer blocks */ };

/* The weights of one transformer block. A matrix [n][k] has n outputs and k inputs. */
struct layer {
	/* [width]. NULL where the architecture has no such norm. */
	const float *attention_norm;
	const float *attention_after_norm;
	const float *ffn_norm;
	const float *ffn_after_norm;

	/* NULL where the architecture has no biases. */
	const float *query_bias; /* [heads * head_size] */
	const float *key_bias;   /* [kv_heads * head_size] */
	const float *value_bias; /* [kv_heads * head_size] */

	/* Of each head, [head_size], or of all: as the bias. NULL where there is none. */
	const float *query_norm;
	const float *key_norm;

	struct packed_matrix query;  /* [heads * head_size][width] */
	struct packed_matrix key;    /* [kv_heads * head_size][width] */
	struct packed_matrix value;  /* [kv_heads * head_size][width] */
	struct packed_matrix output; /* [width][heads * head_size] */
	struct packed_matrix gate;   /* [ffn][width] */
	struct packed_matrix up;     /* [ffn][width] */
	struct packed_matrix down;   /* [width][ffn] */

	/* Of a layer that convolves, whose state is cut into three, each [width]. `output` is
	 * [width][width] there. NULL, or without channels, where the layer attends. */
	const float *taps;             /* [width][model's taps], that of the latest token last */
	struct packed_matrix in_gate;  /* [width][width] what the state is multiplied by first */
	struct packed_matrix out_gate; /* [width][width] what the sum is multiplied by */
	struct packed_matrix state;    /* [width][width] */
};

/* Rotation pairs entries 2i and 2i + 1 of a head, in every model. Some files pair i and i +
 * rotated/2 (rotates_halves). Their rows of query and key are reordered as they are read. */
struct model {
	const struct architecture *architecture;
	size_t layers;    /* transformer blocks */
	size_t attending; /* of these, with attention; the others convolve */
	bool layer_convolves[MAX_LAYERS];
	uint16_t places[MAX_LAYERS];    /* how many layers of its kind stand before each */
	size_t taps;                    /* tokens that a convolution sees, its own one too */
	size_t width;                   /* floats of a token's hidden state */
	size_t heads;                   /* query heads of a layer */
	size_t kv_heads;                /* key and value heads of a layer */
	size_t head_size;               /* floats of a head */
	size_t ffn;                     /* floats of the feed-forward part */
	size_t vocab_size;              /* tokens */
	size_t context;                 /* longest context, in tokens */
	size_t window;                  /* tokens that a sliding layer sees; 0 = none slides */
	size_t rotated;                 /* entries of a head that rotate; the others do not */
	float norm_epsilon;             /* of all RMS norms */
	float embedding_scale;          /* factor of each embedding */
	float residual_scale;           /* factor of what attention and feed-forward add to x */
	float attention_scale;          /* factor of each product of a query and a key */
	float logit_divisor;            /* of the logits; output_norm is divided by it already */
	float rope_gain;                /* factor of each pair that rotates, of longrope; else 1 */
	double local_base;              /* rope base of layers that slide; 0 = none slides */
	double *local_frequencies;      /* [rotated/2], as below, for these; else NULL */
	double *rope_frequencies;       /* [rotated/2] radians per position */
	struct layer *layer;            /* [layers] */
	struct packed_matrix embedding; /* [vocab_size][width] */
	struct packed_matrix head;      /* [vocab_size][width]; the embedding itself when tied */
	const float *output_norm;       /* [width] */
	struct vocab *vocab;
	enum chat_format chat;
	bool chat_bos; /* the chat template puts BOS first */

	/* The system message that the chat template writes when nobody gives one; "" = none. */
	char chat_system[CHAT_SYSTEM];

	struct threads *threads;
	struct region weights; /* all matrices and vectors */
	bool blas_prompts;     /* --isa blas: OpenBLAS multiplies the prompts */
	bool lock;             /* --mlock: weights and contexts stay out of swap */
	bool vocabulary_only;  /* no weights; only the sizes that the file states */
	struct cuttle_model_info info;
};

/* The public handle is the model itself. */
struct cuttle_model {
	struct model model;
};

/* Fills *model from the bytes of a GGUF file, or of several, each behind the one before
 * (gguf_parse_parts). `bytes` must be a private writable mapping. Rows of query and key may be
 * reordered in place. The pages of packed tensors are given back to the system as packing goes on.
 * params may be NULL. Only its on_progress is used, for packing, which is the second half of the
 * work. After a failure model_release frees what was built. MODEL, NOMEM, PARTIAL. */
enum cuttle_status model_build(struct model *model, uint8_t *bytes, const struct gguf_part *parts,
                               size_t count, const struct cuttle_model_params *params,
                               struct cuttle_error *error);

/* Fills what describe, tokenize and detokenize need, from what is held of each part: the keys, and
 * the table of tensors as far as it can be read. All bytes of all parts must be mapped. MODEL,
 * NOMEM. */
enum cuttle_status model_build_vocabulary(struct model *model, uint8_t *bytes,
                                          const struct gguf_part *parts, size_t count,
                                          struct cuttle_error *error);

/* OK for a model with weights. USAGE when it was opened for its vocabulary alone. */
enum cuttle_status model_needs_weights(const struct model *model, struct cuttle_error *error);

/* Frees all that the model owns, but not *model itself. */
void model_release(struct model *model);

#endif
