// SPDX-License-Identifier: Apache-2.0
// fuzz_grammar.c: hostile grammars, and a walk through each that is read. The input is a grammar; a
// NUL byte and bytes of a text may follow. It ends the process if a state is a dead end, if the way
// out does not get shorter by one, or if an automaton without memory decides otherwise.
#include "engine/grammar/automaton.h"
#include "tests/fuzz/fuzz.h"

enum { FUZZ_STEPS = 12 };

/* The possible byte that gets nearest to the end; checks that one is nearer by one. */
static uint8_t nearest_byte(struct automaton *automaton, uint32_t state) {
	const uint64_t distance = automaton_distance(automaton, state);
	for (unsigned byte = 0; byte < 256; byte++) {
		const uint32_t next = automaton_step(automaton, state, (uint8_t)byte);
		if (next && automaton_distance(automaton, next) + 1 == distance)
			return (uint8_t)byte;
	}
	if (distance) abort();
	return 0;
}

static void walk_both(struct automaton *automaton, struct automaton *poor, const uint8_t *text,
                      size_t size) {
	uint32_t state = automaton_begin(automaton), other = automaton_begin(poor);
	for (size_t i = 0; i < FUZZ_STEPS && state; i++) {
		const uint8_t near = nearest_byte(automaton, state);
		const uint8_t byte = i < size ? text[i] : near;
		state = automaton_step(automaton, state, byte);
		other = automaton_step(poor, other, byte);
		automaton_tidy(poor, &other, 1);
		if (automaton_accepts(automaton, state) != automaton_accepts(poor, other) ||
		    automaton_distance(automaton, state) != automaton_distance(poor, other))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	const uint8_t *end = memchr(bytes, 0, size);
	const size_t length = end ? (size_t)(end - bytes) : size;
	struct cuttle_grammar *grammar;
	struct automaton *automaton, *poor;
	struct cuttle_error error;
	if (cuttle_grammar_read((const char *)bytes, length, &grammar, &error)) return 0;
	if (!automaton_new(grammar, 0, &automaton, NULL) && !automaton_new(grammar, 1, &poor, NULL))
		walk_both(automaton, poor, bytes + length + !!end, size - length - !!end);
	automaton_free(&automaton);
	automaton_free(&poor);
	cuttle_grammar_free(&grammar);
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    FUZZ_LITERAL("root ::= \"a\" | b{2,3}\nb ::= [^a-z\\n] # c\n\0aXY"),
	    FUZZ_LITERAL("root ::= \"(\" root \")\" | (\"a\"? \"b\"*){,1000000}\0((ab"),
	    FUZZ_LITERAL("root ::= (\"a\" | \"aa\"){30,50} .+ \"\\u00e9\\x41\"\0aaaaaaaa"),
	    FUZZ_LITERAL(
	        "root ::= a+ \"]\"\na ::= (\n\"x\" | a2\n)\na2 ::= \"\" \"[\" a{0,3}\0[[x]"),
	};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
