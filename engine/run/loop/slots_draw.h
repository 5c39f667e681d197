// SPDX-License-Identifier: Apache-2.0
// slots_draw.h: draws a token of a plain completion from its row. NOT PRIVATE.
// One drawer serves all slots.
// No private data is protected here. The draw is in integers (dp/rowlaw.h, dp/draw.h), so all tiers
// draw the same from the same bits.
#ifndef CUTTLE_ENGINE_RUN_LOOP_SLOTS_DRAW_H
#define CUTTLE_ENGINE_RUN_LOOP_SLOTS_DRAW_H

#include "dp/entropy.h"
#include "dp/rowlaw.h"
#include "engine/machine/region.h"
#include "engine/model/model.h"

enum { SLOTS_SHIFT_BITS = 12 }; /* of what a bias adds, behind the point */

struct slots_drawer {
	struct region region;    /* the arrays below */
	size_t count;            /* tokens that may be drawn */
	int32_t *tokens;         /* [count] they, ascending */
	int32_t *some;           /* [count] those of them that a grammar allows now */
	float *logits;           /* [count] of the row at hand */
	int32_t *fixed;          /* [count] the same in units of 2^-12 */
	int32_t *heap;           /* [count] scratch of dp_topk */
	uint32_t *chosen;        /* [count] which of them may be drawn now */
	float *kept;             /* [count] their logits */
	uint64_t *law;           /* [count] their law */
	struct dp_wide *weights; /* [count] the same, as dp_draw wants it */
	int32_t *shift;          /* [vocabulary] of a bias, in 2^-SLOTS_SHIFT_BITS; NULL = none */
};

/* What one slot's draws go by. */
struct slots_rule {
	struct dp_rowlaw rowlaw; /* of its temperature; empty = the likeliest token */
	bool drawn;              /* temperature is not 0 */
	uint32_t top_k;          /* 0 = all */
	double top_p;            /* 1 = all */
};

/* USAGE: the vocabulary is empty, or too large to draw from. NOMEM. On failure nothing is owned. */
enum cuttle_status slots_drawer_make(const struct model *model, struct slots_drawer *drawer,
                                     struct cuttle_error *error);
void slots_drawer_free(struct slots_drawer *drawer);

/* Draws from row[vocabulary], of the tokens with allowed[token] alone, of which there is one that
 * may be drawn; NULL = of all. top_k and top_p count those alone, too. A logit that is not finite
 * counts as the least. DP_NO_ENTROPY. */
enum dp_status slots_draw(struct slots_drawer *drawer, const struct slots_rule *rule,
                          const float *row, const uint8_t *allowed, const struct dp_random *random,
                          int32_t *token);

#endif
