// SPDX-License-Identifier: Apache-2.0
// Tests engine/model/architecture.c and the forward pass. A random F32 model of each architecture
// reads 96 tokens. A second forward pass, in double, follows the models' definitions.
// It fails if one log-probability differs by more than float explains. It fails if a key or tensor
// that would change the maths is not refused by name.
#include "engine/forward/forward.h"
#include "engine/model/model.h"
#include "kernels/f16.h"
#include "tests/support/files.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { TOKENS = 96, LAYERS = 2, WIDTH = 64, FFN = 96, HEADS = 4, TAPS = 3 };

struct shape {
	const char *architecture;
	size_t kv_heads, head_size, rotated;
	double base, linear; /* rope base; linear scaling, 0 = no key */
	bool llama3, tied, biases, head_norms, halves, arrays, lengths;
	const char *extra_key, *extra_tensor; /* a key of value `extra`, a vector of `width` */
	double extra;
	bool convolves;    /* as LFM2: every layer but the second is a convolution of 3 tokens */
	size_t kinds;      /* numbers in the list of KV heads; 0 = 4 */
	int32_t kinds_end; /* of these the last */
	bool none_attends;
	uint32_t taps;   /* 0 = TAPS */
	size_t layers;   /* 0 = LAYERS */
	uint32_t window; /* of layers that slide; 0 = no key */
	double gain;     /* of Phi-3's rotation */
	bool fused;      /* as Phi-3, with factors of the rotation and a gain of 1.25 */
	bool gemma;      /* as Gemma 3: of every sixth layer the base, of the others 10000 */
	bool after; /* norms after attention and feed-forward, none before; q and k norms of all */
	size_t still_every; /* of so many layers the last does not rotate */
	double embedding, residual, attention, logit; /* multipliers; embedding 0 = no keys */
};

static const struct shape shapes[] = {
    {.architecture = "llama", .kv_heads = 4, .head_size = 16, .rotated = 16, .base = 10000},
    {.architecture = "llama",
     .kv_heads = 2,
     .head_size = 16,
     .rotated = 16,
     .base = 500000,
     .llama3 = true,
     .tied = true},
    {.architecture = "llama",
     .kv_heads = 1,
     .head_size = 32,
     .rotated = 32,
     .base = 1e6,
     .lengths = true,
     .arrays = true},
    {.architecture = "llama",
     .kv_heads = 2,
     .head_size = 16,
     .rotated = 8,
     .base = 10000,
     .linear = 4},
    {.architecture = "qwen2",
     .kv_heads = 2,
     .head_size = 16,
     .rotated = 16,
     .base = 1e6,
     .tied = true,
     .biases = true,
     .halves = true},
    {.architecture = "qwen2",
     .kv_heads = 1,
     .head_size = 16,
     .rotated = 8,
     .base = 10000,
     .biases = true,
     .halves = true,
     .linear = 2},
    {.architecture = "qwen3",
     .kv_heads = 2,
     .head_size = 32,
     .rotated = 32,
     .base = 1e6,
     .head_norms = true,
     .halves = true,
     .lengths = true},
    {.architecture = "granite",
     .kv_heads = 2,
     .head_size = 16,
     .rotated = 16,
     .base = 10000,
     .tied = true,
     .embedding = 12,
     .residual = 0.22,
     .attention = 0.0625,
     .logit = 1.5},
    {.architecture = "smollm3",
     .kv_heads = 2,
     .head_size = 16,
     .rotated = 16,
     .base = 10000,
     .tied = true,
     .layers = 5,
     .still_every = 4},
    {.architecture = "olmo2",
     .kv_heads = 2,
     .head_size = 16,
     .rotated = 16,
     .base = 500000,
     .after = true,
     .halves = true},
    {.architecture = "phi3",
     .kv_heads = 2,
     .head_size = 32,
     .rotated = 24,
     .base = 10000,
     .fused = true,
     .gain = 1.25,
     .lengths = true,
     .halves = true},
    {.architecture = "phi3",
     .kv_heads = 2,
     .head_size = 32,
     .rotated = 24,
     .base = 10000,
     .fused = true,
     .gain = 1.25,
     .window = 16,
     .lengths = true,
     .halves = true},
    {.architecture = "lfm2",
     .kv_heads = 2,
     .head_size = 16,
     .rotated = 16,
     .base = 1e6,
     .layers = 4,
     .tied = true,
     .convolves = true,
     .head_norms = true,
     .halves = true},
    {.architecture = "gemma3",
     .kv_heads = 1,
     .head_size = 32,
     .rotated = 32,
     .base = 1e6,
     .linear = 8,
     .layers = 6,
     .tied = true,
     .gemma = true,
     .window = 37,
     .head_norms = true,
     .halves = true,
     .lengths = true},
};

/* The shape of that architecture. */
static struct shape shape_of(const char *architecture) {
	size_t i = 0;
	while (strcmp(shapes[i].architecture, architecture) != 0) i++;
	return shapes[i];
}

/* ---- writing --------------------------------------------------------------------------------- */

static const char *key(const struct shape *shape, const char *name) {
	static char full[96];
	snprintf(full, sizeof full, "%s.%s", shape->architecture, name);
	return full;
}

static size_t layers_of(const struct shape *s) {
	return s->layers ? s->layers : LAYERS;
}

