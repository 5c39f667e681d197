// SPDX-License-Identifier: Apache-2.0
// forward.c: one call of forward_rows, as run_layer does it for each layer.
// Two kinds of work alternate. Row phases treat each row by itself: norms, rotation, quantising.
// Products multiply all rows by one matrix: products with the same input share one queue of tasks.
// Attention is between them, a task per KV head and group of rows (attend_task). A layer without
// it has two row phases in its place: all rows store a state, then each sums up the last ones.
// x, the residual stream, carries each row from layer to layer; attention and FFN add to it.
// Every output element has one fixed order of additions (kernels/gemm.h), wherever tasks are cut.
// So neither the number of threads nor the other rows change a row's bits.
#include "engine/forward/forward.h"

#include "base/misuse.h"
#include "engine/model/rope.h"
#include "engine/status.h"
#include "kernels/pack.h"
#if defined(CUTTLE_BLAS)
#include "kernels/gemm_blas.h"
#endif

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	ROWS_INLINE = 16,      /* row phases with fewer rows wake no worker */
	ROWS_PER_TASK = 8,     /* rows of one task of a row phase */
	TASKS_PER_THREAD = 32, /* tasks per thread that products are cut into, about */
	ATTENTION_TASKS = 3    /* tasks per thread of attention, at least, where there are rows */
};

/* Rows `first` to first + count - 1 of a call. Their contexts have the first `shared` tokens in
 * common, a multiple of 16. */
struct row_group {
	size_t first;
	size_t count;
	size_t shared;
};

struct forward {
	const struct model *model;
	size_t max_rows;         /* rows of one forward_rows, at most */
	size_t max_head_rows;    /* rows of one forward_head, at most */
	size_t max_tokens;       /* tokens of a context, at most */
	size_t attention_floats; /* floats of one thread's attention scratch */
	size_t most_segments;    /* segments of one context's keys and values, at most */
	struct region region;    /* all arrays below */

	// Activations. R is the larger of max_rows and max_head_rows; widest is the largest input
	// of a product, in floats.
	float *x;          /* [R][width]: the residual stream */
	float *normed;     /* [R][widest]: input of the next product, in fp32 */
	float *query;      /* [R][heads][head_size] */
	float *key;        /* [R][kv_heads][head_size] */
	float *value;      /* [R][kv_heads][head_size] */
	float *gate;       /* [R][ffn] */
	float *up;         /* [R][ffn] */
	float *branch;     /* [R][width]: what is added to x later; only where adds_apart */
	int8_t *q;         /* [R][widest]: normed, quantised */
	float *scale;      /* [R][widest/32]: of each block of 32 in q */
	float *scaled_sum; /* [R][widest/32]: scale * sum */
	int32_t *sum;      /* [R][widest/32]: sum of the block's q */
	int32_t *half_sum; /* [R][widest/16]: sum of each half block's q */

	// Scratch of the threads.
	float *attention; /* [threads][attention_floats] */
	/* [threads][ATTENTION_MOST_ROWS + 1][most_segments]: a group's shared ones, then a row's */
	struct attention_segment *segments;
	float *panel; /* [threads][GEMM_BLAS_SCRATCH], blas prompts only */

	/* [max_tokens][rotated/2][2]: those of layers that slide, if there are any */
	float *local_cos_sin;
	float *cos_sin; /* [max_tokens][rotated/2][2]: cosine and sine of each position's angles */

	// The call in progress: tasks read it.
	const struct row *rows;   /* [count] */
	size_t count;             /* rows of the call */
	struct row_group *groups; /* [max_rows] rows whose attention is one task per KV head */
	size_t group_count;
	size_t layer; /* the layer being computed */
	bool by_blas; /* products of this call go through OpenBLAS */
	struct forward_time time;
};

/* Nanoseconds. */
static uint64_t read_forward_clock(void) {
	struct timespec clock;
	clock_gettime(CLOCK_MONOTONIC, &clock);
	return (uint64_t)clock.tv_sec * 1000000000u + (uint64_t)clock.tv_nsec;
}

