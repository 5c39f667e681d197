// SPDX-License-Identifier: Apache-2.0
// model.c: from the bytes of a GGUF file to a model. The steps of model_build:
//   read_architecture  sizes are read and checked (architecture.c)
//   read_vocabulary    vocabulary, chat format, names
//   read_rope_factors  frequencies of the rotation
//   read_weights       find_weights checks every tensor's name and shape against the sizes and adds
//                      up the bytes; map_weights maps them; then all tensors are packed
//   describe_weights   fills the public info
//
// A packed tensor's pages in the file's bytes are given back to the system.
// So file and packed weights are never both whole in memory.
#include "engine/model/model.h"

#include "engine/machine/memory.h"
#include "engine/model/rope.h"
#include "engine/status.h"
#include "kernels/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { NAME = 64 }; /* bytes of a tensor's name, NUL included */

/* The tensor of factors of the rotation, and one that is there and not used. */
static const char ROPE_FACTORS[] = "rope_freqs.weight",
                  SHORT_FACTORS[] = "rope_factors_short.weight",
                  LONG_FACTORS[] = "rope_factors_long.weight";

struct builder {
	struct model *model;
	const struct gguf *file;
	uint8_t *bytes; /* the file's */
	struct cuttle_error *error;
	bool *placed; /* [tensors of the file] whether the model has a use for it */
	uint32_t types[GGUF_TENSOR_TYPES];        /* tensors used of each type */
	uint64_t parameters;                      /* numbers in all tensors used */
	const struct cuttle_model_params *params; /* may be NULL */
	uint64_t packed;                          /* bytes of tensors packed so far */
	uint64_t size;                            /* bytes of all parts of the file */
};

/* Sets *found to the tensor of that name and checks its shape: `rows` rows of `row` numbers each,
 * or rows = 0 for a vector. A tensor that is absent and not required gives NULL and OK. */
static enum cuttle_status find_tensor(struct builder *b, const char *name, size_t row, size_t rows,
                                      bool required, const struct gguf_tensor **found) {
	const struct gguf_tensor *tensor = gguf_tensor_find(b->file, name);
	*found = tensor;
	if (!tensor)
		return required ? status_fail(b->error, CUTTLE_MODEL, "model: tensor %s is missing",
		                              name)
		                : CUTTLE_OK;
	const uint64_t second =
	    tensor->shape[1] * (tensor->shape[2] == 1 && tensor->shape[3] == 1 ? 1 : 0);
	if (tensor->shape[0] != row || second != (rows ? rows : 1))
		return status_fail(b->error, CUTTLE_MODEL,
		                   "model: tensor %s has shape [%llu, %llu], expected [%zu, %zu]",
		                   name, (unsigned long long)tensor->shape[0],
		                   (unsigned long long)tensor->shape[1], row, rows ? rows : 1);
	b->placed[tensor - gguf_tensor_at(b->file, 0)] = true;
	b->types[tensor->type]++;
	b->parameters += (uint64_t)row * (rows ? rows : 1);
	return CUTTLE_OK;
}

static enum packed_type packed_type_of(uint32_t type) {
	static const enum packed_type packed[GGUF_TENSOR_TYPES] = {
	    [GGUF_TENSOR_F32] = PACKED_F32,       [GGUF_TENSOR_F16] = PACKED_F16,
	    [GGUF_TENSOR_BF16] = PACKED_BF16,     [GGUF_TENSOR_Q4_0] = PACKED_Q4_0,
	    [GGUF_TENSOR_Q4_1] = PACKED_Q4_1,     [GGUF_TENSOR_Q5_0] = PACKED_Q5_0,
	    [GGUF_TENSOR_Q5_1] = PACKED_Q5_1,     [GGUF_TENSOR_Q8_0] = PACKED_Q8_0,
	    [GGUF_TENSOR_IQ4_NL] = PACKED_IQ4_NL, [GGUF_TENSOR_Q2_K] = PACKED_Q2_K,
	    [GGUF_TENSOR_Q3_K] = PACKED_Q3_K,     [GGUF_TENSOR_Q4_K] = PACKED_Q4_K,
	    [GGUF_TENSOR_Q5_K] = PACKED_Q5_K,     [GGUF_TENSOR_Q6_K] = PACKED_Q6_K,
	    [GGUF_TENSOR_IQ4_XS] = PACKED_IQ4_XS,
	};
	return packed[type];
}

