// SPDX-License-Identifier: Apache-2.0
// architecture.c: reads and checks the hyper-parameters; see architecture.h.
// Keys of an architecture begin with its name: "llama.block_count". First every such key of the
// file must be known; then each one that is needed is read.
#include "engine/model/architecture.h"

#include "engine/model/model.h"
#include "engine/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_WIDTH = 65536,     /* floats of a hidden state; heads too */
	MAX_FFN = 1 << 18,     /* floats of the feed-forward part */
	MAX_CONTEXT = 1 << 20, /* tokens; a longer context is cut to this */
	MAX_TAPS = 16,         /* tokens that a short convolution sees */
	KEY = 96               /* bytes of a key's full name, NUL included */
};

static const struct architecture architectures[] = {
    {.name = "llama", .first_norms = true},
    {.name = "qwen2", .rotates_halves = true, .biases = true, .first_norms = true},
    {.name = "qwen3", .rotates_halves = true, .head_norms = true, .first_norms = true},
    {.name = "granite", .multipliers = true, .first_norms = true},
    {.name = "smollm3", .still_every = 4, .first_norms = true},
    {.name = "olmo2", .rotates_halves = true, .width_norms = true, .after_norms = true},
    {.name = "gemma3",
     .rotates_halves = true,
     .head_norms = true,
     .first_norms = true,
     .after_norms = true,
     .gelu = true,
     .slides = true,
     .global_every = 6},
    {.name = "phi3", .rotates_halves = true, .fused = true, .first_norms = true, .slides = true},
    {.name = "lfm2",
     .rotates_halves = true,
     .head_norms = true,
     .first_norms = true,
     .convolves = true},
};

struct hyper_reader {
	const struct gguf *file;
	struct model *model;
	struct cuttle_error *error;
	char key[KEY]; /* full name of the last key asked for */
};

/* The full name of a key: "block_count" becomes "llama.block_count". */
static const char *write_full_key(struct hyper_reader *r, const char *name) {
	(void)snprintf(r->key, sizeof r->key, "%s.%s", r->model->architecture->name, name);
	return r->key;
}

/* Reads a size that must lie in least..most. Without the key *value stays as it is. */
static enum cuttle_status read_size(struct hyper_reader *r, const char *name, bool required,
                                    size_t least, size_t most, size_t *value) {
	uint64_t read = *value;
	const enum cuttle_status status =
	    gguf_unsigned(r->file, write_full_key(r, name), required, &read, r->error);
	if (status) return status;
	if (read < least || read > most)
		return status_fail(r->error, CUTTLE_MODEL, "model: %s is %llu, outside %zu..%zu",
		                   r->key, (unsigned long long)read, least, most);
	*value = (size_t)read;
	return CUTTLE_OK;
}

static bool is_among(struct gguf_string name, const char *const *names, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (name.size == strlen(names[i]) && !memcmp(name.text, names[i], name.size))
			return true;
	return false;
}
#define AMONG(name, names) is_among(name, names, sizeof(names) / sizeof *(names))

/* Whether the key in r->key has the value 0, 0.0 or false, which switches its feature off. */
static bool is_switched_off(const struct hyper_reader *r) {
	uint64_t whole = 1;
	double real = 1.0;
	bool flag = true;
	if (!gguf_unsigned(r->file, r->key, false, &whole, NULL)) return !whole;
	if (!gguf_float(r->file, r->key, false, &real, NULL)) return real == 0.0;
	return !gguf_bool(r->file, r->key, false, &flag, NULL) && !flag;
}

/* Whether the key is the use_parallel_residual of Qwen1.5 files, which is ignored. The converter of
 * that time wrote it for every family whose configuration did not mention it. Qwen2's definition
 * has no such switch: its residuals come one after the other, and so they are computed. */
static bool is_qwen_leftover(const struct hyper_reader *r, struct gguf_string own) {
	bool flag;
	return !strcmp(r->model->architecture->name, "qwen2") &&
	       is_among(own, (const char *const[]){"use_parallel_residual"}, 1) &&
	       !gguf_bool(r->file, r->key, false, &flag, NULL);
}

