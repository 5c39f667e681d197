// SPDX-License-Identifier: Apache-2.0
// GGUF -> model: hyper-parameters checked, every tensor's name and shape checked against them, weights packed, source pages let go.
#include "engine/model.h"

#include "engine/rope.h"
#include "engine/status.h"
#include "kernels/pack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_LAYERS = 512, MAX_WIDTH = 65536, MAX_FFN = 1 << 18, MAX_HEAD_SIZE = 256, MAX_CONTEXT = 1 << 20, NAME = 64 };

struct builder {
	struct model *model;
	const struct gguf *file;
	uint8_t *bytes;
	struct cuttle_error *error;
	size_t seen;       /* tensors of the file that found their place */
	uint32_t types[9]; /* how many of each gguf_tensor_type */
	uint64_t parameters;
};

static enum cuttle_status read_size(struct builder *b, const char *key, bool required, size_t least, size_t most, size_t *value) {
	uint64_t read = *value;
	const enum cuttle_status status = gguf_unsigned(b->file, key, required, &read, b->error);
	if (status) return status;
	if (read < least || read > most)
		return status_fail(b->error, CUTTLE_MODEL, "model: %s is %llu, outside %zu..%zu", key, (unsigned long long)read, least,
		                   most);
	*value = (size_t)read;
	return CUTTLE_OK;
}

static enum cuttle_status refuse_other_maths(struct builder *b, double *rope_scale) {
	struct gguf_string text = {0};
	enum cuttle_status status = gguf_text(b->file, "llama.rope.scaling.type", false, &text, b->error);
	if (status) return status;
	const bool linear = text.size == 6 && !memcmp(text.text, "linear", 6);
	if (text.size && !linear && !(text.size == 4 && !memcmp(text.text, "none", 4)))
		return status_fail(b->error, CUTTLE_MODEL, "model: rope scaling \"%.*s\" is not supported",
		                   (int)(text.size > 40 ? 40 : text.size), text.text);
	if (linear) {
		status = gguf_float(b->file, "llama.rope.scaling.factor", true, rope_scale, b->error);
		if (status) return status;
		if (!(*rope_scale >= 1.0 && *rope_scale <= 1e4))
			return status_fail(b->error, CUTTLE_MODEL, "model: rope scaling factor out of range");
	}
	static const char *const zero_only[] = {
	    "llama.expert_count",           "llama.attention.sliding_window", "llama.attention.clamp_kqv",
	    "llama.attn_logit_softcapping", "llama.final_logit_softcapping",  "llama.logit_scale",
	    "llama.residual_scale",         "llama.embedding_scale",          "llama.attention.scale"};
	for (size_t i = 0; i < sizeof zero_only / sizeof *zero_only; i++) {
		if (!gguf_has(b->file, zero_only[i])) continue;
		uint64_t value = 1;
		if (gguf_unsigned(b->file, zero_only[i], false, &value, NULL) || value)
			return status_fail(b->error, CUTTLE_MODEL, "model: %s is not supported", zero_only[i]);
	}
	return CUTTLE_OK;
}

