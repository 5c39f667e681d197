// SPDX-License-Identifier: Apache-2.0
// How config.json is read; hf_config.h says what is refused.
// transformers has put the RoPE settings in two places, and both are read: rope_theta with
// rope_scaling, and since its version 5 rope_parameters.
#include "convert/hf_config.h"

#include "io/disk/fail.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_WINDOW = 16 }; /* tokens; cuttle reads none that is shorter */

#define FAIL(...) io_fail(error, CUTTLE_MODEL, "config.json: " __VA_ARGS__)

static const struct hf_kind KINDS[] = {
    {.name = "LlamaForCausalLM", .architecture = "llama", .pairs = true, .first_norms = true},
    {.name = "MistralForCausalLM",
     .architecture = "llama",
     .pairs = true,
     .first_norms = true,
     .window = 4096},
    {.name = "Qwen2ForCausalLM",
     .architecture = "qwen2",
     .biases = true,
     .first_norms = true,
     .window_if_used = true,
     .window = 4096},
    {.name = "Qwen3ForCausalLM",
     .architecture = "qwen3",
     .head_norms = true,
     .first_norms = true,
     .window_if_used = true,
     .window = 4096,
     .head_size = 128},
    {.name = "GraniteForCausalLM",
     .architecture = "granite",
     .pairs = true,
     .multipliers = true,
     .first_norms = true},
    {.name = "SmolLM3ForCausalLM",
     .architecture = "smollm3",
     .pairs = true,
     .first_norms = true,
     .window_if_used = true,
     .still_every = 4},
    {.name = "Olmo2ForCausalLM", .architecture = "olmo2", .width_norms = true, .after_norms = true},
    {.name = "Gemma3ForCausalLM",
     .architecture = "gemma3",
     .head_norms = true,
     .first_norms = true,
     .after_norms = true,
     .gelu = true,
     .slides = true,
     .window = 4096,
     .global_every = 6,
     .head_size = 256},
    {.name = "Phi3ForCausalLM",
     .architecture = "phi3",
     .fused = true,
     .first_norms = true,
     .slides = true},
    {.name = "Lfm2ForCausalLM",
     .architecture = "lfm2",
     .head_norms = true,
     .first_norms = true,
     .convolves = true},
};

/* Their names in config.json, and in GGUF. */
static const char *const MULTIPLIERS[HF_MULTIPLIERS][2] = {
    {"embedding_multiplier", "embedding_scale"},
    {"residual_multiplier", "residual_scale"},
    {"attention_multiplier", "attention.scale"},
    {"logits_scaling", "logit_scale"}};

/* Reads a whole number from 1 to `most`. *value holds the default for a key that is absent or null;
 * a default of 0 means that the key is required. */
static enum cuttle_status read_whole_number(const json_t *root, const char *key, uint64_t most,
                                            uint64_t *value, struct cuttle_error *error) {
	const json_t *found = json_object_get(root, key);
	if ((!found || json_is_null(found)) && *value) return CUTTLE_OK;
	if (!json_is_integer(found) || json_integer_value(found) < 1 ||
	    (uint64_t)json_integer_value(found) > most)
		return FAIL("%s must be a whole number from 1 to %llu", key,
		            (unsigned long long)most);
	*value = (uint64_t)json_integer_value(found);
	return CUTTLE_OK;
}

static enum cuttle_status read_real_number(const json_t *root, const char *key, double least,
                                           double most, double *value, struct cuttle_error *error) {
	const json_t *found = json_object_get(root, key);
	if ((!found || json_is_null(found)) && *value > 0.0) return CUTTLE_OK;
	*value = json_is_number(found) ? json_number_value(found) : NAN;
	return *value >= least && *value <= most
	           ? CUTTLE_OK
	           : FAIL("%s must be a number from %g to %g", key, least, most);
}

static enum cuttle_status read_hf_kind(const json_t *root, struct hf_config *config,
                                       struct cuttle_error *error) {
	const char *name =
	    json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
	for (size_t i = 0; name && i < sizeof KINDS / sizeof *KINDS; i++)
		if (!strcmp(name, KINDS[i].name)) config->kind = &KINDS[i];
	return config->kind
	           ? CUTTLE_OK
	           : FAIL("the architecture is %.60s; Llama, Mistral, Qwen2, Qwen3, "
	                  "Granite, SmolLM3, Olmo2, Gemma3, Phi3 and Lfm2 (ForCausalLM) are "
	                  "converted",
	                  name ? name : "not said");
}

