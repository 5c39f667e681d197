// SPDX-License-Identifier: Apache-2.0
#include "engine/forward.h"

#include "base/misuse.h"
#include "engine/rope.h"
#include "engine/status.h"
#include "kernels/pack.h"
#if defined(CUTTLE_BLAS)
#include "kernels/gemm_blas.h"
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS_INLINE = 16, ROWS_PER_TASK = 8, TASKS_PER_THREAD = 32 };

struct forward {
	const struct model *model;
	size_t max_rows, max_head_rows, max_tokens, score_floats, most_segments;
	struct region region;
	float *x;                           /* [max_rows][width], the residual stream */
	float *normed;                      /* [max_rows][widest]: input of the next gemm in fp32 */
	float *query, *key, *value;         /* [max_rows][heads or kv_heads][head_size] */
	float *gate, *up;                   /* [max_rows][ffn] */
	int8_t *q;                          /* [max_rows][widest]: normed, quantised */
	float *scale, *scaled_sum;          /* [max_rows][widest/32] */
	int32_t *sum, *half_sum;            /* [max_rows][widest/32], [..][widest/16] */
	float *scores;                      /* [threads][score_floats] */
	struct attention_segment *segments; /* [threads][most_segments] */
	float *panel;                       /* [threads][GEMM_BLAS_SCRATCH], blas prompts only */
	float *cos_sin;                     /* [max_tokens][rotated/2][2] */
	// The call in hand, read by the tasks.
	const struct row *rows;
	size_t count, layer;
	bool by_blas;
	struct forward_time time;
};

static uint64_t now(void) {
	struct timespec clock;
	clock_gettime(CLOCK_MONOTONIC, &clock);
	return (uint64_t)clock.tv_sec * 1000000000u + (uint64_t)clock.tv_nsec;
}

static size_t widest(const struct model *m) {
	const size_t attention = m->heads * m->head_size, most = m->width > m->ffn ? m->width : m->ffn;
	return attention > most ? attention : most;
}

/* Both passes of an allocation: with a NULL region it adds up, else it carves. */
static bool lay_out(struct forward *f, struct region *region, size_t *total) {
	const struct model *m = f->model;
	// Head rows are quantised in the same arrays.
	const size_t rows = f->max_rows > f->max_head_rows ? f->max_rows : f->max_head_rows, wide = widest(m),
	             threads = threads_count(m->threads);
	size_t panel = 0;
#if defined(CUTTLE_BLAS)
	if (m->blas_prompts) panel = GEMM_BLAS_SCRATCH;
#endif
	const struct {
		void **place;
		size_t count, bytes;
	} parts[] = {
	    {(void **)&f->x, rows, m->width * sizeof(float)},
	    {(void **)&f->normed, rows, wide * sizeof(float)},
	    {(void **)&f->query, rows, m->heads * m->head_size * sizeof(float)},
	    {(void **)&f->key, rows, m->kv_heads * m->head_size * sizeof(float)},
	    {(void **)&f->value, rows, m->kv_heads * m->head_size * sizeof(float)},
	    {(void **)&f->gate, rows, m->ffn * sizeof(float)},
	    {(void **)&f->up, rows, m->ffn * sizeof(float)},
	    {(void **)&f->q, rows, wide},
	    {(void **)&f->scale, rows, wide / GEMM_BLOCK * sizeof(float)},
	    {(void **)&f->scaled_sum, rows, wide / GEMM_BLOCK * sizeof(float)},
	    {(void **)&f->sum, rows, wide / GEMM_BLOCK * sizeof(int32_t)},
	    {(void **)&f->half_sum, rows, wide / GEMM_HALF * sizeof(int32_t)},
	    {(void **)&f->scores, threads, f->score_floats * sizeof(float)},
	    {(void **)&f->segments, threads, f->most_segments * sizeof *f->segments},
	    {(void **)&f->panel, threads, panel * sizeof(float)},
	    {(void **)&f->cos_sin, f->max_tokens, m->rotated * sizeof(float)},
	};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (region) *parts[i].place = region_carve(region, parts[i].count * parts[i].bytes);
		else if (!region_add(total, parts[i].count, parts[i].bytes)) return false;
	}
	return true;
}