static bool convolves(const struct shape *s, int layer) {
	return s->convolves && layer != 1;
}

static void write_random(struct gguf_writer *writer, const char *name, size_t row, size_t rows,
                         float middle, float size, uint64_t *state) {
	float *values = malloc(row * rows * sizeof *values);
	assert_non_null(values);
	for (size_t i = 0; i < row * rows; i++)
		values[i] = middle + size * ((float)(tiny_random(state) >> 40) * 0x1p-23f - 1.0f);
	gguf_write_tensor(writer, name, GGUF_TENSOR_F32, rows > 1 ? 2 : 1,
	                  (const uint64_t[]){row, rows}, values, row * rows * sizeof *values);
	free(values);
}

static void write_keys(struct gguf_writer *writer, const struct shape *s) {
	gguf_write_text(writer, "general.architecture", s->architecture);
	gguf_write_u32(writer, key(s, "block_count"), (uint32_t)layers_of(s));
	gguf_write_u32(writer, key(s, "embedding_length"), WIDTH);
	if (s->arrays)
		gguf_write_array(writer, key(s, "feed_forward_length"), GGUF_I32,
		                 (const int32_t[]){FFN, FFN}, LAYERS);
	else gguf_write_u32(writer, key(s, "feed_forward_length"), FFN);
	gguf_write_u32(writer, key(s, "context_length"), 256);
	if (s->arrays)
		gguf_write_array(writer, key(s, "attention.head_count"), GGUF_U32,
		                 (const uint32_t[]){HEADS, HEADS}, LAYERS);
	else gguf_write_u32(writer, key(s, "attention.head_count"), HEADS);
	if (s->convolves) {
		const int32_t kinds[] = {0, s->none_attends ? 0 : (int32_t)s->kv_heads, 0,
		                         s->kinds_end};
		gguf_write_array(writer, key(s, "attention.head_count_kv"), GGUF_I32, kinds,
		                 s->kinds ? s->kinds : 4);
		gguf_write_u32(writer, key(s, "shortconv.l_cache"), s->taps ? s->taps : TAPS);
	} else {
		gguf_write_u32(writer, key(s, "attention.head_count_kv"), (uint32_t)s->kv_heads);
	}
	if (s->lengths)
		gguf_write_u32(writer, key(s, "attention.key_length"), (uint32_t)s->head_size);
	if (s->lengths)
		gguf_write_u32(writer, key(s, "attention.value_length"), (uint32_t)s->head_size);
	gguf_write_f32(writer, key(s, "attention.layer_norm_rms_epsilon"),
	               1e-3f); // large enough to be missed
	gguf_write_u32(writer, key(s, "rope.dimension_count"), (uint32_t)s->rotated);
	gguf_write_f32(writer, key(s, "rope.freq_base"), (float)s->base);
	if (s->linear > 0) gguf_write_f32(writer, key(s, "rope.scaling.factor"), (float)s->linear);
	if (s->linear > 2) gguf_write_text(writer, key(s, "rope.scaling.type"), "linear");
	if (s->fused) gguf_write_f32(writer, key(s, "rope.scaling.attn_factor"), (float)s->gain);
	if (s->fused) gguf_write_u32(writer, key(s, "rope.scaling.original_context_length"), 128);
	if (s->gemma || s->window)
		gguf_write_u32(writer, key(s, "attention.sliding_window"), s->window);
	if (s->embedding != 0) {
		gguf_write_f32(writer, key(s, "embedding_scale"), (float)s->embedding);
		gguf_write_f32(writer, key(s, "residual_scale"), (float)s->residual);
		gguf_write_f32(writer, key(s, "attention.scale"), (float)s->attention);
		gguf_write_f32(writer, key(s, "logit_scale"), (float)s->logit);
	}
	if (s->extra_key) gguf_write_f32(writer, key(s, s->extra_key), (float)s->extra);
	tiny_vocab_write(writer);
}