static enum cuttle_status refuse_other_settings(const json_t *root, const struct hf_kind *kind_of,
                                                struct cuttle_error *error) {
	static const char *const off[] = {"attention_bias",
	                                  "mlp_bias",
	                                  "quantization_config",
	                                  "logit_scale",
	                                  "num_local_experts",
	                                  "use_qk_norm",
	                                  "attn_logit_softcapping",
	                                  "final_logit_softcapping",
	                                  "use_bidirectional_attention",
	                                  "conv_bias"};
	static const char *const activations[] = {"hidden_act", "hidden_activation"};
	for (size_t i = 0; i < 2; i++) {
		const char *activation = json_string_value(json_object_get(root, activations[i]));
		if (activation &&
		    strcmp(activation, kind_of->gelu ? "gelu_pytorch_tanh" : "silu") != 0)
			return FAIL("%s %.40s is not supported", activations[i], activation);
	}
	for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
		const json_t *value = json_object_get(root, off[i]);
		if (value && !json_is_null(value) && !json_is_false(value))
			return FAIL("%s is not supported", off[i]);
	}
	const json_t *part = json_object_get(root, "partial_rotary_factor"), *kind;
	if (!part)
		part = json_object_get(json_object_get(root, "rope_parameters"),
		                       "partial_rotary_factor");
	if (json_is_number(part) && json_number_value(part) != 1.0 && !kind_of->fused)
		return FAIL("partial_rotary_factor is not supported");
	size_t i;
	json_array_foreach(json_object_get(root, "layer_types"), i, kind) {
		const char *name = json_string_value(kind);
		const char *other = kind_of->convolves ? "conv" : "sliding_attention";
		if (!name || (strcmp(name, "full_attention") != 0 && strcmp(name, other) != 0))
			return FAIL("a layer of type %.40s is not supported",
			            name ? name : "unknown");
	}
	return CUTTLE_OK;
}

/* Source: transformers, modeling_rope_utils, "llama3". Rotations with a long wavelength are slowed
 * by `factor`, those with a short one stay, and those between are slowed in part. */
static enum cuttle_status read_llama3(const json_t *scaling, struct hf_config *config,
                                      struct cuttle_error *error) {
	double factor = 0.0, low = 0.0, high = 0.0, positions = 0.0;
	enum cuttle_status status = read_real_number(scaling, "factor", 1.0, 1e4, &factor, error);
	if (!status) status = read_real_number(scaling, "low_freq_factor", 1e-3, 1e4, &low, error);
	if (!status)
		status = read_real_number(scaling, "high_freq_factor", 1e-3, 1e4, &high, error);
	if (!status)
		status = read_real_number(scaling, "original_max_position_embeddings", 1.0, 1e9,
		                          &positions, error);
	if (status) return status;
	if (!(high > low)) return FAIL("high_freq_factor must be above low_freq_factor");
	for (size_t i = 0; i < config->head_size / 2; i++) {
		const double wave =
		    2.0 * M_PI *
		    pow(config->rope_base, 2.0 * (double)i / (double)config->head_size);
		const double smooth = (positions / wave - low) / (high - low);
		const double divisor = wave < positions / high ? 1.0
		                       : wave > positions / low
		                           ? factor
		                           : 1.0 / ((1.0 - smooth) / factor + smooth);
		config->rope_factors[i] = (float)divisor;
	}
	config->has_rope_factors = true;
	return CUTTLE_OK;
}

/* Of the layers that slide. Older files have rope_local_base_freq, newer ones an object of rope
 * settings for each type of layer. */
static enum cuttle_status read_local_rope(const json_t *root, const json_t *settings,
                                          struct hf_config *config, struct cuttle_error *error) {
	const json_t *own = json_object_get(settings, "sliding_attention");
	const char *kind = json_string_value(json_object_get(own, "rope_type"));
	if (kind && strcmp(kind, "default") != 0)
		return FAIL("RoPE scaling %.40s of layers that slide is not supported", kind);
	if (settings && (!own || !json_object_get(settings, "full_attention")))
		return FAIL("rope_parameters is not by type of layer");
	config->local_base = 10000.0;
	return read_real_number(own ? own : root, own ? "rope_theta" : "rope_local_base_freq", 1.0,
	                        1e9, &config->local_base, error);
}