/* Floats of the longest input of any product: heads * head_size, width or ffn. */
static size_t widest_input_of(const struct model *m) {
	const size_t attention = m->heads * m->head_size,
	             most = m->width > m->ffn ? m->width : m->ffn;
	return attention > most ? attention : most;
}

/* Whether attention and FFN are changed before they are added to x. */
static bool adds_apart(const struct model *m) {
	return m->residual_scale != 1.0f || m->architecture->after_norms;
}

/* Called twice. With a NULL region it adds to *total what is needed; false on overflow. Then it
 * carves the same pieces from the region. */
static bool lay_out_forward(struct forward *f, struct region *region, size_t *total) {
	const struct model *m = f->model;
	// forward_head normalises and quantises its rows in the same arrays.
	const size_t rows = f->max_rows > f->max_head_rows ? f->max_rows : f->max_head_rows,
	             wide = widest_input_of(m), threads = threads_count(m->threads);
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
	    {(void **)&f->branch, adds_apart(m) ? rows : 0, m->width * sizeof(float)},
	    {(void **)&f->q, rows, wide},
	    {(void **)&f->scale, rows, wide / GEMM_BLOCK * sizeof(float)},
	    {(void **)&f->scaled_sum, rows, wide / GEMM_BLOCK * sizeof(float)},
	    {(void **)&f->sum, rows, wide / GEMM_BLOCK * sizeof(int32_t)},
	    {(void **)&f->half_sum, rows, wide / GEMM_HALF * sizeof(int32_t)},
	    {(void **)&f->attention, threads, f->attention_floats * sizeof(float)},
	    {(void **)&f->segments, threads * (ATTENTION_MOST_ROWS + 1),
	     f->most_segments * sizeof *f->segments},
	    {(void **)&f->groups, f->max_rows, sizeof *f->groups},
	    {(void **)&f->panel, threads, panel * sizeof(float)},
	    {(void **)&f->local_cos_sin, m->local_base > 0.0 ? f->max_tokens : 0,
	     m->rotated * sizeof(float)},
	    {(void **)&f->cos_sin, f->max_tokens, m->rotated * sizeof(float)},
	};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (region) *parts[i].place = region_carve(region, parts[i].count * parts[i].bytes);
		else if (!region_add(total, parts[i].count, parts[i].bytes)) return false;
	}
	return true;
}

/* The struct before anything is allocated: enough for lay_out_forward to count. */
static struct forward describe_forward(const struct model *model, size_t max_rows,
                                       size_t max_head_rows, size_t max_tokens) {
	return (struct forward){
	    .model = model,
	    .max_rows = max_rows,
	    .max_head_rows = max_head_rows,
	    .max_tokens = max_tokens,
	    .attention_floats = attention_scratch(
	        ATTENTION_MOST_ROWS, model->heads / model->kv_heads, model->head_size, max_tokens),
	    .most_segments = kv_most_segments(max_tokens)};
}

bool forward_bytes(const struct model *model, size_t max_rows, size_t max_head_rows,
                   size_t max_tokens, size_t *bytes) {
	struct forward f = describe_forward(model, max_rows, max_head_rows, max_tokens);
	*bytes = 0;
	return lay_out_forward(&f, NULL, bytes);
}

enum cuttle_status forward_new(const struct model *model, size_t max_rows, size_t max_head_rows,
                               size_t max_tokens, struct forward **out,
                               struct cuttle_error *error) {
	REQUIRE(max_rows && max_head_rows && max_tokens);
	*out = NULL;
	struct forward *f = malloc(sizeof *f);
	if (!f) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	*f = describe_forward(model, max_rows, max_head_rows, max_tokens);
	size_t total = 0;
	if (!lay_out_forward(f, NULL, &total) || !region_map(&f->region, total, true)) {
		free(f);
		return status_fail(error, CUTTLE_NOMEM,
		                   "out of memory for the activations of %zu rows", max_rows);
	}
	const enum cuttle_status status = model->lock ? region_lock(&f->region, error) : CUTTLE_OK;
	if (status) {
		forward_free(&f);
		return status;
	}
	lay_out_forward(f, &f->region, NULL);
	for (size_t position = 0; position < max_tokens; position++) {
		const size_t at = position * model->rotated;
		rope_angles(position, model->rope_frequencies, model->rotated, f->cos_sin + at);
		for (size_t i = 0; model->rope_gain != 1.0f && i < model->rotated; i++)
			f->cos_sin[at + i] *= model->rope_gain;
		if (model->local_frequencies)
			rope_angles(position, model->local_frequencies, model->rotated,
			            f->local_cos_sin + at);
	}
	*out = f;
	return CUTTLE_OK;
}

