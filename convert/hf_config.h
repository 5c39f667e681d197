// SPDX-License-Identifier: Apache-2.0
// hf_config.h: reads config.json of a Hugging Face model and writes its numbers as GGUF metadata.
// No private data passes here.
// Rule: a setting that would change the maths is refused unless the engine computes it.
#ifndef CUTTLE_CONVERT_HF_CONFIG_H
#define CUTTLE_CONVERT_HF_CONFIG_H

#include "convert/gguf_out.h"
#include <jansson.h>

enum { HF_HEAD_MOST = 256 }; /* the largest head_size */

/* How the kinds of model that are converted differ. Source: modeling_llama, _mistral, _qwen2,
 * _qwen3, _granite, _smollm3, _olmo2,
 * _gemma3, _phi3, _lfm2 of transformers. */
struct hf_kind {
	const char *name;         /* in config.json, as "LlamaForCausalLM" */
	const char *architecture; /* general.architecture in GGUF, as "llama" */
	bool pairs; /* GGUF has the two rows of Q or K that rotate together as neighbours; if false,
	               half a head apart, as in the folder */
	bool biases;         /* query, key and value have biases */
	bool head_norms;     /* each query and key head is normalised */
	bool window_if_used; /* sliding_window counts only where use_sliding_window is true */
	uint64_t window;     /* sliding_window where config.json does not name it; 0: none */
	uint64_t head_size;  /* where config.json has no head_dim; 0: width / heads */
	bool multipliers;    /* the four of struct hf_config */
	bool width_norms;    /* all queries and all keys are normalised */
	bool fused;          /* query, key and value are one tensor, gate and up another */
	bool first_norms;    /* norms before attention and feed-forward, as in Llama */
	bool after_norms;    /* norms of what both add */
	bool gelu;           /* of the GELU with tanh; norms are of 1 + weight, the head is tied */
	bool slides;         /* GGUF has the window, which bounds the contexts of other kinds */
	size_t global_every; /* of so many layers the last sees everything, and the others slide */
	size_t still_every;  /* of so many layers the last does not rotate */
	bool convolves;      /* layers are of two kinds, with names of LFM2's own */
};

enum { HF_LAYERS_MOST = 512 };
enum { HF_MULTIPLIERS = 4 }; /* of embedding, residual, attention and logits */

struct hf_config {
	const struct hf_kind *kind;
	uint64_t layers, width, ffn, heads, kv_heads, head_size, context, vocab;
	double norm_epsilon, rope_base;
	double linear;    /* factor of linear RoPE scaling; 1: none */
	uint64_t rotated; /* entries of a head that rotate */
	double rope_gain; /* factor of these, of "longrope" RoPE scaling; 1: none */
	/* [rotated/2] divisors of the RoPE angles, of "llama3" or "longrope" RoPE scaling */
	float rope_factors[HF_HEAD_MOST / 2];
	bool has_rope_factors;
	double multipliers[HF_MULTIPLIERS];
	uint64_t window;   /* that layers see, where kind->slides; 0: none slides */
	double local_base; /* where global_every is not 0: the rope base of the layers that slide */
	/* Where kind->convolves: tokens that a convolution sees, and which layers are none. */
	uint64_t taps;
	bool attends[HF_LAYERS_MOST];
	bool tied; /* the head is the embedding */
};

/* Fills *config from the parsed config.json. MODEL: another architecture, a number that is missing
 * or out of range, or a setting that is not supported; the message names the key. */
enum cuttle_status hf_config_read(const json_t *root, struct hf_config *config,
                                  struct cuttle_error *error);
/* Writes general.architecture and the keys of that architecture, as "llama.block_count". The tensor
 * of rope_factors is for the caller to write. */
void hf_config_write(const struct hf_config *config, struct gguf_out *out);

#endif