static uint8_t *write_model(const struct shape *s, size_t *size) {
	struct gguf_writer *writer = gguf_writer_new();
	write_keys(writer, s);
	uint64_t state = 7;
	const size_t query = HEADS * s->head_size, kv = s->kv_heads * s->head_size;
	const struct {
		const char *name;
		size_t row, rows;
		float middle, size;
		bool absent;
	} tensors[] = {{"attn_norm.weight", WIDTH, 1, 1, 0.5f, s->after},
	               {"ffn_norm.weight", WIDTH, 1, 1, 0.5f, s->after},
	               {"post_attention_norm.weight", WIDTH, 1, 1, 0.5f, !s->after && !s->gemma},
	               {"post_ffw_norm.weight", WIDTH, 1, 1, 0.5f, !s->after && !s->gemma},
	               {"attn_q_norm.weight", query, 1, 1, 0.5f, !s->after},
	               {"attn_k_norm.weight", kv, 1, 1, 0.5f, !s->after},
	               {"attn_qkv.weight", WIDTH, query + 2 * kv, 0, 0.35f, !s->fused},
	               {"attn_q.weight", WIDTH, query, 0, 0.4f, s->fused},
	               {"attn_k.weight", WIDTH, kv, 0, 0.4f, s->fused},
	               {"attn_v.weight", WIDTH, kv, 0, 0.3f, s->fused},
	               {"attn_output.weight", query, WIDTH, 0, 0.3f, false},
	               {"ffn_gate.weight", WIDTH, FFN, 0, 0.3f, s->fused},
	               {"ffn_up.weight", WIDTH, s->fused ? 2 * FFN : FFN, 0, 0.3f, false},
	               {"ffn_down.weight", FFN, WIDTH, 0, 0.2f, false},
	               {"attn_q.bias", query, 1, 0, 1, !s->biases},
	               {"attn_k.bias", kv, 1, 0, 1, !s->biases},
	               {"attn_v.bias", kv, 1, 0, 1, !s->biases},
	               {"attn_q_norm.weight", s->head_size, 1, 1, 0.5f, !s->head_norms},
	               {"attn_k_norm.weight", s->head_size, 1, 1, 0.5f, !s->head_norms},
	               {"shortconv.conv.weight", TAPS, WIDTH, 0, 1, false},
	               {"shortconv.in_proj.weight", WIDTH, 3 * WIDTH, 0, 0.3f, false},
	               {"shortconv.out_proj.weight", WIDTH, WIDTH, 0, 0.3f, false}};
	write_random(writer, "token_embd.weight", WIDTH, TINY_VOCAB, 0, 1, &state);
	if (!s->tied) write_random(writer, "output.weight", WIDTH, TINY_VOCAB, 0, 0.3f, &state);
	write_random(writer, s->convolves ? "token_embd_norm.weight" : "output_norm.weight", WIDTH,
	             1, s->tied ? 0.3f : 1, 0.2f, &state);
	if (s->llama3) write_random(writer, "rope_freqs.weight", s->rotated / 2, 1, 5, 3, &state);
	if (s->fused) {
		write_random(writer, "rope_factors_short.weight", s->rotated / 2, 1, 5, 3, &state);
		write_random(writer, "rope_factors_long.weight", s->rotated / 2, 1, 50, 3, &state);
	}
	if (s->extra_tensor) write_random(writer, s->extra_tensor, WIDTH, 1, 0, 1, &state);
	for (int layer = 0; layer < (int)layers_of(s); layer++)
		for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
			char name[64];
			const bool attention = strstr(tensors[i].name, "attn_") &&
			                       strcmp(tensors[i].name, "attn_norm.weight") != 0,
			           convolution = strstr(tensors[i].name, "shortconv");
			if (convolves(s, layer) ? attention : convolution) continue;
			snprintf(name, sizeof name, "blk.%d.%s", layer, tensors[i].name);
			if (!tensors[i].absent)
				write_random(writer, name, tensors[i].row, tensors[i].rows,
				             tensors[i].middle, tensors[i].size, &state);
		}
	return gguf_writer_finish(&writer, size);
}

/* ---- the reference --------------------------------------------------------------------------- */

static const float *weights(const struct gguf *file, int layer, const char *name) {
	char full[64];
	if (layer < 0) snprintf(full, sizeof full, "%s", name);
	else snprintf(full, sizeof full, "blk.%d.%s", layer, name);
	const struct gguf_tensor *tensor = gguf_tensor_find(file, full);
	return tensor ? (const float *)(const void *)tensor->data : NULL;
}

/* out[rows] = W x (+ bias) */
static void linear(const float *w, const float *bias, const double *x, size_t row, size_t rows,
                   double *out) {
	for (size_t r = 0; r < rows; r++) {
		out[r] = bias ? (double)bias[r] : 0.0;
		for (size_t i = 0; i < row; i++) out[r] += (double)w[r * row + i] * x[i];
	}
}

/* Without a weight, x as it is. */
static void rms_norm(const float *weight, const double *x, size_t n, double *out) {
	if (!weight) {
		if (out != x) memcpy(out, x, n * sizeof *x);
		return;
	}
	double squares = 0;
	for (size_t i = 0; i < n; i++) squares += x[i] * x[i];
	for (size_t i = 0; i < n; i++)
		out[i] = x[i] / sqrt(squares / (double)n + (double)1e-3f) * (double)weight[i];
}

static void rotate(const struct shape *s, const float *factors, double *head, size_t position,
                   bool local) {
	for (size_t i = 0; i < s->rotated / 2; i++) {
		double angle = (double)position *
		               pow(local ? 10000 : s->base, -2.0 * (double)i / (double)s->rotated);
		if (s->linear > 0 && !local) angle /= s->linear;
		if (factors) angle /= (double)factors[i];
		const size_t first = s->halves ? i : 2 * i,
		             second = s->halves ? i + s->rotated / 2 : 2 * i + 1;
		const double a = head[first], b = head[second];
		const double gain = s->fused ? s->gain : 1;
		head[first] = gain * (a * cos(angle) - b * sin(angle));
		head[second] = gain * (a * sin(angle) + b * cos(angle));
	}
}

/* The one liberty the engine takes: keys and values are kept in fp16. Without this the largest
 * difference is 4e-3. */
static void keep(double *x, size_t count) {
	for (size_t i = 0; i < count; i++) x[i] = (double)float_of_f16(f16_of_float((float)x[i]));
}

static double queries[TOKENS][HEADS * 32], keys[TOKENS][HEADS * 32], values[TOKENS][HEADS * 32],
    stream[TOKENS][WIDTH];