void forward_free(struct forward **forward) {
	if (!*forward) return;
	region_unmap(&(*forward)->region, true);
	free(*forward);
	*forward = NULL;
}

/* ---- products: the gemms that share one input are one queue of tasks ------------------------- */

/* out = input * w^T, or out += that, for the listed groups of 16 channels of w. */
struct product {
	const struct packed_matrix *w;
	float *out;
	size_t out_stride;      /* floats from one row of out to the next */
	bool add;               /* true: add to what out holds */
	const uint32_t *groups; /* [places]; NULL = 0, 1, 2, ... */
	size_t places;          /* groups to compute */
};

struct products {
	struct forward *forward;
	struct gemm_rows input;     /* all products have this input */
	const struct product *list; /* [count] */
	size_t count;               /* products */
	size_t step;                /* groups per task */
	bool by_blas;
};

/* Task `index` of the queue. The tasks of list[0] come first, then those of list[1], and so on.
 * Example: step 4, products of 10 and 6 groups: tasks 0 to 2 are groups 0-3, 4-7 and 8-9 of the
 * first product. Tasks 3 and 4 are groups 0-3 and 4-5 of the second. */
static void multiply_task(void *context, size_t index, unsigned worker) {
	const struct products *products = context;
	const struct product *product = products->list;
	for (size_t tasks;
	     index >= (tasks = (product->places + products->step - 1) / products->step); product++)
		index -= tasks;
	const size_t begin = index * products->step, end = begin + products->step < product->places
	                                                       ? begin + products->step
	                                                       : product->places;
#if defined(CUTTLE_BLAS)
	if (products->by_blas) {
		float *panel = products->forward->panel + (size_t)worker * GEMM_BLAS_SCRATCH;
		gemm_blas(product->out, product->out_stride, product->add, &products->input,
		          product->w, product->groups, begin, end, panel);
		return;
	}
#endif
	(void)worker;
	gemm_fn *gemm = kernels_gemm(kernels_get(), product->w->type);
	gemm(product->out, product->out_stride, product->add, &products->input, product->w,
	     product->groups, begin, end);
}

/* Multiplies the first `rows` rows of normed by the matrix of every product in list[count]. A row
 * has k floats. Quantised matrices take it from q, its quantised form. */
static void multiply_products(struct forward *f, size_t rows, size_t k, const struct product *list,
                              size_t count, bool by_blas) {
	struct products products = {.forward = f, .list = list, .count = count, .by_blas = by_blas};
	products.input = (struct gemm_rows){rows,          k,      f->normed,  f->q, f->scale,
	                                    f->scaled_sum, f->sum, f->half_sum};
	size_t places = 0, tasks = 0;
	for (size_t i = 0; i < count; i++) places += list[i].places;
	// A task has an even number of groups: the kernels' widest tiles hold two.
	products.step =
	    (places / ((size_t)threads_count(f->model->threads) * TASKS_PER_THREAD) / 2 + 1) * 2;
#if defined(CUTTLE_BLAS)
	// OpenBLAS may round differently when a product has another shape. So its shapes follow
	// from the matrix alone, never from the number of threads.
	if (by_blas) products.step = gemm_blas_panel(k);
#endif
	for (size_t i = 0; i < count; i++)
		tasks += (list[i].places + products.step - 1) / products.step;
	const uint64_t start = read_forward_clock();
	threads_run(f->model->threads, tasks, multiply_task, &products);
	f->time.gemm += read_forward_clock() - start;
}

/* The product with all channels of w. */
static struct product whole_product_of(const struct packed_matrix *w, float *out, bool add) {
	return (struct product){w,   out,  w->channels,
	                        add, NULL, (w->channels + GEMM_GROUP - 1) / GEMM_GROUP};
}

