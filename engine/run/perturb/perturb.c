// SPDX-License-Identifier: Apache-2.0
// perturb.c: from places to output ids, see engine/cuttle/perturb.h.
// Method rank keeps the order of the proof (dp/PRIVACY.md, Theorem R): draw_ranks draws for every
// place of a call, the same bits for all; only then look_at_block reads words, a block at a time.
#include "engine/run/perturb/perturb.h"

#include "base/misuse.h"
#include "dp/draw.h"
#include "engine/cuttle/perturb_budget.h"
#include "engine/params.h"
#include "engine/status.h"
#include "engine/words/words.h"
#include "kernels/kernels.h"

#include <stdlib.h>
#include <string.h>

/* What one place of method rank draws. */
struct place_draw {
	struct dp_rank_drawn drawn;
	uint32_t number; /* 0 .. 999; used by a CUTTLE_PLACE_NUMBER */
};

void cuttle_perturb_params_default(struct cuttle_perturb_params *params) {
	*params = (struct cuttle_perturb_params){.struct_size = sizeof *params,
	                                         .method = CUTTLE_RANK,
	                                         .epsilon_millionths = 6000000,
	                                         .table = CUTTLE_STEP,
	                                         .near = 20,
	                                         .list_share = .1,
	                                         .keep_share = .7,
	                                         .set_size = 20};
}

static enum cuttle_status make_rank(struct cuttle_perturber *p, struct cuttle_error *error) {
	const struct dp_rank_params wanted = {
	    .shape = p->params.table == CUTTLE_STEP ? DP_RANK_STEP : DP_RANK_ENVELOPE,
	    .words = (uint32_t)p->count,
	    .near = p->params.near,
	    .epsilon_millionths = p->params.epsilon_millionths,
	    .random = p->random};
	const enum dp_status status = dp_rank_new(&wanted, &p->rank);
	if (status == DP_OK) return CUTTLE_OK;
	return status_fail(error, status == DP_NO_MEMORY ? CUTTLE_NOMEM : CUTTLE_INTERNAL, "%s",
	                   dp_status_text(status));
}

static enum cuttle_status take_scratch(struct cuttle_perturber *p, struct cuttle_error *error) {
	const size_t vectors = PERTURB_BLOCK * p->width, cosines = PERTURB_BLOCK * p->count,
	             keys = threads_count(p->words->threads) * p->count;
	p->scratch_size =
	    vectors * sizeof *p->vectors + cosines * sizeof *p->cosines + keys * sizeof *p->keys;
	if (!(p->scratch = calloc(1, p->scratch_size)))
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	p->vectors = (float *)p->scratch;
	p->keys = (int32_t *)(p->vectors + vectors);
	p->cosines = (float *)(p->keys + keys);
	return CUTTLE_OK;
}

enum cuttle_status cuttle_perturber_make(const struct cuttle_words *words,
                                         struct cuttle_model *model,
                                         const struct cuttle_perturb_params *params,
                                         struct cuttle_perturber **perturber,
                                         struct cuttle_error *error) {
	REQUIRE(words && params && perturber);
	*perturber = NULL;
	struct cuttle_perturb_params taken;
	struct cuttle_perturb_guarantee guarantee;
	cuttle_perturb_params_default(&taken);
	enum cuttle_status status =
	    params_take(&taken, sizeof taken, params, "cuttle_perturb_params", error);
	const size_t count = cuttle_words_count(words);
	if (!status) status = cuttle_perturb_budget(&taken, (uint32_t)count, 0, &guarantee, error);
	if (status) return status;
	struct cuttle_perturber *p = calloc(1, sizeof *p);
	if (!p) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	p->words = words;
	p->model = model;
	p->params = taken;
	p->params.sensitive = NULL;
	p->params.stop_words = NULL;
	p->count = count;
	p->width = cuttle_words_width(words);
	p->seeded = (struct seeded){.seed = taken.insecure_seed};
	p->random = taken.insecure ? seeded_random(&p->seeded) : dp_random_system();
	status = take_scratch(p, error);
	if (!status)
		status = taken.method == CUTTLE_RANK
		             ? make_rank(p, error)
		             : baselines_new(words, &taken, &p->baselines, error);
	if (status) cuttle_perturber_free(&p);
	*perturber = p;
	return status;
}

void cuttle_perturber_free(struct cuttle_perturber **perturber) {
	struct cuttle_perturber *p = *perturber;
	*perturber = NULL;
	if (!p) return;
	dp_rank_free(&p->rank);
	baselines_free(&p->baselines);
	free(p->scratch);
	free(p);
}