/* Rows `first` on of a tensor whose rows have WIDTH numbers. */
static const float *rows_of(const struct gguf *file, int layer, const char *name, size_t first) {
	return weights(file, layer, name) + first * WIDTH;
}

static void project(const struct shape *s, const struct gguf *file, int layer, size_t t) {
	double normed[WIDTH];
	const size_t size = s->head_size, kv = s->kv_heads * size;
	rms_norm(weights(file, layer, "attn_norm.weight"), stream[t], WIDTH, normed);
	const char *const names[] = {s->fused ? "attn_qkv.weight" : "attn_q.weight",
	                             s->fused ? "attn_qkv.weight" : "attn_k.weight",
	                             s->fused ? "attn_qkv.weight" : "attn_v.weight"};
	const size_t query = s->fused ? HEADS * size : 0, key = s->fused ? kv : 0;
	linear(rows_of(file, layer, names[0], 0), weights(file, layer, "attn_q.bias"), normed,
	       WIDTH, HEADS * size, queries[t]);
	linear(rows_of(file, layer, names[1], query), weights(file, layer, "attn_k.bias"), normed,
	       WIDTH, kv, keys[t]);
	linear(rows_of(file, layer, names[2], query + key), weights(file, layer, "attn_v.bias"),
	       normed, WIDTH, kv, values[t]);
	if (s->after) {
		rms_norm(weights(file, layer, "attn_q_norm.weight"), queries[t], HEADS * size,
		         queries[t]);
		rms_norm(weights(file, layer, "attn_k_norm.weight"), keys[t], kv, keys[t]);
	}
	for (size_t h = 0; h < HEADS + s->kv_heads; h++) {
		double *head = h < HEADS ? queries[t] + h * size : keys[t] + (h - HEADS) * size;
		if (s->head_norms)
			rms_norm(weights(file, layer,
			                 h < HEADS ? "attn_q_norm.weight" : "attn_k_norm.weight"),
			         head, size, head);
		if (!s->still_every || ((size_t)layer + 1) % s->still_every)
			rotate(
			    s,
			    weights(file, -1,
			            s->fused ? "rope_factors_short.weight" : "rope_freqs.weight"),
			    head, t, s->gemma && (layer + 1) % 6);
	}
	keep(keys[t], kv);
	keep(values[t], kv);
}

static double seen[TOKENS][WIDTH]; /* what a convolution's tokens are, before they are summed */

/* The three parts of the state are what it is multiplied by first, by last, and itself. */
static void convolve(const struct gguf *file, int layer, size_t t, double *out) {
	double normed[WIDTH], parts[3 * WIDTH];
	const float *taps = weights(file, layer, "shortconv.conv.weight");
	rms_norm(weights(file, layer, "attn_norm.weight"), stream[t], WIDTH, normed);
	linear(weights(file, layer, "shortconv.in_proj.weight"), NULL, normed, WIDTH, 3 * WIDTH,
	       parts);
	for (size_t i = 0; i < WIDTH; i++) {
		double sum = 0;
		seen[t][i] = parts[i] * parts[2 * WIDTH + i];
		for (size_t back = 0; back < TAPS && back <= t; back++)
			sum += (double)taps[i * TAPS + TAPS - 1 - back] * seen[t - back][i];
		out[i] = sum * parts[WIDTH + i];
	}
}

/* The first token that token t sees. */
static size_t first_seen(const struct shape *s, int layer, size_t t) {
	const bool slides = s->window && !(s->gemma && (layer + 1) % 6 == 0);
	return slides && t >= s->window ? t + 1 - s->window : 0;
}

static void attend(const struct shape *s, int layer, size_t t, double *out) {
	const size_t size = s->head_size, first = first_seen(s, layer, t);
	for (size_t h = 0; h < HEADS; h++) {
		const size_t kv = h / (HEADS / s->kv_heads) * size;
		double score[TOKENS], most = -INFINITY, sum = 0;
		for (size_t u = first; u <= t; u++) {
			score[u] = 0;
			for (size_t i = 0; i < size; i++)
				score[u] += queries[t][h * size + i] * keys[u][kv + i];
			score[u] *= s->embedding != 0 ? s->attention : 1 / sqrt((double)size);
			most = fmax(most, score[u]);
		}
		for (size_t u = first; u <= t; u++) sum += score[u] = exp(score[u] - most);
		for (size_t i = 0; i < size; i++) {
			out[h * size + i] = 0;
			for (size_t u = first; u <= t; u++)
				out[h * size + i] += score[u] / sum * values[u][kv + i];
		}
	}
}

/* x += what attention or the feed-forward part gave */
static void add_branch(const struct shape *s, const double *branch, double *x) {
	const double scale = s->embedding != 0 ? (double)(float)s->residual : 1;
	for (size_t i = 0; i < WIDTH; i++) x[i] += scale * branch[i];
}

