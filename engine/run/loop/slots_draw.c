// SPDX-License-Identifier: Apache-2.0
// slots_draw.c: see slots_draw.h. The row is cut to the k likeliest tokens, becomes a law at the
// temperature, and is cut again to the likeliest that have the share p.
#include "engine/run/loop/slots_draw.h"

#include "base/misuse.h"
#include "dp/draw.h"
#include "dp/topk.h"
#include "engine/status.h"

#include <math.h>
#include <stdlib.h>

static bool lay_out_drawer(struct slots_drawer *d, struct region *region, size_t *total) {
	const struct {
		void **place;
		size_t bytes;
	} parts[] = {
	    {(void **)&d->tokens, sizeof *d->tokens}, {(void **)&d->logits, sizeof *d->logits},
	    {(void **)&d->fixed, sizeof *d->fixed},   {(void **)&d->heap, sizeof *d->heap},
	    {(void **)&d->chosen, sizeof *d->chosen}, {(void **)&d->kept, sizeof *d->kept},
	    {(void **)&d->law, sizeof *d->law},       {(void **)&d->weights, sizeof *d->weights},
	    {(void **)&d->some, sizeof *d->some}};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (region) *parts[i].place = region_carve(region, d->count * parts[i].bytes);
		else if (!region_add(total, d->count, parts[i].bytes)) return false;
	}
	return true;
}

enum cuttle_status slots_drawer_make(const struct model *model, struct slots_drawer *d,
                                     struct cuttle_error *error) {
	size_t total = 0;
	*d = (struct slots_drawer){0};
	for (size_t i = 0; i < model->vocab_size; i++)
		d->count += vocab_drawable(model->vocab, (int32_t)i);
	if (!d->count || d->count > DP_ROWLAW_MOST)
		return status_fail(error, CUTTLE_USAGE,
		                   "the vocabulary must have 1 to %zu tokens to draw",
		                   DP_ROWLAW_MOST);
	if (!lay_out_drawer(d, NULL, &total) || !region_map(&d->region, total, true))
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	lay_out_drawer(d, &d->region, NULL);
	for (size_t i = 0, next = 0; i < model->vocab_size; i++)
		if (vocab_drawable(model->vocab, (int32_t)i)) d->tokens[next++] = (int32_t)i;
	return CUTTLE_OK;
}

void slots_drawer_free(struct slots_drawer *drawer) {
	region_unmap(&drawer->region, true);
	free(drawer->shift);
}

/* What is drawn from: tokens[count], whose logits are in the drawer. */
struct offered {
	const int32_t *tokens;
	size_t count;
};

static struct offered offer_tokens(struct slots_drawer *d, const uint8_t *allowed) {
	struct offered offered = {d->some, 0};
	if (!allowed) return (struct offered){d->tokens, d->count};
	for (size_t i = 0; i < d->count; i++)
		if (allowed[d->tokens[i]]) d->some[offered.count++] = d->tokens[i];
	REQUIRE(offered.count);
	return offered;
}

/* Takes their logits; those that are not finite become the least. */
static void take_logits(struct slots_drawer *d, const struct offered *offered, const float *row) {
	const int32_t *const tokens = offered->tokens;
	float least = INFINITY;
	for (size_t i = 0; i < offered->count; i++) {
		d->logits[i] = row[tokens[i]];
		if (d->shift) d->logits[i] += ldexpf((float)d->shift[tokens[i]], -SLOTS_SHIFT_BITS);
		if (isfinite(d->logits[i]) && d->logits[i] < least) least = d->logits[i];
	}
	for (size_t i = 0; i < offered->count; i++)
		if (!isfinite(d->logits[i])) d->logits[i] = isfinite(least) ? least : 0;
}

/* Chooses the k likeliest and those as likely as the last of them. */
static size_t choose_likeliest(struct slots_drawer *d, size_t count, uint32_t k) {
	for (size_t i = 0; i < count; i++) {
		const float most = 16384, logit = d->logits[i]; /* 2^26 units */
		d->fixed[i] = (int32_t)lrintf(fmaxf(-most, fminf(most, logit)) * 4096);
	}
	return dp_topk(d->fixed, NULL, count, k, 1, 0, d->heap, d->chosen);
}

/* One of the weights that may be kept, for sorting. */
struct weighed {
	uint64_t weight;
	size_t index;
};

static int compare_weighed(const void *one, const void *other) {
	const struct weighed *a = one, *b = other;
	if (a->weight != b->weight) return a->weight < b->weight ? 1 : -1;
	return a->index < b->index ? -1 : 1;
}

/* Sets to 0 the weights of all but the likeliest tokens that together have the share p. All of a
 * weight below (1 - p) / n have less than 1 - p together, so only the others are sorted. */
static void cut_tail(struct slots_drawer *d, size_t n, double p) {
	const double whole = 0x1p46, floor = (1 - p) * whole / (double)n;
	struct weighed *const sorted = malloc(n * sizeof *sorted);
	if (!sorted) return;
	size_t count = 0;
	for (size_t i = 0; i < n; i++)
		if ((double)d->law[i] >= floor) sorted[count++] = (struct weighed){d->law[i], i};
	qsort(sorted, count, sizeof *sorted, compare_weighed);
	for (size_t i = 0; i < n; i++) d->weights[i] = (struct dp_wide){0};
	double sum = 0;
	for (size_t i = 0; i < count && (i == 0 || sum < p * whole); i++) {
		sum += (double)sorted[i].weight;
		d->weights[sorted[i].index] = (struct dp_wide){.low = sorted[i].weight};
	}
	free(sorted);
}

static size_t find_likeliest_logit(const struct slots_drawer *d, size_t count) {
	size_t best = 0;
	for (size_t i = 1; i < count; i++)
		if (d->logits[i] > d->logits[best]) best = i;
	return best;
}

enum dp_status slots_draw(struct slots_drawer *d, const struct slots_rule *rule, const float *row,
                          const uint8_t *allowed, const struct dp_random *random, int32_t *token) {
	const struct offered offered = offer_tokens(d, allowed);
	take_logits(d, &offered, row);
	if (!rule->drawn) {
		*token = offered.tokens[find_likeliest_logit(d, offered.count)];
		return DP_OK;
	}
	const size_t n = choose_likeliest(d, offered.count, rule->top_k);
	for (size_t i = 0; i < n; i++) d->kept[i] = d->logits[d->chosen[i]];
	// All logits are finite here, so a law comes out.
	(void)dp_rowlaw_make(&rule->rowlaw, d->kept, n, d->law);
	for (size_t i = 0; i < n; i++) d->weights[i] = (struct dp_wide){.low = d->law[i]};
	if (rule->top_p < 1) cut_tail(d, n, rule->top_p);
	size_t index;
	const enum dp_status status = dp_draw(d->weights, n, random, &index);
	if (!status) *token = offered.tokens[d->chosen[index]];
	return status;
}