/* The product that attention or FFN ends with. */
static struct product branch_product_of(const struct forward *f, const struct packed_matrix *w) {
	return adds_apart(f->model) ? whole_product_of(w, f->branch, false)
	                            : whole_product_of(w, f->x, true);
}

/* ---- row phases ------------------------------------------------------------------------------ */

static void quantise_row(struct forward *f, size_t row, size_t k) {
	const size_t blocks = k / GEMM_BLOCK;
	kernels_get()->rowquant(f->normed + row * k, k, f->q + row * k, f->scale + row * blocks,
	                        f->scaled_sum + row * blocks, f->sum + row * blocks,
	                        f->half_sum + 2 * row * blocks);
}

static void embed_row(struct forward *f, size_t row) {
	const struct model *m = f->model;
	float *x = f->x + row * m->width;
	pack_row(&m->embedding, (size_t)f->rows[row].token, x);
	for (size_t i = 0; m->embedding_scale != 1.0f && i < m->width; i++)
		x[i] *= m->embedding_scale;
}

static void add_branch(struct forward *f, size_t row, const float *norm) {
	const struct model *m = f->model;
	float *x = f->x + row * m->width, *branch = f->branch + row * m->width;
	if (norm) kernels_get()->rmsnorm(branch, norm, m->width, m->norm_epsilon, branch);
	for (size_t i = 0; i < m->width; i++) x[i] += branch[i] * m->residual_scale;
}

static void add_attention_row(struct forward *f, size_t row) {
	add_branch(f, row, f->model->layer[f->layer].attention_after_norm);
}

static void add_ffn_row(struct forward *f, size_t row) {
	add_branch(f, row, f->model->layer[f->layer].ffn_after_norm);
}

/* Makes x the input of the next products; without a norm, as it is. */
static void prepare_row(struct forward *f, size_t row, const float *norm) {
	const struct model *m = f->model;
	const float *x = f->x + row * m->width;
	float *normed = f->normed + row * m->width;
	if (norm) kernels_get()->rmsnorm(x, norm, m->width, m->norm_epsilon, normed);
	else memcpy(normed, x, m->width * sizeof *x);
	quantise_row(f, row, m->width);
}

static void prepare_attention_row(struct forward *f, size_t row) {
	prepare_row(f, row, f->model->layer[f->layer].attention_norm);
}

static void add_bias(float *x, const float *bias, size_t count) {
	for (size_t i = 0; bias && i < count; i++) x[i] += bias[i];
}

/* Each head by itself, or all at once. */
static void norm_heads(const struct model *m, float *x, const float *weight, size_t heads) {
	const bool whole = m->architecture->width_norms;
	const size_t size = whole ? heads * m->head_size : m->head_size, parts = whole ? 1 : heads;
	for (size_t i = 0; weight && i < parts; i++, x += size)
		kernels_get()->rmsnorm(x, weight, size, m->norm_epsilon, x);
}

/* Whether the layer is local, as Gemma's are: it slides, and has a base of its own. Example:
 * global_every = 6, so layers 5, 11, 17 and so on are not. */
static bool is_local(const struct forward *f) {
	const size_t every = f->model->architecture->global_every;
	return every && (f->layer + 1) % every;
}

/* The angles of that position; NULL where the layer does not rotate. Example: still_every = 4,
 * so layers 3, 7, 11 and so on do not. */
static const float *angles_of(const struct forward *f, size_t position) {
	const struct architecture *a = f->model->architecture;
	const size_t at = position * f->model->rotated;
	if (a->still_every && (f->layer + 1) % a->still_every == 0) return NULL;
	return (is_local(f) ? f->local_cos_sin : f->cos_sin) + at;
}

