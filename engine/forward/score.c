// SPDX-License-Identifier: Apache-2.0
// score.c: see score.h; and cuttle_score, the log-probability of every token of one text.
// The text runs through the layers in chunks of 128 tokens; logits are made 16 rows at a time.
// Nothing here is protected: the numbers go straight to the caller, without noise.
#include "engine/forward/score.h"

#include "base/misuse.h"
#include "engine/forward/forward.h"
#include "engine/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNK = 128,   /* tokens per forward_rows */
	HEAD_ROWS = 16 /* rows per forward_head */
};

struct scorer {
	const struct model *model;
	struct forward *forward;
	struct region region; /* the arrays below, and the keys and values */
	struct context context;
	struct row rows[CHUNK];
	float *hidden;        /* [CHUNK][width] */
	float *logits;        /* [HEAD_ROWS][padded] */
	int32_t *ids;         /* [most] tokens whose keys and values are in the context */
	size_t known;         /* of them */
	size_t most;          /* tokens of a text, at most */
	size_t padded;        /* vocabulary rounded up to 16 */
	const int32_t *shift; /* the caller's, or NULL */
	bool by_blas;
};

/* The logit of a token with what is added to it. */
static double shifted_logit(const struct scorer *s, const float *logits, size_t token) {
	return (double)logits[token] +
	       (s->shift ? (double)s->shift[token] / (1 << SCORER_SHIFT_BITS) : 0.0);
}

/* Sets *logprob to ln softmax(logits)[token], in double, and *top1 to the likeliest token (of
 * equals the first). False when a logit is not finite. */
static bool score_logit_row(const struct scorer *s, const float *logits, int32_t token,
                            double *logprob, int32_t *top1) {
	const size_t vocab = s->model->vocab_size;
	double most = -INFINITY, sum = 0.0;
	for (size_t i = 0; i < vocab; i++) {
		const double logit = shifted_logit(s, logits, i);
		if (!isfinite(logit)) return false;
		if (logit > most) {
			most = logit;
			*top1 = (int32_t)i;
		}
	}
	for (size_t i = 0; i < vocab; i++) sum += exp(shifted_logit(s, logits, i) - most);
	*logprob = shifted_logit(s, logits, (size_t)token) - most - log(sum);
	return true;
}

/* Computes count rows from position `from` on, and scores the tokens that follow those at
 * `behind` or later: ids[behind + 1] has place 0. */
static enum cuttle_status score_chunk(struct scorer *s, const int32_t *ids, size_t from,
                                      size_t count, size_t behind, double *logprobs, int32_t *top1,
                                      struct cuttle_error *error) {
	const size_t width = s->model->width, skip = behind > from ? behind - from : 0;
	for (size_t i = 0; i < count; i++)
		s->rows[i] = (struct row){&s->context, from + i, ids[from + i],
		                          i < skip ? NULL : s->hidden + i * width};
	forward_rows(s->forward, s->rows, count, s->by_blas);
	for (size_t done = skip; done < count; done += HEAD_ROWS) {
		const float *hidden[HEAD_ROWS];
		const size_t some = count - done < HEAD_ROWS ? count - done : HEAD_ROWS;
		for (size_t i = 0; i < some; i++) hidden[i] = s->hidden + (done + i) * width;
		forward_head(s->forward, hidden, some, NULL, s->padded / GEMM_GROUP, s->logits,
		             s->padded);
		for (size_t i = 0; i < some; i++) {
			const size_t at = from + done + i;
			if (!score_logit_row(s, s->logits + i * s->padded, ids[at + 1],
			                     &logprobs[at - behind], &top1[at - behind]))
				return status_fail(error, CUTTLE_MODEL,
				                   "the model's logits are not finite");
		}
	}
	return CUTTLE_OK;
}

enum cuttle_status scorer_read(struct scorer *s, const int32_t *ids, size_t count, size_t first,
                               double *logprobs, int32_t *top1, struct cuttle_error *error) {
	REQUIRE(first >= 1 && first < count && count <= s->most);
	// The row before the first scored token gives its logits, so it is computed again.
	size_t from = 0;
	while (from < s->known && from < first - 1 && s->ids[from] == ids[from]) from++;
	s->known = from;
	// No token follows the last one, so it predicts nothing to score.
	while (from < count - 1) {
		const size_t some = count - 1 - from < CHUNK ? count - 1 - from : CHUNK;
		const enum cuttle_status status =
		    score_chunk(s, ids, from, some, first - 1, logprobs, top1, error);
		if (status) return status;
		from += some;
	}
	memcpy(s->ids + s->known, ids + s->known, (from - s->known) * sizeof *ids);
	s->known = from;
	return CUTTLE_OK;
}

enum cuttle_status scorer_new(const struct model *m, size_t most, bool by_blas, struct scorer **out,
                              struct cuttle_error *error) {
	size_t total = 0, kv = 0;
	const size_t capacity = kv_capacity(most);
	struct scorer *s = *out = calloc(1, sizeof *s);
	if (!s) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	*s = (struct scorer){.model = m, .most = most, .by_blas = by_blas};
	s->padded = (m->vocab_size + GEMM_GROUP - 1) / GEMM_GROUP * GEMM_GROUP;
	enum cuttle_status status = forward_new(m, CHUNK, HEAD_ROWS, most, &s->forward, error);
	if (!status &&
	    (!kv_bytes(m, capacity, &kv) || !region_add(&total, 1, kv) ||
	     !region_add(&total, CHUNK, m->width * sizeof(float)) ||
	     !region_add(&total, HEAD_ROWS, s->padded * sizeof(float)) ||
	     !region_add(&total, most, sizeof *s->ids) || !region_map(&s->region, total, true)))
		status = status_fail(error, CUTTLE_NOMEM, "out of memory for a text of %zu tokens",
		                     most);
	if (status) {
		scorer_free(out);
		return status;
	}
	s->context.own = (struct kv_block){region_carve(&s->region, kv), capacity};
	s->hidden = region_carve(&s->region, CHUNK * m->width * sizeof(float));
	s->logits = region_carve(&s->region, HEAD_ROWS * s->padded * sizeof(float));
	s->ids = region_carve(&s->region, most * sizeof *s->ids);
	return CUTTLE_OK;
}

void scorer_shift(struct scorer *s, const int32_t *shift) {
	s->shift = shift;
}

void scorer_free(struct scorer **scorer) {
	struct scorer *s = *scorer;
	if (!s) return;
	region_unmap(&s->region, true);
	forward_free(&s->forward);
	free(s);
	*scorer = NULL;
}

enum cuttle_status cuttle_score(struct cuttle_model *handle, const int32_t *ids, size_t count,
                                double *logprobs, int32_t *top1, struct cuttle_error *error) {
	REQUIRE(handle && ids && logprobs && top1);
	const struct model *m = &handle->model;
	struct scorer *scorer = NULL;
	enum cuttle_status status = model_needs_weights(m, error);
	if (status) return status;
	if (count < 2 || count > m->context)
		return status_fail(error, CUTTLE_USAGE, "%zu tokens are outside 2..%zu", count,
		                   m->context);
	for (size_t i = 0; i < count; i++)
		if (ids[i] < 0 || (size_t)ids[i] >= m->vocab_size)
			return status_fail(error, CUTTLE_USAGE,
			                   "token %d is outside the vocabulary of %zu", ids[i],
			                   m->vocab_size);
	status = scorer_new(m, count, m->blas_prompts, &scorer, error);
	if (!status) status = scorer_read(scorer, ids, count, 1, logprobs, top1, error);
	scorer_free(&scorer);
	return status;
}