/* Adds the bytes of a matrix once it is packed. */
static enum cuttle_status add_matrix_size(struct builder *b, const struct gguf_tensor *tensor,
                                          size_t *total) {
	size_t weights, scales, minima;
	if (!pack_sizes(packed_type_of(tensor->type), (size_t)tensor->shape[1],
	                (size_t)tensor->shape[0], &weights, &scales, &minima) ||
	    !region_add(total, 1, weights) || !region_add(total, 1, scales) ||
	    !region_add(total, 1, minima))
		return status_fail(b->error, CUTTLE_MODEL, "model: too large");
	return CUTTLE_OK;
}

/* Adds the bytes of a vector, which is copied as it is. */
static enum cuttle_status add_vector_size(struct builder *b, const struct gguf_tensor *tensor,
                                          size_t *total) {
	return region_add(total, 1, tensor->bytes)
	           ? CUTTLE_OK
	           : status_fail(b->error, CUTTLE_MODEL, "model: too large");
}

/* One matrix being packed by all threads. */
struct packing {
	struct packed_matrix matrix;
	const uint8_t *source; /* the tensor's bytes in the file */
	size_t groups;         /* of 16 channels */
	size_t step;           /* groups per task */
};

static void pack_group_task(void *context, size_t index, unsigned worker) {
	(void)worker;
	const struct packing *packing = context;
	const size_t begin = index * packing->step, end = begin + packing->step;
	pack_groups(&packing->matrix, packing->source, begin,
	            end < packing->groups ? end : packing->groups);
}

/* Gives the pages of a packed tensor back to the system, those that lie wholly in it: they are not
 * needed again. Example: a tensor in bytes 5000 to 20000 gives back bytes 8192 to 16383. */
static void release_pages(const struct gguf_tensor *tensor) {
	const uintptr_t page = 4096, first = ((uintptr_t)tensor->data + page - 1) / page * page;
	const uintptr_t last = ((uintptr_t)tensor->data + tensor->bytes) / page * page;
	if (last > first) madvise((void *)first, last - first, MADV_DONTNEED);
}

/* Tells the caller how many bytes of tensors are packed. Reading was the first half of the work.
 * PARTIAL when the caller asks to stop. */
static enum cuttle_status report_packed(struct builder *b, uint64_t packed) {
	const struct cuttle_model_params *p = b->params;
	b->packed = packed;
	if (!p || !p->on_progress || !p->on_progress(p->user, b->size + packed, 2 * b->size))
		return CUTTLE_OK;
	return status_fail(b->error, CUTTLE_PARTIAL, "stopped while the model was loading");
}

static struct packed_matrix pack_tensor(struct model *m, const struct gguf_tensor *tensor) {
	struct packing packing = {.source = tensor->data, .step = 16};
	struct packed_matrix *matrix = &packing.matrix;
	*matrix = (struct packed_matrix){packed_type_of(tensor->type),
	                                 (size_t)tensor->shape[1],
	                                 (size_t)tensor->shape[0],
	                                 NULL,
	                                 NULL,
	                                 NULL};
	size_t weights = 0, scales = 0, minima = 0;
	pack_sizes(matrix->type, matrix->channels, matrix->k, &weights, &scales, &minima);
	matrix->weights = region_carve(&m->weights, weights);
	matrix->scales = region_carve(&m->weights, scales);
	matrix->minima = region_carve(&m->weights, minima);
	packing.groups = (matrix->channels + GEMM_GROUP - 1) / GEMM_GROUP;
	threads_run(m->threads, (packing.groups + packing.step - 1) / packing.step, pack_group_task,
	            &packing);
	release_pages(tensor);
	return *matrix;
}