enum cuttle_status forward_new(const struct model *model, size_t max_rows, size_t max_head_rows, size_t max_tokens, struct forward **out,
                               struct cuttle_error *error) {
	REQUIRE(max_rows && max_head_rows && max_tokens);
	*out = NULL;
	struct forward *f = malloc(sizeof *f);
	if (!f) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	*f = (struct forward){.model = model, .max_rows = max_rows, .max_head_rows = max_head_rows, .max_tokens = max_tokens};
	f->score_floats = (model->heads / model->kv_heads * kv_capacity(max_tokens) + 15) / 16 * 16;
	f->most_segments = kv_most_segments(max_tokens);
	size_t total = 0;
	if (!lay_out(f, NULL, &total) || !region_map(&f->region, total, true)) {
		free(f);
		return status_fail(error, CUTTLE_NOMEM, "out of memory for the activations of %zu rows", max_rows);
	}
	const enum cuttle_status status = model->lock ? region_lock(&f->region, error) : CUTTLE_OK;
	if (status) {
		forward_free(&f);
		return status;
	}
	lay_out(f, &f->region, NULL);
	for (size_t position = 0; position < max_tokens; position++)
		rope_angles(position, model->rope_frequencies, model->rotated, f->cos_sin + position * model->rotated);
	*out = f;
	return CUTTLE_OK;
}

void forward_free(struct forward **forward) {
	if (!*forward) return;
	region_unmap(&(*forward)->region, true);
	free(*forward);
	*forward = NULL;
}

/* ---- products: the gemms that share one input, as one queue of tasks ----------------------------------------------------------------- */

struct product {
	const struct packed_matrix *w;
	float *out;
	size_t out_stride;
	bool add;
	const uint32_t *groups;
	size_t places;
};

struct products {
	struct forward *forward;
	struct gemm_rows input;
	const struct product *list;
	size_t count, step; /* places per task */
	bool by_blas;
};

static void product_task(void *context, size_t index, unsigned worker) {
	const struct products *products = context;
	const struct product *product = products->list;
	for (size_t tasks; index >= (tasks = (product->places + products->step - 1) / products->step); product++) index -= tasks;
	const size_t begin = index * products->step,
	             end = begin + products->step < product->places ? begin + products->step : product->places;
#if defined(CUTTLE_BLAS)
	if (products->by_blas) {
		float *panel = products->forward->panel + (size_t)worker * GEMM_BLAS_SCRATCH;
		gemm_blas(product->out, product->out_stride, product->add, &products->input, product->w, product->groups, begin, end,
		          panel);
		return;
	}
#endif
	(void)worker;
	gemm_fn *gemm = kernels_gemm(kernels_get(), product->w->type);
	gemm(product->out, product->out_stride, product->add, &products->input, product->w, product->groups, begin, end);
}

static void multiply(struct forward *f, size_t rows, size_t k, const struct product *list, size_t count, bool by_blas) {
	struct products products = {.forward = f, .list = list, .count = count, .by_blas = by_blas};
	products.input = (struct gemm_rows){rows, k, f->normed, f->q, f->scale, f->scaled_sum, f->sum, f->half_sum};
	size_t places = 0, tasks = 0;
	for (size_t i = 0; i < count; i++) places += list[i].places;
	// Even, for the kernels' widest tiles hold two groups.
	products.step = (places / ((size_t)threads_count(f->model->threads) * TASKS_PER_THREAD) / 2 + 1) * 2;
#if defined(CUTTLE_BLAS)
	// Panels are cut by the matrix alone: a product's shape may not depend on the number of threads.
	if (by_blas) products.step = gemm_blas_panel(k);
#endif
	for (size_t i = 0; i < count; i++) tasks += (list[i].places + products.step - 1) / products.step;
	const uint64_t start = now();
	threads_run(f->model->threads, tasks, product_task, &products);
	f->time.gemm += now() - start;
}

