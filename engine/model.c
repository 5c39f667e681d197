// SPDX-License-Identifier: Apache-2.0
// GGUF -> model: hyper-parameters checked, every tensor's name and shape checked against them, weights packed, source pages let go.
#include "engine/model.h"

#include "engine/rope.h"
#include "engine/status.h"
#include "kernels/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { NAME = 64 };

struct builder {
	struct model *model;
	const struct gguf *file;
	uint8_t *bytes;
	struct cuttle_error *error;
	bool *placed;                      /* [tensors of the file] whether it found its place */
	uint32_t types[GGUF_TENSOR_TYPES]; /* how many of each */
	uint64_t parameters;
};

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
	b->placed[tensor - gguf_tensor_at(b->file, 0)] = true;
	b->types[tensor->type]++;
	b->parameters += (uint64_t)row * (rows ? rows : 1);
	return CUTTLE_OK;
}

static enum packed_type packed_type_of(uint32_t type) {
	static const enum packed_type packed[GGUF_TENSOR_TYPES] = {
	    [GGUF_TENSOR_F32] = PACKED_F32,   [GGUF_TENSOR_F16] = PACKED_F16,   [GGUF_TENSOR_BF16] = PACKED_BF16,
	    [GGUF_TENSOR_Q4_0] = PACKED_Q4_0, [GGUF_TENSOR_Q4_1] = PACKED_Q4_1, [GGUF_TENSOR_Q5_0] = PACKED_Q5_0,
	    [GGUF_TENSOR_Q5_1] = PACKED_Q5_1, [GGUF_TENSOR_Q8_0] = PACKED_Q8_0, [GGUF_TENSOR_IQ4_NL] = PACKED_IQ4_NL,
	    [GGUF_TENSOR_Q2_K] = PACKED_Q2_K, [GGUF_TENSOR_Q3_K] = PACKED_Q3_K, [GGUF_TENSOR_Q4_K] = PACKED_Q4_K,
	    [GGUF_TENSOR_Q5_K] = PACKED_Q5_K, [GGUF_TENSOR_Q6_K] = PACKED_Q6_K, [GGUF_TENSOR_IQ4_XS] = PACKED_IQ4_XS,
	};
	return packed[type];
}

/* First pass: the bytes every tensor needs once packed. */
static enum cuttle_status add_size(struct builder *b, const struct gguf_tensor *tensor, size_t *total) {
	size_t weights, scales, minima;
	if (!pack_sizes(packed_type_of(tensor->type), (size_t)tensor->shape[1], (size_t)tensor->shape[0], &weights, &scales, &minima) ||
	    !region_add(total, 1, weights) || !region_add(total, 1, scales) || !region_add(total, 1, minima))
		return status_fail(b->error, CUTTLE_MODEL, "model: too large");
	return CUTTLE_OK;
}

