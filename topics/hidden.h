// SPDX-License-Identifier: Apache-2.0
// hidden.h: what a text is about, by a model: its hidden state at a fifth of the depth.
//
// hidden_make sees public texts alone. Private texts pass through hidden_features, which wipes what
// it computes of them.
//
// The vector x of a text is what cuttle_embed makes of its first tokens behind the layers' first
// fifth (layer 6 of 30). The first token of any text has a large state that says nothing of the
// text, and more so the shorter the text is. Its direction f is that of the text "The". So first
//     z = x - (x . f) f, brought to length one
// Of the public texts' z come the mean and HIDDEN_WIDTH principal components, whitened
// (cuttle_components). The feature is y = axes (z - mean), brought to length 2^15 and rounded to
// integers, halves up. A feature is a function of its text, the model and these public numbers, bit
// for bit, whatever stands beside it in a call.
#ifndef CUTTLE_TOPICS_HIDDEN_H
#define CUTTLE_TOPICS_HIDDEN_H

#include "engine/cuttle/model.h"
#include "topics/feature.h"

enum {
	HIDDEN_WIDTH = 32, /* principal components, the entries of a feature */
	HIDDEN_TEXTS = 16  /* texts of one call of hidden_features, at most */
};

struct hidden {
	uint32_t layer; /* the state behind so many layers */
	uint32_t width; /* of the model */
	float *first;   /* [width] f */
	float *mean;    /* [width] of z */
	float *axes;    /* [HIDDEN_WIDTH][width] */
};

/* A text as bytes. NULL: there is none, which gives a feature without entries. */
struct hidden_text {
	const char *bytes;
	size_t size;
};

/* Measures first, mean and axes of public texts[count], and makes their features [count]. threads
 * as cuttle_components. hidden_free frees *hidden. INPUT: the model makes the same of all texts.
 * USAGE: the model has no weights, or is narrower than HIDDEN_WIDTH. NOMEM. */
enum cuttle_status hidden_make(struct cuttle_model *model, const struct hidden_text *texts,
                               size_t count, unsigned threads, struct hidden *hidden,
                               struct text_feature *features, struct cuttle_error *error);
void hidden_free(struct hidden *hidden);

/* The features of texts[count], at most HIDDEN_TEXTS, which may be private. A text without tokens
 * or direction has no entry. Memory is that of the longest texts, whatever these are. Failures of
 * cuttle_embed: none depends on a text. */
enum cuttle_status hidden_features(const struct hidden *hidden, struct cuttle_model *model,
                                   const struct hidden_text *texts, size_t count,
                                   struct text_feature *features, struct cuttle_error *error);

#endif
