// SPDX-License-Identifier: Apache-2.0
// lot_choice.h: whether a run has lots, and how many batches its records make.
//
// It decides before the plan is made. Of the input it learns how many records there are, in all or
// of each declared category. These numbers are public, and nothing else is kept. Lots are drawn
// later (io/records/lots.h).
// Example: 1500 records, 15 a text and 20 texts are 100 batches, of which 20 are used: q = 0.2.
#ifndef CUTTLE_WORKFLOW_LOT_CHOICE_H
#define CUTTLE_WORKFLOW_LOT_CHOICE_H

#include "engine/cuttle/lots.h"
#include "io/records/categories.h"
#include "io/schema/schema.h"
#include "workflow/request.h"

struct lot_choice {
	struct cuttle_lots *all; /* [count] of each category, or of the whole file; owned */
	size_t count;            /* 0 = no lots */
	uint64_t records;        /* of the input */
	uint64_t batches;        /* that they make together, lots or not; 0 = nobody counted */
};

/* Counts and decides. params are the plan's, but for its lots. schema is the records', NULL = none.
 * Lots need a file that can be read twice, records that are units, and enough of them. Where one
 * lacks, AUTO is no lots. So it is for an epsilon for which they do not pay, or a file that cannot
 * be read: that is said later. ON is then USAGE, but for too few records: places_make says so.
 * Private categories always have lots: then `categories` is empty, all records are one cluster, and
 * few of them are no error. The caller frees *choice by lot_choice_free in any case. Else as
 * secrecy_room and records_read. NOMEM. */
enum cuttle_status lot_choice_make(const struct generate_request *request,
                                   const struct categories *categories, size_t texts,
                                   const struct cuttle_plan_params *params,
                                   const struct schema *schema, struct lot_choice *choice,
                                   struct cuttle_error *error);
void lot_choice_free(struct lot_choice *choice);

#endif
