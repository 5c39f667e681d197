// SPDX-License-Identifier: Apache-2.0
// config.json of a Hugging Face model: its kind, the numbers, and a refusal of everything that would change the maths.
#ifndef CUTTLE_CONVERT_HF_CONFIG_H
#define CUTTLE_CONVERT_HF_CONFIG_H

#include "convert/gguf_out.h"
#include <jansson.h>

enum { HF_HEAD_MOST = 256 };

/* What the kinds of model that are converted differ in. Source: modeling_llama, _mistral, _qwen2, _qwen3 of transformers. */
struct hf_kind {
	const char *name, *architecture; /* config.json's, and general.architecture */
	bool pairs;          /* in GGUF, rows of Q and K that rotate together are neighbours; else halves apart, as in the folder */
	bool biases;         /* of query, key and value */
	bool head_norms;     /* of each query and key head */
	bool window_if_used; /* sliding_window says nothing without use_sliding_window */
	uint64_t head_size;  /* where head_dim is not said; 0: width / heads */
};

struct hf_config {
	const struct hf_kind *kind;
	uint64_t layers, width, ffn, heads, kv_heads, head_size, context, vocab;
	double norm_epsilon, rope_base, linear; /* factor of linear RoPE scaling, 1 = none */
	float rope_factors[HF_HEAD_MOST / 2];   /* "llama3" RoPE scaling: what the angles are divided by, [head_size/2] */
	bool has_rope_factors, tied;
};

/* MODEL: another architecture, a number missing or out of range, or a setting that is not supported; the message names the key. */
enum cuttle_status hf_config_read(const json_t *root, struct hf_config *config, struct cuttle_error *error);
/* The architecture and its keys. */
void hf_config_write(const struct hf_config *config, struct gguf_out *out);

#endif
