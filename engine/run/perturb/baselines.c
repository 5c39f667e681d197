// SPDX-License-Identifier: Apache-2.0
// baselines.c: see baselines.h. baselines_new makes what is public:
//   measure_spreads, fit_scale  RANTEXT: how wide each coordinate is; Z, by bisection over a
//                               sample of radii
//   mark_sensitive              SANTEXT+: which words are always replaced
//   choose_sets, copy_stop_words  CUSTEXT: sets of K words; words that stay
// baselines_draw then draws one place: restrict_support and laws.h give weights, dp_draw draws.
#include "engine/run/perturb/baselines.h"

#include "base/misuse.h"
#include "dp/draw.h"
#include "engine/run/plan/seeded.h"
#include "engine/status.h"
#include "engine/words/laws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK = 32,           /* words whose cosines are computed at once */
	SAMPLE = 512,         /* words from which fit_scale measures distances */
	DISTANCE_BINS = 4096, /* of its histogram, over 0 .. 2 */
	BISECTIONS = 100,
};
#define DISTANCE_MOST 2.0 /* between two vectors of length one */

static bool is_custext(const struct baselines *b) {
	return b->method == CUTTLE_CUSTEXT || b->method == CUTTLE_CUSTEXT_PLUS;
}

/* ---- what is public -------------------------------------------------------------------------- */

/* Room for the vectors of a block of words and their cosines with all words. */
struct word_block {
	float *vectors; /* [BLOCK][d] */
	float *cosines; /* [BLOCK][V] */
};

static enum cuttle_status allocate_block(const struct baselines *b, struct word_block *block,
                                         struct cuttle_error *error) {
	block->vectors = calloc(BLOCK * b->width, sizeof *block->vectors);
	block->cosines = calloc(BLOCK * b->count, sizeof *block->cosines);
	if (block->vectors && block->cosines) return CUTTLE_OK;
	return status_fail(error, CUTTLE_NOMEM, "out of memory");
}

static void free_block(struct word_block *block) {
	free(block->vectors);
	free(block->cosines);
}

/* Cosines of the words ids[0 .. count-1], at most BLOCK, with all words. */
static void fill_block(const struct baselines *b, const uint32_t *ids, size_t count,
                       struct word_block *block) {
	for (size_t i = 0; i < count; i++)
		cuttle_words_row(b->words, ids[i], block->vectors + i * b->width);
	cuttle_words_cosines(b->words, block->vectors, count, block->cosines);
}

static enum cuttle_status measure_spreads(struct baselines *b, struct cuttle_error *error) {
	float *least = malloc(b->width * sizeof *least), *most = malloc(b->width * sizeof *most),
	      *vector = malloc(b->width * sizeof *vector);
	b->spreads = calloc(b->width, sizeof *b->spreads);
	enum cuttle_status status = CUTTLE_OK;
	double widest = 0;
	if (!least || !most || !vector || !b->spreads) {
		status = status_fail(error, CUTTLE_NOMEM, "out of memory");
	} else {
		for (size_t id = 0; id < b->count; id++) {
			cuttle_words_row(b->words, id, vector);
			for (size_t i = 0; i < b->width; i++) {
				least[i] = id ? fminf(least[i], vector[i]) : vector[i];
				most[i] = id ? fmaxf(most[i], vector[i]) : vector[i];
			}
		}
		for (size_t i = 0; i < b->width; i++) {
			b->spreads[i] = (double)most[i] - least[i];
			if (b->spreads[i] > widest) widest = b->spreads[i];
		}
		if (widest == 0)
			status = status_fail(error, CUTTLE_USAGE,
			                     "all words have the same vector: RANTEXT has no "
			                     "radius for them");
	}
	free(least);
	free(most);
	free(vector);
	return status;
}

/* histogram[j]: how many pairs of a sampled word and any word are at a distance of bin j. The
 * sample is every word, or SAMPLE of them at equal steps of the id. */