/* Of the two lists of divisors, the short one holds up to the length of the first training, and the
 * context ends there (engine/model/architecture.c says why). */
static enum cuttle_status read_longrope_scaling(const json_t *root, const json_t *scaling,
                                                struct hf_config *config,
                                                struct cuttle_error *error) {
	const json_t *list = json_object_get(scaling, "short_factor"), *divisor;
	static const char first_key[] = "original_max_position_embeddings";
	uint64_t first = 0;
	double gain = 0.0;
	size_t i;
	enum cuttle_status status =
	    read_whole_number(json_object_get(scaling, first_key) ? scaling : root, first_key,
	                      UINT32_MAX, &first, error);
	if (status) return status;
	if (first < 16) return FAIL("%s is too small", first_key);
	const double stretched = (double)config->context / (double)first;
	gain = stretched > 1.0 ? sqrt(1.0 + log(stretched) / log((double)first)) : 1.0;
	status = read_real_number(scaling, "attention_factor", 0.01, 100.0, &gain, error);
	if (status) return status;
	if (json_array_size(list) != config->rotated / 2)
		return FAIL("short_factor must have a number for each pair that rotates");
	json_array_foreach(list, i, divisor) {
		config->rope_factors[i] = (float)json_number_value(divisor);
		if (!(config->rope_factors[i] > 0.0f && config->rope_factors[i] < 1e6f))
			return FAIL("short_factor must have numbers above 0");
	}
	config->has_rope_factors = true;
	config->rope_gain = gain;
	if (first < config->context) config->context = first;
	return CUTTLE_OK;
}

static enum cuttle_status read_rope_settings(const json_t *root, struct hf_config *config,
                                             struct cuttle_error *error) {
	const json_t *settings = json_object_get(root, "rope_parameters"),
	             *scaling = json_object_get(root, "rope_scaling");
	config->rope_base = config->kind->gelu || config->kind->convolves ? 1e6 : 10000.0;
	if (config->kind->global_every) {
		const enum cuttle_status status = read_local_rope(root, settings, config, error);
		if (status) return status;
		settings = json_object_get(settings, "full_attention");
	}
	enum cuttle_status status =
	    read_real_number(root, "rope_theta", 1.0, 1e9, &config->rope_base, error);
	if (!status && settings)
		status =
		    read_real_number(settings, "rope_theta", 1.0, 1e9, &config->rope_base, error);
	if (status) return status;
	if (json_is_object(settings)) scaling = settings;
	config->linear = 1.0;
	if (!json_is_object(scaling)) return CUTTLE_OK;
	const char *kind = json_string_value(json_object_get(scaling, "rope_type"));
	if (!kind) kind = json_string_value(json_object_get(scaling, "type"));
	if (!kind || !strcmp(kind, "default")) return CUTTLE_OK;
	if (!strcmp(kind, "longrope") && config->kind->fused)
		return read_longrope_scaling(root, scaling, config, error);
	if (!strcmp(kind, "llama3") && !config->kind->fused)
		return read_llama3(scaling, config, error);
	if (strcmp(kind, "linear") != 0) return FAIL("RoPE scaling %.40s is not supported", kind);
	config->linear = 0.0;
	return read_real_number(scaling, "factor", 1.0, 1e4, &config->linear, error);
}

/* GGUF has no key for the layers that do not rotate: they must be those that the engine knows. */
static enum cuttle_status check_still_layers(const json_t *root, const struct hf_config *config,
                                             struct cuttle_error *error) {
	const uint64_t every = config->kind->still_every;
	if (!every) return CUTTLE_OK;
	const json_t *rotates = json_object_get(root, "no_rope_layers"), *rotated;
	uint64_t interval = every;
	size_t i;
	bool fits = !json_is_array(rotates) || json_array_size(rotates) == config->layers;
	json_array_foreach(rotates, i, rotated) fits &=
	    json_is_integer(rotated) && json_integer_value(rotated) == ((i + 1) % every != 0);
	if (!fits) return FAIL("no_rope_layers is supported for every fourth layer alone");
	if (json_is_array(rotates)) return CUTTLE_OK;
	const enum cuttle_status status =
	    read_whole_number(root, "no_rope_layer_interval", 512, &interval, error);
	if (status || interval == every) return status;
	return FAIL("no_rope_layer_interval %llu is not supported", (unsigned long long)interval);
}

