// SPDX-License-Identifier: Apache-2.0
// gen_grammar.c: says of texts whether a grammar has them, for tests/oracle/grammar.py. No private
// data. usage: gen_grammar GRAMMAR <TEXTS, one text a line, in hexadecimal. For each it prints one
// line: 1 or 0, whether it is a text of the grammar, a space, and how many of its bytes may begin
// one. Ends with 2 where the grammar is refused, with the reason.
#include "engine/grammar/automaton.h"

#include <stdio.h>
#include <stdlib.h>

static void judge(struct automaton *automaton, const char *line) {
	uint32_t state = automaton_begin(automaton);
	unsigned byte;
	size_t alive = 0;
	for (; sscanf(line, "%2x", &byte) == 1; line += 2) {
		state = automaton_step(automaton, state, (uint8_t)byte);
		if (state == AUTOMATON_DEAD) break;
		alive++;
	}
	printf("%d %zu\n", automaton_accepts(automaton, state), alive);
	automaton_tidy(automaton, NULL, 0);
}

int main(int argc, char **argv) {
	static char text[2 << 20];
	struct cuttle_error error;
	struct cuttle_grammar *grammar;
	struct automaton *automaton;
	FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
	if (!file) return 1;
	const size_t size = fread(text, 1, sizeof text, file);
	fclose(file);
	if (cuttle_grammar_read(text, size, &grammar, &error)) {
		puts(error.message);
		return 2;
	}
	if (automaton_new(grammar, 1 << 20, &automaton, NULL)) return 1;
	while (fgets(text, sizeof text, stdin)) judge(automaton, text);
	automaton_free(&automaton);
	cuttle_grammar_free(&grammar);
	return 0;
}
