// SPDX-License-Identifier: Apache-2.0
// gbnf.h: reads the text of a grammar (engine/cuttle/grammar.h says what may stand in it). No
// private data.
#ifndef CUTTLE_ENGINE_GRAMMAR_GBNF_H
#define CUTTLE_ENGINE_GRAMMAR_GBNF_H

#include "engine/grammar/tree.h"

enum { GBNF_MOST = 1 << 20 }; /* bytes of a grammar, at most */

/* Reads gbnf[size] into *tree, which points into it. On success each rule that is called has a
 * body, and tree->root is set. tree_free is due in any case. INPUT, NOMEM. */
enum cuttle_status gbnf_read(const char *gbnf, size_t size, struct tree *tree,
                             struct cuttle_error *error);

#endif