/* Refuses a file with a key of its architecture that is not in one of these two lists. `known` keys
 * are read elsewhere, or change nothing here. `zero_only` keys are accepted when they switch their
 * feature off. */
static enum cuttle_status refuse_unknown_keys(struct hyper_reader *r) {
	static const char *const known[] = {
	    "block_count", "embedding_length", "feed_forward_length", "context_length",
	    "attention.head_count", "attention.head_count_kv", "attention.key_length",
	    "attention.value_length", "attention.layer_norm_rms_epsilon",
	    "attention.sliding_window", "rope.dimension_count", "rope.freq_base",
	    "rope.scaling.type", "rope.scaling.factor", "rope.scale_linear",
	    // The rest is ignored: we count the vocabulary ourselves, and the angles do not depend
	    // on the training length.
	    "vocab_size", "rope.scaling.original_context_length", "rope.scaling.finetuned",
	    "tensor_data_layout"};
	static const char *const zero_only[] = {
	    "expert_count",           "expert_used_count",
	    "attention.clamp_kqv",    "attention.max_alibi_bias",
	    "attention.scale",        "logit_scale",
	    "attn_logit_softcapping", "final_logit_softcapping",
	    "residual_scale",         "embedding_scale",
	    "use_parallel_residual"};
	static const char *const multipliers[] = {"attention.scale", "logit_scale",
	                                          "residual_scale", "embedding_scale"};
	// Of longrope, what read_longrope reads.
	static const char *const fused[] = {"rope.scaling.attn_factor"};
	static const char *const sliding[] = {"attention.sliding_window_pattern",
	                                      "rope.freq_base_swa"};
	static const char *const convolving[] = {"shortconv.l_cache"};
	const char *const name = r->model->architecture->name;
	const size_t prefix = strlen(name) + 1;
	for (size_t i = 0; i < gguf_entry_count(r->file); i++) {
		struct gguf_string whole;
		(void)gguf_entry_at(r->file, i, &whole);
		if (whole.size <= prefix || memcmp(whole.text, name, prefix - 1) ||
		    whole.text[prefix - 1] != '.')
			continue;
		const struct gguf_string own = {whole.text + prefix, whole.size - prefix};
		if (AMONG(own, known)) continue;
		if (r->model->architecture->multipliers && AMONG(own, multipliers)) continue;
		if (r->model->architecture->fused && AMONG(own, fused)) continue;
		if (r->model->architecture->global_every && AMONG(own, sliding)) continue;
		if (r->model->architecture->convolves && AMONG(own, convolving)) continue;
		if (AMONG(own, zero_only)) {
			(void)snprintf(r->key, sizeof r->key, "%.*s", (int)whole.size, whole.text);
			if (is_switched_off(r) || is_qwen_leftover(r, own)) continue;
		}
		return status_fail(r->error, CUTTLE_MODEL, "model: %.*s is not supported",
		                   (int)(whole.size < KEY ? whole.size : KEY), whole.text);
	}
	return CUTTLE_OK;
}

/* Reads the factor of linear scaling, as llama.cpp does. A factor is linear unless the type says
 * otherwise. Type "none" ignores the factor, and a factor of 0 means none. */
static enum cuttle_status read_rope_scale(struct hyper_reader *r, double *scale) {
	struct gguf_string type = {"linear", 6};
	enum cuttle_status status =
	    gguf_text(r->file, write_full_key(r, "rope.scaling.type"), false, &type, r->error);
	if (status) return status;
	const bool none =
	    is_among(type, (const char *const[]){"none"}, 1) ||
	    (r->model->architecture->fused && is_among(type, (const char *const[]){"longrope"}, 1));
	if (!none && !is_among(type, (const char *const[]){"linear"}, 1))
		return status_fail(r->error, CUTTLE_MODEL,
		                   "model: rope scaling \"%.*s\" is not supported",
		                   (int)(type.size > 40 ? 40 : type.size), type.text);
	double factor = 0.0;
	if ((status = gguf_float(r->file, write_full_key(r, "rope.scale_linear"), false, &factor,
	                         r->error)) ||
	    (status = gguf_float(r->file, write_full_key(r, "rope.scaling.factor"), false, &factor,
	                         r->error)))
		return status;
	if (none || factor == 0.0) return CUTTLE_OK;
	if (!(factor >= 1.0 && factor <= 1e4))
		return status_fail(r->error, CUTTLE_MODEL,
		                   "model: rope scaling factor out of range");
	*scale = factor;
	return CUTTLE_OK;
}