static struct product whole(const struct packed_matrix *w, float *out, bool add) {
	return (struct product){w, out, w->channels, add, NULL, (w->channels + GEMM_GROUP - 1) / GEMM_GROUP};
}

/* ---- what is done row by row --------------------------------------------------------------------------------------------------------- */

static void quantise_row(struct forward *f, size_t row, size_t k) {
	const size_t blocks = k / GEMM_BLOCK;
	kernels_get()->rowquant(f->normed + row * k, k, f->q + row * k, f->scale + row * blocks, f->scaled_sum + row * blocks,
	                        f->sum + row * blocks, f->half_sum + 2 * row * blocks);
}

static void embed_row(struct forward *f, size_t row) {
	pack_row(&f->model->embedding, (size_t)f->rows[row].token, f->x + row * f->model->width);
}

static void attention_input_row(struct forward *f, size_t row) {
	const struct model *m = f->model;
	kernels_get()->rmsnorm(f->x + row * m->width, m->layer[f->layer].attention_norm, m->width, m->norm_epsilon,
	                       f->normed + row * m->width);
	quantise_row(f, row, m->width);
}

static void add_bias(float *x, const float *bias, size_t count) {
	for (size_t i = 0; bias && i < count; i++) x[i] += bias[i];
}

static void norm_heads(const struct model *m, float *x, const float *weight, size_t heads) {
	for (size_t h = 0; weight && h < heads; h++, x += m->head_size) kernels_get()->rmsnorm(x, weight, m->head_size, m->norm_epsilon, x);
}

static void rotate_and_store_row(struct forward *f, size_t row) {
	const struct model *m = f->model;
	const struct layer *layer = &m->layer[f->layer];
	const struct row *r = &f->rows[row];
	const float *cos_sin = f->cos_sin + r->position * m->rotated;
	float *query = f->query + row * m->heads * m->head_size;
	float *key = f->key + row * m->kv_heads * m->head_size, *value = f->value + row * m->kv_heads * m->head_size;
	add_bias(query, layer->query_bias, m->heads * m->head_size);
	add_bias(key, layer->key_bias, m->kv_heads * m->head_size);
	add_bias(value, layer->value_bias, m->kv_heads * m->head_size);
	norm_heads(m, query, layer->query_norm, m->heads);
	norm_heads(m, key, layer->key_norm, m->kv_heads);
	kernels_get()->rope(query, m->heads, m->head_size, cos_sin, m->rotated);
	kernels_get()->rope(key, m->kv_heads, m->head_size, cos_sin, m->rotated);
	for (size_t h = 0; h < m->kv_heads; h++)
		kv_store(m, r->context, f->layer, h, r->position, key + h * m->head_size, value + h * m->head_size);
}

static void attention_output_row(struct forward *f, size_t row) {
	quantise_row(f, row, f->model->heads * f->model->head_size);
}

static void ffn_input_row(struct forward *f, size_t row) {
	const struct model *m = f->model;
	kernels_get()->rmsnorm(f->x + row * m->width, m->layer[f->layer].ffn_norm, m->width, m->norm_epsilon, f->normed + row * m->width);
	quantise_row(f, row, m->width);
}

static void ffn_output_row(struct forward *f, size_t row) {
	const size_t ffn = f->model->ffn;
	kernels_get()->swiglu(f->gate + row * ffn, f->up + row * ffn, ffn, f->normed + row * ffn);
	quantise_row(f, row, ffn);
}

struct row_phase {
	struct forward *forward;
	void (*row)(struct forward *forward, size_t row);
	size_t count;
};

static void row_task(void *context, size_t index, unsigned worker) {
	(void)worker;
	const struct row_phase *phase = context;
	for (size_t row = index * ROWS_PER_TASK; row < (index + 1) * ROWS_PER_TASK && row < phase->count; row++)
		phase->row(phase->forward, row);
}

