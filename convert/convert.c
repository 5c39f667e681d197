// SPDX-License-Identifier: Apache-2.0
// The tensors by name, in GGUF's order; rows of Q and K turned from halves that rotate together into neighbours that do.
#include "convert/convert.h"

#include "convert/hf_config.h"
#include "convert/hf_vocab.h"
#include "io/fail.h"
#include "io/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { JSON_MOST = 64 << 20, NAME = 64, LAYER_TENSORS = 14, END_TENSORS = 4 };

struct source {
	char name[NAME];                         /* in the GGUF file */
	const struct safetensors_tensor *tensor; /* NULL: the RoPE factors */
	uint64_t head;                           /* rows of a head whose rows are turned; 0: rows stay */
};

struct job {
	const char *folder;
	json_t *config, *tokenizer, *tokenizer_config;
	char *template; /* chat_template.jinja */
	size_t template_size;
	struct hf_config shape;
	struct safetensors *files;
	struct source *sources;
	struct rewrite_tensor *tensors;
	size_t count;
	uint8_t *bytes; /* what one call of the reader needs of a file */
	size_t capacity;
};

/* A file of the folder. Absent and not required: *text is NULL. */
static enum cuttle_status read_text(const struct job *job, const char *name, bool required, char **text, size_t *size,
                                    struct cuttle_error *error) {
	char *path;
	*text = NULL;
	if (asprintf(&path, "%s/%s", job->folder, name) < 0) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = CUTTLE_OK;
	if (required || access(path, F_OK) == 0) status = file_read(path, JSON_MOST, text, size, error);
	free(path);
	return status == CUTTLE_INPUT ? CUTTLE_MODEL : status;
}

static enum cuttle_status read_json(const struct job *job, const char *name, bool required, size_t flags, json_t **root,
                                    struct cuttle_error *error) {
	char *text;
	size_t size = 0;
	json_error_t problem;
	enum cuttle_status status = read_text(job, name, required, &text, &size, error);
	if (status || !text) return status;
	*root = json_loadb(text, size, flags | JSON_REJECT_DUPLICATES, &problem);
	free(text);
	if (!*root && json_error_code(&problem) == json_error_out_of_memory) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return *root ? CUTTLE_OK : io_fail(error, CUTTLE_MODEL, "%s, line %d: %.160s", name, problem.line, problem.text);
}

static enum cuttle_status read_files(struct job *job, struct cuttle_error *error) {
	enum cuttle_status status = read_json(job, "config.json", true, 0, &job->config, error);
	if (!status) status = hf_config_read(job->config, &job->shape, error);
	if (!status) status = read_json(job, "tokenizer.json", true, 0, &job->tokenizer, error);
	// Its model_max_length is 10^30 when nobody set it.
	if (!status) status = read_json(job, "tokenizer_config.json", false, JSON_DECODE_INT_AS_REAL, &job->tokenizer_config, error);
	if (!status) status = read_text(job, "chat_template.jinja", false, &job->template, &job->template_size, error);
	return status ? status : safetensors_open(job->folder, &job->files, error);
}

static struct rewrite_tensor *add(struct job *job, const char *name, uint64_t row, uint64_t rows) {
	struct rewrite_tensor *tensor = &job->tensors[job->count];
	struct source *source = &job->sources[job->count++];
	(void)snprintf(source->name, sizeof source->name, "%s", name);
	*tensor = (struct rewrite_tensor){
	    .name = {source->name, strlen(source->name)}, .dimensions = rows ? 2 : 1, .shape = {row, rows ? rows : 1, 1, 1}};
	return tensor;
}