/* Reads a factor, which must be there. Far from 1 it would leave the range of floats. */
static enum cuttle_status read_multiplier(struct hyper_reader *r, const char *name, float *value) {
	double read = 0.0;
	const enum cuttle_status status =
	    gguf_float(r->file, write_full_key(r, name), true, &read, r->error);
	if (status) return status;
	if (!(read >= 1e-6 && read <= 1e6))
		return status_fail(r->error, CUTTLE_MODEL, "model: %s is outside 1e-6..1e6",
		                   r->key);
	*value = (float)read;
	return CUTTLE_OK;
}

static enum cuttle_status read_multipliers(struct hyper_reader *r) {
	struct model *m = r->model;
	m->embedding_scale = m->residual_scale = m->logit_divisor = 1.0f;
	m->attention_scale = 1.0f / sqrtf((float)m->head_size);
	if (m->architecture->gelu) m->embedding_scale = sqrtf((float)m->width);
	// Gemma 3 of 27B, which alone has 62 layers, divides by another root: of width / heads.
	if (m->architecture->gelu && m->layers == 62)
		m->attention_scale = 1.0f / sqrtf((float)m->width / (float)m->heads);
	if (!m->architecture->multipliers) return CUTTLE_OK;
	enum cuttle_status status;
	if ((status = read_multiplier(r, "embedding_scale", &m->embedding_scale)) ||
	    (status = read_multiplier(r, "residual_scale", &m->residual_scale)) ||
	    (status = read_multiplier(r, "attention.scale", &m->attention_scale)) ||
	    (status = read_multiplier(r, "logit_scale", &m->logit_divisor)))
		return status;
	return CUTTLE_OK;
}

static enum cuttle_status read_rope_base(struct hyper_reader *r, const char *name, double *base) {
	const enum cuttle_status status =
	    gguf_float(r->file, write_full_key(r, name), false, base, r->error);
	if (status) return status;
	if (!(*base >= 1.0 && *base <= 1e9))
		return status_fail(r->error, CUTTLE_MODEL, "model: rope base out of range");
	return CUTTLE_OK;
}

/* Longrope has a factor for each pair up to the length of the first training, and others beyond.
 * Keys are kept as they were turned, so one context can only have one kind: it ends at that
 * length. Source: Ding et al. 2024 (LongRoPE), and Phi-3's config.json. */
static enum cuttle_status read_longrope(struct hyper_reader *r) {
	struct model *m = r->model;
	double factor = 1.0;
	m->rope_gain = 1.0f;
	if (!m->architecture->fused) return CUTTLE_OK;
	size_t first = m->context;
	enum cuttle_status status =
	    read_size(r, "rope.scaling.original_context_length", false, 16, UINT32_MAX, &first);
	if (!status)
		status = gguf_float(r->file, write_full_key(r, "rope.scaling.attn_factor"), false,
		                    &factor, r->error);
	if (status) return status;
	if (!(factor >= 1e-2 && factor <= 1e2))
		return status_fail(r->error, CUTTLE_MODEL, "model: %s is outside 0.01..100",
		                   r->key);
	m->rope_gain = (float)factor;
	if (first < m->context) m->context = first;
	return CUTTLE_OK;
}

