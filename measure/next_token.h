// SPDX-License-Identifier: Apache-2.0
// next_token.h: how well texts teach a small model to guess the next token of other texts.
//
// Both may be private, and so is all that is here: memory is wiped. The model is no neural one, but
// an interpolated n-gram of order 4 with a cache. Its numbers compare sets of texts that were made
// into tokens alike. They do not compare with those of a BERT in a paper.
// Each text begins behind a mark. With c(h w) occurrences of token w behind the context h, c(h)
// of all tokens behind it, T(h) different ones, h' the context without its first token, and V
// tokens in the vocabulary
//   P(w | h) = (c(h w) + T(h) P(w | h')) / (c(h) + T(h))        longest h: three tokens
//   P(w |  ) = (c(w) + T / V) / (c + T)                          no context
// A context that nothing stands behind is left out. Where the token before stood in the same text
// already, the cache has w with C(w): the share of its last 16 places that w stands behind. Then
//   (1 - L) P(w | h) + L C(w)     L = NEXT_TOKEN_CACHE_SHARE
// is the chance of w. The guess is the likeliest token that was taught or is in the cache; of
// equally likely ones the lowest. The end of a text is no token.
// Sources: Witten and Bell 1991 (method C), interpolated as in Chen and Goodman 1998, section 2.6;
// the cache: Kuhn and De Mori 1990, of pairs as in Jelinek et al. 1991.
// Example: taught by "1 2 1 3" and "1 2", vocabulary 10: c = 6 and T = 3, so P(2 | ) is 2.3 / 9.
// c(1 2) = 2, c(1) = 3, T(1) = 2, so P(2 | 1) = (2 + 2 * 2.3 / 9) / 5 = .5022.
#ifndef CUTTLE_MEASURE_NEXT_TOKEN_H
#define CUTTLE_MEASURE_NEXT_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NEXT_TOKEN_ORDER = 4,      /* tokens of the longest run that is counted */
	NEXT_TOKEN_CACHE = 16,     /* places of a token that the cache looks back to */
	NEXT_TOKEN_MOST = 1 << 20, /* tokens that teach: what is behind them does not */
};
#define NEXT_TOKEN_CACHE_SHARE 0.1

/* A text: count tokens, each below the vocabulary. */
struct next_token_text {
	const uint32_t *id;
	size_t count;
};

/* What became of a text's tokens. */
struct next_token_score {
	double tokens; /* of the text */
	double right;  /* of them, guessed */
	double bits;   /* sum of -log2 of the chance of each */
};

struct next_token_model;

/* A model that texts[count] taught, in their order; next_token_free frees it. The texts are not
 * needed then. Without a token it guesses nothing, and each token has the chance 1 / V. Takes about
 * 250 bytes a token, NEXT_TOKEN_MOST at most, and time in proportion. vocabulary is at least 1,
 * below 2^32 - 1. NULL: out of memory. */
struct next_token_model *next_token_teach(const struct next_token_text *texts, size_t count,
                                          uint32_t vocabulary);
void next_token_free(struct next_token_model *model); /* NULL is allowed */

/* Sets scores[count] for texts[count]. Time in proportion to their tokens. False: out of memory. */
bool next_token_measure(const struct next_token_model *model, const struct next_token_text *texts,
                        size_t count, struct next_token_score *scores);

#endif
