// SPDX-License-Identifier: Apache-2.0
// grammar_choice.h: from the file of --grammar or --schema to the grammar of a plan's texts.
// No private data: both are public. So a wrong one is an error with its place.
// Example: visit.schema.json is read whole, hashed for the receipt, made a grammar and compiled.
#ifndef CUTTLE_WORKFLOW_GRAMMAR_CHOICE_H
#define CUTTLE_WORKFLOW_GRAMMAR_CHOICE_H

#include "engine/cuttle/grammar.h"
#include "io/disk/hash.h"
#include "io/records/categories.h"
#include "io/schema/schema.h"

struct grammar_choice {
	/* [count] one of all texts, or one of each category's. count 0 = any text. */
	struct cuttle_grammar **grammars;
	size_t count;
	struct schema *schema;  /* it is of this schema; NULL = it is a grammar's */
	char *text;             /* of the file */
	char sha256[HASH_TEXT]; /* of it; "" = there is none */
};

/* What does not go together, of paths that may be NULL and of words of --stop; NULL = nothing. */
const char *grammar_choice_fault(const char *grammar, const char *schema, size_t stop_count);
/* Reads the grammar or the schema at its path; NULL = it is not given. At most one of them is. Call
 * grammar_choice_free in any case. INPUT: the file cannot be read, or as cuttle_grammar_read and
 * schema_read. NOMEM. */
enum cuttle_status grammar_choice_read(const char *grammar, const char *schema,
                                       struct grammar_choice *choice, struct cuttle_error *error);
/* Writes the hash of the file for a receipt: one of both stays "", or both. */
void grammar_choice_tell(const struct grammar_choice *choice, char grammar_sha256[HASH_TEXT],
                         char schema_sha256[HASH_TEXT]);
/* Of a schema: makes a grammar for each category, in which its fields have its values. So these are
 * written without looking at a record. USAGE: the schema has no enum of a field's name among its
 * own properties, or a value is not in it. Else as schema_read. NOMEM. */
enum cuttle_status grammar_choice_divide(struct grammar_choice *choice,
                                         const struct categories *categories,
                                         struct cuttle_error *error);
/* Of a schema: whether grammar_choice_divide would find each category's values. Errors as there. */
enum cuttle_status grammar_choice_check(const struct grammar_choice *choice,
                                        const struct categories *categories,
                                        struct cuttle_error *error);
void grammar_choice_free(struct grammar_choice *choice);

#endif