/* Nor has it one for Gemma's layers, nor for how it scales queries. */
static enum cuttle_status check_gemma(const json_t *root, const struct hf_config *config,
                                      struct cuttle_error *error) {
	const uint64_t every = config->kind->global_every;
	if (!every) return CUTTLE_OK;
	const json_t *types = json_object_get(root, "layer_types"), *type;
	uint64_t pattern = every;
	double scalar = 256.0;
	size_t i;
	json_array_foreach(types, i, type) {
		const bool full = !strcmp(json_string_value(type), "full_attention");
		if (full != ((i + 1) % every == 0)) pattern = 0;
	}
	if (!pattern || (json_is_array(types) && json_array_size(types) != config->layers))
		return FAIL("layer_types is supported for every sixth layer full alone");
	enum cuttle_status status = CUTTLE_OK;
	if (!json_is_array(types))
		status = read_whole_number(root, "sliding_window_pattern", 512, &pattern, error);
	if (!status)
		status =
		    read_real_number(root, "query_pre_attn_scalar", 1.0, 65536.0, &scalar, error);
	if (status) return status;
	if (pattern != every)
		return FAIL("sliding_window_pattern %llu is not supported",
		            (unsigned long long)pattern);
	if (scalar != (double)config->head_size || config->layers == 62)
		return FAIL("query_pre_attn_scalar other than head_dim is not supported");
	return CUTTLE_OK;
}

/* Older files say which layers attend by full_attn_idxs. Without either, all do. */
static enum cuttle_status read_attending(const json_t *root, struct hf_config *config,
                                         struct cuttle_error *error) {
	const json_t *types = json_object_get(root, "layer_types"),
	             *places = json_object_get(root, "full_attn_idxs"), *one;
	const bool typed = json_is_array(types), placed = !typed && json_is_array(places);
	size_t i;
	bool fits = !typed || json_array_size(types) == config->layers, any = !typed && !placed;
	for (i = 0; i < config->layers; i++) config->attends[i] = any;
	json_array_foreach(types, i, one) {
		if (i >= config->layers) break;
		config->attends[i] = !strcmp(json_string_value(one), "full_attention");
		any |= config->attends[i];
	}
	if (placed) {
		json_array_foreach(places, i, one) {
			const json_int_t at = json_integer_value(one);
			fits &= json_is_integer(one) && at >= 0 && (uint64_t)at < config->layers;
			if (fits) any = config->attends[at] = true;
		}
	}
	return fits && any ? CUTTLE_OK
	                   : FAIL("%s must say of each layer what it is, and one must attend",
	                          placed ? "full_attn_idxs" : "layer_types");
}

/* The width of LFM2's feed-forward part follows from three settings. */
static enum cuttle_status adjust_ffn(const json_t *root, struct hf_config *config,
                                     struct cuttle_error *error) {
	const json_t *adjusts = json_object_get(root, "block_auto_adjust_ff_dim"),
	             *factor = json_object_get(root, "block_ffn_dim_multiplier");
	uint64_t multiple = 256;
	double times = 1.0;
	if (adjusts && !json_is_true(adjusts)) return CUTTLE_OK;
	enum cuttle_status status =
	    read_whole_number(root, "block_multiple_of", 1 << 16, &multiple, error);
	if (!status)
		status =
		    read_real_number(root, "block_ffn_dim_multiplier", 1e-3, 1e3, &times, error);
	if (status) return status;
	config->ffn = (uint64_t)(2.0 * (double)config->ffn / 3.0);
	if (factor && json_is_null(factor)) return CUTTLE_OK;
	config->ffn = (uint64_t)(times * (double)config->ffn);
	config->ffn = (config->ffn + multiple - 1) / multiple * multiple;
	return config->ffn ? CUTTLE_OK : FAIL("the feed-forward part has no width");
}

