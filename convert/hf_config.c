// SPDX-License-Identifier: Apache-2.0
// Both places where transformers has put the RoPE settings are read: rope_theta with rope_scaling, and rope_parameters (since version 5).
#include "convert/hf_config.h"

#include "io/fail.h"

#include <math.h>
#include <string.h>

#define FAIL(...) io_fail(error, CUTTLE_MODEL, "config.json: " __VA_ARGS__)

/* *value is the default when the key is absent or null; 0 there: the key is required. */
static enum cuttle_status whole(const json_t *root, const char *key, uint64_t most, uint64_t *value, struct cuttle_error *error) {
	const json_t *found = json_object_get(root, key);
	if ((!found || json_is_null(found)) && *value) return CUTTLE_OK;
	if (!json_is_integer(found) || json_integer_value(found) < 1 || (uint64_t)json_integer_value(found) > most)
		return FAIL("%s must be a whole number from 1 to %llu", key, (unsigned long long)most);
	*value = (uint64_t)json_integer_value(found);
	return CUTTLE_OK;
}

static enum cuttle_status real(const json_t *root, const char *key, double least, double most, double *value, struct cuttle_error *error) {
	const json_t *found = json_object_get(root, key);
	if ((!found || json_is_null(found)) && *value > 0.0) return CUTTLE_OK;
	*value = json_is_number(found) ? json_number_value(found) : NAN;
	return *value >= least && *value <= most ? CUTTLE_OK : FAIL("%s must be a number from %g to %g", key, least, most);
}

static enum cuttle_status refuse_other_maths(const json_t *root, struct cuttle_error *error) {
	static const char *const off[] = {"attention_bias", "mlp_bias",          "quantization_config",
	                                  "logit_scale",    "num_local_experts", "use_qk_norm"};
	const char *kind = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
	const char *activation = json_string_value(json_object_get(root, "hidden_act"));
	if (!kind || (strcmp(kind, "LlamaForCausalLM") != 0 && strcmp(kind, "MistralForCausalLM") != 0))
		return FAIL("the architecture is %.60s; LlamaForCausalLM and MistralForCausalLM are converted", kind ? kind : "not said");
	if (activation && strcmp(activation, "silu") != 0) return FAIL("hidden_act %.40s is not supported", activation);
	for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
		const json_t *value = json_object_get(root, off[i]);
		if (value && !json_is_null(value) && !json_is_false(value)) return FAIL("%s is not supported", off[i]);
	}
	const json_t *part = json_object_get(root, "partial_rotary_factor");
	if (json_is_number(part) && json_number_value(part) != 1.0) return FAIL("partial_rotary_factor is not supported");
	return CUTTLE_OK;
}

/* Source: transformers, modeling_rope_utils, "llama3": long waves are slowed by `factor`, short ones not, those between in part. */
static enum cuttle_status read_llama3(const json_t *scaling, struct hf_config *config, struct cuttle_error *error) {
	double factor = 0.0, low = 0.0, high = 0.0, positions = 0.0;
	enum cuttle_status status = real(scaling, "factor", 1.0, 1e4, &factor, error);
	if (!status) status = real(scaling, "low_freq_factor", 1e-3, 1e4, &low, error);
	if (!status) status = real(scaling, "high_freq_factor", 1e-3, 1e4, &high, error);
	if (!status) status = real(scaling, "original_max_position_embeddings", 1.0, 1e9, &positions, error);
	if (status) return status;
	if (!(high > low)) return FAIL("high_freq_factor must be above low_freq_factor");
	for (size_t i = 0; i < config->head_size / 2; i++) {
		const double wave = 2.0 * M_PI * pow(config->rope_base, 2.0 * (double)i / (double)config->head_size);
		const double smooth = (positions / wave - low) / (high - low);
		const double divisor = wave < positions / high  ? 1.0
		                       : wave > positions / low ? factor
		                                                : 1.0 / ((1.0 - smooth) / factor + smooth);
		config->rope_factors[i] = (float)divisor;
	}
	config->has_rope_factors = true;
	return CUTTLE_OK;
}