static float *copy_vector(struct model *m, const struct gguf_tensor *tensor) {
	float *copy = region_carve(&m->weights, tensor->bytes);
	memcpy(copy, tensor->data, tensor->bytes);
	return copy;
}

/* Logits are linear in the norm's weights, so these are divided, and the head is as it is. */
static const float *copy_output_norm(struct model *m, const struct gguf_tensor *tensor) {
	float *copy = copy_vector(m, tensor);
	for (size_t i = 0; i < m->width; i++) copy[i] /= m->logit_divisor;
	return copy;
}

/* The tensors of one layer, in this order: first ten matrices, then the vectors that the
 * architecture has. */
enum {
	QUERY,
	KEY,
	VALUE,
	OUTPUT,
	GATE,
	UP,
	DOWN,
	IN_GATE,
	OUT_GATE,
	STATE,
	MATRICES,
	ATTENTION_NORM = MATRICES,
	ATTENTION_AFTER_NORM,
	FFN_NORM,
	FFN_AFTER_NORM,
	QUERY_BIAS,
	KEY_BIAS,
	VALUE_BIAS,
	QUERY_NORM,
	KEY_NORM,
	TAPS,
	LAYER_TENSORS
};

/* Finds one tensor and cuts it into parts[count], of rows[i] rows each. Example: rows 64, 32 and
 * 32 of attn_qkv are query, key and value. */
static enum cuttle_status cut_tensor(struct builder *b, size_t layer, const char *part,
                                     const size_t *rows, size_t count, struct gguf_tensor *parts) {
	char name[NAME];
	const struct gguf_tensor *whole;
	size_t all = 0;
	for (size_t i = 0; i < count; i++) all += rows[i];
	snprintf(name, sizeof name, "blk.%zu.%s", layer, part);
	const enum cuttle_status status = find_tensor(b, name, b->model->width, all, true, &whole);
	if (status) return status;
	const size_t row = whole->bytes / all;
	for (size_t i = 0, done = 0; i < count; done += rows[i++]) {
		parts[i] = *whole;
		parts[i].shape[1] = rows[i];
		parts[i].data = whole->data + done * row;
		parts[i].bytes = rows[i] * row;
	}
	return CUTTLE_OK;
}