static enum cuttle_status read_convolving(const json_t *root, struct hf_config *config,
                                          struct cuttle_error *error) {
	if (!config->kind->convolves) return CUTTLE_OK;
	config->taps = 3;
	enum cuttle_status status =
	    read_whole_number(root, "conv_L_cache", 16, &config->taps, error);
	if (!status) status = read_attending(root, config, error);
	return status ? status : adjust_ffn(root, config, error);
}

/* Sliding attention sees the last `window` tokens. In a context no longer than that, it sees
 * everything. Where GGUF has no window for it, the context is cut to that length. */
static enum cuttle_status read_window(const json_t *root, struct hf_config *config,
                                      struct cuttle_error *error) {
	const struct hf_kind *kind = config->kind;
	const json_t *used = json_object_get(root, "use_sliding_window");
	if (kind->window_if_used && !json_is_true(used)) return CUTTLE_OK;
	uint64_t window = config->context;
	if (!json_object_get(root, "sliding_window") && kind->window) window = kind->window;
	// Of Gemma some layers always slide. So null, which says that none does, is refused: 0
	// requires a number.
	else if (kind->global_every) window = 0;
	const enum cuttle_status status =
	    read_whole_number(root, "sliding_window", UINT32_MAX, &window, error);
	if (status) return status;
	if (window < LEAST_WINDOW && window < config->context)
		return FAIL("sliding_window %llu is not supported: it must be at least %d",
		            (unsigned long long)window, LEAST_WINDOW);
	if (!kind->slides && window < config->context) config->context = window;
	if (kind->slides && (window < config->context || kind->global_every))
		config->window = window;
	return CUTTLE_OK;
}

enum cuttle_status hf_config_read(const json_t *root, struct hf_config *config,
                                  struct cuttle_error *error) {
	*config = (struct hf_config){0};
	enum cuttle_status status = read_hf_kind(root, config, error);
	if (!status) status = refuse_other_settings(root, config->kind, error);
	if (!status)
		status = read_whole_number(root, "num_hidden_layers", HF_LAYERS_MOST,
		                           &config->layers, error);
	if (!status) status = read_whole_number(root, "hidden_size", 65536, &config->width, error);
	if (!status && json_object_get(root, "block_ff_dim"))
		status = read_whole_number(root, "block_ff_dim", 1 << 18, &config->ffn, error);
	else if (!status)
		status = read_whole_number(root, "intermediate_size", 1 << 18, &config->ffn, error);
	if (!status)
		status =
		    read_whole_number(root, "num_attention_heads", 65536, &config->heads, error);
	config->kv_heads = config->heads;
	if (!status)
		status = read_whole_number(root, "num_key_value_heads", config->heads,
		                           &config->kv_heads, error);
	if (!status)
		config->head_size = config->kind->head_size ? config->kind->head_size
		                                            : config->width / config->heads;
	if (!status)
		status =
		    read_whole_number(root, "head_dim", HF_HEAD_MOST, &config->head_size, error);
	if (!status)
		status = read_whole_number(root, "max_position_embeddings", UINT32_MAX,
		                           &config->context, error);
	if (!status)
		status =
		    read_whole_number(root, "vocab_size", GGUF_TOKENS_MOST, &config->vocab, error);
	if (!status)
		status =
		    read_real_number(root, config->kind->convolves ? "norm_eps" : "rms_norm_eps",
		                     1e-30, 0.5, &config->norm_epsilon, error);
	for (size_t i = 0; !status && config->kind->multipliers && i < HF_MULTIPLIERS; i++)
		status = read_real_number(root, MULTIPLIERS[i][0], 1e-6, 1e6,
		                          &config->multipliers[i], error);
	if (!status) status = check_still_layers(root, config, error);
	if (!status) status = check_gemma(root, config, error);
	if (!status) status = read_convolving(root, config, error);
	if (status) return status;
	status = read_window(root, config, error);
	if (status) return status;
	if (config->head_size % 2 || config->head_size > HF_HEAD_MOST)
		return FAIL("heads of %llu are not supported",
		            (unsigned long long)config->head_size);
	double part = 1.0;
	const json_t *own = json_object_get(root, "rope_parameters");
	status = read_real_number(json_object_get(own, "partial_rotary_factor") ? own : root,
	                          "partial_rotary_factor", 1e-3, 1.0, &part, error);
	if (status) return status;
	config->rope_gain = 1.0;
	config->rotated = (uint64_t)((double)config->head_size * part);
	if (!config->rotated || config->rotated % 2)
		return FAIL("%llu numbers of a head that rotate are not supported",
		            (unsigned long long)config->rotated);
	const json_t *tied = json_object_get(root, "tie_embedding");
	if (!tied || !config->kind->convolves) tied = json_object_get(root, "tie_word_embeddings");
	config->tied =
	    json_is_true(tied) || (!tied && (config->kind->gelu || config->kind->convolves));
	return read_rope_settings(root, config, error);
}

