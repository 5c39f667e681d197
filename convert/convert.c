// SPDX-License-Identifier: Apache-2.0
// How a Hugging Face folder becomes a GGUF file; convert.h says what goes in and out.
//
// The steps, in order: read the JSON files, list the tensors by name in GGUF's order, write the
// metadata, then pour the tensors' values through rewrite.h.
// RoPE rotates pairs of rows of Q and K. In the folder, the two rows of a pair are half a head
// apart. In a GGUF file of Llama they are neighbours, so those rows change places here.
#include "convert/convert.h"

#include "convert/hf_config.h"
#include "convert/hf_vocab.h"
#include "io/disk/fail.h"
#include "io/tables/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	JSON_MOST = 64 << 20, /* bytes of one JSON file */
	NAME = 64,            /* bytes of a tensor's name in the GGUF file, with its NUL */
	LAYER_TENSORS = 18,   /* tensors of one layer, at most */
	END_TENSORS = 4       /* tensors outside the layers, at most */
};

struct tensor_source {
	char name[NAME];                         /* in the GGUF file */
	const struct safetensors_tensor *tensor; /* in the folder; NULL: the RoPE factors */
	uint64_t head; /* rows of one head, where rows change places; 0: rows stay */
	bool from_one; /* the folder has the difference to 1 */
};

struct conversion {
	const char *folder;
	json_t *config, *tokenizer, *tokenizer_config;
	char *template; /* chat_template.jinja */
	size_t template_size;
	struct hf_config shape;
	struct safetensors *files;
	struct tensor_source *sources;
	struct rewrite_tensor *tensors;
	size_t count;
	uint8_t *bytes;  /* the file's bytes for one call of read_folder_values */
	size_t capacity; /* of `bytes` */
};

/* Reads one file of the folder. *text is NULL when the file is absent and not required. */
static enum cuttle_status read_folder_text(const struct conversion *job, const char *name,
                                           bool required, char **text, size_t *size,
                                           struct cuttle_error *error) {
	char *path;
	*text = NULL;
	if (asprintf(&path, "%s/%s", job->folder, name) < 0)
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = CUTTLE_OK;
	if (required || access(path, F_OK) == 0)
		status = file_read(path, JSON_MOST, text, size, error);
	free(path);
	return status == CUTTLE_INPUT ? CUTTLE_MODEL : status;
}

static enum cuttle_status read_folder_json(const struct conversion *job, const char *name,
                                           bool required, size_t flags, json_t **root,
                                           struct cuttle_error *error) {
	char *text;
	size_t size = 0;
	json_error_t problem;
	enum cuttle_status status = read_folder_text(job, name, required, &text, &size, error);
	if (status || !text) return status;
	*root = json_loadb(text, size, flags | JSON_REJECT_DUPLICATES, &problem);
	free(text);
	if (!*root && json_error_code(&problem) == json_error_out_of_memory)
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return *root ? CUTTLE_OK
	             : io_fail(error, CUTTLE_MODEL, "%s, line %d: %.160s", name, problem.line,
	                       problem.text);
}

static enum cuttle_status read_folder_files(struct conversion *job, struct cuttle_error *error) {
	enum cuttle_status status =
	    read_folder_json(job, "config.json", true, 0, &job->config, error);
	if (!status) status = hf_config_read(job->config, &job->shape, error);
	if (!status)
		status = read_folder_json(job, "tokenizer.json", true, 0, &job->tokenizer, error);
	// model_max_length is 10^30 when nobody set it: too large for an integer of jansson.
	if (!status)
		status = read_folder_json(job, "tokenizer_config.json", false,
		                          JSON_DECODE_INT_AS_REAL, &job->tokenizer_config, error);
	if (!status)
		status = read_folder_text(job, "chat_template.jinja", false, &job->template,
		                          &job->template_size, error);
	return status ? status : safetensors_open(job->folder, &job->files, error);
}

static struct rewrite_tensor *list_tensor(struct conversion *job, const char *name, uint64_t row,
                                          uint64_t rows) {
	struct rewrite_tensor *tensor = &job->tensors[job->count];
	struct tensor_source *source = &job->sources[job->count++];
	(void)snprintf(source->name, sizeof source->name, "%s", name);
	*tensor = (struct rewrite_tensor){.name = {source->name, strlen(source->name)},
	                                  .dimensions = rows ? 2 : 1,
	                                  .shape = {row, rows ? rows : 1, 1, 1}};
	return tensor;
}

