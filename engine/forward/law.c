// SPDX-License-Identifier: Apache-2.0
// law.c: see law.h. E is kept by columns, [width][vocabulary], so that the mean under a law is a
// product of the float gemm: p, or a sum of p, is the row, a column of E the weights.
// Tokens are cut into parts of 2048. A part of p of all rows lies together, as the gemm wants it.
// Example: vocabulary 49,152: 24 parts; of 32 rows part 3 begins at float 3 * 32 * 2048.
#include "engine/forward/law.h"

#include "base/misuse.h"
#include "engine/status.h"
#include "kernels/f16.h"
#include "kernels/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PART = 2048 /* tokens */, LANES = 8 };

struct law {
	const struct model *model;
	struct region region;
	size_t tokens;   /* the vocabulary rounded up to parts: those behind it have e = 0, p = 0 */
	size_t groups;   /* of 16 columns: the width, rounded up */
	uint16_t *e;     /* [groups][tokens][16], fp16 */
	float *lift;     /* [tokens] 0 where a token counts, else -infinity */
	float *p;        /* [tokens / PART][LAW_ROWS][PART] */
	float *gathered; /* the same, of texts */
	float *products; /* [LAW_ROWS][groups * 16] */
	float *vectors;  /* [threads][width] */

	// The call in progress: tasks read it.
	const float *logits;
	size_t stride, count;
	const size_t *texts;  /* [count] */
	const float *factors; /* p or gathered */
	const double *weights, *center;
	size_t first; /* column of the first row, in law_moments */
};

/* ---- E --------------------------------------------------------------------------------------- */

/* Reads the vectors of one part of the vocabulary. */
static void read_vectors(void *context, size_t part, unsigned worker) {
	struct law *law = context;
	const struct model *m = law->model;
	float *const vector = law->vectors + worker * m->width;
	for (size_t y = part * PART; y < (part + 1) * PART && y < m->vocab_size; y++) {
		pack_row(&m->head, y, vector);
		for (size_t i = 0; i < m->width; i++)
			law->e[(i / GEMM_GROUP * law->tokens + y) * GEMM_GROUP + i % GEMM_GROUP] =
			    f16_of_float(vector[i]);
	}
}

enum cuttle_status law_new(const struct model *m, const uint8_t *counts, struct law **out,
                           struct cuttle_error *error) {
	size_t total = 0;
	struct law *law = *out = calloc(1, sizeof *law);
	if (!law) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	*law = (struct law){.model = m,
	                    .tokens = (m->vocab_size + PART - 1) / PART * PART,
	                    .groups = (m->width + GEMM_GROUP - 1) / GEMM_GROUP};
	const struct {
		void **place;
		size_t count, bytes;
	} arrays[] = {
	    {(void **)&law->e, law->groups * law->tokens, GEMM_GROUP * sizeof *law->e},
	    {(void **)&law->lift, law->tokens, sizeof *law->lift},
	    {(void **)&law->p, law->tokens, LAW_ROWS * sizeof *law->p},
	    {(void **)&law->gathered, law->tokens, LAW_ROWS * sizeof *law->gathered},
	    {(void **)&law->products, law->groups, sizeof *law->products * LAW_ROWS * GEMM_GROUP},
	    {(void **)&law->vectors, threads_count(m->threads), m->width * sizeof *law->vectors}};
	enum { ARRAYS = sizeof arrays / sizeof *arrays };
	bool fits = true;
	for (size_t i = 0; fits && i < ARRAYS; i++)
		fits = region_add(&total, arrays[i].count, arrays[i].bytes);
	enum cuttle_status status = fits && region_map(&law->region, total, true)
	                                ? CUTTLE_OK
	                                : status_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status && m->lock) status = region_lock(&law->region, error);
	if (status) {
		law_free(out);
		return status;
	}
	for (size_t i = 0; i < ARRAYS; i++)
		*arrays[i].place = region_carve(&law->region, arrays[i].count * arrays[i].bytes);
	for (size_t y = 0; y < law->tokens; y++)
		law->lift[y] = y < m->vocab_size && counts[y] ? 0.0f : -INFINITY;
	threads_run(m->threads, law->tokens / PART, read_vectors, law);
	return CUTTLE_OK;
}

