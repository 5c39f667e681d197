// SPDX-License-Identifier: Apache-2.0
// grammar_choice.h: from the file of --grammar to the grammar of a plan's texts.
// No private data: a grammar is public. So a wrong one is an error with its place.
// Example: notes.gbnf is read whole, hashed for the receipt, and compiled.
#ifndef CUTTLE_WORKFLOW_GRAMMAR_CHOICE_H
#define CUTTLE_WORKFLOW_GRAMMAR_CHOICE_H

#include "engine/cuttle/grammar.h"
#include "io/disk/hash.h"

struct grammar_choice {
	struct cuttle_grammar *grammar; /* NULL = any text */
	char sha256[HASH_TEXT];         /* of the file; "" = there is none */
};

/* Reads the grammar at `path`; NULL = none. Call grammar_choice_free in any case. INPUT: the file
 * cannot be read, or as cuttle_grammar_read. NOMEM. */
enum cuttle_status grammar_choice_read(const char *path, struct grammar_choice *choice,
                                       struct cuttle_error *error);
void grammar_choice_free(struct grammar_choice *choice);

#endif