static void each_row(struct forward *f, void (*row)(struct forward *, size_t), size_t count) {
	struct row_phase phase = {f, row, count};
	const size_t tasks = (count + ROWS_PER_TASK - 1) / ROWS_PER_TASK;
	const uint64_t start = now();
	if (count >= ROWS_INLINE) threads_run(f->model->threads, tasks, row_task, &phase);
	else // waking a worker costs more than these few rows
		for (size_t i = 0; i < tasks; i++) row_task(&phase, i, 0);
	f->time.rows += now() - start;
}

static void attention_task(void *context, size_t index, unsigned worker) {
	struct forward *f = context;
	const struct model *m = f->model;
	const size_t row = index / m->kv_heads, kv_head = index % m->kv_heads, group = m->heads / m->kv_heads;
	const size_t at = (row * m->heads + kv_head * group) * m->head_size;
	struct attention_segment *segments = f->segments + worker * f->most_segments;
	const size_t count = kv_segments(m, f->rows[row].context, f->layer, kv_head, f->rows[row].position + 1, segments);
	kernels_get()->attention(f->query + at, group, m->head_size, segments, count, 1.0f / sqrtf((float)m->head_size),
	                         f->scores + worker * f->score_floats, f->normed + at);
}

/* ---- the layers ---------------------------------------------------------------------------------------------------------------------- */

static void run_layer(struct forward *f, size_t layer_index) {
	const struct model *m = f->model;
	const struct layer *layer = &m->layer[layer_index];
	const size_t rows = f->count;
	f->layer = layer_index;
	each_row(f, attention_input_row, rows);
	multiply(f, rows, m->width,
	         (struct product[]){whole(&layer->query, f->query, false), whole(&layer->key, f->key, false),
	                            whole(&layer->value, f->value, false)},
	         3, f->by_blas);
	each_row(f, rotate_and_store_row, rows);
	const uint64_t start = now();
	threads_run(m->threads, rows * m->kv_heads, attention_task, f);
	f->time.attention += now() - start;
	each_row(f, attention_output_row, rows);
	multiply(f, rows, m->heads * m->head_size, (struct product[]){whole(&layer->output, f->x, true)}, 1, f->by_blas);
	each_row(f, ffn_input_row, rows);
	multiply(f, rows, m->width, (struct product[]){whole(&layer->gate, f->gate, false), whole(&layer->up, f->up, false)}, 2,
	         f->by_blas);
	each_row(f, ffn_output_row, rows);
	multiply(f, rows, m->ffn, (struct product[]){whole(&layer->down, f->x, true)}, 1, f->by_blas);
}

void forward_rows(struct forward *f, const struct row *rows, size_t count, bool by_blas) {
	REQUIRE(count && count <= f->max_rows);
	for (size_t i = 0; i < count; i++) {
		REQUIRE(rows[i].token >= 0 && (size_t)rows[i].token < f->model->vocab_size && rows[i].position < f->max_tokens);
		REQUIRE(!by_blas || rows[i].context == rows[0].context);
	}
	f->rows = rows;
	f->count = count;
	f->by_blas = by_blas;
	each_row(f, embed_row, count);
	for (size_t i = 0; i < f->model->layers; i++) run_layer(f, i);
	for (size_t i = 0; i < count; i++)
		if (rows[i].hidden) memcpy(rows[i].hidden, f->x + i * f->model->width, f->model->width * sizeof(float));
}

void forward_head(struct forward *f, const float *const *hidden, size_t count, const uint32_t *groups, size_t places, float *out,
                  size_t out_stride) {
	REQUIRE(count && count <= f->max_head_rows);
	const struct model *m = f->model;
	const uint64_t start = now(), gemm = f->time.gemm;
	for (size_t row = 0; row < count; row++) {
		kernels_get()->rmsnorm(hidden[row], m->output_norm, m->width, m->norm_epsilon, f->normed + row * m->width);
		quantise_row(f, row, m->width);
	}
	multiply(f, count, m->width, (struct product[]){{&m->head, out, out_stride, false, groups, places}}, 1, false);
	f->time.gemm = gemm; // the head's product counts as head
	f->time.head += now() - start;
}

struct forward_time forward_time(const struct forward *forward) {
	return forward->time;
}
