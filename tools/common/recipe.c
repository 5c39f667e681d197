// SPDX-License-Identifier: Apache-2.0
// See recipe.h. Each candidate asks the engine for its clip, as budget plan does.
#include "tools/common/recipe.h"

#include <inttypes.h>
#include <math.h>

enum {
	SHOTS = 8,      /* what was measured best at equal records: 4 and 16 are behind */
	MOST_TEXTS = 8, /* seeds of cuttle expand, whose prompts show four of them */
	MOST_BATCH = 4096
};

/* What a recipe is made for. */
struct recipe_plan {
	uint64_t rows; /* that the records make */
	double epsilon;
	double delta;
	uint32_t tokens;
	double temperature;
};

bool recipe_of_batch(const struct cuttle_lots *lots, struct cuttle_budget *budget) {
	double each = budget->delta, known;
	return !cuttle_amplify(lots->used, lots->batches, true, &budget->epsilon, &each, NULL) &&
	       !cuttle_lots_delta(lots, 1, budget->delta, &budget->delta, &known, NULL);
}

/* x of a text with so many rows, by lots where generate draws them on its own: where they leave out
 * half of the rows. NaN: out of range. */
static double find_reach(const struct recipe_plan *plan, uint32_t texts, uint32_t batch) {
	const struct cuttle_lots lots = {
	    .records = plan->rows, .batches = (plan->rows + batch - 1) / batch, .used = texts};
	struct cuttle_budget budget;
	cuttle_budget_none(&budget);
	budget.epsilon = plan->epsilon;
	budget.delta = plan->delta;
	budget.temperature = plan->temperature;
	budget.batch = batch;
	budget.tokens = plan->tokens;
	budget.accountant = CUTTLE_EXACT;
	budget.grid = RECIPE_GRID;
	if (2 * lots.used <= lots.batches && !recipe_of_batch(&lots, &budget)) return NAN;
	return cuttle_budget_solve(&budget, CUTTLE_CLIP, NULL) ? NAN
	                                                       : budget.clip / plan->temperature;
}

/* The fewest rows with which so many texts are strong, as x grows with them; else all rows there
 * are. */
static struct recipe find_rows(const struct recipe_plan *plan, uint32_t texts) {
	const uint64_t all = plan->rows / texts;
	uint32_t least = 1, most = all < MOST_BATCH ? (uint32_t)all : MOST_BATCH;
	double reach = find_reach(plan, texts, most);
	while (reach >= RECIPE_STRONG && least < most) {
		const uint32_t middle = least + (most - least) / 2;
		const double x = find_reach(plan, texts, middle);
		if (x >= RECIPE_STRONG) {
			most = middle;
			reach = x;
		} else least = middle + 1;
	}
	return (struct recipe){.texts = texts, .batch = most, .shots = SHOTS, .reach = reach};
}

bool recipe_find(uint64_t records, double epsilon, double delta, uint32_t tokens,
                 double temperature, struct recipe *recipe) {
	const struct recipe_plan plan = {records / SHOTS, epsilon, delta, tokens, temperature};
	uint32_t texts = MOST_TEXTS;
	while (texts > 1 && plan.rows < texts) texts /= 2;
	if (!plan.rows) return false;
	for (; texts; texts /= 2) {
		*recipe = find_rows(&plan, texts);
		if (recipe->reach >= RECIPE_STRONG) return true;
	}
	return !isnan(recipe->reach);
}

void recipe_print(FILE *file, const struct recipe *recipe) {
	fprintf(file, "-N %" PRIu32 " -B %" PRIu32 " --shots %" PRIu32 " -k 0", recipe->texts,
	        recipe->batch, recipe->shots);
}