/* Reads what the layers that slide have of their own. */
static enum cuttle_status read_sliding(struct hyper_reader *r) {
	struct model *m = r->model;
	size_t every = m->architecture->global_every;
	if (!every) return CUTTLE_OK;
	const enum cuttle_status status =
	    read_size(r, "attention.sliding_window_pattern", false, every, every, &every);
	if (status) return status;
	m->local_base = 10000.0;
	return read_rope_base(r, "rope.freq_base_swa", &m->local_base);
}

/* Reads the window, and the longest context: the least of the file's own length, MAX_CONTEXT, and
 * the window where layers do not slide. */
static enum cuttle_status read_context(struct hyper_reader *r) {
	struct model *m = r->model;
	const bool required = m->architecture->global_every != 0;
	size_t window = 0;
	enum cuttle_status status;
	if ((status = read_size(r, "context_length", true, 16, UINT32_MAX, &m->context)) ||
	    (status = read_size(r, "attention.sliding_window", required, 0, UINT32_MAX, &window)))
		return status;
	if ((window || required) && window < 16)
		return status_fail(r->error, CUTTLE_MODEL, "model: %s is too small", r->key);
	if (m->context > MAX_CONTEXT) m->context = MAX_CONTEXT;
	if (window && window < m->context) {
		if (m->architecture->slides) m->window = window;
		else m->context = window;
	}
	return CUTTLE_OK;
}

/* Of layers that convolve, the file has 0 KV heads; all others have the same number. */
static enum cuttle_status read_kinds(struct hyper_reader *r) {
	struct model *m = r->model;
	int32_t *heads = NULL;
	size_t count = 0;
	const char *key = write_full_key(r, "attention.head_count_kv");
	const enum cuttle_status status = gguf_ints(r->file, key, true, &heads, &count, r->error);
	if (status) return status;
	m->attending = m->kv_heads = 0;
	for (size_t i = 0; i < count && i < m->layers; i++) {
		m->places[i] = (uint16_t)(heads[i] ? m->attending++ : i - m->attending);
		m->layer_convolves[i] = !heads[i];
		if (!heads[i]) continue;
		if (m->attending == 1 && heads[i] > 0) m->kv_heads = (size_t)heads[i];
		if (heads[i] < 0 || (size_t)heads[i] != m->kv_heads) count = 0;
	}
	free(heads);
	if (count == m->layers && m->kv_heads && m->kv_heads <= m->heads) return CUTTLE_OK;
	return status_fail(r->error, CUTTLE_MODEL,
	                   "model: %s must have a number for each layer: 0, or one that all layers "
	                   "have which attend",
	                   key);
}

/* What layers of each kind there are. */
static enum cuttle_status read_layers(struct hyper_reader *r) {
	struct model *m = r->model;
	m->attending = m->layers;
	for (size_t i = 0; i < m->layers; i++) m->places[i] = (uint16_t)i;
	if (!m->architecture->convolves)
		return read_size(r, "attention.head_count_kv", false, 1, m->heads, &m->kv_heads);
	const enum cuttle_status status = read_kinds(r);
	return status ? status : read_size(r, "shortconv.l_cache", true, 1, MAX_TAPS, &m->taps);
}

static enum cuttle_status read_heads(struct hyper_reader *r) {
	struct model *m = r->model;
	enum cuttle_status status;
	if ((status = read_size(r, "attention.head_count", true, 1, MAX_WIDTH, &m->heads)))
		return status;
	m->kv_heads = m->heads;
	m->head_size = m->width / m->heads;
	if ((status = read_layers(r)) || (status = read_size(r, "attention.key_length", false, 16,
	                                                     MAX_HEAD_SIZE, &m->head_size)))
		return status;
	size_t value_length = m->width / m->heads;
	m->rotated = m->head_size;
	if ((status =
	         read_size(r, "attention.value_length", false, 16, MAX_HEAD_SIZE, &value_length)) ||
	    (status = read_size(r, "rope.dimension_count", false, 2, m->head_size, &m->rotated)))
		return status;
	if (m->heads % m->kv_heads || m->heads / m->kv_heads > ATTENTION_MOST_HEADS ||
	    m->head_size % 16 || m->head_size > MAX_HEAD_SIZE || m->rotated % 2 ||
	    value_length != m->head_size)
		return status_fail(r->error, CUTTLE_MODEL,
		                   "model: %zu heads, %zu KV heads of %zu (%zu turned), values of "
		                   "%zu are not supported",
		                   m->heads, m->kv_heads, m->head_size, m->rotated, value_length);
	return CUTTLE_OK;
}