static void rotate_and_store_row(struct forward *f, size_t row) {
	const struct model *m = f->model;
	const struct layer *layer = &m->layer[f->layer];
	const struct row *r = &f->rows[row];
	const float *cos_sin = angles_of(f, r->position);
	float *query = f->query + row * m->heads * m->head_size;
	float *key = f->key + row * m->kv_heads * m->head_size,
	      *value = f->value + row * m->kv_heads * m->head_size;
	add_bias(query, layer->query_bias, m->heads * m->head_size);
	add_bias(key, layer->key_bias, m->kv_heads * m->head_size);
	add_bias(value, layer->value_bias, m->kv_heads * m->head_size);
	norm_heads(m, query, layer->query_norm, m->heads);
	norm_heads(m, key, layer->key_norm, m->kv_heads);
	if (cos_sin) {
		kernels_get()->rope(query, m->heads, m->head_size, cos_sin, m->rotated);
		kernels_get()->rope(key, m->kv_heads, m->head_size, cos_sin, m->rotated);
	}
	for (size_t h = 0; h < m->kv_heads; h++)
		kv_store(m, r->context, f->layer, h, r->position, key + h * m->head_size,
		         value + h * m->head_size);
}

static void quantise_attention_row(struct forward *f, size_t row) {
	quantise_row(f, row, f->model->heads * f->model->head_size);
}

static void prepare_ffn_row(struct forward *f, size_t row) {
	prepare_row(f, row, f->model->layer[f->layer].ffn_norm);
}

static void activate_ffn_row(struct forward *f, size_t row) {
	const size_t ffn = f->model->ffn;
	swiglu_fn *activate =
	    f->model->architecture->gelu ? kernels_get()->geglu : kernels_get()->swiglu;
	activate(f->gate + row * ffn, f->up + row * ffn, ffn, f->normed + row * ffn);
	quantise_row(f, row, ffn);
}

/* One function that every row passes through by itself. */
struct row_phase {
	struct forward *forward;
	void (*row)(struct forward *forward, size_t row);
	size_t count; /* rows */
};

static void run_phase_task(void *context, size_t index, unsigned worker) {
	(void)worker;
	const struct row_phase *phase = context;
	for (size_t row = index * ROWS_PER_TASK;
	     row < (index + 1) * ROWS_PER_TASK && row < phase->count; row++)
		phase->row(phase->forward, row);
}

static void run_row_phase(struct forward *f, void (*row)(struct forward *, size_t), size_t count) {
	struct row_phase phase = {f, row, count};
	const size_t tasks = (count + ROWS_PER_TASK - 1) / ROWS_PER_TASK;
	const uint64_t start = read_forward_clock();
	if (count >= ROWS_INLINE) threads_run(f->model->threads, tasks, run_phase_task, &phase);
	else // so few rows cost less than waking a worker
		for (size_t i = 0; i < tasks; i++) run_phase_task(&phase, i, 0);
	f->time.rows += read_forward_clock() - start;
}

/* ---- attention ------------------------------------------------------------------------------- */

/* The token that the token's tile begins with. */
static size_t tile_of(size_t token) {
	return token / ATTENTION_TILE * ATTENTION_TILE;
}

/* Cuts the rows of the call into groups for attention. A group's rows stand side by side. What all
 * of them share is read once for the group. So a row that would halve that begins a new group.
 * Example: 32 contexts with 288 tokens in common, 2 threads, 3 KV heads: groups of 8 rows.
 * With few rows groups are smaller, so that each thread has some. */
static void group_rows(struct forward *f) {
	const size_t least = threads_count(f->model->threads) * (size_t)ATTENTION_TASKS;
	size_t most = f->count * f->model->kv_heads / least;
	if (most < 1) most = 1;
	if (most > ATTENTION_MOST_ROWS) most = ATTENTION_MOST_ROWS;
	struct row_group *group = f->groups;
	*group = (struct row_group){0, 1, 0};
	for (size_t i = 1; i < f->count; i++) {
		const struct row *first = &f->rows[group->first], *row = &f->rows[i];
		size_t common = tile_of(
		    kv_common(first->context, first->position, row->context, row->position));
		if (group->count > 1 && group->shared < common) common = group->shared;
		if (group->count < most && (group->count == 1 || 2 * common >= group->shared)) {
			group->count++;
			group->shared = common;
		} else *++group = (struct row_group){i, 1, 0};
	}
	f->group_count = (size_t)(group - f->groups) + 1;
}

/* The first token that the layer's attention sees of a row. Example: window 512, so position 511
 * sees tokens 0 to 511, and position 530 sees 19 to 530. */