static enum cuttle_status count_distances(const struct baselines *b,
                                          uint64_t histogram[DISTANCE_BINS],
                                          struct cuttle_error *error) {
	struct word_block block;
	double *distances = calloc(b->count, sizeof *distances);
	enum cuttle_status status = allocate_block(b, &block, error);
	if (!status && !distances) status = status_fail(error, CUTTLE_NOMEM, "out of memory");
	const size_t sample = b->count < SAMPLE ? b->count : SAMPLE;
	for (size_t first = 0; !status && first < sample; first += BLOCK) {
		const size_t count = sample - first < BLOCK ? sample - first : BLOCK;
		uint32_t ids[BLOCK];
		for (size_t i = 0; i < count; i++)
			ids[i] = (uint32_t)((first + i) * b->count / sample);
		fill_block(b, ids, count, &block);
		for (size_t i = 0; i < count; i++) {
			baselines_distances(block.cosines + i * b->count, b->count, ids[i],
			                    distances);
			for (size_t y = 0; y < b->count; y++) {
				const size_t bin =
				    (size_t)(distances[y] / DISTANCE_MOST * DISTANCE_BINS);
				histogram[bin < DISTANCE_BINS ? bin : DISTANCE_BINS - 1]++;
			}
		}
	}
	free_block(&block);
	free(distances);
	return status;
}

