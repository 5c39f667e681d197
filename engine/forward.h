// SPDX-License-Identifier: Apache-2.0
// The transformer over rows. A row is one token of one context; prompt chunks and decode steps are the same code. Whatever else is in the
// call, a row's numbers are a function of its context's tokens and the weights alone, bit for bit.
#ifndef CUTTLE_ENGINE_FORWARD_H
#define CUTTLE_ENGINE_FORWARD_H

#include "engine/kv.h"

struct row {
	struct context *context;
	size_t position; /* of the token in its context, counted from 0 */
	int32_t token;
	float *hidden; /* [width]: where the last layer's output goes; NULL when nobody needs it */
};

struct forward;

/* Where the time of all calls went, in nanoseconds of the calling thread's clock: for benchmarks. */
struct forward_time {
	uint64_t gemm, attention, rows, head; /* rows: norms, rotation, quantisation, storing */
};

/* Scratch for at most max_rows rows a call, contexts of at most max_tokens tokens, head outputs of at most max_head_rows rows at once.
 * NOMEM. */
enum cuttle_status forward_new(const struct model *model, size_t max_rows, size_t max_head_rows, size_t max_tokens, struct forward **out,
                               struct cuttle_error *error);
void forward_free(struct forward **forward);

struct forward_time forward_time(const struct forward *forward);

/* Runs the layers. Rows of one context stand in ascending position and each context's earlier positions are in its cache or in this call;
 * the rows' keys and values are stored. A context may not be another's shared prefix in the same call. 1 <= count <= max_rows.
 * by_blas: multiply by OpenBLAS in fp32 (all rows must be of one context). */
void forward_rows(struct forward *forward, const struct row *rows, size_t count, bool by_blas);

/* Logits of hidden rows: out[row][16 * place + c] for the 16-channel groups of the vocabulary listed, or all of them (groups NULL, places
 * = vocabulary rounded up to 16 / 16). out rows are out_stride floats apart. count <= max_head_rows. */
void forward_head(struct forward *forward, const float *const *hidden, size_t count, const uint32_t *groups, size_t places, float *out,
                  size_t out_stride);

#endif