static size_t first_seen(const struct forward *f, const struct row *row) {
	const struct model *m = f->model;
	const bool slides = m->window && (is_local(f) || !m->architecture->global_every);
	return slides && row->position >= m->window ? row->position + 1 - m->window : 0;
}

/* Attention of one group of rows and one KV head: the query heads of each row that share it. Writes
 * to normed: the input of the output product. The groups of a KV head are neighbours, for they may
 * share more. Example: 4 groups, so task 9 is KV head 2, group 1. Rows whose windows begin in
 * different tiles share nothing here, for all scores of a row begin with its first tile. */
static void attend_task(void *context, size_t index, unsigned worker) {
	struct forward *f = context;
	const struct model *m = f->model;
	const struct row_group *group = &f->groups[index % f->group_count];
	const size_t kv_head = index / f->group_count, heads = m->heads / m->kv_heads;
	struct attention_segment *shared =
	    f->segments + (size_t)worker * (ATTENTION_MOST_ROWS + 1) * f->most_segments;
	struct attention_row rows[ATTENTION_MOST_ROWS];
	const size_t begin = tile_of(first_seen(f, &f->rows[group->first]));
	bool share = begin < group->shared;
	for (size_t i = 0; i < group->count; i++)
		if (tile_of(first_seen(f, &f->rows[group->first + i])) != begin) share = false;
	const size_t shared_count = share ? kv_segments(m, f->rows[group->first].context, f->layer,
	                                                kv_head, begin, group->shared, shared)
	                                  : 0;
	for (size_t i = 0; i < group->count; i++) {
		const struct row *row = &f->rows[group->first + i];
		struct attention_segment *own = shared + (i + 1) * f->most_segments;
		const size_t at = ((group->first + i) * m->heads + kv_head * heads) * m->head_size,
		             first = first_seen(f, row),
		             from = share ? group->shared : tile_of(first);
		rows[i] = (struct attention_row){
		    f->query + at, f->normed + at, own,
		    kv_segments(m, row->context, f->layer, kv_head, from, row->position + 1, own),
		    first % ATTENTION_TILE};
	}
	(m->info.kv_type == CUTTLE_KV_Q8 ? kernels_get()->attention_q8 : kernels_get()->attention)(
	    rows, group->count, heads, m->head_size, shared, shared_count, m->attention_scale,
	    f->attention + worker * f->attention_floats);
}

/* ---- a short convolution --------------------------------------------------------------------- */

/* Keeps what later tokens see of this one. Query, gate and up have the three parts of its state. */
static void store_state_row(struct forward *f, size_t row) {
	const struct model *m = f->model;
	const struct row *r = &f->rows[row];
	const float *in_gate = f->query + row * m->width, *state = f->up + row * m->width;
	REQUIRE(r->position >= r->context->shared_tokens);
	float *kept = kv_state(m, r->context, f->layer, r->position);
	for (size_t i = 0; i < m->width; i++) kept[i] = in_gate[i] * state[i];
}

/* The sum over the last tokens, the earliest first; before the first token there is nothing. */
static void convolve_row(struct forward *f, size_t row) {
	const struct model *m = f->model;
	const struct row *r = &f->rows[row];
	const float *taps = m->layer[f->layer].taps, *out_gate = f->gate + row * m->width;
	float *normed = f->normed + row * m->width;
	memset(normed, 0, m->width * sizeof *normed);
	for (size_t tap = 0; tap < m->taps; tap++) {
		const size_t back = m->taps - 1 - tap;
		if (r->position < back) continue;
		const float *kept = kv_state(m, r->context, f->layer, r->position - back);
		for (size_t i = 0; i < m->width; i++)
			normed[i] += taps[i * m->taps + tap] * kept[i];
	}
	for (size_t i = 0; i < m->width; i++) normed[i] *= out_gate[i];
	quantise_row(f, row, m->width);
}

static void run_convolution(struct forward *f) {
	const struct layer *layer = &f->model->layer[f->layer];
	multiply_products(f, f->count, f->model->width,
	                  (struct product[]){whole_product_of(&layer->in_gate, f->query, false),
	                                     whole_product_of(&layer->out_gate, f->gate, false),
	                                     whole_product_of(&layer->state, f->up, false)},
	                  3, f->by_blas);
	run_row_phase(f, store_state_row, f->count);
	run_row_phase(f, convolve_row, f->count);
}