static void feed_forward(const struct shape *s, const struct gguf *file, int layer, double *x) {
	double normed[WIDTH], gate[FFN], up[FFN], down[WIDTH];
	rms_norm(weights(file, layer, "ffn_norm.weight"), x, WIDTH, normed);
	linear(rows_of(file, layer, s->fused ? "ffn_up.weight" : "ffn_gate.weight", 0), NULL,
	       normed, WIDTH, FFN, gate);
	linear(rows_of(file, layer, "ffn_up.weight", s->fused ? FFN : 0), NULL, normed, WIDTH, FFN,
	       up);
	for (size_t i = 0; i < FFN; i++) {
		const double g = gate[i], bent = sqrt(2 / M_PI) * (g + 0.044715 * g * g * g);
		gate[i] = (s->gemma ? 0.5 * g * (1 + tanh(bent)) : g / (1 + exp(-g))) * up[i];
	}
	linear(weights(file, layer, "ffn_down.weight"), NULL, gate, FFN, WIDTH, down);
	rms_norm(weights(file, layer, "post_ffw_norm.weight"), down, WIDTH, down);
	add_branch(s, down, x);
}

/* ln P(ids[t + 1] | ids[0..t]) */
static void reference(const struct shape *s, const struct gguf *file, const int32_t *ids,
                      double *logprobs) {
	const float *embedding = weights(file, -1, "token_embd.weight"),
	            *head = s->tied ? embedding : weights(file, -1, "output.weight");
	for (size_t t = 0; t < TOKENS; t++)
		for (size_t i = 0; i < WIDTH; i++)
			stream[t][i] = (double)embedding[(size_t)ids[t] * WIDTH + i] *
			               (s->embedding != 0 ? s->embedding
			                : s->gemma        ? sqrt(WIDTH)
			                                  : 1);
	for (int layer = 0; layer < (int)layers_of(s); layer++) {
		const bool attends = !convolves(s, layer);
		for (size_t t = 0; attends && t < TOKENS; t++) project(s, file, layer, t);
		for (size_t t = 0; t < TOKENS; t++) {
			double attention[HEADS * 32], out[WIDTH];
			if (attends) attend(s, layer, t, attention);
			else convolve(file, layer, t, attention);
			linear(
			    weights(file, layer,
			            attends ? "attn_output.weight" : "shortconv.out_proj.weight"),
			    NULL, attention, HEADS * s->head_size, WIDTH, out);
			rms_norm(weights(file, layer, "post_attention_norm.weight"), out, WIDTH,
			         out);
			add_branch(s, out, stream[t]);
			feed_forward(s, file, layer, stream[t]);
		}
	}
	for (size_t t = 0; t + 1 < TOKENS; t++) {
		double normed[WIDTH], logits[TINY_VOCAB], sum = 0;
		rms_norm(weights(file, -1,
		                 s->convolves ? "token_embd_norm.weight" : "output_norm.weight"),
		         stream[t], WIDTH, normed);
		linear(head, NULL, normed, WIDTH, TINY_VOCAB, logits);
		for (size_t i = 0; s->embedding != 0 && i < TINY_VOCAB; i++) logits[i] /= s->logit;
		for (size_t i = 0; i < TINY_VOCAB; i++) sum += exp(logits[i]);
		logprobs[t] = logits[ids[t + 1]] - log(sum);
	}
}

/* ---- tests ----------------------------------------------------------------------------------- */

static enum cuttle_status open_bytes(const uint8_t *bytes, size_t size, struct cuttle_model **model,
                                     struct cuttle_error *error) {
	char path[] = "/tmp/cuttle-architecture-XXXXXX";
	files_put_new(path, bytes, size);
	const enum cuttle_status status = cuttle_model_open(path, NULL, model, error);
	unlink(path);
	return status;
}

static void test_against_definitions(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		const struct shape *s = &shapes[i];
		size_t size;
		uint8_t *bytes = write_model(s, &size);
		struct cuttle_model *model;
		struct cuttle_error error;
		if (open_bytes(bytes, size, &model, &error)) fail_msg("%zu: %s", i, error.message);
		struct gguf *file;
		assert_int_equal(gguf_parse(bytes, size, &file, NULL), CUTTLE_OK);
		int32_t ids[TOKENS], top1[TOKENS];
		double expected[TOKENS], found[TOKENS], worst = 0, least = 0;
		uint64_t random = 11;
		for (size_t t = 0; t < TOKENS; t++)
			ids[t] = (int32_t)(tiny_random(&random) % TINY_NAN);
		reference(s, file, ids, expected);
		assert_int_equal(cuttle_score(model, ids, TOKENS, found, top1, &error), CUTTLE_OK);
		for (size_t t = 0; t + 1 < TOKENS; t++) {
			worst = fmax(worst, fabs(found[t] - expected[t]));
			least = fmin(least, expected[t]);
		}
		print_message(
		    "%s, case %zu: largest difference %.2g, log-probabilities down to %.1f\n",
		    s->architecture, i, worst, least);
		assert_true(worst < 1e-3 && least < -7.0);
		gguf_free(&file);
		cuttle_model_free(&model);
		free(bytes);
	}
}

static void assert_refused(struct shape shape, const char *message) {
	size_t size;
	uint8_t *bytes = write_model(&shape, &size);
	struct cuttle_model *model;
	struct cuttle_error error = {""};
	if (open_bytes(bytes, size, &model, &error) != CUTTLE_MODEL ||
	    !strstr(error.message, message))
		fail_msg("wanted '%s', got '%s'", message, error.message);
	free(bytes);
}

