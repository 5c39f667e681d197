// SPDX-License-Identifier: Apache-2.0
// recipe.h: how many texts, rows and shots make texts say what all records say.
//
// All that the references together can do to a token is x = gain x clip / temperature, in nats. Few
// texts with many records each have a large x, and cuttle expand then writes more of them for
// nothing. From x = 12 on texts took up a style that no public example had (bench/SPENDING.md, a
// table and no theorem). The numbers follow from public ones: how many records there are, and the
// plan.
// Example: 4000 records, epsilon 3, T = 40, temperature 0.7: 4 texts of 117 rows with 8 records
// each.
#ifndef CUTTLE_TOOLS_COMMON_RECIPE_H
#define CUTTLE_TOOLS_COMMON_RECIPE_H

#include "engine/cuttle/budget.h"
#include "engine/cuttle/lots.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum {
	RECIPE_LEAST = 8, /* records: one row */
	RECIPE_GRID = 32  /* points per eta of the exact accountant: the clip is within 0.1 % */
};
#define RECIPE_STRONG 12.0 /* nats; from here on the style of all records is taken up */

struct recipe {
	uint32_t texts; /* N */
	uint32_t batch; /* B, rows of a text */
	uint32_t shots; /* R, records of a row */
	double reach;   /* x, in nats */
};

/* Finds the most texts, up to 8, that still have x = 12, and the fewest rows with which they do, by
 * exact composition and with lots; else one text of all records. False: fewer than RECIPE_LEAST, or
 * the numbers are out of range. */
bool recipe_find(uint64_t records, double epsilon, double delta, uint32_t tokens,
                 double temperature, struct recipe *recipe);

/* Turns epsilon and delta of a run into those of a batch, where the run uses these lots. False:
 * they are out of range. */
bool recipe_of_batch(const struct cuttle_lots *lots, struct cuttle_budget *budget);

/* Prints it as options of cuttle generate. */
void recipe_print(FILE *file, const struct recipe *recipe);

#endif
