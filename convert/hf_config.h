// SPDX-License-Identifier: Apache-2.0
// config.json of a Hugging Face Llama: the numbers, and a refusal of everything that would change the maths.
#ifndef CUTTLE_CONVERT_HF_CONFIG_H
#define CUTTLE_CONVERT_HF_CONFIG_H

#include "convert/gguf_out.h"
#include <jansson.h>

enum { HF_HEAD_MOST = 256 };

struct hf_config {
	uint64_t layers, width, ffn, heads, kv_heads, head_size, context, vocab;
	double norm_epsilon, rope_base, linear; /* factor of linear RoPE scaling, 1 = none */
	float rope_factors[HF_HEAD_MOST / 2];   /* "llama3" RoPE scaling: what the angles are divided by, [head_size/2] */
	bool has_rope_factors, tied;
};

/* MODEL: another architecture, a number missing or out of range, or a setting that is not supported; the message names the key. */
enum cuttle_status hf_config_read(const json_t *root, struct hf_config *config, struct cuttle_error *error);
/* The llama.* keys. */
void hf_config_write(const struct hf_config *config, struct gguf_out *out);

#endif
