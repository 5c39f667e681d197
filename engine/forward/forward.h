// SPDX-License-Identifier: Apache-2.0
// forward.h: the transformer, computed over rows. A row is one token of one context.
// Private data: hidden states and logits of private contexts. Its memory is wiped when freed.
// How: forward_new; forward_rows runs rows through all layers and keeps the outputs asked for;
// forward_head makes logits of those outputs. Prompts and single steps are the same code.
// Example: a prompt of 3 tokens is 3 rows at positions 0, 1, 2; the last one's hidden gives the
// logits of the next token.
// Rule: a row's numbers are a function of its context's tokens and the weights alone, bit for bit.
// Nothing else in the call changes them.
#ifndef CUTTLE_ENGINE_FORWARD_H
#define CUTTLE_ENGINE_FORWARD_H

#include "engine/forward/kv.h"

struct row {
	struct context *context; /* where its keys and values are stored */
	size_t position;         /* place of the token in its context, from 0 */
	int32_t token;           /* token number, below the vocabulary's size */
	float *hidden; /* [width]: receives the last layer's output; NULL when nobody needs it */
};

struct forward;

/* Where the time of all calls went, for benchmarks: nanoseconds of wall clock, as the calling
 * thread sees them. */
struct forward_time {
	uint64_t gemm;      /* products with the layers' matrices */
	uint64_t attention; /* scores and sums over the contexts */
	uint64_t rows;      /* norms, rotation, quantisation, storing of keys and values */
	uint64_t head;      /* all of forward_head */
};

/* Allocates the arrays for the calls below. The model must outlive it.
 * max_rows: rows of one forward_rows, at most.
 * max_head_rows: rows of one forward_head, at most.
 * max_tokens: tokens of the longest context.
 * NOMEM; USAGE when --mlock is refused. */
enum cuttle_status forward_new(const struct model *model, size_t max_rows, size_t max_head_rows,
                               size_t max_tokens, struct forward **out, struct cuttle_error *error);

/* Sets *bytes to what forward_new would map. False on overflow. */
bool forward_bytes(const struct model *model, size_t max_rows, size_t max_head_rows,
                   size_t max_tokens, size_t *bytes);

/* Wipes and frees it, and sets *forward to NULL. *forward may be NULL. */
void forward_free(struct forward **forward);

/* The time of all calls so far. */
struct forward_time forward_time(const struct forward *forward);

/* Runs rows[count] through all layers, 1 <= count <= max_rows, and stores their keys and values.
 * Rows of one context stand in ascending position. A context's earlier positions are in its cache
 * or in this call. Tokens that another context of the call shares are in the cache already.
 * by_blas: OpenBLAS multiplies in fp32, and all rows must be of one context. */
void forward_rows(struct forward *forward, const struct row *rows, size_t count, bool by_blas);

/* The same, but only through the first `layers` layers, 1 <= layers <= the model's. A row's hidden
 * is then the residual stream behind them. Example: 6 of 30 layers cost a fifth. */
void forward_layers(struct forward *forward, const struct row *rows, size_t count, size_t layers,
                    bool by_blas);

/* Computes logits of hidden[count], 1 <= count <= max_head_rows. Group g is the 16 tokens 16 g to
 * 16 g + 15. groups[places] lists the groups to compute; NULL means all of them, and then places is
 * the vocabulary / 16, rounded up. out[row * out_stride + 16 * place + c] becomes the logit of
 * token 16 * groups[place] + c. Example: groups {0, 2}: a row's number 16 is the logit of token 32.
 */
void forward_head(struct forward *forward, const float *const *hidden, size_t count,
                  const uint32_t *groups, size_t places, float *out, size_t out_stride);

#endif
