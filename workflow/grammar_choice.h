// SPDX-License-Identifier: Apache-2.0
// grammar_choice.h: from the file of --grammar or --schema to the grammar of a plan's texts.
// No private data: both are public. So a wrong one is an error with its place.
// Example: visit.schema.json is read whole, hashed for the receipt, made a grammar and compiled.
#ifndef CUTTLE_WORKFLOW_GRAMMAR_CHOICE_H
#define CUTTLE_WORKFLOW_GRAMMAR_CHOICE_H

#include "engine/cuttle/grammar.h"
#include "io/disk/hash.h"
#include "io/schema/schema.h"

struct grammar_choice {
	struct cuttle_grammar *grammar; /* NULL = any text */
	struct schema *schema;          /* it is of this schema; NULL = it is a grammar's */
	char sha256[HASH_TEXT];         /* of the file; "" = there is none */
};

/* Reads the grammar or the schema at its path; NULL = it is not given. At most one of them is. Call
 * grammar_choice_free in any case. INPUT: the file cannot be read, or as cuttle_grammar_read and
 * schema_read. NOMEM. */
enum cuttle_status grammar_choice_read(const char *grammar, const char *schema,
                                       struct grammar_choice *choice, struct cuttle_error *error);
void grammar_choice_free(struct grammar_choice *choice);

#endif