static void test_refusals(void **state) {
	(void)state;
	static const char *const names[] = {"gemma2",   "mistral3", "llama4", "qwen2moe",
	                                    "qwen3moe", "phi2",     "lla",    "llamas"};
	static const char *const changing[] = {"expert_count",
	                                       "attention.clamp_kqv",
	                                       "attention.max_alibi_bias",
	                                       "attention.scale",
	                                       "attn_logit_softcapping",
	                                       "logit_scale",
	                                       "final_logit_softcapping",
	                                       "residual_scale",
	                                       "embedding_scale",
	                                       "use_parallel_residual"};
	static const char *const unknown[] = {"rope.scaling.attn_factor",
	                                      "rope.dimension_sections",
	                                      "attention.sliding_window_pattern",
	                                      "attention.key_length_swa",
	                                      "attention.causal",
	                                      "some.new_thing"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct shape shape = shapes[0];
		shape.architecture = names[i];
		assert_refused(shape, names[i]);
	}
	struct shape recurrent = shapes[0];
	recurrent.architecture = "qwen35";
	assert_refused(recurrent, "\"qwen35\" is not supported: its layers keep one state");
	for (size_t i = 0; i < sizeof changing / sizeof *changing; i++) {
		struct shape shape = shapes[0];
		shape.extra_key = changing[i];
		shape.extra = 0.5;
		assert_refused(shape, changing[i]);
		shape.extra = 0.0;
		size_t size;
		uint8_t *bytes = write_model(&shape, &size);
		struct cuttle_model *model;
		assert_int_equal(open_bytes(bytes, size, &model, NULL), CUTTLE_OK);
		cuttle_model_free(&model);
		free(bytes);
	}
	for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
		struct shape shape = shapes[0];
		shape.extra_key = unknown[i];
		assert_refused(shape, unknown[i]);
	}
	static const char *const tensors[] = {
	    "blk.0.attn_q.bias",          "blk.0.attn_q_norm.weight",
	    "blk.1.attn_output.bias",     "output.bias",
	    "blk.0.post_ffw_norm.weight", "rope_factors_long.weight",
	    "blk.0.ffn_gate_inp.weight"};
	for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) {
		struct shape shape = shapes[0];
		shape.extra_tensor = tensors[i];
		assert_refused(shape, tensors[i]);
	}
	struct shape shape = shapes[4];
	shape.biases = false;
	assert_refused(shape, "blk.0.attn_q.bias is missing");
	shape = shapes[6];
	shape.head_norms = false;
	assert_refused(shape, "blk.0.attn_q_norm.weight is missing");
	shape = shape_of("olmo2");
	shape.after = false;
	assert_refused(shape, "blk.0.post_attention_norm.weight is missing");
	shape = shape_of("olmo2");
	shape.extra_tensor = "blk.1.ffn_norm.weight";
	assert_refused(shape, "blk.1.ffn_norm.weight is not supported in olmo2");
}

/* A context of Phi-3 ends where the long factors would begin. */
static void test_longrope(void **state) {
	(void)state;
	static const double bad[] = {0, NAN, INFINITY, -1};
	struct shape shape = shape_of("phi3");
	size_t size;
	struct cuttle_model *model;
	uint8_t *bytes = write_model(&shape, &size);
	assert_int_equal(open_bytes(bytes, size, &model, NULL), CUTTLE_OK);
	assert_int_equal(model->model.context, 128);
	cuttle_model_free(&model);
	free(bytes);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		shape.gain = bad[i];
		assert_refused(shape, "phi3.rope.scaling.attn_factor is outside 0.01..100");
	}
	shape = shape_of("phi3");
	shape.fused = false;
	assert_refused(shape, "attn_qkv.weight is missing");
}

/* What Gemma's keys may say of its layers, and its scale of queries in the one of 27B. */
static void test_gemma_keys(void **state) {
	(void)state;
	struct shape shape = shape_of("gemma3");
	shape.extra_key = "attn_logit_softcapping";
	shape.extra = 30;
	assert_refused(shape, "gemma3.attn_logit_softcapping is not supported");
	shape.extra_key = "rope.freq_base_swa";
	static const double bad[] = {0, NAN, INFINITY, -1};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		shape.extra = bad[i];
		assert_refused(shape, "rope base out of range");
	}
	shape.extra_key = NULL;
	shape.window = 0;
	assert_refused(shape, "gemma3.attention.sliding_window is too small");
	shape.window = 128;
	for (uint32_t pattern = 5; pattern <= 6; pattern++) {
		size_t size;
		struct gguf_writer *writer = gguf_writer_new();
		shape.extra_key = NULL;
		shape.layers = 62;
		write_keys(writer, &shape);
		gguf_write_u32(writer, "gemma3.attention.sliding_window_pattern", pattern);
		uint8_t *bytes = gguf_writer_finish(&writer, &size);
		struct gguf *file;
		struct model model = {0};
		double base, scale;
		struct cuttle_error error = {""};
		assert_int_equal(gguf_parse(bytes, size, &file, NULL), CUTTLE_OK);
		assert_int_equal(architecture_read(file, &model, &base, &scale, &error),
		                 pattern == 6 ? CUTTLE_OK : CUTTLE_MODEL);
		if (pattern == 5) assert_non_null(strstr(error.message, "sliding_window_pattern"));
		else {
			assert_true(model.attention_scale == 0.25f);
			assert_true(model.context == 256 && model.window == 128);
			assert_true(model.local_base == 10000.0 && base == 1e6 && scale == 8);
		}
		gguf_free(&file);
		free(bytes);
	}
}

