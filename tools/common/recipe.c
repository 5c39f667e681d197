// SPDX-License-Identifier: Apache-2.0
// See recipe.h. Each candidate asks the engine for its clip, as budget plan does.
#include "tools/common/recipe.h"

#include "engine/cuttle/budget.h"
#include "engine/cuttle/lots.h"
#include <inttypes.h>
#include <math.h>

enum {
	SHOTS = 8,       /* what was measured best at equal records: 4 and 16 are behind */
	MOST_TEXTS = 32, /* more seeds say nothing that these do not */
	MOST_BATCH = 4096,
	GRID = 32 /* points of the accountant: the clip is within 0.1 % */
};
#define STRONG 12.0 /* nats; from here on the style of all records is taken up */

/* x of a text with so many rows, where `texts` of `batches` are used. NaN: out of range. */
static double find_reach(struct cuttle_lots lots, uint32_t batch, double epsilon, double delta,
                         uint32_t tokens, double temperature) {
	struct cuttle_budget budget;
	double known;
	cuttle_budget_none(&budget);
	budget.epsilon = epsilon;
	budget.delta = delta;
	budget.temperature = temperature;
	budget.batch = batch;
	budget.tokens = tokens;
	budget.accountant = CUTTLE_EXACT;
	budget.grid = GRID;
	double each = delta;
	if (lots.used < lots.batches &&
	    (cuttle_amplify(lots.used, lots.batches, true, &budget.epsilon, &each, NULL) ||
	     cuttle_lots_delta(&lots, 1, delta, &budget.delta, &known, NULL)))
		return NAN;
	return cuttle_budget_solve(&budget, CUTTLE_CLIP, NULL) ? NAN : budget.clip / temperature;
}

/* One arrangement: all records, or the half of them that lots use. */
static bool try_recipe(uint64_t records, uint32_t texts, bool half, double epsilon, double delta,
                       uint32_t tokens, double temperature, struct recipe *recipe) {
	const uint64_t rows = records / SHOTS, batches = half ? 2 * (uint64_t)texts : texts,
	               batch = rows / batches;
	if (!batch) return false;
	const uint32_t most = batch < MOST_BATCH ? (uint32_t)batch : MOST_BATCH;
	const struct cuttle_lots lots = {
	    .records = rows, .batches = half ? (rows + most - 1) / most : texts, .used = texts};
	const double reach = find_reach(lots, most, epsilon, delta, tokens, temperature);
	*recipe = (struct recipe){.texts = texts, .batch = most, .shots = SHOTS, .reach = reach};
	return !isnan(reach);
}

bool recipe_find(uint64_t records, double epsilon, double delta, uint32_t tokens,
                 double temperature, struct recipe *recipe) {
	for (uint32_t texts = MOST_TEXTS; texts; texts /= 2)
		// Half of the rows are half of the time, so lots come first.
		for (int half = 1; half >= 0; half--)
			if (try_recipe(records, texts, half, epsilon, delta, tokens, temperature,
			               recipe) &&
			    recipe->reach >= STRONG)
				return true;
	return try_recipe(records, 1, false, epsilon, delta, tokens, temperature, recipe);
}

void recipe_print(FILE *file, const struct recipe *recipe, double epsilon, uint32_t tokens,
                  double temperature) {
	fprintf(
	    file,
	    "cuttle generate -e %g -N %" PRIu32 " -B %" PRIu32 " --shots %" PRIu32 " -n %" PRIu32
	    " --temperature %g -k 0, then cuttle expand: gain x clip / temperature is %.3g. %s\n",
	    epsilon, recipe->texts, recipe->batch, recipe->shots, tokens, temperature,
	    recipe->reach,
	    recipe->reach >= STRONG ? "From 12 on texts took up the style of all records."
	                            : "Below 12 texts took up little of their style.");
}