/* Lists the tensor that the folder calls `theirs`, after its shape has been checked. */
static enum cuttle_status list_folder_tensor(struct conversion *job, const char *name,
                                             const char *theirs, uint64_t row, uint64_t rows,
                                             uint64_t head, struct cuttle_error *error) {
	const struct safetensors_tensor *tensor = safetensors_find(job->files, theirs);
	if (!tensor) return io_fail(error, CUTTLE_MODEL, "tensor %s is missing", theirs);
	const bool fits = rows ? tensor->shape[0] == rows &&
	                             (tensor->dimensions == 3
	                                  ? tensor->shape[1] == 1 && tensor->shape[2] == row
	                                  : tensor->dimensions == 2 && tensor->shape[1] == row)
	                       : tensor->dimensions == 1 && tensor->shape[0] == row;
	if (!fits)
		return io_fail(error, CUTTLE_MODEL,
		               "tensor %s has not the shape that config.json says", theirs);
	list_tensor(job, name, row, rows);
	job->sources[job->count - 1].tensor = tensor;
	job->sources[job->count - 1].head = head;
	job->sources[job->count - 1].from_one = job->shape.kind->gelu && !rows;
	return CUTTLE_OK;
}

/* A tensor of a layer, in the GGUF file and in the folder. */
struct layer_part {
	const char *name, *theirs;
	uint64_t row, rows; /* as list_folder_tensor has them */
	uint64_t head;
	bool absent;
};

static enum cuttle_status list_layer_parts(struct conversion *job, uint64_t layer,
                                           const struct layer_part *parts, size_t count,
                                           struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; !status && i < count; i++) {
		char name[NAME], theirs[2 * NAME];
		if (parts[i].absent) continue;
		(void)snprintf(name, sizeof name, "blk.%u.%s", (unsigned)layer, parts[i].name);
		(void)snprintf(theirs, sizeof theirs, "model.layers.%u.%s", (unsigned)layer,
		               parts[i].theirs);
		status = list_folder_tensor(job, name, theirs, parts[i].row, parts[i].rows,
		                            parts[i].head, error);
	}
	return status;
}

/* LFM2 has names of its own. */
static enum cuttle_status list_convolving_layer(struct conversion *job, uint64_t layer,
                                                struct cuttle_error *error) {
	const struct hf_config *shape = &job->shape;
	const uint64_t width = shape->width, ffn = shape->ffn,
	               query = shape->heads * shape->head_size,
	               key = shape->kv_heads * shape->head_size;
	const bool attends = shape->attends[layer];
	const struct layer_part parts[] = {
	    {"attn_norm.weight", "operator_norm.weight", width, 0, 0, false},
	    {"attn_q.weight", "self_attn.q_proj.weight", width, query, 0, !attends},
	    {"attn_k.weight", "self_attn.k_proj.weight", width, key, 0, !attends},
	    {"attn_v.weight", "self_attn.v_proj.weight", width, key, 0, !attends},
	    {"attn_q_norm.weight", "self_attn.q_layernorm.weight", shape->head_size, 0, 0,
	     !attends},
	    {"attn_k_norm.weight", "self_attn.k_layernorm.weight", shape->head_size, 0, 0,
	     !attends},
	    {"attn_output.weight", "self_attn.out_proj.weight", query, width, 0, !attends},
	    {"shortconv.conv.weight", "conv.conv.weight", shape->taps, width, 0, attends},
	    {"shortconv.in_proj.weight", "conv.in_proj.weight", width, 3 * width, 0, attends},
	    {"shortconv.out_proj.weight", "conv.out_proj.weight", width, width, 0, attends},
	    {"ffn_norm.weight", "ffn_norm.weight", width, 0, 0, false},
	    {"ffn_gate.weight", "feed_forward.w1.weight", width, ffn, 0, false},
	    {"ffn_up.weight", "feed_forward.w3.weight", width, ffn, 0, false},
	    {"ffn_down.weight", "feed_forward.w2.weight", ffn, width, 0, false}};
	_Static_assert(sizeof parts / sizeof *parts <= LAYER_TENSORS, "there is room for them");
	return list_layer_parts(job, layer, parts, sizeof parts / sizeof *parts, error);
}