static enum cuttle_status read_shape(struct builder *b, double *rope_base, double *rope_scale) {
	struct model *m = b->model;
	struct gguf_string architecture = {0};
	enum cuttle_status status = gguf_text(b->file, "general.architecture", true, &architecture, b->error);
	if (status) return status;
	if (architecture.size != 5 || memcmp(architecture.text, "llama", 5))
		return status_fail(b->error, CUTTLE_MODEL, "model: architecture \"%.*s\" is not supported (only llama)",
		                   (int)(architecture.size > 40 ? 40 : architecture.size), architecture.text);
	snprintf(m->info.architecture, sizeof m->info.architecture, "llama");
	double epsilon = 0.0;
	if ((status = read_size(b, "llama.block_count", true, 1, MAX_LAYERS, &m->layers)) ||
	    (status = read_size(b, "llama.embedding_length", true, 32, MAX_WIDTH, &m->width)) ||
	    (status = read_size(b, "llama.feed_forward_length", true, 32, MAX_FFN, &m->ffn)) ||
	    (status = read_size(b, "llama.context_length", true, 16, UINT32_MAX, &m->context)) ||
	    (status = read_size(b, "llama.attention.head_count", true, 1, MAX_WIDTH, &m->heads)) ||
	    (status = (m->kv_heads = m->heads, read_size(b, "llama.attention.head_count_kv", false, 1, m->heads, &m->kv_heads))) ||
	    (status = (m->head_size = m->width / m->heads,
	               read_size(b, "llama.attention.key_length", false, 16, MAX_HEAD_SIZE, &m->head_size))) ||
	    (status = (m->rotated = m->head_size, read_size(b, "llama.rope.dimension_count", false, 2, m->head_size, &m->rotated))) ||
	    (status = gguf_float(b->file, "llama.attention.layer_norm_rms_epsilon", true, &epsilon, b->error)) ||
	    (status = gguf_float(b->file, "llama.rope.freq_base", false, rope_base, b->error)) ||
	    (status = refuse_other_maths(b, rope_scale)))
		return status;
	size_t value_length = m->head_size;
	if ((status = read_size(b, "llama.attention.value_length", false, 16, MAX_HEAD_SIZE, &value_length))) return status;
	m->norm_epsilon = (float)epsilon;
	if (m->context > MAX_CONTEXT) m->context = MAX_CONTEXT;
	if (m->heads % m->kv_heads || m->heads / m->kv_heads > ATTENTION_MOST_HEADS || m->head_size % 16 || m->head_size > MAX_HEAD_SIZE ||
	    m->rotated % 2 || value_length != m->head_size)
		return status_fail(b->error, CUTTLE_MODEL, "model: %zu heads, %zu KV heads of %zu (%zu turned) are not supported", m->heads,
		                   m->kv_heads, m->head_size, m->rotated);
	if (m->width % 32 || m->ffn % 32 || m->heads * m->head_size % 32)
		return status_fail(b->error, CUTTLE_MODEL, "model: widths must be multiples of 32");
	if (!(epsilon > 0.0 && epsilon < 1.0)) return status_fail(b->error, CUTTLE_MODEL, "model: norm epsilon out of range");
	if (!(*rope_base >= 1.0 && *rope_base <= 1e9)) return status_fail(b->error, CUTTLE_MODEL, "model: rope base out of range");
	return CUTTLE_OK;
}

/* The tensor of that name, its shape checked ([rows][row], rows 0 for a vector); NULL and OK when absent and not required. */
static enum cuttle_status find(struct builder *b, const char *name, size_t row, size_t rows, bool required,
                               const struct gguf_tensor **found) {
	const struct gguf_tensor *tensor = gguf_tensor_find(b->file, name);
	*found = tensor;
	if (!tensor) return required ? status_fail(b->error, CUTTLE_MODEL, "model: tensor %s is missing", name) : CUTTLE_OK;
	const uint64_t second = tensor->shape[1] * (tensor->shape[2] == 1 && tensor->shape[3] == 1 ? 1 : 0);
	if (tensor->shape[0] != row || second != (rows ? rows : 1))
		return status_fail(b->error, CUTTLE_MODEL, "model: tensor %s has shape [%llu, %llu], expected [%zu, %zu]", name,
		                   (unsigned long long)tensor->shape[0], (unsigned long long)tensor->shape[1], row, rows ? rows : 1);
	b->seen++;
	b->types[tensor->type]++;
	b->parameters += (uint64_t)row * (rows ? rows : 1);
	return CUTTLE_OK;
}

static enum packed_type packed_type_of(uint32_t type) {
	switch (type) {
	case GGUF_TENSOR_F16:
		return PACKED_F16;
	case GGUF_TENSOR_Q4_0:
		return PACKED_Q4_0;
	case GGUF_TENSOR_Q4_1:
		return PACKED_Q4_1;
	case GGUF_TENSOR_Q8_0:
		return PACKED_Q8_0;
	default:
		return PACKED_F32;
	}
}