/* Writes the architecture's name of a key into `key`, as "llama.block_count"; returns `key`. */
static const char *make_metadata_key(const struct hf_config *config, const char *name,
                                     char key[64]) {
	(void)snprintf(key, 64, "%s.%s", config->kind->architecture, name);
	return key;
}

/* A number of KV heads for each layer, 0 where it convolves; and how many tokens that sees. */
static void write_layer_kinds(const struct hf_config *config, struct gguf_out *out) {
	char key[64];
	int32_t heads[HF_LAYERS_MOST];
	for (size_t i = 0; i < config->layers; i++)
		heads[i] = config->attends[i] ? (int32_t)config->kv_heads : 0;
	gguf_out_array(out, make_metadata_key(config, "attention.head_count_kv", key), GGUF_I32,
	               heads, (size_t)config->layers);
	gguf_out_u32(out, make_metadata_key(config, "shortconv.l_cache", key),
	             (uint32_t)config->taps);
}

void hf_config_write(const struct hf_config *config, struct gguf_out *out) {
	const struct {
		const char *name;
		uint64_t value;
	} sizes[] = {{"block_count", config->layers},
	             {"context_length", config->context},
	             {"embedding_length", config->width},
	             {"feed_forward_length", config->ffn},
	             {"attention.head_count", config->heads},
	             {"attention.head_count_kv", config->kv_heads},
	             {"attention.key_length", config->head_size},
	             {"attention.value_length", config->head_size},
	             {"rope.dimension_count", config->rotated},
	             {"vocab_size", config->vocab}};
	char key[64];
	gguf_out_text(out, "general.architecture", config->kind->architecture,
	              strlen(config->kind->architecture));
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		if (config->kind->convolves && !strcmp(sizes[i].name, "attention.head_count_kv"))
			write_layer_kinds(config, out);
		else
			gguf_out_u32(out, make_metadata_key(config, sizes[i].name, key),
			             (uint32_t)sizes[i].value);
	}
	gguf_out_f32(out, make_metadata_key(config, "attention.layer_norm_rms_epsilon", key),
	             (float)config->norm_epsilon);
	gguf_out_f32(out, make_metadata_key(config, "rope.freq_base", key),
	             (float)config->rope_base);
	for (size_t i = 0; config->kind->multipliers && i < HF_MULTIPLIERS; i++)
		gguf_out_f32(out, make_metadata_key(config, MULTIPLIERS[i][1], key),
		             (float)config->multipliers[i]);
	if (config->window)
		gguf_out_u32(out, make_metadata_key(config, "attention.sliding_window", key),
		             (uint32_t)config->window);
	if (config->kind->global_every)
		gguf_out_f32(out, make_metadata_key(config, "rope.freq_base_swa", key),
		             (float)config->local_base);
	if (config->kind->fused && config->has_rope_factors) {
		gguf_out_u32(out,
		             make_metadata_key(config, "rope.scaling.original_context_length", key),
		             (uint32_t)config->context);
		gguf_out_f32(out, make_metadata_key(config, "rope.scaling.attn_factor", key),
		             (float)config->rope_gain);
	}
	if (config->linear == 1.0) return;
	gguf_out_text(out, make_metadata_key(config, "rope.scaling.type", key), "linear", 6);
	gguf_out_f32(out, make_metadata_key(config, "rope.scaling.factor", key),
	             (float)config->linear);
}