static enum cuttle_status list_layer_tensors(struct conversion *job, uint64_t layer,
                                             struct cuttle_error *error) {
	const struct hf_config *shape = &job->shape;
	const uint64_t query = shape->heads * shape->head_size,
	               key = shape->kv_heads * shape->head_size;
	const uint64_t turned_head = shape->kind->pairs ? shape->head_size : 0;
	const struct hf_kind *kind = shape->kind;
	const bool biases = kind->biases, norms = kind->head_norms || kind->width_norms;
	const bool fused = kind->fused;
	const bool whole = kind->width_norms, first = kind->first_norms, after = kind->after_norms;
	const struct layer_part parts[LAYER_TENSORS] = {
	    {"attn_norm.weight", "input_layernorm.weight", shape->width, 0, 0, !first},
	    {"attn_q.weight", "self_attn.q_proj.weight", shape->width, query, turned_head, fused},
	    {"attn_k.weight", "self_attn.k_proj.weight", shape->width, key, turned_head, fused},
	    {"attn_v.weight", "self_attn.v_proj.weight", shape->width, key, 0, fused},
	    {"attn_q.bias", "self_attn.q_proj.bias", query, 0, 0, !biases},
	    {"attn_k.bias", "self_attn.k_proj.bias", key, 0, 0, !biases},
	    {"attn_v.bias", "self_attn.v_proj.bias", key, 0, 0, !biases},
	    {"attn_q_norm.weight", "self_attn.q_norm.weight", whole ? query : shape->head_size, 0,
	     0, !norms},
	    {"attn_k_norm.weight", "self_attn.k_norm.weight", whole ? key : shape->head_size, 0, 0,
	     !norms},
	    {"attn_output.weight", "self_attn.o_proj.weight", query, shape->width, 0, false},
	    {"post_attention_norm.weight", "post_attention_layernorm.weight", shape->width, 0, 0,
	     !after},
	    {"post_ffw_norm.weight", "post_feedforward_layernorm.weight", shape->width, 0, 0,
	     !after},
	    {"ffn_norm.weight",
	     after ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight",
	     shape->width, 0, 0, !first},
	    {"ffn_gate.weight", "mlp.gate_proj.weight", shape->width, shape->ffn, 0, fused},
	    {"ffn_up.weight", "mlp.up_proj.weight", shape->width, shape->ffn, 0, fused},
	    {"attn_qkv.weight", "self_attn.qkv_proj.weight", shape->width, query + 2 * key, 0,
	     !fused},
	    {"ffn_up.weight", "mlp.gate_up_proj.weight", shape->width, 2 * shape->ffn, 0, !fused},
	    {"ffn_down.weight", "mlp.down_proj.weight", shape->ffn, shape->width, 0, false}};
	return list_layer_parts(job, layer, parts, LAYER_TENSORS, error);
}

/* Refuses a tensor that nothing has listed. Two kinds are let by, since they follow from the rest:
 * the head of a model whose head is its embedding, and the RoPE angles of old files. */
static enum cuttle_status refuse_others(const struct conversion *job, struct cuttle_error *error) {
	for (size_t i = 0; i < safetensors_count(job->files); i++) {
		const struct safetensors_tensor *tensor = safetensors_at(job->files, i);
		bool used = (job->shape.tied && !strcmp(tensor->name, "lm_head.weight")) ||
		            strstr(tensor->name, ".rotary_emb.inv_freq");
		for (size_t s = 0; !used && s < job->count; s++)
			used = job->sources[s].tensor == tensor;
		if (!used)
			return io_fail(error, CUTTLE_MODEL, "tensor %.100s is none that %s has",
			               tensor->name, job->shape.kind->name);
	}
	return CUTTLE_OK;
}

static enum cuttle_status list_tensors(struct conversion *job, struct cuttle_error *error) {
	const struct hf_config *shape = &job->shape;
	const size_t most = END_TENSORS + LAYER_TENSORS * (size_t)shape->layers;
	// llama.cpp has this name for LFM2's.
	const char *const norm[] = {
	    shape->kind->convolves ? "token_embd_norm.weight" : "output_norm.weight",
	    shape->kind->convolves ? "model.embedding_norm.weight" : "model.norm.weight"};
	job->sources = calloc(most, sizeof *job->sources);
	job->tensors = calloc(most, sizeof *job->tensors);
	if (!job->sources || !job->tensors) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status =
	    list_folder_tensor(job, "token_embd.weight", "model.embed_tokens.weight", shape->width,
	                       shape->vocab, 0, error);
	if (!status) status = list_folder_tensor(job, norm[0], norm[1], shape->width, 0, 0, error);
	if (!status && !shape->tied)
		status = list_folder_tensor(job, "output.weight", "lm_head.weight", shape->width,
		                            shape->vocab, 0, error);
	if (!status && shape->has_rope_factors)
		list_tensor(job,
		            shape->kind->fused ? "rope_factors_short.weight" : "rope_freqs.weight",
		            shape->rotated / 2, 0);
	for (uint64_t i = 0; !status && i < shape->layers; i++)
		status = shape->kind->convolves ? list_convolving_layer(job, i, error)
		                                : list_layer_tensors(job, i, error);
	return status ? status : refuse_others(job, error);
}