/* First pass: the bytes every tensor needs once packed. */
static enum cuttle_status add_size(struct builder *b, const struct gguf_tensor *tensor, size_t *total) {
	size_t weights, scales, minima;
	if (!pack_sizes(packed_type_of(tensor->type), (size_t)tensor->shape[1], (size_t)tensor->shape[0], &weights, &scales, &minima) ||
	    !region_add(total, 1, weights) || !region_add(total, 1, scales) || !region_add(total, 1, minima))
		return status_fail(b->error, CUTTLE_MODEL, "model: too large");
	return CUTTLE_OK;
}

struct packing {
	struct packed_matrix matrix;
	const uint8_t *source;
	size_t groups, step;
};

static void pack_task(void *context, size_t index, unsigned worker) {
	(void)worker;
	const struct packing *packing = context;
	const size_t begin = index * packing->step, end = begin + packing->step;
	pack_groups(&packing->matrix, packing->source, begin, end < packing->groups ? end : packing->groups);
}

/* Whole source pages of a packed tensor are not needed again. */
static void release_pages(const struct gguf_tensor *tensor) {
	const uintptr_t page = 4096, first = ((uintptr_t)tensor->data + page - 1) / page * page;
	const uintptr_t last = ((uintptr_t)tensor->data + tensor->bytes) / page * page;
	if (last > first) madvise((void *)first, last - first, MADV_DONTNEED);
}

static struct packed_matrix pack(struct model *m, const struct gguf_tensor *tensor) {
	struct packing packing = {.source = tensor->data, .step = 16};
	struct packed_matrix *matrix = &packing.matrix;
	*matrix =
	    (struct packed_matrix){packed_type_of(tensor->type), (size_t)tensor->shape[1], (size_t)tensor->shape[0], NULL, NULL, NULL};
	size_t weights = 0, scales = 0, minima = 0;
	pack_sizes(matrix->type, matrix->channels, matrix->k, &weights, &scales, &minima);
	matrix->weights = region_carve(&m->weights, weights);
	matrix->scales = region_carve(&m->weights, scales);
	matrix->minima = region_carve(&m->weights, minima);
	packing.groups = (matrix->channels + GEMM_GROUP - 1) / GEMM_GROUP;
	threads_run(m->threads, (packing.groups + packing.step - 1) / packing.step, pack_task, &packing);
	release_pages(tensor);
	return *matrix;
}

static const float *copy_vector(struct model *m, const struct gguf_tensor *tensor) {
	float *copy = region_carve(&m->weights, tensor->bytes);
	memcpy(copy, tensor->data, tensor->bytes);
	return copy;
}

/* The tensors of one layer in the order of struct layer: two vectors, seven matrices. */
enum { LAYER_TENSORS = 9, LAYER_VECTORS = 2 };

static enum cuttle_status find_layer(struct builder *b, size_t layer, const struct gguf_tensor *found[LAYER_TENSORS]) {
	const struct model *m = b->model;
	const size_t query = m->heads * m->head_size, key = m->kv_heads * m->head_size;
	const struct {
		const char *name;
		size_t row, rows;
	} expected[LAYER_TENSORS] = {
	    {"attn_norm", m->width, 0},     {"ffn_norm", m->width, 0},    {"attn_q", m->width, query},
	    {"attn_k", m->width, key},      {"attn_v", m->width, key},    {"attn_output", query, m->width},
	    {"ffn_gate", m->width, m->ffn}, {"ffn_up", m->width, m->ffn}, {"ffn_down", m->ffn, m->width},
	};
	for (size_t i = 0; i < LAYER_TENSORS; i++) {
		char name[NAME];
		snprintf(name, sizeof name, "blk.%zu.%s.weight", layer, expected[i].name);
		const enum cuttle_status status = find(b, name, expected[i].row, expected[i].rows, true, &found[i]);
		if (status) return status;
		if (i < LAYER_VECTORS && found[i]->type != GGUF_TENSOR_F32)
			return status_fail(b->error, CUTTLE_MODEL, "model: tensor %s must be F32", name);
	}
	return CUTTLE_OK;
}