static int compare_numbers(const void *a, const void *b) {
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Radii for the scale 1, by numbers that are the same in every run. */
static enum cuttle_status sample_radii(struct baselines *b, struct cuttle_error *error) {
	struct seeded seeded = {.seed = 0};
	const struct dp_random random = seeded_random(&seeded);
	uint64_t *bits = calloc(b->width, sizeof *bits);
	b->radii = calloc(BASELINES_RADII, sizeof *b->radii);
	enum cuttle_status status = CUTTLE_OK;
	if (!bits || !b->radii) status = status_fail(error, CUTTLE_NOMEM, "out of memory");
	for (size_t i = 0; !status && i < BASELINES_RADII; i++) {
		(void)random.fill(random.user, bits, b->width * sizeof *bits);
		b->radii[i] = laws_rantext_radius(b->spreads, 1, bits, b->width);
	}
	free(bits);
	if (!status) qsort(b->radii, BASELINES_RADII, sizeof *b->radii, compare_numbers);
	return status;
}

/* The mean share of the words that are in a list, over the radii divided by `scale`. shares[j]: of
 * the pairs, those below the upper end of bin j. */
static double mean_share(const struct baselines *b, double scale,
                         const double shares[DISTANCE_BINS]) {
	double sum = 0;
	for (size_t i = 0; i < BASELINES_RADII; i++) {
		const double place = b->radii[i] / scale / DISTANCE_MOST * DISTANCE_BINS;
		const size_t bin = place < DISTANCE_BINS ? (size_t)place : DISTANCE_BINS - 1;
		const double below = bin ? shares[bin - 1] : 0, part = fmin(place - (double)bin, 1);
		sum += below + (shares[bin] - below) * part;
	}
	return sum / BASELINES_RADII;
}

/* Finds Z by bisection of its logarithm: a larger Z makes smaller lists. */
static enum cuttle_status fit_scale(struct baselines *b, double share, struct cuttle_error *error) {
	uint64_t histogram[DISTANCE_BINS] = {0};
	double shares[DISTANCE_BINS];
	const enum cuttle_status status = count_distances(b, histogram, error);
	if (status) return status;
	uint64_t all = 0, below = 0;
	for (size_t j = 0; j < DISTANCE_BINS; j++) all += histogram[j];
	for (size_t j = 0; j < DISTANCE_BINS; j++)
		shares[j] = (double)(below += histogram[j]) / (double)all;
	double low = log(1e-6), high = log(1e6);
	for (int i = 0; i < BISECTIONS; i++) {
		const double middle = (low + high) / 2;
		if (mean_share(b, exp(middle), shares) > share) low = middle;
		else high = middle;
	}
	b->scale = exp((low + high) / 2);
	return CUTTLE_OK;
}

static enum cuttle_status prepare_rantext(struct baselines *b,
                                          const struct cuttle_perturb_params *p,
                                          struct cuttle_error *error) {
	if (!p->paper_radius && !(p->list_share > 0 && p->list_share < 1))
		return status_fail(error, CUTTLE_USAGE, "a list share of %g is not between 0 and 1",
		                   p->list_share);
	enum cuttle_status status = measure_spreads(b, error);
	if (!status) status = sample_radii(b, error);
	if (status) return status;
	if (!p->paper_radius) return fit_scale(b, p->list_share, error);
	b->scale = laws_rantext_scale(b->epsilon);
	return CUTTLE_OK;
}

static enum cuttle_status mark_sensitive(struct baselines *b, const struct cuttle_perturb_params *p,
                                         struct cuttle_error *error) {
	if (!(p->keep_share >= 0 && p->keep_share <= 1))
		return status_fail(error, CUTTLE_USAGE, "a keep share of %g is outside 0..1",
		                   p->keep_share);
	b->keep = (uint64_t)(p->keep_share * 0x1p40 + .5);
	if (!(b->sensitive = calloc(b->count, sizeof *b->sensitive)))
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	size_t marked = 0;
	for (size_t i = 0; i < p->sensitive_count; i++) {
		const char *word = p->sensitive[i];
		const int32_t id = cuttle_words_find(b->words, word, strlen(word));
		if (id >= 0) marked += !b->sensitive[id]++;
	}
	if (marked == 0)
		return status_fail(error, CUTTLE_USAGE,
		                   "santext+ needs a list of sensitive words, and at least one of "
		                   "them among the %zu words",
		                   b->count);
	return CUTTLE_OK;
}

static int compare_words(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum cuttle_status copy_stop_words(struct baselines *b,
                                          const struct cuttle_perturb_params *p,
                                          struct cuttle_error *error) {
	if (!(b->stop_words = calloc(p->stop_word_count + 1, sizeof *b->stop_words)))
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	for (; b->stop_word_count < p->stop_word_count; b->stop_word_count++)
		if (!(b->stop_words[b->stop_word_count] =
		          strdup(p->stop_words[b->stop_word_count])))
			return status_fail(error, CUTTLE_NOMEM, "out of memory");
	qsort(b->stop_words, b->stop_word_count, sizeof *b->stop_words, compare_words);
	return CUTTLE_OK;
}

/* Takes the sets that stand in `words`, or makes them where those have another size. */
static enum cuttle_status choose_sets(struct baselines *b, size_t size,
                                      struct cuttle_error *error) {
	if (size < 2 || size > b->count)
		return status_fail(error, CUTTLE_USAGE,
		                   "sets of %zu words are outside 2..%zu, the number of words",
		                   size, b->count);
	if (!(b->sets = malloc(b->count * sizeof *b->sets)))
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	size_t given_size = 0;
	const uint32_t *given = cuttle_words_sets(b->words, &given_size);
	if (!given || given_size != size)
		return cuttle_words_partition(b->words, size, b->sets, error);
	memcpy(b->sets, given, b->count * sizeof *b->sets);
	return CUTTLE_OK;
}

static enum cuttle_status allocate_scratch(struct baselines *b, struct cuttle_error *error) {
	const size_t integers = b->count > CUTTLE_OUTPUT_NUMBERS ? b->count : CUTTLE_OUTPUT_NUMBERS;
	b->scratch_size = integers * sizeof *b->integers +
	                  b->count * (sizeof *b->distances + sizeof *b->weights) +
	                  b->width * sizeof *b->bits;
	if (!(b->scratch = calloc(1, b->scratch_size)))
		return status_fail(error, CUTTLE_NOMEM, "out of memory");
	b->integers = (struct dp_wide *)b->scratch;
	b->distances = (double *)(b->integers + integers);
	b->weights = b->distances + b->count;
	b->bits = (uint64_t *)(b->weights + b->count);
	return CUTTLE_OK;
}

enum cuttle_status baselines_new(const struct cuttle_words *words,
                                 const struct cuttle_perturb_params *p,
                                 struct baselines **baselines, struct cuttle_error *error) {
	struct baselines *b = calloc(1, sizeof *b);
	*baselines = b;
	if (!b) return status_fail(error, CUTTLE_NOMEM, "out of memory");
	b->words = words;
	b->method = p->method;
	b->epsilon = (double)p->epsilon_millionths / 1e6;
	b->count = cuttle_words_count(words);
	b->width = cuttle_words_width(words);
	enum cuttle_status status = allocate_scratch(b, error);
	if (!status && b->method == CUTTLE_RANTEXT) status = prepare_rantext(b, p, error);
	if (!status && b->method == CUTTLE_SANTEXT_PLUS) status = mark_sensitive(b, p, error);
	if (!status && b->method == CUTTLE_CUSTEXT_PLUS) status = copy_stop_words(b, p, error);
	if (!status && is_custext(b)) status = choose_sets(b, p->set_size, error);
	if (status) baselines_free(baselines);
	return status;
}

void baselines_free(struct baselines **baselines) {
	struct baselines *b = *baselines;
	*baselines = NULL;
	if (!b) return;
	for (size_t i = 0; i < b->stop_word_count; i++) free(b->stop_words[i]);
	free(b->stop_words);
	free(b->spreads);
	free(b->radii);
	free(b->sensitive);
	free(b->sets);
	free(b->scratch);
	free(b);
}

/* ---- one place ------------------------------------------------------------------------------- */

void baselines_distances(const float *cosines, size_t count, uint32_t own, double *distances) {
	for (size_t y = 0; y < count; y++) distances[y] = sqrt(fmax(0, 2 - 2 * (double)cosines[y]));
	distances[own] = 0;
}

/* Makes the distances outside the support of word `id` infinite and returns the slope. */
static double restrict_support(const struct baselines *b, uint32_t id, double radius,
                               double *distances) {
	switch (b->method) {
	case CUTTLE_RANTEXT:
		return laws_rantext_slope(b->epsilon, radius, distances, b->count);
	case CUTTLE_SANTEXT_PLUS:
		for (size_t y = 0; y < b->count; y++)
			if (!b->sensitive[y]) distances[y] = INFINITY;
		break;
	case CUTTLE_CUSTEXT:
	case CUTTLE_CUSTEXT_PLUS:
		for (size_t y = 0; y < b->count; y++)
			if (b->sets[y] != b->sets[id]) distances[y] = INFINITY;
		return laws_custext_slope(b->epsilon, distances, b->count);
	default:
		break;
	}
	return laws_santext_slope(b->epsilon);
}

/* The integers of word `id`, from its distances, which it changes. */
static void weigh_outputs(struct baselines *b, uint32_t id, double radius, double *distances) {
	const double slope = restrict_support(b, id, radius, distances);
	laws_weights(slope, distances, b->count, b->weights);
	for (size_t y = 0; y < b->count; y++)
		b->integers[y] = (struct dp_wide){laws_integer(b->weights[y]), 0};
}

/* How likely word `id` goes out as it is without a draw, in units of 2^-40. */
static uint64_t keep_weight(const struct baselines *b, uint32_t id) {
	return b->method == CUTTLE_SANTEXT_PLUS && !b->sensitive[id] ? b->keep : 0;
}

void baselines_law(struct baselines *b, uint32_t id, double radius, double *distances,
                   double *law) {
	weigh_outputs(b, id, radius, distances);
	const double keep = (double)keep_weight(b, id) * 0x1p-40;
	double total = 0;
	for (size_t y = 0; y < b->count; y++) total += (double)(uint64_t)b->integers[y].low;
	for (size_t y = 0; y < b->count; y++)
		law[y] = (1 - keep) * ((double)(uint64_t)b->integers[y].low / total);
	law[id] += keep;
}

/* Draws uniformly from 0 .. count-1, or from the sensitive words alone. */
static enum dp_status draw_evenly(struct baselines *b, size_t count, const uint8_t *among,
                                  const struct dp_random *random, size_t *drawn) {
	for (size_t y = 0; y < count; y++)
		b->integers[y] = (struct dp_wide){among ? among[y] : 1, 0};
	return dp_draw(b->integers, count, random, drawn);
}

static bool is_stop_word(const struct baselines *b, const struct cuttle_place *place) {
	size_t low = 0, high = b->stop_word_count;
	while (low < high) {
		const size_t middle = (low + high) / 2, length = strlen(b->stop_words[middle]);
		int order = memcmp(place->word, b->stop_words[middle],
		                   place->size < length ? place->size : length);
		if (order == 0) order = (place->size > length) - (place->size < length);
		if (order == 0) return true;
		if (order < 0) high = middle;
		else low = middle + 1;
	}
	return false;
}

/* A word that `words` does not know. */
static enum dp_status draw_unknown(struct baselines *b, const struct dp_random *random,
                                   size_t *drawn) {
	switch (b->method) {
	case CUTTLE_RANTEXT:
		*drawn = b->count + CUTTLE_OUTPUT_DROPPED;
		return DP_OK;
	case CUTTLE_CUSTEXT_PLUS:
		*drawn = b->count + CUTTLE_OUTPUT_KEPT;
		return DP_OK;
	default:
		return draw_evenly(b, b->count, b->sensitive, random, drawn);
	}
}

static enum dp_status draw_known(struct baselines *b, uint32_t id, const float *cosines,
                                 const struct dp_random *random, size_t *drawn) {
	const uint64_t keep = keep_weight(b, id);
	if (keep) {
		const struct dp_wide coin[] = {{keep, 0}, {(UINT64_C(1) << 40) - keep, 0}};
		size_t side = 0;
		const enum dp_status status = dp_draw(coin, 2, random, &side);
		*drawn = id;
		if (status || side == 0) return status;
	}
	double radius = 0;
	if (b->method == CUTTLE_RANTEXT) {
		const enum dp_status status =
		    random->fill(random->user, b->bits, b->width * sizeof *b->bits);
		if (status) return status;
		radius = laws_rantext_radius(b->spreads, b->scale, b->bits, b->width);
	}
	baselines_distances(cosines, b->count, id, b->distances);
	weigh_outputs(b, id, radius, b->distances);
	return dp_draw(b->integers, b->count, random, drawn);
}

static enum dp_status draw_word(struct baselines *b, const struct cuttle_place *place,
                                const float *cosines, const struct dp_random *random,
                                size_t *drawn) {
	const int32_t id = cuttle_words_find(b->words, place->word, place->size);
	if (b->method == CUTTLE_CUSTEXT_PLUS && is_stop_word(b, place)) {
		*drawn = id < 0 ? b->count + CUTTLE_OUTPUT_KEPT : (size_t)id;
		return DP_OK;
	}
	if (id < 0) return draw_unknown(b, random, drawn);
	return draw_known(b, (uint32_t)id, cosines, random, drawn);
}

enum dp_status baselines_draw(struct baselines *b, const struct cuttle_place *place,
                              const float *cosines, const struct dp_random *random, int32_t *id) {
	size_t drawn = 0;
	enum dp_status status;
	switch (place->kind) {
	case CUTTLE_PLACE_WORD:
		status = draw_word(b, place, cosines, random, &drawn);
		break;
	case CUTTLE_PLACE_NUMBER:
		status = draw_evenly(b, CUTTLE_OUTPUT_NUMBERS, NULL, random, &drawn);
		drawn += b->count;
		break;
	default:
		status = draw_evenly(b, b->count, NULL, random, &drawn);
		break;
	}
	if (!status) *id = (int32_t)drawn;
	explicit_bzero(&drawn, sizeof drawn);
	return status;
}

void baselines_wipe(struct baselines *b) {
	explicit_bzero(b->scratch, b->scratch_size);
}