enum cuttle_status cuttle_perturber_describe(const struct cuttle_perturber *p,
                                             uint32_t record_words,
                                             struct cuttle_perturb_guarantee *guarantee,
                                             struct cuttle_error *error) {
	const enum cuttle_status status =
	    cuttle_perturb_budget(&p->params, (uint32_t)p->count, record_words, guarantee, error);
	if (!status && p->params.method == CUTTLE_RANTEXT)
		guarantee->list_scale = p->baselines->scale;
	return status;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* An insecure perturber's next draws are a function of text and place. */
static void seek_place(struct cuttle_perturber *p, uint64_t text, uint64_t place) {
	p->seeded.text = text;
	p->seeded.step = place;
	p->seeded.counter = 0;
}

/* Draws for all places, before any is looked at. */
static enum dp_status draw_ranks(struct cuttle_perturber *p, uint64_t text, uint64_t first,
                                 size_t count, struct place_draw *draws) {
	enum dp_status status = DP_OK;
	for (size_t i = 0; i < count && !status; i++) {
		seek_place(p, text, first + i);
		status = dp_rank_draw(p->rank, &draws[i].drawn);
		if (!status)
			status = dp_draw_below(CUTTLE_OUTPUT_NUMBERS, &p->random, &draws[i].number);
	}
	return status;
}

/* Fills vectors and cosines of at most PERTURB_BLOCK places; known[i]: place i has a vector. */
static void look_at_block(struct cuttle_perturber *p, const struct cuttle_place *places,
                          size_t count, bool known[PERTURB_BLOCK]) {
	memset(p->vectors, 0, count * p->width * sizeof *p->vectors);
	for (size_t i = 0; i < count; i++)
		known[i] = places[i].kind == CUTTLE_PLACE_WORD &&
		           cuttle_words_vector(p->words, p->model, places[i].word, places[i].size,
		                               p->vectors + i * p->width);
	cuttle_words_cosines(p->words, p->vectors, count, p->cosines);
}

struct ranked_block {
	const struct cuttle_perturber *perturber;
	const struct cuttle_place *places;
	const struct place_draw *draws;
	int32_t *ids;
	bool known[PERTURB_BLOCK]; /* the place has a vector */
};

/* Place `index` of the block: its keys, and the id at its rank. Its cosines are wiped here, while
 * they are in the cache and by the worker that read them. */
static void rank_place(void *context, size_t index, unsigned worker) {
	struct ranked_block *block = context;
	const struct cuttle_perturber *p = block->perturber;
	int32_t *keys = p->keys + worker * p->count;
	float *cosines = p->cosines + index * p->count;
	kernels_get()->cosine_keys(cosines, p->count, keys);
	explicit_bzero(cosines, p->count * sizeof *cosines);
	uint32_t id =
	    dp_rank_output(p->rank, &block->draws[index].drawn, block->known[index] ? keys : NULL);
	if (block->places[index].kind == CUTTLE_PLACE_NUMBER)
		id = (uint32_t)p->count + block->draws[index].number;
	block->ids[index] = (int32_t)id;
}

static enum dp_status perturb_by_rank(struct cuttle_perturber *p, uint64_t text, uint64_t first,
                                      const struct cuttle_place *places, size_t count, int32_t *ids,
                                      struct place_draw *draws) {
	const enum dp_status status = draw_ranks(p, text, first, count, draws);
	if (status) return status;
	for (size_t i = 0; i < count; i += PERTURB_BLOCK) {
		const size_t size = count - i < PERTURB_BLOCK ? count - i : PERTURB_BLOCK;
		struct ranked_block block = {p, places + i, draws + i, ids + i, {false}};
		look_at_block(p, places + i, size, block.known);
		threads_run(p->words->threads, size, rank_place, &block);
		explicit_bzero(&block, sizeof block);
	}
	return DP_OK;
}

static enum dp_status perturb_by_baseline(struct cuttle_perturber *p, uint64_t text, uint64_t first,
                                          const struct cuttle_place *places, size_t count,
                                          int32_t *ids) {
	bool known[PERTURB_BLOCK];
	enum dp_status status = DP_OK;
	for (size_t i = 0; i < count && !status; i++) {
		const size_t within = i % PERTURB_BLOCK, left = count - i;
		if (within == 0)
			look_at_block(p, places + i, left < PERTURB_BLOCK ? left : PERTURB_BLOCK,
			              known);
		seek_place(p, text, first + i);
		status = baselines_draw(p->baselines, &places[i], p->cosines + within * p->count,
		                        &p->random, &ids[i]);
	}
	explicit_bzero(known, sizeof known);
	baselines_wipe(p->baselines);
	return status;
}

enum cuttle_status cuttle_perturb(struct cuttle_perturber *p, uint64_t text, uint64_t first,
                                  const struct cuttle_place *places, size_t count, int32_t *ids,
                                  struct cuttle_error *error) {
	REQUIRE(p && (places || !count) && (ids || !count));
	enum dp_status status;
	if (p->baselines) {
		status = perturb_by_baseline(p, text, first, places, count, ids);
	} else {
		struct place_draw *draws = calloc(count + 1, sizeof *draws);
		if (!draws) return status_fail(error, CUTTLE_NOMEM, "out of memory");
		status = perturb_by_rank(p, text, first, places, count, ids, draws);
		explicit_bzero(draws, count * sizeof *draws);
		free(draws);
	}
	const size_t cosines_at = (size_t)((unsigned char *)p->cosines - p->scratch);
	explicit_bzero(p->scratch, p->baselines ? p->scratch_size : cosines_at);
	return status ? status_fail(error, CUTTLE_INTERNAL, "%s", dp_status_text(status))
	              : CUTTLE_OK;
}
