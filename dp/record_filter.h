// SPDX-License-Identifier: Apache-2.0
// record_filter.h: what each reference of a batch has cost so far, and what it may still cost.
//
// Each place has a budget of its own for a whole batch. The costs are functions of the private
// rows: PRIVATE. They are in this memory alone, and are wiped with it.
// How: a place that was drawn, and whose divergences of order alpha are at most
// ln(1 + bound) / (alpha - 1), multiplies what it has used by 1 + bound. It starts at 1 and may not
// pass e^((alpha-1) budget). Example: alpha 2, budget 0.5. It may reach 1.6487. After bounds of 0.2
// and 0.3 it has used 1.56, and the next bound may be 0.0568.
// Source: dp/PRIVACY.md, step 51; Feldman & Zrnic 2021 (arXiv 2008.11193).
// Rules: a slot is named before each step (dp/mechanism.h), as several batches take turns.
#ifndef CUTTLE_DP_RECORD_FILTER_H
#define CUTTLE_DP_RECORD_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dp_record_filter;

#define DP_FILTER_PLACES 4096 /* places of a batch, at most */

/* 1 .. DP_FILTER_PLACES places per batch. order and budget: (order - 1) budget lies in (0, 700].
 * cap is the largest bound of one step, positive. NULL: out of memory. */
struct dp_record_filter *dp_record_filter_new(uint32_t places, unsigned order, double budget,
                                              double cap);

/* Wipes and frees. NULL is allowed. */
void dp_record_filter_free(struct dp_record_filter *filter);

/* From now on it is about the batch in this slot, below DP_MECHANISM_SLOTS. fresh: it has drawn
 * nothing in this slot; what was used there before is forgotten. */
void dp_record_filter_turn(struct dp_record_filter *filter, uint32_t slot, bool fresh);

/* The batch has `spent` paid tokens. Those that this filter has not seen, of an earlier process,
 * count for every place, at the cap: which places they were drawn from is not known any more. */
void dp_record_filter_begin(struct dp_record_filter *filter, uint32_t spent);

/* A token of this batch is about to be paid. */
void dp_record_filter_step(struct dp_record_filter *filter);

/* The largest bound that the place may still have: 0 .. cap, rounded down. PRIVATE. */
double dp_record_filter_left(const struct dp_record_filter *filter, uint32_t place);

/* The place was drawn, with this bound. */
void dp_record_filter_pay(struct dp_record_filter *filter, uint32_t place, double bound);

#endif
