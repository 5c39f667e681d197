// SPDX-License-Identifier: Apache-2.0
// A text to its vector, and that to a feature: see hidden.h. Sums are double, in the order of the
// dimensions.
#include "topics/hidden.h"

#include "base/misuse.h"
#include "engine/cuttle/components.h"
#include "engine/cuttle/embed.h"
#include "engine/cuttle/text.h"
#include "io/disk/fail.h"

#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum {
	BYTES = 16 * CUTTLE_EMBED_TOKENS, /* of a text that are read */
	DEPTH_PARTS = 5                   /* the state is taken behind a fifth of the layers */
};
/* A z whose square is below this is rounding: its x is f. */
static const double least_square = 1e-8;

/* Memory for a call, the same for all texts. Its owner wipes it. */
struct hidden_work {
	size_t capacity; /* ids of one text */
	size_t width;    /* of the model */
	int32_t *ids;    /* [HIDDEN_TEXTS][capacity] */
	double *vectors; /* [HIDDEN_TEXTS][width] */
};

static enum cuttle_status begin_work(const struct cuttle_model *model, struct hidden_work *work,
                                     struct cuttle_error *error) {
	struct cuttle_model_info info;
	cuttle_model_describe(model, &info);
	work->capacity = cuttle_tokens_bound(BYTES);
	work->width = info.width;
	work->ids = calloc(HIDDEN_TEXTS * work->capacity, sizeof *work->ids);
	work->vectors = calloc(HIDDEN_TEXTS * work->width, sizeof *work->vectors);
	return work->ids && work->vectors ? CUTTLE_OK
	                                  : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

static void end_work(struct hidden_work *work) {
	if (work->ids) sodium_memzero(work->ids, HIDDEN_TEXTS * work->capacity * sizeof *work->ids);
	if (work->vectors)
		sodium_memzero(work->vectors, HIDDEN_TEXTS * work->width * sizeof *work->vectors);
	free(work->ids);
	free(work->vectors);
}

/* The bytes of a text that are read: a character is never cut. */
static size_t bytes_read(const struct hidden_text *text) {
	if (!text->bytes) return 0;
	if (text->size <= BYTES) return text->size;
	size_t size = BYTES;
	while (size && ((unsigned char)text->bytes[size] & 0xc0) == 0x80) size--;
	return size;
}

/* The vectors of some texts. Zeros: there is no text, or it could not be tokenised. */
static enum cuttle_status embed_some(struct cuttle_model *model, uint32_t layer,
                                     const struct hidden_text *texts, size_t count,
                                     struct hidden_work *work, struct cuttle_error *error) {
	struct cuttle_embed_text lists[HIDDEN_TEXTS];
	for (size_t i = 0; i < count; i++) {
		int32_t *ids = work->ids + i * work->capacity;
		const size_t size = bytes_read(&texts[i]);
		lists[i] = (struct cuttle_embed_text){ids, 0};
		// A text that cannot be tokenised is null, as a reference is.
		if (size && cuttle_tokenize(model, texts[i].bytes, size, true, ids, work->capacity,
		                            &lists[i].count, NULL))
			lists[i].count = 0;
	}
	return cuttle_embed(model, lists, count, layer, work->vectors, error);
}

/* x [width] becomes z. False: it has no direction, and is zeros. */
static bool take_first_off(const struct hidden *hidden, double *x) {
	double along = 0, square = 0;
	for (size_t i = 0; i < hidden->width; i++) along += x[i] * (double)hidden->first[i];
	for (size_t i = 0; i < hidden->width; i++) {
		x[i] -= along * (double)hidden->first[i];
		square += x[i] * x[i];
	}
	const bool directed = square >= least_square;
	const double length = sqrt(square);
	for (size_t i = 0; i < hidden->width; i++) x[i] = directed ? x[i] / length : 0;
	return directed;
}

/* The feature of a vector x [width], which becomes z. */
static void project_vector(const struct hidden *hidden, double *x, struct text_feature *feature) {
	double y[HIDDEN_WIDTH], square = 0;
	const bool directed = take_first_off(hidden, x);
	for (size_t n = 0; n < HIDDEN_WIDTH; n++) {
		const float *axis = hidden->axes + n * hidden->width;
		y[n] = 0;
		for (size_t i = 0; i < hidden->width; i++)
			y[n] += (double)axis[i] * (x[i] - (double)hidden->mean[i]);
		square += y[n] * y[n];
	}
	const double length = sqrt(square);
	feature->count = 0;
	if (directed && length > 0 && isfinite(length))
		for (size_t n = 0; n < HIDDEN_WIDTH; n++) {
			const int32_t value = (int32_t)floor(y[n] / length * FEATURE_ONE + 0.5);
			if (!value) continue;
			feature->at[feature->count] = (uint16_t)n;
			feature->value[feature->count++] = value;
		}
	sodium_memzero(y, sizeof y);
}

enum cuttle_status hidden_features(const struct hidden *hidden, struct cuttle_model *model,
                                   const struct hidden_text *texts, size_t count,
                                   struct text_feature *features, struct cuttle_error *error) {
	struct hidden_work work = {0};
	REQUIRE(count <= HIDDEN_TEXTS);
	enum cuttle_status status = begin_work(model, &work, error);
	if (!status) {
		REQUIRE(work.width == hidden->width);
		status = embed_some(model, hidden->layer, texts, count, &work, error);
	}
	for (size_t i = 0; !status && i < count; i++)
		project_vector(hidden, work.vectors + i * work.width, &features[i]);
	end_work(&work);
	return status;
}

/* Finds the direction of the first token, and writes the vectors of public texts to x
 * [count][width]. */
static enum cuttle_status embed_public(struct cuttle_model *model, const struct hidden *hidden,
                                       const struct hidden_text *texts, size_t count, double *x,
                                       struct cuttle_error *error) {
	static const struct hidden_text one = {"The", 3};
	const size_t width = hidden->width;
	struct hidden_work work = {0};
	enum cuttle_status status = begin_work(model, &work, error);
	if (!status) status = embed_some(model, hidden->layer, &one, 1, &work, error);
	for (size_t i = 0; !status && i < width; i++) hidden->first[i] = (float)work.vectors[i];
	for (size_t first = 0; !status && first < count; first += HIDDEN_TEXTS) {
		const size_t some = count - first < HIDDEN_TEXTS ? count - first : HIDDEN_TEXTS;
		status = embed_some(model, hidden->layer, texts + first, some, &work, error);
		if (!status) memcpy(x + first * width, work.vectors, some * width * sizeof *x);
	}
	end_work(&work);
	return status;
}

/* Mean and axes of the z of the public vectors x [count][width]. */
static enum cuttle_status measure_axes(const struct hidden *hidden, const double *x, size_t count,
                                       unsigned threads, struct cuttle_error *error) {
	const size_t width = hidden->width;
	struct cuttle_error why = {""};
	float *rows = calloc(count * width, sizeof *rows);
	double *z = calloc(width, sizeof *z);
	enum cuttle_status status =
	    rows && z ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t t = 0; !status && t < count; t++) {
		memcpy(z, x + t * width, width * sizeof *z);
		(void)take_first_off(hidden, z);
		for (size_t i = 0; i < width; i++) rows[t * width + i] = (float)z[i];
	}
	if (!status) {
		status = cuttle_components(rows, count, width, HIDDEN_WIDTH, threads, hidden->mean,
		                           hidden->axes, &why);
		if (status)
			status = io_fail(error, status == CUTTLE_USAGE ? CUTTLE_INPUT : status,
			                 "the public texts: %s", why.message);
	}
	free(rows);
	free(z);
	return status;
}

