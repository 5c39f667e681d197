// SPDX-License-Identifier: Apache-2.0
// grammars.c: see grammars.h.
#include "engine/run/plan/grammars.h"

#include "base/misuse.h"
#include "engine/grammar/mask.h"
#include "engine/run/plan/savings.h"
#include "engine/status.h"

static enum cuttle_status check_beside(const struct cuttle_plan_params *p,
                                       struct cuttle_error *error) {
	const char *other = p->method != CUTTLE_INVISIBLEINK ? "any method but invisibleink"
	                    : p->savings.token_bank          ? "a token bank"
	                    : p->stops.given                 ? "stops"
	                                                     : NULL;
	if (other)
		return status_fail(error, CUTTLE_USAGE, "a grammar and %s exclude each other",
		                   other);
	if (p->grammar_count != 1 && p->grammar_count != p->heading_count)
		return status_fail(error, CUTTLE_USAGE, "%zu grammars are not one for each heading",
		                   p->grammar_count);
	return CUTTLE_OK;
}

/* Checks one grammar, and sets *least to the bytes of a shortest text and one more. */
static enum cuttle_status check_grammar(const struct cuttle_grammar *grammar,
                                        const struct vocab *vocab, uint64_t *least,
                                        struct cuttle_error *error) {
	struct automaton *automaton;
	enum cuttle_status status = automaton_new(grammar, 0, &automaton, error);
	if (status) return status;
	*least = automaton_distance(automaton, automaton_begin(automaton)) + 1;
	status = mask_check(automaton, vocab, error);
	automaton_free(&automaton);
	return status;
}

enum cuttle_status grammars_room(const struct cuttle_grammar *const *grammars, size_t count,
                                 const struct model *model, uint32_t tokens, uint32_t given,
                                 uint32_t *free_tokens, struct cuttle_error *error) {
	enum cuttle_status status = CUTTLE_OK;
	uint64_t longest = 0;
	for (size_t i = 0; i < count && !status; i++) {
		uint64_t least;
		REQUIRE(grammars[i]);
		status = check_grammar(grammars[i], model->vocab, &least, error);
		if (!status && least > longest) longest = least;
	}
	if (status) return status;
	const uint64_t chosen = given ? given : tokens + 2 * longest;
	if (chosen > SAVINGS_MOST_TOKENS)
		return status_fail(error, CUTTLE_USAGE,
		                   "the grammar's shortest text has %llu bytes, which is too long",
		                   (unsigned long long)(longest - 1));
	if (chosen < longest)
		return status_fail(error, CUTTLE_USAGE,
		                   "%u free tokens are too few: the grammar's shortest text may "
		                   "take %llu",
		                   given, (unsigned long long)longest);
	*free_tokens = (uint32_t)chosen;
	return CUTTLE_OK;
}

enum cuttle_status grammars_check(const struct cuttle_plan_params *p, const struct model *model,
                                  uint32_t *free_tokens, struct cuttle_error *error) {
	if (!p->grammar_count) return CUTTLE_OK;
	REQUIRE(p->grammars);
	const enum cuttle_status status = check_beside(p, error);
	return status ? status
	              : grammars_room(p->grammars, p->grammar_count, model, p->tokens,
	                              p->savings.free_tokens, free_tokens, error);
}