static enum cuttle_status add_vector(struct builder *b, const struct gguf_tensor *tensor, size_t *total) {
	return region_add(total, 1, tensor->bytes) ? CUTTLE_OK : status_fail(b->error, CUTTLE_MODEL, "model: too large");
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

/* The tensors of one layer, in this order: seven matrices, then vectors, the last five only where the architecture has them. */
enum {
	QUERY,
	KEY,
	VALUE,
	OUTPUT,
	GATE,
	UP,
	DOWN,
	MATRICES,
	ATTENTION_NORM = MATRICES,
	FFN_NORM,
	QUERY_BIAS,
	KEY_BIAS,
	VALUE_BIAS,
	QUERY_NORM,
	KEY_NORM,
	LAYER_TENSORS
};

static enum cuttle_status find_layer(struct builder *b, size_t layer, const struct gguf_tensor *found[LAYER_TENSORS]) {
	const struct model *m = b->model;
	const size_t query = m->heads * m->head_size, key = m->kv_heads * m->head_size;
	const bool biases = m->architecture->biases, norms = m->architecture->head_norms;
	const struct {
		const char *name;
		size_t row, rows;
		bool absent;
	} expected[LAYER_TENSORS] = {
	    [QUERY] = {"attn_q.weight", m->width, query, false},
	    [KEY] = {"attn_k.weight", m->width, key, false},
	    [VALUE] = {"attn_v.weight", m->width, key, false},
	    [OUTPUT] = {"attn_output.weight", query, m->width, false},
	    [GATE] = {"ffn_gate.weight", m->width, m->ffn, false},
	    [UP] = {"ffn_up.weight", m->width, m->ffn, false},
	    [DOWN] = {"ffn_down.weight", m->ffn, m->width, false},
	    [ATTENTION_NORM] = {"attn_norm.weight", m->width, 0, false},
	    [FFN_NORM] = {"ffn_norm.weight", m->width, 0, false},
	    [QUERY_BIAS] = {"attn_q.bias", query, 0, !biases},
	    [KEY_BIAS] = {"attn_k.bias", key, 0, !biases},
	    [VALUE_BIAS] = {"attn_v.bias", key, 0, !biases},
	    [QUERY_NORM] = {"attn_q_norm.weight", m->head_size, 0, !norms},
	    [KEY_NORM] = {"attn_k_norm.weight", m->head_size, 0, !norms},
	};
	for (size_t i = 0; i < LAYER_TENSORS; i++) {
		if (expected[i].absent) continue;
		char name[NAME];
		snprintf(name, sizeof name, "blk.%zu.%s", layer, expected[i].name);
		const enum cuttle_status status = find(b, name, expected[i].row, expected[i].rows, true, &found[i]);
		if (status) return status;
		if (i >= MATRICES && found[i]->type != GGUF_TENSOR_F32)
			return status_fail(b->error, CUTTLE_MODEL, "model: tensor %s must be F32", name);
	}
	return CUTTLE_OK;
}

/* Rows (or entries) i and i + rotated/2 of each head become 2i and 2i + 1, in the file's bytes. Attention is a sum over a head's rows, so
 * that queries and keys in another order, both the same, mean the same. */
static enum cuttle_status pair_halves(struct builder *b, const struct gguf_tensor *tensor, size_t rows) {
	const struct model *m = b->model;
	if (!tensor || !m->architecture->rotates_halves) return CUTTLE_OK;
	const size_t row = tensor->bytes / rows, half = m->rotated / 2;
	uint8_t *const head = malloc(m->rotated * row);
	if (!head) return status_fail(b->error, CUTTLE_NOMEM, "out of memory reading the model");
	uint8_t *at = b->bytes + (tensor->data - b->bytes);
	for (size_t done = 0; done < rows; done += m->head_size, at += m->head_size * row) {
		for (size_t i = 0; i < half; i++) {
			memcpy(head + 2 * i * row, at + i * row, row);
			memcpy(head + (2 * i + 1) * row, at + (i + half) * row, row);
		}
		memcpy(at, head, m->rotated * row);
	}
	free(head);
	return CUTTLE_OK;
}

static enum cuttle_status pair_layer(struct builder *b, const struct gguf_tensor *const found[LAYER_TENSORS]) {
	const struct model *m = b->model;
	const size_t query = m->heads * m->head_size, key = m->kv_heads * m->head_size;
	enum cuttle_status status;
	if ((status = pair_halves(b, found[QUERY], query)) || (status = pair_halves(b, found[KEY], key)) ||
	    (status = pair_halves(b, found[QUERY_BIAS], query)) || (status = pair_halves(b, found[KEY_BIAS], key)) ||
	    (status = pair_halves(b, found[QUERY_NORM], m->head_size)) || (status = pair_halves(b, found[KEY_NORM], m->head_size)))
		return status;
	return CUTTLE_OK;
}

static enum cuttle_status read_layer(struct builder *b, const struct gguf_tensor *const found[LAYER_TENSORS], struct layer *layer) {
	struct model *m = b->model;
	struct packed_matrix *const matrices[] = {
	    [QUERY] = &layer->query, [KEY] = &layer->key, [VALUE] = &layer->value, [OUTPUT] = &layer->output,
	    [GATE] = &layer->gate,   [UP] = &layer->up,   [DOWN] = &layer->down};
	const float **const vectors[] = {[ATTENTION_NORM] = &layer->attention_norm,
	                                 [FFN_NORM] = &layer->ffn_norm,
	                                 [QUERY_BIAS] = &layer->query_bias,
	                                 [KEY_BIAS] = &layer->key_bias,
	                                 [VALUE_BIAS] = &layer->value_bias,
	                                 [QUERY_NORM] = &layer->query_norm,
	                                 [KEY_NORM] = &layer->key_norm};
	const enum cuttle_status status = pair_layer(b, found);
	if (status) return status;
	for (size_t i = 0; i < MATRICES; i++) *matrices[i] = pack(m, found[i]);
	for (size_t i = MATRICES; i < LAYER_TENSORS; i++)
		if (found[i]) *vectors[i] = copy_vector(m, found[i]);
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
	if ((status = add_size(b, ends[0], total)) || (status = add_vector(b, ends[1], total)) ||
	    (ends[2] && (status = add_size(b, ends[2], total))))
		return status;
	for (size_t i = 0; i < m->layers; i++) {
		if ((status = find_layer(b, i, found[i]))) return status;
		for (size_t t = 0; t < LAYER_TENSORS; t++)
			if (found[i][t] && (status = t < MATRICES ? add_size(b, found[i][t], total) : add_vector(b, found[i][t], total)))
				return status;
	}
	for (size_t i = 0; i < gguf_tensor_count(b->file); i++)
		if (!b->placed[i])
			return status_fail(b->error, CUTTLE_MODEL, "model: tensor %.*s is not supported in %s",
			                   (int)gguf_tensor_at(b->file, i)->name.size, gguf_tensor_at(b->file, i)->name.text,
			                   m->architecture->name);
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
		for (size_t i = 0; i < m->layers && !status; i++) status = read_layer(b, found[i], &m->layer[i]);
	}
	free(found);
	return status;
}