static enum cuttle_status read_rope(struct builder *b, double base, double scale) {
	struct model *m = b->model;
	const struct gguf_tensor *factors_tensor;
	const enum cuttle_status status = find(b, "rope_freqs.weight", m->rotated / 2, 0, false, &factors_tensor);
	if (status) return status;
	float factors[MAX_HEAD_SIZE / 2];
	if (factors_tensor) {
		if (factors_tensor->type != GGUF_TENSOR_F32) return status_fail(b->error, CUTTLE_MODEL, "model: rope_freqs must be F32");
		memcpy(factors, factors_tensor->data, factors_tensor->bytes);
		for (size_t i = 0; i < m->rotated / 2; i++)
			if (!(factors[i] > 0.0f && factors[i] < 1e6f))
				return status_fail(b->error, CUTTLE_MODEL, "model: rope_freqs out of range");
	}
	m->rope_frequencies = malloc(m->rotated / 2 * sizeof *m->rope_frequencies);
	if (!m->rope_frequencies) return status_fail(b->error, CUTTLE_NOMEM, "out of memory");
	rope_frequencies(base, m->rotated, factors_tensor ? factors : NULL, scale, m->rope_frequencies);
	return CUTTLE_OK;
}

static enum cuttle_status find_weights(struct builder *b, const struct gguf_tensor *(*found)[LAYER_TENSORS],
                                       const struct gguf_tensor *ends[3], size_t *total) {
	struct model *m = b->model;
	enum cuttle_status status;
	if ((status = find(b, "token_embd.weight", m->width, m->vocab_size, true, &ends[0])) ||
	    (status = find(b, "output_norm.weight", m->width, 0, true, &ends[1])) ||
	    (status = find(b, "output.weight", m->width, m->vocab_size, false, &ends[2])))
		return status;
	if (ends[1]->type != GGUF_TENSOR_F32) return status_fail(b->error, CUTTLE_MODEL, "model: output_norm must be F32");
	if ((status = add_size(b, ends[0], total)) || (ends[2] && (status = add_size(b, ends[2], total)))) return status;
	for (size_t i = 0; i < m->layers; i++) {
		if ((status = find_layer(b, i, found[i]))) return status;
		for (size_t t = LAYER_VECTORS; t < LAYER_TENSORS; t++)
			if ((status = add_size(b, found[i][t], total))) return status;
	}
	if (b->seen != gguf_tensor_count(b->file))
		return status_fail(b->error, CUTTLE_MODEL, "model: %zu tensors of kinds this program does not know",
		                   gguf_tensor_count(b->file) - b->seen);
	if (!region_add(total, 1 + 2 * m->layers, (m->width * sizeof(float) + 63) / 64 * 64))
		return status_fail(b->error, CUTTLE_MODEL, "model: too large");
	return CUTTLE_OK;
}

static enum cuttle_status read_weights(struct builder *b) {
	struct model *m = b->model;
	const struct gguf_tensor *ends[3]; // embedding, output norm, head or NULL
	const struct gguf_tensor *(*found)[LAYER_TENSORS] = calloc(m->layers, sizeof *found);
	size_t total = 0;
	enum cuttle_status status =
	    found ? find_weights(b, found, ends, &total) : status_fail(b->error, CUTTLE_NOMEM, "out of memory reading the model");
	m->layer = calloc(m->layers, sizeof *m->layer);
	if (!status && (!m->layer || !region_map(&m->weights, total, false)))
		status = status_fail(b->error, CUTTLE_NOMEM, "out of memory: the model needs %zu MiB", total >> 20);
	if (!status) {
		m->info.tied_head = !ends[2];
		m->embedding = pack(m, ends[0]);
		m->output_norm = copy_vector(m, ends[1]);
		m->head = ends[2] ? pack(m, ends[2]) : m->embedding;
		for (size_t i = 0; i < m->layers; i++) {
			struct layer *layer = &m->layer[i];
			layer->attention_norm = copy_vector(m, found[i][0]);
			layer->ffn_norm = copy_vector(m, found[i][1]);
			struct packed_matrix *const matrices[] = {&layer->query, &layer->key, &layer->value, &layer->output,
			                                          &layer->gate,  &layer->up,  &layer->down};
			for (size_t t = LAYER_VECTORS; t < LAYER_TENSORS; t++) *matrices[t - LAYER_VECTORS] = pack(m, found[i][t]);
		}
	}
	free(found);
	return status;
}

