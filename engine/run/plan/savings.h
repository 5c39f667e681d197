// SPDX-License-Identifier: Apache-2.0
// savings.h: checks the savings that a caller asks for, and turns them into those that are used.
// No private data: all numbers are public.
// Example: public_when 0.95 is 950000 millionths, and the guarantee states 0.95.
#ifndef CUTTLE_ENGINE_RUN_PLAN_SAVINGS_H
#define CUTTLE_ENGINE_RUN_PLAN_SAVINGS_H

#include "engine/cuttle/budget.h"

/* Tokens that may be asked for, of any kind. */
enum { SAVINGS_MOST_TOKENS = 1 << 20 };

/* `forced`: some tokens are free as a grammar forces them. USAGE: a number is out of range, or free
 * tokens have no use. */
enum cuttle_status savings_check(const struct cuttle_savings *savings, bool forced,
                                 struct cuttle_error *error);

/* public_when in millionths: what a mechanism is told. */
uint32_t savings_sure(const struct cuttle_savings *savings);

/* What is used: public_when becomes millionths again. Free tokens not given become `most`, if
 * anything can use them. */
struct cuttle_savings savings_used(const struct cuttle_savings *asked, uint32_t most);

#endif