/* ---- layers ---------------------------------------------------------------------------------- */

static void run_attention(struct forward *f) {
	const struct model *m = f->model;
	const struct layer *layer = &m->layer[f->layer];
	multiply_products(f, f->count, m->width,
	                  (struct product[]){whole_product_of(&layer->query, f->query, false),
	                                     whole_product_of(&layer->key, f->key, false),
	                                     whole_product_of(&layer->value, f->value, false)},
	                  3, f->by_blas);
	run_row_phase(f, rotate_and_store_row, f->count);
	const uint64_t start = read_forward_clock();
	threads_run(m->threads, f->group_count * m->kv_heads, attend_task, f);
	f->time.attention += read_forward_clock() - start;
	run_row_phase(f, quantise_attention_row, f->count);
}

static void run_layer(struct forward *f, size_t layer_index) {
	const struct model *m = f->model;
	const struct layer *layer = &m->layer[layer_index];
	const size_t rows = f->count;
	f->layer = layer_index;
	run_row_phase(f, prepare_attention_row, rows);
	if (m->layer_convolves[layer_index]) run_convolution(f);
	else run_attention(f);
	multiply_products(f, rows, m->heads * m->head_size,
	                  (struct product[]){branch_product_of(f, &layer->output)}, 1, f->by_blas);
	if (adds_apart(m)) run_row_phase(f, add_attention_row, rows);
	run_row_phase(f, prepare_ffn_row, rows);
	multiply_products(f, rows, m->width,
	                  (struct product[]){whole_product_of(&layer->gate, f->gate, false),
	                                     whole_product_of(&layer->up, f->up, false)},
	                  2, f->by_blas);
	run_row_phase(f, activate_ffn_row, rows);
	multiply_products(f, rows, m->ffn, (struct product[]){branch_product_of(f, &layer->down)},
	                  1, f->by_blas);
	if (adds_apart(m)) run_row_phase(f, add_ffn_row, rows);
}

void forward_layers(struct forward *f, const struct row *rows, size_t count, size_t layers,
                    bool by_blas) {
	REQUIRE(count && count <= f->max_rows && layers && layers <= f->model->layers);
	for (size_t i = 0; i < count; i++) {
		REQUIRE(rows[i].token >= 0 && (size_t)rows[i].token < f->model->vocab_size &&
		        rows[i].position < f->max_tokens);
		REQUIRE(!by_blas || rows[i].context == rows[0].context);
	}
	f->rows = rows;
	f->count = count;
	f->by_blas = by_blas;
	group_rows(f);
	run_row_phase(f, embed_row, count);
	for (size_t i = 0; i < layers; i++) run_layer(f, i);
	for (size_t i = 0; i < count; i++)
		if (rows[i].hidden)
			memcpy(rows[i].hidden, f->x + i * f->model->width,
			       f->model->width * sizeof(float));
}

void forward_rows(struct forward *f, const struct row *rows, size_t count, bool by_blas) {
	forward_layers(f, rows, count, f->model->layers, by_blas);
}

void forward_head(struct forward *f, const float *const *hidden, size_t count,
                  const uint32_t *groups, size_t places, float *out, size_t out_stride) {
	REQUIRE(count && count <= f->max_head_rows);
	const struct model *m = f->model;
	const uint64_t start = read_forward_clock(), gemm = f->time.gemm;
	for (size_t row = 0; row < count; row++) {
		kernels_get()->rmsnorm(hidden[row], m->output_norm, m->width, m->norm_epsilon,
		                       f->normed + row * m->width);
		quantise_row(f, row, m->width);
	}
	multiply_products(f, count, m->width,
	                  (struct product[]){{&m->head, out, out_stride, false, groups, places}}, 1,
	                  false);
	f->time.gemm = gemm; // this product counts as head, not as gemm
	f->time.head += read_forward_clock() - start;
}

struct forward_time forward_time(const struct forward *forward) {
	return forward->time;
}
