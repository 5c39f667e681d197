// SPDX-License-Identifier: Apache-2.0
// score.c: cuttle_score, the log-probability of every token of one text.
// The text runs through the layers in chunks of 128 tokens; logits are made 16 rows at a time.
// Nothing here is protected: the numbers go straight to the caller, without noise.
#include "base/misuse.h"
#include "engine/cuttle/text.h"
#include "engine/forward/forward.h"
#include "engine/status.h"

#include <math.h>
#include <stdlib.h>

enum {
	CHUNK = 128,   /* tokens per forward_rows */
	HEAD_ROWS = 16 /* rows per forward_head */
};

struct score_run {
	const struct model *model;
	struct forward *forward;
	struct context context;
	struct row rows[CHUNK];
	float *hidden; /* [CHUNK][width] */
	float *logits; /* [HEAD_ROWS][padded] */
	size_t padded; /* vocabulary rounded up to 16 */
};

/* Sets *logprob to ln softmax(logits)[token], in double, and *top1 to the likeliest token (of
 * equals the first). False when a logit is not finite. */
static bool score_logit_row(const float *logits, size_t vocab, int32_t token, double *logprob,
                            int32_t *top1) {
	size_t best = 0;
	for (size_t i = 0; i < vocab; i++) {
		if (!isfinite(logits[i])) return false;
		if (logits[i] > logits[best]) best = i;
	}
	double sum = 0.0;
	for (size_t i = 0; i < vocab; i++) sum += exp((double)logits[i] - (double)logits[best]);
	*logprob = (double)logits[token] - (double)logits[best] - log(sum);
	*top1 = (int32_t)best;
	return true;
}

/* Scores the tokens that follow ids[first] .. ids[first + count - 1]. */
static enum cuttle_status score_chunk(struct score_run *s, const int32_t *ids, size_t first,
                                      size_t count, double *logprobs, int32_t *top1,
                                      struct cuttle_error *error) {
	const size_t width = s->model->width;
	for (size_t i = 0; i < count; i++)
		s->rows[i] =
		    (struct row){&s->context, first + i, ids[first + i], s->hidden + i * width};
	forward_rows(s->forward, s->rows, count, s->model->blas_prompts);
	for (size_t done = 0; done < count; done += HEAD_ROWS) {
		const float *hidden[HEAD_ROWS];
		const size_t some = count - done < HEAD_ROWS ? count - done : HEAD_ROWS;
		for (size_t i = 0; i < some; i++) hidden[i] = s->hidden + (done + i) * width;
		forward_head(s->forward, hidden, some, NULL, s->padded / GEMM_GROUP, s->logits,
		             s->padded);
		for (size_t i = 0; i < some; i++) {
			const size_t at = first + done + i;
			if (!score_logit_row(s->logits + i * s->padded, s->model->vocab_size,
			                     ids[at + 1], &logprobs[at], &top1[at]))
				return status_fail(error, CUTTLE_MODEL,
				                   "the model's logits are not finite");
		}
	}
	return CUTTLE_OK;
}

enum cuttle_status cuttle_score(struct cuttle_model *handle, const int32_t *ids, size_t count,
                                double *logprobs, int32_t *top1, struct cuttle_error *error) {
	REQUIRE(handle && ids && logprobs && top1);
	const struct model *m = &handle->model;
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
	struct score_run s = {.model = m,
	                      .padded = (m->vocab_size + GEMM_GROUP - 1) / GEMM_GROUP * GEMM_GROUP};
	struct region region = {0};
	size_t total = 0, kv = 0;
	status = forward_new(m, CHUNK, HEAD_ROWS, count, &s.forward, error);
	if (status) return status;
	const size_t capacity = kv_capacity(count);
	if (!kv_bytes(m, capacity, &kv) || !region_add(&total, 1, kv) ||
	    !region_add(&total, CHUNK, m->width * sizeof(float)) ||
	    !region_add(&total, HEAD_ROWS, s.padded * sizeof(float)) ||
	    !region_map(&region, total, true)) {
		forward_free(&s.forward);
		return status_fail(error, CUTTLE_NOMEM, "out of memory for a text of %zu tokens",
		                   count);
	}
	s.context.own = (struct kv_block){region_carve(&region, kv), capacity};
	s.hidden = region_carve(&region, CHUNK * m->width * sizeof(float));
	s.logits = region_carve(&region, HEAD_ROWS * s.padded * sizeof(float));
	// No token follows the last one, so it predicts nothing to score.
	for (size_t first = 0; first < count - 1 && !status; first += CHUNK)
		status = score_chunk(&s, ids, first,
		                     count - 1 - first < CHUNK ? count - 1 - first : CHUNK,
		                     logprobs, top1, error);
	region_unmap(&region, true);
	forward_free(&s.forward);
	return status;
}