static void describe(struct builder *b, size_t size) {
	struct model *m = b->model;
	struct cuttle_model_info *info = &m->info;
	snprintf(info->architecture, sizeof info->architecture, "%s", m->architecture->name);
	struct gguf_string name = {0};
	if (!gguf_text(b->file, "general.name", false, &name, NULL))
		for (size_t i = 0; i < name.size && i < sizeof info->name - 1; i++) // a hostile name must not reach a terminal
			info->name[i] = name.text[i] < 0x20 || name.text[i] > 0x7e ? '?' : name.text[i];
	snprintf(info->tokenizer, sizeof info->tokenizer, "%s", vocab_kind(m->vocab));
	snprintf(info->chat, sizeof info->chat, "%s", chat_name(m->chat));
	size_t at = 0;
	for (uint32_t type = GGUF_TENSOR_TYPES; type--;)
		if (b->types[type] && at < sizeof info->types)
			at += (size_t)snprintf(info->types + at, sizeof info->types - at, "%s%s x%u", at ? ", " : "", gguf_type_name(type),
			                       b->types[type]);
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
	double rope_base, rope_scale;
	enum cuttle_status status = gguf_parse(bytes, size, &file, error);
	b.file = file;
	if (status || (status = architecture_read(file, model, &rope_base, &rope_scale, error)) ||
	    (status = vocab_read(file, &model->vocab, error)))
		goto out;
	b.placed = calloc(gguf_tensor_count(file) + 1, sizeof *b.placed);
	if (!b.placed) {
		status = status_fail(error, CUTTLE_NOMEM, "out of memory reading the model");
		goto out;
	}
	model->vocab_size = vocab_size(model->vocab);
	struct gguf_string chat = {0};
	if ((status = gguf_text(file, "tokenizer.chat_template", false, &chat, error))) goto out;
	model->chat = chat_recognise(chat.text, chat.size);
	const int32_t bos = vocab_bos(model->vocab);
	model->chat_bos = bos >= 0 && chat_writes_bos(chat.text, chat.size, vocab_piece(model->vocab, bos));
	if ((status = read_rope(&b, rope_base, rope_scale)) || (status = read_weights(&b))) goto out;
	describe(&b, size);
out:
	free(b.placed);
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