/* Finds the tensors of one layer. Those that the architecture does not have stay 0. */
static enum cuttle_status find_layer_tensors(struct builder *b, size_t layer,
                                             struct gguf_tensor found[LAYER_TENSORS]) {
	const struct model *m = b->model;
	const size_t query = m->heads * m->head_size, key = m->kv_heads * m->head_size;
	const struct architecture *a = m->architecture;
	const bool convolves = m->layer_convolves[layer],
	           norms = (a->head_norms || a->width_norms) && !convolves,
	           apart = !a->fused && !convolves;
	const struct {
		const char *name;
		size_t row, rows;
		bool absent;
	} expected[LAYER_TENSORS] = {
	    [QUERY] = {"attn_q.weight", m->width, query, !apart},
	    [KEY] = {"attn_k.weight", m->width, key, !apart},
	    [VALUE] = {"attn_v.weight", m->width, key, !apart},
	    [OUTPUT] = {convolves ? "shortconv.out_proj.weight" : "attn_output.weight", query,
	                m->width, false},
	    [IN_GATE] = {.absent = true},
	    [OUT_GATE] = {.absent = true},
	    [STATE] = {.absent = true},
	    [GATE] = {"ffn_gate.weight", m->width, m->ffn, a->fused},
	    [UP] = {"ffn_up.weight", m->width, m->ffn, a->fused},
	    [DOWN] = {"ffn_down.weight", m->ffn, m->width, false},
	    [ATTENTION_NORM] = {"attn_norm.weight", m->width, 0, !a->first_norms},
	    [ATTENTION_AFTER_NORM] = {"post_attention_norm.weight", m->width, 0, !a->after_norms},
	    [FFN_NORM] = {"ffn_norm.weight", m->width, 0, !a->first_norms},
	    [FFN_AFTER_NORM] = {"post_ffw_norm.weight", m->width, 0, !a->after_norms},
	    [QUERY_BIAS] = {"attn_q.bias", query, 0, !a->biases},
	    [KEY_BIAS] = {"attn_k.bias", key, 0, !a->biases},
	    [VALUE_BIAS] = {"attn_v.bias", key, 0, !a->biases},
	    [QUERY_NORM] = {"attn_q_norm.weight", a->width_norms ? query : m->head_size, 0, !norms},
	    [KEY_NORM] = {"attn_k_norm.weight", a->width_norms ? key : m->head_size, 0, !norms},
	    [TAPS] = {"shortconv.conv.weight", m->taps, m->width, !convolves},
	};
	for (size_t i = 0; i < LAYER_TENSORS; i++) {
		if (expected[i].absent) continue;
		char name[NAME];
		const struct gguf_tensor *tensor;
		snprintf(name, sizeof name, "blk.%zu.%s", layer, expected[i].name);
		const enum cuttle_status status =
		    find_tensor(b, name, expected[i].row, expected[i].rows, true, &tensor);
		if (status) return status;
		if (i >= MATRICES && tensor->type != GGUF_TENSOR_F32)
			return status_fail(b->error, CUTTLE_MODEL, "model: tensor %s must be F32",
			                   name);
		found[i] = *tensor;
	}
	if (convolves)
		return cut_tensor(b, layer, "shortconv.in_proj.weight",
		                  (const size_t[]){m->width, m->width, m->width}, 3,
		                  &found[IN_GATE]);
	if (!a->fused) return CUTTLE_OK;
	const enum cuttle_status status = cut_tensor(
	    b, layer, "attn_qkv.weight", (const size_t[]){query, key, key}, 3, &found[QUERY]);
	return status ? status
	              : cut_tensor(b, layer, "ffn_up.weight", (const size_t[]){m->ffn, m->ffn}, 2,
	                           &found[GATE]);
}

/* Reorders the rows of each head (or a vector's entries), in the file's bytes: rows i and
 * i + rotated/2 become rows 2i and 2i + 1. Example: rotated = 8: rows 0 1 2 3 4 5 6 7 of the file
 * become 0 4 1 5 2 6 3 7. Attention is a sum over a head's rows: when queries and keys have the
 * same new order, it is the same sum. */
