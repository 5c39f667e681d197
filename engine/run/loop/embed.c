// SPDX-License-Identifier: Apache-2.0
// embed.c: cuttle_embed, the direction of the mean state of each text.
// Texts run through the layers side by side, in passes of 256 rows. A pass may hold the end of one
// text, some whole ones, and the beginning of another. Each text in a pass has a seat, which is
// where its keys and values are stored. After a pass at most one text is unfinished: it keeps its
// seat, and all others are free again.
// Example: texts of 200, 100 and 300 tokens: the first pass has 200 and 56 rows, the second 44 and
// 212, the third 88.
// Nothing here is protected: the numbers go straight to the caller, without noise.
#include "base/misuse.h"
#include "engine/cuttle/embed.h"
#include "engine/forward/forward.h"
#include "engine/run/plan/capacity.h"
#include "engine/status.h"

#include <math.h>

enum { SEATS = 16 }; /* texts of one pass, at most */

struct embedding {
	const struct model *model;
	struct forward *forward;
	size_t layers; /* how many are computed */
	bool normed;   /* states go through the output norm */
	struct region region;
	struct context seats[SEATS];

	// The pass that is being collected.
	size_t count;     /* rows collected */
	struct row *rows; /* [CAPACITY_CHUNK] */
	double **sums;    /* [CAPACITY_CHUNK] vector that row i adds to; NULL = BOS adds to none */
	float *hidden;    /* [CAPACITY_CHUNK][width] */
	float *state;     /* [width]: a hidden state behind the output norm */
};

/* Whether a text begins with a BOS that the tokenizer put there. */
static bool begins_with_bos(const struct model *m, const struct cuttle_embed_text *text) {
	return text->count && m->info.add_bos && text->ids[0] == m->info.bos;
}

/* How many of a text's ids are read. */
static size_t count_read_tokens(const struct model *m, const struct cuttle_embed_text *text) {
	const size_t wanted = CUTTLE_EMBED_TOKENS + (size_t)begins_with_bos(m, text);
	const size_t most = wanted < m->context ? wanted : m->context;
	return text->count < most ? text->count : most;
}

/* Computes the collected rows, and adds each one's state to its text's sum. Rows of a text follow
 * each other in the order of its tokens, so its sum has that order too. */
static void flush_embedding(struct embedding *e) {
	if (!e->count) return;
	const struct model *m = e->model;
	// OpenBLAS would round a row by the rows beside it.
	forward_layers(e->forward, e->rows, e->count, e->layers, false);
	for (size_t row = 0; row < e->count; row++) {
		const float *state = e->rows[row].hidden;
		if (!e->sums[row]) continue;
		if (e->normed) {
			kernels_get()->rmsnorm(state, m->output_norm, m->width, m->norm_epsilon,
			                       e->state);
			state = e->state;
		}
		for (size_t i = 0; i < m->width; i++) e->sums[row][i] += (double)state[i];
	}
	e->count = 0;
}

/* Makes a sum a unit vector, or zeros if it has no direction. */
static void make_direction(double *vector, size_t width) {
	double square = 0.0;
	for (size_t i = 0; i < width; i++) square += vector[i] * vector[i];
	const double length = sqrt(square);
	const bool directed = isfinite(length) && length > 0.0;
	for (size_t i = 0; i < width; i++) vector[i] = directed ? vector[i] / length : 0.0;
}

static void embed_all(struct embedding *e, const struct cuttle_embed_text *texts, size_t count,
                      double *out) {
	const size_t width = e->model->width;
	size_t seat = 0;
	for (size_t i = 0; i < count * width; i++) out[i] = 0.0;
	for (size_t text = 0; text < count; text++, seat++) {
		const size_t tokens = count_read_tokens(e->model, &texts[text]);
		const bool bos = begins_with_bos(e->model, &texts[text]);
		if (seat == SEATS) {
			flush_embedding(e);
			seat = 0;
		}
		for (size_t i = 0; i < tokens; i++) {
			e->rows[e->count] = (struct row){&e->seats[seat], i, texts[text].ids[i],
			                                 e->hidden + e->count * width};
			e->sums[e->count++] = bos && !i ? NULL : out + text * width;
			if (e->count == CAPACITY_CHUNK) flush_embedding(e);
		}
	}
	flush_embedding(e);
	for (size_t text = 0; text < count; text++) make_direction(out + text * width, width);
}

/* Called twice. With a NULL region it adds to *total what is needed; false on overflow. Then it
 * carves the same pieces from the region. Each seat has memory for the longest text there may be;
 * pages that no text reaches are never touched. */
static bool lay_out_embedding(struct embedding *e, size_t longest, struct region *region,
                              size_t *total) {
	const size_t width = e->model->width, capacity = kv_capacity(longest);
	size_t kv;
	if (!kv_bytes(e->model, capacity, &kv)) return false;
	const struct {
		void **place;
		size_t count, bytes;
	} parts[] = {{(void **)&e->rows, CAPACITY_CHUNK, sizeof *e->rows},
	             {(void **)&e->sums, CAPACITY_CHUNK, sizeof *e->sums},
	             {(void **)&e->hidden, CAPACITY_CHUNK, width * sizeof(float)},
	             {(void **)&e->state, 1, width * sizeof(float)}};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (region) *parts[i].place = region_carve(region, parts[i].count * parts[i].bytes);
		else if (!region_add(total, parts[i].count, parts[i].bytes)) return false;
	}
	if (!region) return region_add(total, SEATS, (kv + 63) / 64 * 64);
	for (size_t i = 0; i < SEATS; i++)
		e->seats[i].own = (struct kv_block){region_carve(region, kv), capacity};
	return true;
}

static enum cuttle_status open_embedding(struct embedding *e, struct cuttle_error *error) {
	const size_t most = CUTTLE_EMBED_TOKENS + 1,
	             longest = most < e->model->context ? most : e->model->context;
	size_t total = 0;
	enum cuttle_status status =
	    forward_new(e->model, CAPACITY_CHUNK, 1, longest, &e->forward, error);
	if (status) return status;
	if (!lay_out_embedding(e, longest, NULL, &total) || !region_map(&e->region, total, true))
		return status_fail(error, CUTTLE_NOMEM, "out of memory for texts of %zu tokens",
		                   longest);
	if (e->model->lock) status = region_lock(&e->region, error);
	if (!status) lay_out_embedding(e, longest, &e->region, NULL);
	return status;
}

enum cuttle_status cuttle_embed(struct cuttle_model *handle, const struct cuttle_embed_text *texts,
                                size_t count, uint32_t layer, double *out,
                                struct cuttle_error *error) {
	REQUIRE(handle && (!count || (texts && out)));
	const struct model *m = &handle->model;
	enum cuttle_status status = model_needs_weights(m, error);
	if (status) return status;
	if (layer > m->layers)
		return status_fail(error, CUTTLE_USAGE, "layer %u is above the model's %zu", layer,
		                   m->layers);
	for (size_t text = 0; text < count; text++)
		for (size_t i = 0; i < texts[text].count; i++)
			if (texts[text].ids[i] < 0 || (size_t)texts[text].ids[i] >= m->vocab_size)
				return status_fail(error, CUTTLE_USAGE,
				                   "a token is outside the vocabulary of %zu",
				                   m->vocab_size);
	struct embedding e = {.model = m, .layers = layer ? layer : m->layers, .normed = !layer};
	status = open_embedding(&e, error);
	if (!status) embed_all(&e, texts, count, out);
	region_unmap(&e.region, true);
	forward_free(&e.forward);
	return status;
}
