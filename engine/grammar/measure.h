// SPDX-License-Identifier: Apache-2.0
// measure.h: what the parts of a grammar can become, and which grammars cannot be followed. No
// private data.
// Example: of root ::= "a"{3} b?, b ::= "xy" | "z" the cost of root is 3 and of b 1.
#ifndef CUTTLE_ENGINE_GRAMMAR_MEASURE_H
#define CUTTLE_ENGINE_GRAMMAR_MEASURE_H

#include "engine/grammar/tree.h"

/* Sets tree->extents. INPUT: a rule never ends, or only after more than TREE_COST_MOST bytes; or it
 * begins with itself, be it over others or behind what may be empty. NOMEM. */
enum cuttle_status measure_tree(struct tree *tree, struct cuttle_error *error);

/* Sets *farthest to the most bytes that may be left to the end of a text on its shortest way,
 * wherever in a text that is. UINT64_MAX = a rule is part of itself, so there is no bound. The tree
 * is measured. NOMEM. Example: of ("ab" | "a" "xyz"?) "c" it is 3, behind "ax". */
enum cuttle_status measure_farthest(const struct tree *tree, uint64_t *farthest,
                                    struct cuttle_error *error);

#endif