/* A multiplier that is missing, or that would make everything 0 or nothing a number. */
static void test_multipliers(void **state) {
	(void)state;
	static const double bad[] = {0, -1, NAN, INFINITY, 1e7};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		const struct shape good = shape_of("granite");
		struct shape shape = good;
		shape.residual = bad[i];
		assert_refused(shape, "granite.residual_scale is outside 1e-6..1e6");
		shape = good;
		shape.attention = bad[i];
		assert_refused(shape, "granite.attention.scale is outside 1e-6..1e6");
		shape = good;
		shape.logit = bad[i];
		assert_refused(shape, "granite.logit_scale is outside 1e-6..1e6");
		shape = good;
		shape.embedding = bad[i];
		assert_refused(shape, "granite.embedding_scale");
	}
}

/* Contexts for test_chunks: what they hold before is no number. */
static struct context fresh_context(const struct model *m, struct region *region) {
	size_t bytes;
	assert_true(kv_bytes(m, kv_capacity(TOKENS), &bytes) && region_map(region, bytes, true));
	uint8_t *data = region_carve(region, bytes);
	memset(data, 0xff, bytes);
	return (struct context){.own = {data, kv_capacity(TOKENS)}};
}

/* A row's bits do not depend on how many rows are computed at once, nor on what is shared, nor on
 * where the window of another row begins. */
static void check_chunks(struct shape shape, enum cuttle_kv_type kv_type) {
	enum { SHARED = 32, ALL = 80, LAG = 9 };
	size_t size;
	struct cuttle_model *model;
	uint8_t *bytes = write_model(&shape, &size);
	assert_int_equal(open_bytes(bytes, size, &model, NULL), CUTTLE_OK);
	free(bytes);
	model->model.info.kv_type = kv_type;
	const struct model *m = &model->model;
	struct forward *forward;
	struct region regions[4];
	struct context whole = fresh_context(m, &regions[0]),
	               prefix = fresh_context(m, &regions[1]);
	struct context behind[2] = {fresh_context(m, &regions[2]), fresh_context(m, &regions[3])};
	static float at_once[ALL][WIDTH], one[2][WIDTH];
	struct row rows[ALL];
	assert_int_equal(forward_new(m, ALL, 1, TOKENS, &forward, NULL), CUTTLE_OK);
	for (size_t t = 0; t < ALL; t++)
		rows[t] = (struct row){&whole, t, (int32_t)(t * 7 % 200), at_once[t]};
	forward_rows(forward, rows, ALL, false);
	for (size_t t = 0; t < SHARED; t++) {
		rows[t].context = &prefix;
		rows[t].hidden = NULL;
	}
	forward_rows(forward, rows, SHARED, false);
	for (size_t i = 0; i < 2; i++) {
		behind[i].prefix = &prefix;
		behind[i].shared_tokens = SHARED;
	}
	for (size_t t = SHARED; t < ALL + LAG; t++) {
		const size_t late = t - LAG, first = t < ALL ? 0 : 1,
		             count = (t < ALL) + (late >= SHARED && late < t);
		struct row two[] = {{&behind[0], t, (int32_t)(t * 7 % 200), one[0]},
		                    {&behind[1], late, (int32_t)(late * 7 % 200), one[1]}};
		forward_rows(forward, two + first, count, false);
		if (t < ALL) assert_memory_equal(one[0], at_once[t], sizeof one[0]);
		if (late >= SHARED) assert_memory_equal(one[1], at_once[late], sizeof one[1]);
	}
	forward_free(&forward);
	for (size_t i = 0; i < 4; i++) region_unmap(&regions[i], true);
	cuttle_model_free(&model);
}

static void test_chunks(void **state) {
	(void)state;
	static const uint32_t windows[] = {16, 17, 31, 40};
	check_chunks(shape_of("lfm2"), CUTTLE_KV_F16);
	for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
		struct shape gemma = shape_of("gemma3"), phi = shape_of("phi3");
		gemma.window = phi.window = windows[i];
		check_chunks(gemma, CUTTLE_KV_F16);
		check_chunks(gemma, CUTTLE_KV_Q8);
		check_chunks(phi, CUTTLE_KV_F16);
		check_chunks(phi, CUTTLE_KV_Q8);
	}
}

/* What the list of KV heads may say. */
static void test_layer_kinds(void **state) {
	(void)state;
	static const char refusal[] =
	    "lfm2.attention.head_count_kv must have a number for each layer";
	struct shape shape = shape_of("lfm2");
	shape.kinds = 3;
	assert_refused(shape, refusal);
	shape.kinds = 4;
	shape.kinds_end = 1;
	assert_refused(shape, refusal);
	shape.kinds_end = -2;
	assert_refused(shape, refusal);
	shape.kinds_end = 0;
	shape.none_attends = true;
	assert_refused(shape, refusal);
	shape = shape_of("lfm2");
	shape.kinds_end = 2;
	assert_refused(shape, "blk.3.attn_q.weight is missing");
	shape = shape_of("lfm2");
	shape.taps = 17;
	assert_refused(shape, "lfm2.shortconv.l_cache is 17, outside 1..16");
	shape.taps = 4;
	assert_refused(shape, "blk.0.shortconv.conv.weight has shape [3, 64], expected [4, 64]");
	shape = shapes[0];
	shape.extra_key = "shortconv.l_cache";
	assert_refused(shape, "llama.shortconv.l_cache is not supported");
}