/* The same with what the folder calls it. */
static enum cuttle_status find(struct job *job, const char *name, const char *theirs, uint64_t row, uint64_t rows, uint64_t head,
                               struct cuttle_error *error) {
	const struct safetensors_tensor *tensor = safetensors_find(job->files, theirs);
	if (!tensor) return io_fail(error, CUTTLE_MODEL, "tensor %s is missing", theirs);
	const bool fits = rows ? tensor->dimensions == 2 && tensor->shape[0] == rows && tensor->shape[1] == row
	                       : tensor->dimensions == 1 && tensor->shape[0] == row;
	if (!fits) return io_fail(error, CUTTLE_MODEL, "tensor %s has not the shape that config.json says", theirs);
	add(job, name, row, rows);
	job->sources[job->count - 1].tensor = tensor;
	job->sources[job->count - 1].head = head;
	return CUTTLE_OK;
}

static enum cuttle_status find_layer(struct job *job, uint64_t layer, struct cuttle_error *error) {
	const struct hf_config *shape = &job->shape;
	const uint64_t query = shape->heads * shape->head_size, key = shape->kv_heads * shape->head_size;
	const uint64_t turned_head = shape->kind->pairs ? shape->head_size : 0;
	const bool biases = shape->kind->biases, norms = shape->kind->head_norms;
	const struct {
		const char *name, *theirs;
		uint64_t row, rows, head;
		bool absent;
	} parts[LAYER_TENSORS] = {{"attn_norm.weight", "input_layernorm.weight", shape->width, 0, 0, false},
	                          {"attn_q.weight", "self_attn.q_proj.weight", shape->width, query, turned_head, false},
	                          {"attn_k.weight", "self_attn.k_proj.weight", shape->width, key, turned_head, false},
	                          {"attn_v.weight", "self_attn.v_proj.weight", shape->width, key, 0, false},
	                          {"attn_q.bias", "self_attn.q_proj.bias", query, 0, 0, !biases},
	                          {"attn_k.bias", "self_attn.k_proj.bias", key, 0, 0, !biases},
	                          {"attn_v.bias", "self_attn.v_proj.bias", key, 0, 0, !biases},
	                          {"attn_q_norm.weight", "self_attn.q_norm.weight", shape->head_size, 0, 0, !norms},
	                          {"attn_k_norm.weight", "self_attn.k_norm.weight", shape->head_size, 0, 0, !norms},
	                          {"attn_output.weight", "self_attn.o_proj.weight", query, shape->width, 0, false},
	                          {"ffn_norm.weight", "post_attention_layernorm.weight", shape->width, 0, 0, false},
	                          {"ffn_gate.weight", "mlp.gate_proj.weight", shape->width, shape->ffn, 0, false},
	                          {"ffn_up.weight", "mlp.up_proj.weight", shape->width, shape->ffn, 0, false},
	                          {"ffn_down.weight", "mlp.down_proj.weight", shape->ffn, shape->width, 0, false}};
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; !status && i < LAYER_TENSORS; i++) {
		char name[NAME], theirs[2 * NAME];
		if (parts[i].absent) continue;
		(void)snprintf(name, sizeof name, "blk.%u.%s", (unsigned)layer, parts[i].name);
		(void)snprintf(theirs, sizeof theirs, "model.layers.%u.%s", (unsigned)layer, parts[i].theirs);
		status = find(job, name, theirs, parts[i].row, parts[i].rows, parts[i].head, error);
	}
	return status;
}

/* Every tensor of the folder must have found its place, but for what follows from others: a tied head, old files' RoPE angles. */
static enum cuttle_status refuse_others(const struct job *job, struct cuttle_error *error) {
	for (size_t i = 0; i < safetensors_count(job->files); i++) {
		const struct safetensors_tensor *tensor = safetensors_at(job->files, i);
		bool used = (job->shape.tied && !strcmp(tensor->name, "lm_head.weight")) || strstr(tensor->name, ".rotary_emb.inv_freq");
		for (size_t s = 0; !used && s < job->count; s++) used = job->sources[s].tensor == tensor;
		if (!used) return io_fail(error, CUTTLE_MODEL, "tensor %.100s is none that %s has", tensor->name, job->shape.kind->name);
	}
	return CUTTLE_OK;
}