void law_free(struct law **law) {
	if (!*law) return;
	region_unmap(&(*law)->region, true);
	free(*law);
	*law = NULL;
}

void law_vector(const struct law *law, int32_t token, float *e) {
	REQUIRE(token >= 0 && (size_t)token < law->model->vocab_size);
	for (size_t i = 0; i < law->model->width; i++)
		e[i] = float_of_f16(
		    law->e[(i / GEMM_GROUP * law->tokens + (size_t)token) * GEMM_GROUP +
		           i % GEMM_GROUP]);
}

/* ---- p --------------------------------------------------------------------------------------- */

/* exp of x <= 0; 0 below -87. As kernels/exp_f32.h, but each product and each sum is rounded for
 * itself: a compiler makes lanes of this, where that one waits for a library's fma. The relative
 * error is below 1e-6. */
static inline float exp_of_logit(float x) {
	const float magic = 0x1.8p23f, log2e = 0x1.715476p+0f, ln2_hi = 0x1.62e400p-1f,
	            ln2_lo = 0x1.7f7d1cp-20f;
	const float t = x * log2e + magic, n = t - magic;
	const float r = (x - n * ln2_hi) - n * ln2_lo;
	float p = 0x1.6c16c2p-10f;
	p = p * r + 0x1.111112p-7f;
	p = p * r + 0x1.555556p-5f;
	p = p * r + 0x1.555556p-3f;
	p = p * r + 0.5f;
	p = p * r + 1.0f;
	p = p * r + 1.0f;
	const float result = p * float_of_bits((bits_of_float(t) + 127u) << 23);
	return x < -87.0f ? 0.0f : result;
}

static float *part_of(const struct law *law, size_t row, size_t part) {
	return law->p + (part * LAW_ROWS + row) * PART;
}

static void read_row(void *context, size_t row, unsigned worker) {
	struct law *law = context;
	const float *logits = law->logits + row * law->stride;
	const size_t vocab = law->model->vocab_size;
	float most = -INFINITY;
	double lanes[LANES] = {0}, sum = 0.0;
	(void)worker;
	for (size_t y = 0; y < vocab; y++) {
		const float lifted = logits[y] + law->lift[y];
		most = lifted > most ? lifted : most;
	}
	for (size_t part = 0; part < law->tokens / PART; part++) {
		float *p = part_of(law, row, part);
		const size_t begin = part * PART,
		             some = vocab - begin < PART ? vocab - begin : PART;
		for (size_t i = 0; i < some; i++)
			p[i] = exp_of_logit(logits[begin + i] + law->lift[begin + i] - most);
		for (size_t i = some; i < PART; i++) p[i] = 0.0f;
		for (size_t i = 0; i < PART; i += LANES)
			for (size_t lane = 0; lane < LANES; lane++)
				lanes[lane] += (double)p[i + lane];
	}
	for (size_t lane = 0; lane < LANES; lane++) sum += lanes[lane];
	for (size_t part = 0; part < law->tokens / PART; part++) {
		float *p = part_of(law, row, part);
		for (size_t i = 0; i < PART; i++) p[i] = (float)((double)p[i] / sum);
	}
}

void law_add(const struct law *law, size_t row, double *sums) {
	for (size_t y = 0; y < law->model->vocab_size; y++)
		sums[y] += (double)part_of(law, row, y / PART)[y % PART];
}

int32_t law_pick(const float *logits, const uint8_t *may, size_t vocab, double at) {
	float most = -INFINITY;
	double sum = 0.0, passed = 0.0;
	int32_t last = -1;
	for (size_t y = 0; y < vocab; y++)
		if (may[y] && logits[y] > most) most = logits[y];
	for (size_t y = 0; y < vocab; y++)
		if (may[y]) sum += (double)exp_of_logit(logits[y] - most);
	for (size_t y = 0; y < vocab && isfinite(sum); y++) {
		if (!may[y]) continue;
		passed += (double)exp_of_logit(logits[y] - most);
		last = (int32_t)y;
		if (passed > at * sum) break;
	}
	return last;
}