static void write_leftovers(struct gguf_writer *writer, const struct shape *shape, bool flag,
                            const char *more) {
	char key[64];
	write_keys(writer, shape);
	(void)snprintf(key, sizeof key, "%s.use_parallel_residual", shape->architecture);
	if (flag) gguf_write_bool(writer, key, true);
	else gguf_write_u32(writer, key, 1);
	gguf_write_u32(writer, "tokenizer.ggml.padding_token_id", 0);
	gguf_write_u32(writer, "general.quantization_version", 2);
	if (more) gguf_write_bool(writer, more, true);
}

/* What Qwen1.5's files say and do not mean is no reason to refuse them; of another architecture,
 * type or key it is. */
static void test_qwen_leftovers(void **state) {
	(void)state;
	static const struct {
		size_t shape;
		bool flag;
		const char *more, *refused;
	} cases[] = {{4, true, NULL, NULL},
	             {4, false, NULL, "qwen2.use_parallel_residual is not supported"},
	             {4, true, "qwen2.attention.causal", "qwen2.attention.causal is not supported"},
	             {0, true, NULL, "llama.use_parallel_residual is not supported"},
	             {6, true, NULL, "qwen3.use_parallel_residual is not supported"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct gguf_writer *writer = gguf_writer_new();
		write_leftovers(writer, &shapes[cases[i].shape], cases[i].flag, cases[i].more);
		size_t size;
		uint8_t *bytes = gguf_writer_finish(&writer, &size);
		struct gguf *file;
		struct model model = {0};
		struct cuttle_error error = {""};
		double base, scale;
		assert_int_equal(gguf_parse(bytes, size, &file, NULL), CUTTLE_OK);
		assert_int_equal(architecture_read(file, &model, &base, &scale, &error),
		                 cases[i].refused ? CUTTLE_MODEL : CUTTLE_OK);
		if (cases[i].refused) assert_non_null(strstr(error.message, cases[i].refused));
		gguf_free(&file);
		free(bytes);
	}
}

/* Beyond its window a sliding model computes something else. Where layers do not slide the context
 * ends there. The files' contexts are of 256 tokens. */
static void test_sliding_window(void **state) {
	(void)state;
	static const struct {
		const char *architecture;
		uint32_t window;
		size_t context, slides; /* the model's */
	} cases[] = {{"llama", 64, 64, 0},      {"qwen3", 64, 64, 0},    {"gemma3", 64, 256, 64},
	             {"gemma3", 255, 256, 255}, {"gemma3", 256, 256, 0}, {"gemma3", 4096, 256, 0}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t size;
		struct shape shape = shape_of(cases[i].architecture);
		struct gguf_writer *writer = gguf_writer_new();
		shape.window = cases[i].window;
		write_keys(writer, &shape);
		uint8_t *bytes = gguf_writer_finish(&writer, &size);
		struct gguf *file;
		struct model model = {0};
		double base, scale;
		struct cuttle_error error;
		assert_int_equal(gguf_parse(bytes, size, &file, NULL), CUTTLE_OK);
		assert_int_equal(architecture_read(file, &model, &base, &scale, &error), CUTTLE_OK);
		assert_int_equal(model.context, cases[i].context);
		assert_int_equal(model.window, cases[i].slides);
		gguf_free(&file);
		free(bytes);
	}
}

static void test_rope_types(void **state) {
	(void)state;
	static const struct {
		const char *type;
		double factor, scale; /* scale 0 = refused */
	} cases[] = {{"none", 4, 1},   {"linear", 4, 4},   {"linear", 0, 1},
	             {NULL, 4, 4},     {"yarn", 4, 0},     {"longrope", 4, 0},
	             {"llama3", 8, 0}, {"linear", 0.5, 0}, {"linear", NAN, 0}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t size;
		struct gguf_writer *writer = gguf_writer_new();
		write_keys(writer, &shapes[0]);
		if (cases[i].type)
			gguf_write_text(writer, "llama.rope.scaling.type", cases[i].type);
		gguf_write_f32(writer, "llama.rope.scaling.factor", (float)cases[i].factor);
		uint8_t *bytes = gguf_writer_finish(&writer, &size);
		struct gguf *file;
		struct model model = {0};
		double base, scale;
		assert_int_equal(gguf_parse(bytes, size, &file, NULL), CUTTLE_OK);
		assert_int_equal(architecture_read(file, &model, &base, &scale, NULL),
		                 cases[i].scale > 0 ? CUTTLE_OK : CUTTLE_MODEL);
		if (cases[i].scale > 0) assert_true(scale == cases[i].scale);
		gguf_free(&file);
		free(bytes);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_definitions),
	                                   cmocka_unit_test(test_refusals),
	                                   cmocka_unit_test(test_multipliers),
	                                   cmocka_unit_test(test_gemma_keys),
	                                   cmocka_unit_test(test_longrope),
	                                   cmocka_unit_test(test_chunks),
	                                   cmocka_unit_test(test_layer_kinds),
	                                   cmocka_unit_test(test_qwen_leftovers),
	                                   cmocka_unit_test(test_sliding_window),
	                                   cmocka_unit_test(test_rope_types)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