static enum cuttle_status read_rope(const json_t *root, struct hf_config *config, struct cuttle_error *error) {
	const json_t *settings = json_object_get(root, "rope_parameters"), *scaling = json_object_get(root, "rope_scaling");
	config->rope_base = 10000.0;
	enum cuttle_status status = real(root, "rope_theta", 1.0, 1e9, &config->rope_base, error);
	if (!status && settings) status = real(settings, "rope_theta", 1.0, 1e9, &config->rope_base, error);
	if (status) return status;
	if (json_is_object(settings)) scaling = settings;
	config->linear = 1.0;
	if (!json_is_object(scaling)) return CUTTLE_OK;
	const char *kind = json_string_value(json_object_get(scaling, "rope_type"));
	if (!kind) kind = json_string_value(json_object_get(scaling, "type"));
	if (!kind || !strcmp(kind, "default")) return CUTTLE_OK;
	if (!strcmp(kind, "llama3")) return read_llama3(scaling, config, error);
	if (strcmp(kind, "linear") != 0) return FAIL("RoPE scaling %.40s is not supported", kind);
	config->linear = 0.0;
	return real(scaling, "factor", 1.0, 1e4, &config->linear, error);
}

enum cuttle_status hf_config_read(const json_t *root, struct hf_config *config, struct cuttle_error *error) {
	*config = (struct hf_config){0};
	enum cuttle_status status = refuse_other_maths(root, error);
	if (!status) status = whole(root, "num_hidden_layers", 512, &config->layers, error);
	if (!status) status = whole(root, "hidden_size", 65536, &config->width, error);
	if (!status) status = whole(root, "intermediate_size", 1 << 18, &config->ffn, error);
	if (!status) status = whole(root, "num_attention_heads", 65536, &config->heads, error);
	config->kv_heads = config->heads;
	if (!status) status = whole(root, "num_key_value_heads", config->heads, &config->kv_heads, error);
	config->head_size = config->heads ? config->width / config->heads : 0;
	if (!status) status = whole(root, "head_dim", HF_HEAD_MOST, &config->head_size, error);
	if (!status) status = whole(root, "max_position_embeddings", UINT32_MAX, &config->context, error);
	if (!status) status = whole(root, "vocab_size", GGUF_TOKENS_MOST, &config->vocab, error);
	if (!status) status = real(root, "rms_norm_eps", 1e-30, 0.5, &config->norm_epsilon, error);
	// Within its window, a model with sliding attention is one without.
	uint64_t window = config->context;
	if (!status) status = whole(root, "sliding_window", UINT32_MAX, &window, error);
	if (status) return status;
	if (window < config->context) config->context = window;
	if (config->head_size % 2 || config->head_size > HF_HEAD_MOST)
		return FAIL("heads of %llu are not supported", (unsigned long long)config->head_size);
	config->tied = json_is_true(json_object_get(root, "tie_word_embeddings"));
	return read_rope(root, config, error);
}

void hf_config_write(const struct hf_config *config, struct gguf_out *out) {
	gguf_out_u32(out, "llama.block_count", (uint32_t)config->layers);
	gguf_out_u32(out, "llama.context_length", (uint32_t)config->context);
	gguf_out_u32(out, "llama.embedding_length", (uint32_t)config->width);
	gguf_out_u32(out, "llama.feed_forward_length", (uint32_t)config->ffn);
	gguf_out_u32(out, "llama.attention.head_count", (uint32_t)config->heads);
	gguf_out_u32(out, "llama.attention.head_count_kv", (uint32_t)config->kv_heads);
	gguf_out_u32(out, "llama.attention.key_length", (uint32_t)config->head_size);
	gguf_out_u32(out, "llama.attention.value_length", (uint32_t)config->head_size);
	gguf_out_f32(out, "llama.attention.layer_norm_rms_epsilon", (float)config->norm_epsilon);
	gguf_out_u32(out, "llama.rope.dimension_count", (uint32_t)config->head_size);
	gguf_out_f32(out, "llama.rope.freq_base", (float)config->rope_base);
	gguf_out_u32(out, "llama.vocab_size", (uint32_t)config->vocab);
	if (config->linear == 1.0) return;
	gguf_out_text(out, "llama.rope.scaling.type", "linear", 6);
	gguf_out_f32(out, "llama.rope.scaling.factor", (float)config->linear);
}