static void describe(struct builder *b, size_t size) {
	struct model *m = b->model;
	struct cuttle_model_info *info = &m->info;
	struct gguf_string name = {0};
	if (!gguf_text(b->file, "general.name", false, &name, NULL))
		for (size_t i = 0; i < name.size && i < sizeof info->name - 1; i++) // a hostile name must not reach a terminal
			info->name[i] = name.text[i] < 0x20 || name.text[i] > 0x7e ? '?' : name.text[i];
	snprintf(info->tokenizer, sizeof info->tokenizer, "%s", vocab_kind(m->vocab));
	snprintf(info->chat, sizeof info->chat, "%s", chat_name(m->chat));
	static const struct {
		enum gguf_tensor_type type;
		const char *name;
	} types[] = {{GGUF_TENSOR_Q8_0, "Q8_0"},
	             {GGUF_TENSOR_Q4_1, "Q4_1"},
	             {GGUF_TENSOR_Q4_0, "Q4_0"},
	             {GGUF_TENSOR_F16, "F16"},
	             {GGUF_TENSOR_F32, "F32"}};
	size_t at = 0;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (b->types[types[i].type] && at < sizeof info->types)
			at += (size_t)snprintf(info->types + at, sizeof info->types - at, "%s%s x%u", at ? ", " : "", types[i].name,
			                       b->types[types[i].type]);
	info->file_bytes = size;
	info->parameters = b->parameters;
	info->packed_bytes = m->weights.used;
	info->layers = (uint32_t)m->layers;
	info->width = (uint32_t)m->width;
	info->heads = (uint32_t)m->heads;
	info->kv_heads = (uint32_t)m->kv_heads;
	info->head_size = (uint32_t)m->head_size;
	info->ffn = (uint32_t)m->ffn;
	info->vocab = (uint32_t)m->vocab_size;
	info->context = (uint32_t)m->context;
	info->bos = vocab_bos(m->vocab);
	info->eos = vocab_eos(m->vocab);
	info->add_bos = vocab_add_bos(m->vocab);
}

enum cuttle_status model_build(struct model *model, uint8_t *bytes, size_t size, struct cuttle_error *error) {
	struct gguf *file = NULL;
	struct builder b = {.model = model, .bytes = bytes, .error = error};
	double rope_base = 10000.0, rope_scale = 1.0;
	enum cuttle_status status = gguf_parse(bytes, size, &file, error);
	b.file = file;
	if (status || (status = read_shape(&b, &rope_base, &rope_scale)) || (status = vocab_read(file, &model->vocab, error))) goto out;
	model->vocab_size = vocab_size(model->vocab);
	struct gguf_string chat = {0};
	if ((status = gguf_text(file, "tokenizer.chat_template", false, &chat, error))) goto out;
	model->chat = chat_recognise(chat.text, chat.size);
	if ((status = read_rope(&b, rope_base, rope_scale)) || (status = read_weights(&b))) goto out;
	describe(&b, size);
out:
	gguf_free(&file);
	return status;
}

void model_release(struct model *model) {
	region_unmap(&model->weights, false);
	free(model->layer);
	free(model->rope_frequencies);
	vocab_free(&model->vocab);
	threads_free(&model->threads);
}