/* ---- products with E ------------------------------------------------------------------------- */

/* products of `count` rows, of p or of sums of it, and one group of columns. */
static void multiply_group(void *context, size_t group, unsigned worker) {
	struct law *law = context;
	(void)worker;
	for (size_t part = 0; part < law->tokens / PART; part++) {
		const struct gemm_rows rows = {
		    .rows = law->count, .k = PART, .x = law->factors + part * LAW_ROWS * PART};
		const struct packed_matrix columns = {
		    .type = PACKED_F16,
		    .channels = GEMM_GROUP,
		    .k = PART,
		    .weights = law->e + (group * law->tokens + part * PART) * GEMM_GROUP};
		kernels_get()->gemm_float(law->products + group * GEMM_GROUP,
		                          law->groups * GEMM_GROUP, part > 0, &rows, &columns, NULL,
		                          0, 1);
	}
}

static void multiply_laws(struct law *law, const float *factors, size_t count, float *out) {
	law->factors = factors;
	law->count = count;
	threads_run(law->model->threads, law->groups, multiply_group, law);
	for (size_t row = 0; row < law->count; row++)
		for (size_t i = 0; i < law->model->width; i++)
			out[row * law->model->width + i] =
			    law->products[row * law->groups * GEMM_GROUP + i];
}

void law_read(struct law *law, const float *logits, size_t stride, size_t count) {
	REQUIRE(count >= 1 && count <= LAW_ROWS);
	law->logits = logits;
	law->stride = stride;
	law->count = count;
	threads_run(law->model->threads, count, read_row, law);
}

void law_means(struct law *law, float *means) {
	multiply_laws(law, law->p, law->count, means);
}

static void gather_part(void *context, size_t part, unsigned worker) {
	const struct law *law = context;
	(void)worker;
	for (size_t row = 0; row < law->count; row++) {
		const float *p = part_of(law, row, part);
		float *sum = law->gathered + (part * LAW_ROWS + law->texts[row]) * PART;
		for (size_t i = 0; i < PART; i++) sum[i] += p[i];
	}
}

void law_gather(struct law *law, const size_t *texts) {
	for (size_t row = 0; row < law->count; row++) REQUIRE(texts[row] < LAW_ROWS);
	law->texts = texts;
	threads_run(law->model->threads, law->tokens / PART, gather_part, law);
}

void law_gathered(struct law *law, size_t count, float *means) {
	REQUIRE(count >= 1 && count <= LAW_ROWS);
	multiply_laws(law, law->gathered, count, means);
	memset(law->gathered, 0, law->tokens * LAW_ROWS * sizeof *law->gathered);
}

/* Row `row` becomes weights[y] (e_y[i] - center[i]), with i = first + row. */
static void weigh_column(void *context, size_t row, unsigned worker) {
	struct law *law = context;
	const size_t i = law->first + row;
	const uint16_t *e = law->e + i / GEMM_GROUP * law->tokens * GEMM_GROUP + i % GEMM_GROUP;
	(void)worker;
	for (size_t y = 0; y < law->tokens; y++)
		part_of(law, row, y / PART)[y % PART] =
		    y < law->model->vocab_size
		        ? (float)(law->weights[y] *
		                  ((double)float_of_f16(e[y * GEMM_GROUP]) - law->center[i]))
		        : 0.0f;
}

void law_moments(struct law *law, const double *weights, const double *center, float *moments) {
	const size_t width = law->model->width;
	law->weights = weights;
	law->center = center;
	for (law->first = 0; law->first < width; law->first += LAW_ROWS) {
		const size_t left = width - law->first;
		const size_t count = left < LAW_ROWS ? left : LAW_ROWS;
		threads_run(law->model->threads, count, weigh_column, law);
		multiply_laws(law, law->p, count, moments + law->first * width);
	}
}
