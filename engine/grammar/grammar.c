// SPDX-License-Identifier: Apache-2.0
// grammar.c: the public functions of engine/cuttle/grammar.h. No private data.
#include "engine/cuttle/grammar.h"

#include "base/misuse.h"
#include "engine/grammar/gbnf.h"
#include "engine/grammar/measure.h"
#include "engine/grammar/program.h"
#include "engine/status.h"

#include <stdlib.h>

enum cuttle_status cuttle_grammar_read(const char *gbnf, size_t size, struct cuttle_grammar **out,
                                       struct cuttle_error *error) {
	REQUIRE(out && (gbnf || !size));
	*out = NULL;
	struct tree tree;
	enum cuttle_status status = gbnf_read(gbnf, size, &tree, error);
	if (!status) status = measure_tree(&tree, error);
	struct cuttle_grammar *grammar = status ? NULL : calloc(1, sizeof *grammar);
	if (!status)
		status = grammar ? program_make(&tree, grammar, error)
		                 : status_fail(error, CUTTLE_NOMEM, "no memory for the grammar");
	if (!status) status = measure_farthest(&tree, &grammar->farthest, error);
	tree_free(&tree);
	if (status) cuttle_grammar_free(&grammar);
	*out = grammar;
	return status;
}

void cuttle_grammar_free(struct cuttle_grammar **grammar) {
	REQUIRE(grammar);
	if (*grammar) program_free(*grammar);
	free(*grammar);
	*grammar = NULL;
}
