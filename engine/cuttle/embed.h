// SPDX-License-Identifier: Apache-2.0
// embed.h: turns a text into a vector, the mean of what the model makes of its tokens.
// Texts are compared by it, or sorted into clusters.
// Private data: texts may be private, and a vector is as private as its text: nothing protects it.
// What the library itself holds of them is left out of core dumps, and wiped.
// Example, tokens with BOS as cuttle_tokenize writes them, and a vector of 576 numbers:
//     struct cuttle_embed_text text = {ids, count};
//     cuttle_embed(model, &text, 1, 0, vector, &error);
#ifndef CUTTLE_EMBED_H
#define CUTTLE_EMBED_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuttle_model; /* model.h */

enum { CUTTLE_EMBED_TOKENS = 512 }; /* tokens of a text that are read, besides BOS */

/* A text as tokens. */
struct cuttle_embed_text {
	const int32_t *ids; /* [count]; may be NULL when count is 0 */
	size_t count;
};

/* Writes one vector per text to out[count][width], width as cuttle_model_describe says.
 *
 * h_i is the state of the text's token i, with all tokens before it as its context. layer 0: h_i
 * is the last layer's output after the output norm, what the model's head would get. layer L, from
 * 1 on: h_i is the residual stream behind the first L layers, not normalised. Only those layers are
 * computed then. Example: layer 6 of 30 costs a fifth.
 *
 * The vector is v / |v|, v = h_0 + h_1 + ..., so it is the direction of the mean. Sums are double,
 * in the order of the tokens; |v|^2 is summed in the order of the dimensions.
 *
 * Tokens beyond CUTTLE_EMBED_TOKENS, or beyond the model's context, are not read. BOS is in the
 * context, but not in the mean, and not counted: texts all have it, and its state is the largest.
 * It is the first id, if that is the model's bos and the model's texts begin with it (add_bos).
 *
 * A text without tokens, or with a v of 0 or not finite, gets a vector of zeros. So no text can
 * cause an error. A vector is a function of its own text and the weights, bit for bit, with any
 * kernels ("blas" too), threads, and texts beside it.
 *
 * All cores work on several texts at once: more texts in a call are faster, up to about 16.
 * Threads: as cuttle_score.
 * USAGE: layer is above the model's layers; an id is outside the vocabulary; the model has no
 * weights; the system refuses to lock memory. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_embed(struct cuttle_model *model,
                                                          const struct cuttle_embed_text *texts,
                                                          size_t count, uint32_t layer, double *out,
                                                          struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