static enum cuttle_status find_tensors(struct job *job, struct cuttle_error *error) {
	const struct hf_config *shape = &job->shape;
	const size_t most = END_TENSORS + LAYER_TENSORS * (size_t)shape->layers;
	job->sources = calloc(most, sizeof *job->sources);
	job->tensors = calloc(most, sizeof *job->tensors);
	if (!job->sources || !job->tensors) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = find(job, "token_embd.weight", "model.embed_tokens.weight", shape->width, shape->vocab, 0, error);
	if (!status) status = find(job, "output_norm.weight", "model.norm.weight", shape->width, 0, 0, error);
	if (!status && !shape->tied) status = find(job, "output.weight", "lm_head.weight", shape->width, shape->vocab, 0, error);
	if (!status && shape->has_rope_factors) add(job, "rope_freqs.weight", shape->head_size / 2, 0);
	for (uint64_t i = 0; !status && i < shape->layers; i++) status = find_layer(job, i, error);
	return status ? status : refuse_others(job, error);
}

/* Row of the file that becomes row `row`: of a head's halves (x0 x1 .. y0 y1 ..), neighbours (x0 y0 x1 y1 ..). */
static uint64_t turned(uint64_t row, uint64_t head) {
	const uint64_t within = row % head;
	return row - within + within % 2 * (head / 2) + within / 2;
}

static enum cuttle_status read_values(void *user, size_t index, uint64_t first, size_t count, float *values, struct cuttle_error *error) {
	static const enum weight_name types[] = {
	    [SAFETENSORS_F32] = WEIGHT_F32, [SAFETENSORS_F16] = WEIGHT_F16, [SAFETENSORS_BF16] = WEIGHT_BF16};
	struct job *job = user;
	const struct source *source = &job->sources[index];
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
		const uint64_t at = source->head ? turned((first + done) / row, source->head) * row : first;
		status = safetensors_read(job->files, source->tensor, at * type->block_bytes, job->bytes, size, error);
		if (!status) (void)weight_read(type, job->bytes, step, values + done);
	}
	return status;
}

/* The chat template: a file of its own, or in tokenizer_config.json a text or a list of named ones. */
static void write_template(const struct job *job, struct gguf_out *out) {
	const json_t *given = json_object_get(job->tokenizer_config, "chat_template"), *part, *text = given;
	size_t i;
	json_array_foreach(given, i, part) {
		const char *name = json_string_value(json_object_get(part, "name"));
		if (name && !strcmp(name, "default")) text = json_object_get(part, "template");
	}
	if (job->template) gguf_out_text(out, "tokenizer.chat_template", job->template, job->template_size);
	else if (json_is_string(text)) gguf_out_text(out, "tokenizer.chat_template", json_string_value(text), json_string_length(text));
}

static enum cuttle_status write_metadata(const struct job *job, const struct weight_type *type, struct gguf_out *out,
                                         struct cuttle_error *error) {
	char *name = strdup(job->folder);
	if (!name) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t size = strlen(name); size > 1 && name[size - 1] == '/'; size--) name[size - 1] = 0;
	hf_config_write(&job->shape, out);
	gguf_out_text(out, "general.name", basename(name), strlen(basename(name)));
	gguf_out_u32(out, "general.file_type", type->file_type);
	gguf_out_u32(out, "general.quantization_version", 2);
	free(name);
	write_template(job, out);
	return hf_vocab_write(&(struct hf_vocab){job->tokenizer, job->tokenizer_config, job->config, (size_t)job->shape.vocab}, out, error);
}

enum cuttle_status convert(const char *folder, const char *output, const struct weight_type *type, const struct rewrite_report *report,
                           struct cuttle_error *error) {
	struct job job = {.folder = folder};
	struct gguf_out *out = gguf_out_new();
	enum cuttle_status status = out ? read_files(&job, error) : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = find_tensors(&job, error);
	if (!status) status = write_metadata(&job, type, out, error);
	for (size_t i = 0; !status && i < job.count; i++) job.tensors[i].type = rewrite_type(type, &job.tensors[i], report);
	if (!status) status = rewrite_pour(out, output, job.tensors, job.count, read_values, &job, report, error);
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