enum cuttle_status hidden_make(struct cuttle_model *model, const struct hidden_text *texts,
                               size_t count, unsigned threads, struct hidden *hidden,
                               struct text_feature *features, struct cuttle_error *error) {
	struct cuttle_model_info info;
	cuttle_model_describe(model, &info);
	const size_t width = info.width;
	*hidden =
	    (struct hidden){.layer = info.layers < DEPTH_PARTS ? 1 : info.layers / DEPTH_PARTS,
	                    .width = info.width};
	if (width < HIDDEN_WIDTH)
		return io_fail(error, CUTTLE_USAGE,
		               "the model's states have fewer than %d numbers: use --by words",
		               HIDDEN_WIDTH);
	double *x = calloc(count * width, sizeof *x);
	hidden->first = calloc(width, sizeof *hidden->first);
	hidden->mean = calloc(width, sizeof *hidden->mean);
	hidden->axes = calloc(HIDDEN_WIDTH * width, sizeof *hidden->axes);
	enum cuttle_status status = CUTTLE_OK;
	if (!x || !hidden->first || !hidden->mean || !hidden->axes)
		status = io_fail(error, CUTTLE_NOMEM, "out of memory for %zu texts", count);
	if (!status) status = embed_public(model, hidden, texts, count, x, error);
	if (!status) status = measure_axes(hidden, x, count, threads, error);
	for (size_t t = 0; !status && t < count; t++)
		project_vector(hidden, x + t * width, &features[t]);
	free(x);
	if (status) hidden_free(hidden);
	return status;
}

void hidden_free(struct hidden *hidden) {
	free(hidden->first);
	free(hidden->mean);
	free(hidden->axes);
	*hidden = (struct hidden){0};
}