/* The row of the folder that becomes row `row`. x and y are the two rows of a pair. In the folder,
 * a head is x0 x1 .. y0 y1 .., in GGUF x0 y0 x1 y1 ... With 64 rows a head, GGUF's rows 0 1 2 3 are
 * the folder's 0 32 1 33. */
static uint64_t get_folder_row(uint64_t row, uint64_t head) {
	const uint64_t within = row % head;
	return row - within + within % 2 * (head / 2) + within / 2;
}

static enum cuttle_status read_folder_values(void *user, size_t index, uint64_t first, size_t count,
                                             float *values, struct cuttle_error *error) {
	static const enum weight_name types[] = {[SAFETENSORS_F32] = WEIGHT_F32,
	                                         [SAFETENSORS_F16] = WEIGHT_F16,
	                                         [SAFETENSORS_BF16] = WEIGHT_BF16};
	struct conversion *job = user;
	const struct tensor_source *source = &job->sources[index];
	if (!source->tensor) {
		memcpy(values, job->shape.rope_factors + first, count * sizeof *values);
		return CUTTLE_OK;
	}
	const struct weight_type *type = weight_type(types[source->tensor->type]);
	const uint64_t row = job->tensors[index].shape[0];
	const size_t step = source->head ? (size_t)row : count, size = step * type->block_bytes;
	if (size > job->capacity) {
		uint8_t *grown = realloc(job->bytes, size);
		if (!grown) return io_fail(error, CUTTLE_NOMEM, "out of memory");
		job->bytes = grown;
		job->capacity = size;
	}
	enum cuttle_status status = CUTTLE_OK;
	for (size_t done = 0; !status && done < count; done += step) {
		const uint64_t at =
		    source->head ? get_folder_row((first + done) / row, source->head) * row : first;
		status = safetensors_read(job->files, source->tensor, at * type->block_bytes,
		                          job->bytes, size, error);
		if (!status) (void)weight_read(type, job->bytes, step, values + done);
		for (size_t i = 0; !status && source->from_one && i < step; i++)
			values[done + i] += 1.0f;
	}
	return status;
}

/* The chat template may be a file of its own. Otherwise tokenizer_config.json holds it: as one
 * text, or as a list of named ones, where "default" is taken. */
static void write_chat_template(const struct conversion *job, struct gguf_out *out) {
	const json_t *given = json_object_get(job->tokenizer_config, "chat_template"), *part,
	             *text = given;
	size_t i;
	json_array_foreach(given, i, part) {
		const char *name = json_string_value(json_object_get(part, "name"));
		if (name && !strcmp(name, "default")) text = json_object_get(part, "template");
	}
	if (job->template)
		gguf_out_text(out, "tokenizer.chat_template", job->template, job->template_size);
	else if (json_is_string(text))
		gguf_out_text(out, "tokenizer.chat_template", json_string_value(text),
		              json_string_length(text));
}

static enum cuttle_status write_metadata(const struct conversion *job,
                                         const struct weight_type *type, struct gguf_out *out,
                                         struct cuttle_error *error) {
	char *name = strdup(job->folder);
	if (!name) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t size = strlen(name); size > 1 && name[size - 1] == '/'; size--)
		name[size - 1] = 0;
	hf_config_write(&job->shape, out);
	gguf_out_text(out, "general.name", basename(name), strlen(basename(name)));
	gguf_out_u32(out, "general.file_type", type->file_type);
	gguf_out_u32(out, "general.quantization_version", 2);
	free(name);
	write_chat_template(job, out);
	return hf_vocab_write(&(struct hf_vocab){job->tokenizer, job->tokenizer_config, job->config,
	                                         (size_t)job->shape.vocab},
	                      out, error);
}

enum cuttle_status convert(const char *folder, const char *output, const struct weight_type *type,
                           const struct rewrite_report *report, struct cuttle_error *error) {
	struct conversion job = {.folder = folder};
	struct gguf_out *out = gguf_out_new();
	enum cuttle_status status =
	    out ? read_folder_files(&job, error) : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = list_tensors(&job, error);
	if (!status) status = write_metadata(&job, type, out, error);
	for (size_t i = 0; !status && i < job.count; i++)
		job.tensors[i].type = rewrite_type(type, &job.tensors[i], report);
	if (!status)
		status = rewrite_pour(out, output, job.tensors, job.count, read_folder_values, &job,
		                      report, error);
	gguf_out_free(&out);
	safetensors_close(&job.files);
	json_decref(job.config);
	json_decref(job.tokenizer);
	json_decref(job.tokenizer_config);
	free(job.template);
	free(job.sources);
	free(job.tensors);
	free(job.bytes);
	return status;
}