static enum cuttle_status pair_tensor_halves(struct builder *b, const struct gguf_tensor *tensor,
                                             size_t rows) {
	const struct model *m = b->model;
	if (!tensor->bytes || !m->architecture->rotates_halves) return CUTTLE_OK;
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

/* Does so with all query and key tensors of a layer. */
static enum cuttle_status pair_layer_halves(struct builder *b,
                                            const struct gguf_tensor found[LAYER_TENSORS]) {
	const struct model *m = b->model;
	const size_t query = m->heads * m->head_size, key = m->kv_heads * m->head_size;
	const bool whole = m->architecture->width_norms;
	enum cuttle_status status;
	if ((status = pair_tensor_halves(b, &found[QUERY], query)) ||
	    (status = pair_tensor_halves(b, &found[KEY], key)) ||
	    (status = pair_tensor_halves(b, &found[QUERY_BIAS], query)) ||
	    (status = pair_tensor_halves(b, &found[KEY_BIAS], key)) ||
	    (status = pair_tensor_halves(b, &found[QUERY_NORM], whole ? query : m->head_size)) ||
	    (status = pair_tensor_halves(b, &found[KEY_NORM], whole ? key : m->head_size)))
		return status;
	return CUTTLE_OK;
}

static enum cuttle_status
build_layer(struct builder *b, const struct gguf_tensor found[LAYER_TENSORS], struct layer *layer) {
	struct model *m = b->model;
	struct packed_matrix *const matrices[] = {
	    [QUERY] = &layer->query,   [KEY] = &layer->key,         [VALUE] = &layer->value,
	    [OUTPUT] = &layer->output, [GATE] = &layer->gate,       [UP] = &layer->up,
	    [DOWN] = &layer->down,     [IN_GATE] = &layer->in_gate, [OUT_GATE] = &layer->out_gate,
	    [STATE] = &layer->state};
	const float **const vectors[] = {[ATTENTION_NORM] = &layer->attention_norm,
	                                 [ATTENTION_AFTER_NORM] = &layer->attention_after_norm,
	                                 [FFN_NORM] = &layer->ffn_norm,
	                                 [FFN_AFTER_NORM] = &layer->ffn_after_norm,
	                                 [QUERY_BIAS] = &layer->query_bias,
	                                 [KEY_BIAS] = &layer->key_bias,
	                                 [VALUE_BIAS] = &layer->value_bias,
	                                 [QUERY_NORM] = &layer->query_norm,
	                                 [KEY_NORM] = &layer->key_norm,
	                                 [TAPS] = &layer->taps};
	const enum cuttle_status status = pair_layer_halves(b, found);
	if (status) return status;
	uint64_t packed = b->packed;
	for (size_t i = 0; i < MATRICES; i++) {
		if (!found[i].bytes) continue;
		*matrices[i] = pack_tensor(m, &found[i]);
		packed += found[i].bytes;
	}
	for (size_t i = MATRICES; i < LAYER_TENSORS; i++)
		if (found[i].bytes) *vectors[i] = copy_vector(m, &found[i]);
	return report_packed(b, packed);
}

/* *found is NULL where the file has none. */
static enum cuttle_status find_rope_factors(struct builder *b, const struct gguf_tensor **found) {
	const size_t pairs = b->model->rotated / 2;
	const struct gguf_tensor *unused;
	if (!b->model->architecture->fused)
		return find_tensor(b, ROPE_FACTORS, pairs, 0, false, found);
	const enum cuttle_status status = find_tensor(b, LONG_FACTORS, pairs, 0, false, &unused);
	return status ? status : find_tensor(b, SHORT_FACTORS, pairs, 0, unused != NULL, found);
}

/* Computes the frequencies of the rotation, with the file's own factors if it has any. */
static enum cuttle_status read_rope_factors(struct builder *b, double base, double scale) {
	struct model *m = b->model;
	const struct gguf_tensor *factors_tensor;
	const enum cuttle_status status = find_rope_factors(b, &factors_tensor);
	if (status) return status;
	float factors[MAX_HEAD_SIZE / 2];
	if (factors_tensor) {
		if (factors_tensor->type != GGUF_TENSOR_F32)
			return status_fail(b->error, CUTTLE_MODEL, "model: rope_freqs must be F32");
		memcpy(factors, factors_tensor->data, factors_tensor->bytes);
		for (size_t i = 0; i < m->rotated / 2; i++)
			if (!(factors[i] > 0.0f && factors[i] < 1e6f))
				return status_fail(b->error, CUTTLE_MODEL,
				                   "model: rope_freqs out of range");
	}
	m->rope_frequencies = malloc(m->rotated / 2 * sizeof *m->rope_frequencies);
	if (!m->rope_frequencies) return status_fail(b->error, CUTTLE_NOMEM, "out of memory");
	rope_frequencies(base, m->rotated, factors_tensor ? factors : NULL, scale,
	                 m->rope_frequencies);
	if (m->local_base == 0.0) return CUTTLE_OK;
	m->local_frequencies = malloc(m->rotated / 2 * sizeof *m->local_frequencies);
	if (!m->local_frequencies) return status_fail(b->error, CUTTLE_NOMEM, "out of memory");
	rope_frequencies(m->local_base, m->rotated, NULL, 1.0, m->local_frequencies);
	return CUTTLE_OK;
}

/* llama.cpp gave LFM2's the name of another norm. */
static const char *output_norm_of(const struct builder *b) {
	static const char own[] = "token_embd_norm.weight";
	return b->model->architecture->convolves && gguf_tensor_find(b->file, own)
	           ? own
	           : "output_norm.weight";
}

/* Finds all tensors and adds up their packed bytes. ends[]: embedding, output norm, and head or
 * NULL. Refuses a file with a tensor that the model has no use for. */
static enum cuttle_status find_weights(struct builder *b,
                                       struct gguf_tensor (*found)[LAYER_TENSORS],
                                       const struct gguf_tensor *ends[3], size_t *total) {
	struct model *m = b->model;
	enum cuttle_status status;
	if ((status =
	         find_tensor(b, "token_embd.weight", m->width, m->vocab_size, true, &ends[0])) ||
	    (status = find_tensor(b, output_norm_of(b), m->width, 0, true, &ends[1])) ||
	    (status = find_tensor(b, "output.weight", m->width, m->vocab_size, false, &ends[2])))
		return status;
	if (ends[1]->type != GGUF_TENSOR_F32)
		return status_fail(b->error, CUTTLE_MODEL, "model: output_norm must be F32");
	if ((status = add_matrix_size(b, ends[0], total)) ||
	    (status = add_vector_size(b, ends[1], total)) ||
	    (ends[2] && (status = add_matrix_size(b, ends[2], total))))
		return status;
	for (size_t i = 0; i < m->layers; i++) {
		if ((status = find_layer_tensors(b, i, found[i]))) return status;
		for (size_t t = 0; t < LAYER_TENSORS; t++)
			if (found[i][t].bytes &&
			    (status = t < MATRICES ? add_matrix_size(b, &found[i][t], total)
			                           : add_vector_size(b, &found[i][t], total)))
				return status;
	}
	for (size_t i = 0; i < gguf_tensor_count(b->file); i++)
		if (!b->placed[i])
			return status_fail(
			    b->error, CUTTLE_MODEL, "model: tensor %.*s is not supported in %s",
			    (int)gguf_tensor_at(b->file, i)->name.size,
			    gguf_tensor_at(b->file, i)->name.text, m->architecture->name);
	return CUTTLE_OK;
}

/* Maps the memory for `total` bytes of packed weights. The file's bytes are in memory already, and
 * their pages are given back as the weights are packed. So the check asks only for what the packed
 * weights need beyond the file's size. */
static enum cuttle_status map_weights(struct builder *b, size_t total) {
	struct model *m = b->model;
	const enum cuttle_status status = memory_check(total > b->size ? total - b->size : 0,
	                                               "unpacking the model", "", b->error);
	if (status) return status;
	m->layer = calloc(m->layers, sizeof *m->layer);
	if (!m->layer || !region_map(&m->weights, total, false))
		return status_fail(b->error, CUTTLE_NOMEM, "out of memory: the model needs %zu MiB",
		                   total >> 20);
	return CUTTLE_OK;
}

/* Finds all tensors, then packs them. With vocabulary_only it finds them only: there is nothing but
 * their table. */
static enum cuttle_status read_weights(struct builder *b) {
	struct model *m = b->model;
	const struct gguf_tensor *ends[3]; // embedding, output norm, head or NULL
	struct gguf_tensor(*found)[LAYER_TENSORS] = calloc(m->layers, sizeof *found);
	size_t total = 0;
	enum cuttle_status status =
	    found ? find_weights(b, found, ends, &total)
	          : status_fail(b->error, CUTTLE_NOMEM, "out of memory reading the model");
	if (!status) {
		m->info.tied_head = !ends[2];
		m->info.packed_bytes = total;
	}
	if (!status && !m->vocabulary_only) {
		status = map_weights(b, total);
		if (!status) {
			m->embedding = pack_tensor(m, ends[0]);
			m->output_norm = copy_output_norm(m, ends[1]);
			m->head = ends[2] ? pack_tensor(m, ends[2]) : m->embedding;
			status = report_packed(b, ends[0]->bytes + (ends[2] ? ends[2]->bytes : 0));
		}
		for (size_t i = 0; i < m->layers && !status; i++)
			status = build_layer(b, found[i], &m->layer[i]);
	}
	free(found);
	return status;
}

/* Copies a name with '?' for all but printable ASCII: a hostile name must not reach a terminal. */
static void copy_printable(char *to, size_t size, struct gguf_string from) {
	size_t i = 0;
	for (; i < from.size && i < size - 1; i++)
		to[i] = from.text[i] < 0x20 || from.text[i] > 0x7e ? '?' : from.text[i];
	to[i] = 0;
}

/* Reads the vocabulary, the chat format, and what the keys say whatever the architecture. */
static enum cuttle_status read_vocabulary(const struct gguf *file, struct model *m, size_t size,
                                          struct cuttle_error *error) {
	struct cuttle_model_info *info = &m->info;
	struct gguf_string name = {0}, architecture = {0}, chat = {0};
	enum cuttle_status status = vocab_read(file, &m->vocab, error);
	if (!status) status = gguf_text(file, "tokenizer.chat_template", false, &chat, error);
	if (status) return status;
	m->vocab_size = vocab_size(m->vocab);
	m->chat = chat_recognise(chat.text, chat.size);
	if (m->chat == CHAT_CHATML || m->chat == CHAT_QWEN3)
		chat_default_system(chat.text, chat.size, m->chat_system);
	const int32_t bos = vocab_bos(m->vocab);
	m->chat_bos = bos >= 0 && chat_writes_bos(chat.text, chat.size, vocab_piece(m->vocab, bos));
	// A name that is not text counts as none.
	(void)gguf_text(file, "general.name", false, &name, NULL);
	(void)gguf_text(file, "general.architecture", false, &architecture, NULL);
	copy_printable(info->name, sizeof info->name, name);
	copy_printable(info->architecture, sizeof info->architecture, architecture);
	snprintf(info->tokenizer, sizeof info->tokenizer, "%s", vocab_kind(m->vocab));
	snprintf(info->chat, sizeof info->chat, "%s", chat_name(m->chat));
	info->file_bytes = size;
	info->tensors = (uint32_t)gguf_tensors_announced(file);
	info->vocab = (uint32_t)m->vocab_size;
	info->bos = bos;
	info->eos = vocab_eos(m->vocab);
	info->add_bos = vocab_add_bos(m->vocab);
	return CUTTLE_OK;
}

static void describe_weights(struct builder *b) {
	struct model *m = b->model;
	struct cuttle_model_info *info = &m->info;
	size_t at = 0;
	for (uint32_t type = GGUF_TENSOR_TYPES; type--;)
		if (b->types[type] && at < sizeof info->types)
			at +=
			    (size_t)snprintf(info->types + at, sizeof info->types - at, "%s%s x%u",
			                     at ? ", " : "", gguf_type_name(type), b->types[type]);
	info->parameters = b->parameters;
	info->layers = (uint32_t)m->layers;
	info->width = (uint32_t)m->width;
	info->heads = (uint32_t)m->heads;
	info->kv_heads = (uint32_t)m->kv_heads;
	info->convolving = (uint32_t)(m->layers - m->attending);
	info->head_size = (uint32_t)m->head_size;
	info->ffn = (uint32_t)m->ffn;
	info->context = (uint32_t)m->context;
}

/* Reads the hyper-parameters, and allocates the list of tensors used. */
static enum cuttle_status read_architecture(struct builder *b, const struct gguf *file,
                                            double *rope_base, double *rope_scale) {
	b->file = file;
	const enum cuttle_status status =
	    architecture_read(file, b->model, rope_base, rope_scale, b->error);
	if (status) return status;
	b->placed = calloc(gguf_tensor_count(file) + 1, sizeof *b->placed);
	return b->placed ? CUTTLE_OK
	                 : status_fail(b->error, CUTTLE_NOMEM, "out of memory reading the model");
}

static size_t size_of_parts(const struct gguf_part *parts, size_t count) {
	size_t size = 0;
	for (size_t i = 0; i < count; i++) size += parts[i].size;
	return size;
}

enum cuttle_status model_build(struct model *model, uint8_t *bytes, const struct gguf_part *parts,
                               size_t count, const struct cuttle_model_params *params,
                               struct cuttle_error *error) {
	struct gguf *file = NULL;
	const size_t size = size_of_parts(parts, count);
	struct builder b = {
	    .model = model, .bytes = bytes, .error = error, .params = params, .size = size};
	double rope_base, rope_scale;
	enum cuttle_status status = gguf_parse_parts(bytes, parts, count, &file, error);
	if (!status) status = read_architecture(&b, file, &rope_base, &rope_scale);
	if (!status) status = read_vocabulary(file, model, size, error);
	if (!status) status = read_rope_factors(&b, rope_base, rope_scale);
	if (!status) status = read_weights(&b);
	if (!status) describe_weights(&b);
	if (!status) status = report_packed(&b, size);
	free(b.placed);
	gguf_free(&file);
	return status;
}

/* Finds out, from the table of tensors alone, whether cuttle could run the file and what its
 * weights would be. A failure says why it could not. */
static enum cuttle_status read_table(struct builder *b, const struct gguf_part *parts,
                                     size_t count) {
	struct gguf *file = NULL;
	const struct gguf_tensor *factors;
	double rope_base, rope_scale;
	if (!b->model->info.tensors)
		return status_fail(b->error, CUTTLE_MODEL,
		                   "the file has no tensors, only a vocabulary");
	enum cuttle_status status = gguf_parse_parts(b->bytes, parts, count, &file, b->error);
	if (!status) status = read_architecture(b, file, &rope_base, &rope_scale);
	if (!status) status = find_rope_factors(b, &factors);
	if (!status) status = read_weights(b);
	if (!status) describe_weights(b);
	free(b->placed);
	gguf_free(&file);
	return status;
}

enum cuttle_status model_build_vocabulary(struct model *model, uint8_t *bytes,
                                          const struct gguf_part *parts, size_t count,
                                          struct cuttle_error *error) {
	struct gguf *keys = NULL;
	const size_t size = size_of_parts(parts, count);
	struct cuttle_error reason = {""};
	struct builder b = {.model = model, .bytes = bytes, .error = &reason, .size = size};
	model->vocabulary_only = true;
	enum cuttle_status status = gguf_parse_keys(bytes, parts->held, parts->size, &keys, error);
	if (!status) status = read_vocabulary(keys, model, size, error);
	gguf_free(&keys);
	if (status) return status;
	status = read_table(&b, parts, count);
	if (status == CUTTLE_NOMEM) return status_fail(error, status, "%s", reason.message);
	snprintf(model->info.unsupported, sizeof model->info.unsupported, "%.*s",
	         (int)sizeof model->info.unsupported - 1, reason.message);
	return CUTTLE_OK;
}

enum cuttle_status model_needs_weights(const struct model *model, struct cuttle_error *error) {
	if (!model->vocabulary_only) return CUTTLE_OK;
	return status_fail(
	    error, CUTTLE_USAGE,
	    "the model was opened for its vocabulary alone; open it with its weights");
}

void model_release(struct model *model) {
	region_unmap(&model->weights, false);
	free(model->layer);
	free(model->rope_frequencies);
	free(model->local_frequencies);
	vocab_free(&model->vocab);
	threads_free(&model->threads);
}