/* Of these, layers keep one state of all tokens before. It stands at the last token alone, so it
 * cannot be shared up to a token in the middle of another context (engine/forward/kv.h). */
static const char *const recurrent[] = {
    "qwen35",    "qwen35moe",  "qwen3next", "granitehybrid", "nemotron_h", "nemotron_h_moe",
    "falcon-h1", "jamba",      "mamba",     "mamba2",        "plamo2",     "kimi-linear",
    "rwkv6",     "rwkv6qwen2", "rwkv7",     "arwkv7"};

static enum cuttle_status read_architecture_name(struct hyper_reader *r) {
	struct gguf_string name = {0};
	const enum cuttle_status status =
	    gguf_text(r->file, "general.architecture", true, &name, r->error);
	if (status) return status;
	for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
		if (is_among(name, &architectures[i].name, 1))
			r->model->architecture = &architectures[i];
	if (!r->model->architecture && AMONG(name, recurrent))
		return status_fail(r->error, CUTTLE_MODEL,
		                   "model: architecture \"%.*s\" is not supported: its layers keep "
		                   "one state of all tokens, which contexts cannot share",
		                   (int)name.size, name.text);
	if (!r->model->architecture)
		return status_fail(r->error, CUTTLE_MODEL,
		                   "model: architecture \"%.*s\" is not supported (only llama, "
		                   "qwen2, qwen3, granite, smollm3, olmo2, gemma3, phi3, lfm2)",
		                   (int)(name.size > 40 ? 40 : name.size), name.text);
	return CUTTLE_OK;
}

enum cuttle_status architecture_read(const struct gguf *file, struct model *model,
                                     double *rope_base, double *rope_scale,
                                     struct cuttle_error *error) {
	struct hyper_reader r = {.file = file, .model = model, .error = error};
	struct model *m = model;
	double epsilon = 0.0;
	enum cuttle_status status;
	*rope_base = 10000.0;
	*rope_scale = 1.0;
	if ((status = read_architecture_name(&r)) || (status = refuse_unknown_keys(&r)) ||
	    (status = read_size(&r, "block_count", true, 1, MAX_LAYERS, &m->layers)) ||
	    (status = read_size(&r, "embedding_length", true, 32, MAX_WIDTH, &m->width)) ||
	    (status = read_size(&r, "feed_forward_length", true, 32, MAX_FFN, &m->ffn)) ||
	    (status = read_context(&r)) || (status = read_heads(&r)) ||
	    (status = read_multipliers(&r)) || (status = read_sliding(&r)) ||
	    (status = read_longrope(&r)) ||
	    (status = gguf_float(file, write_full_key(&r, "attention.layer_norm_rms_epsilon"), true,
	                         &epsilon, error)) ||
	    (status = read_rope_base(&r, "rope.freq_base", rope_base)) ||
	    (status = read_rope_scale(&r, rope_scale)))
		return status;
	m->norm_epsilon = (float)epsilon;
	if (m->width % 32 || m->ffn % 32 || m->heads * m->head_size % 32)
		return status_fail(error, CUTTLE_MODEL, "model: widths must be multiples of 32");
	// A convolution uses the memory of queries, gate and up.
	if (m->architecture->convolves &&
	    (m->heads * m->head_size != m->width || m->ffn < m->width))
		return status_fail(error, CUTTLE_MODEL,
		                   "model: heads or feed-forward are narrower than a state");
	if (!(epsilon > 0.0 && epsilon < 1.0))
		return status_fail(error, CUTTLE_MODEL, "model: norm epsilon out of range");
	return CUTTLE_OK;
}
