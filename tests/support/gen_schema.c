// SPDX-License-Identifier: Apache-2.0
// Prints what schemas become, for tests/oracle/schema.py and schema_suite.py. No private data. Each
// line of the standard input is a JSON list: a schema, how many texts to draw, and values. Each
// line of the output is one of these:
//   "reason"                             the schema is refused
//   {"refused": "reason"}                its grammar is
//   [grammar, [text...], [form...]]      texts of the grammar; and each value in the schema's form,
//                                        null where it does not fit, false where the grammar lacks
//                                        it
// usage: gen_schema [SEED]
#include "engine/grammar/automaton.h"
#include "io/schema/record.h"
#include "tests/support/tiny_model.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_ROOM = 1 << 16, CHOSEN = 60, PLAIN = 95 };

static json_t *canonical(const struct schema *schema, struct automaton *automaton,
                         const json_t *value) {
	struct arena out = {0};
	bool fits;
	if (schema_record(schema, value, &out, &fits)) exit(1);
	if (fits != (schema_misfit(schema, value) == SIZE_MAX)) exit(3);
	json_t *text = fits ? json_stringn(out.bytes, out.used) : json_null();
	if (fits) {
		const uint32_t begin = automaton_begin(automaton),
		               end = automaton_walk(automaton, begin, out.bytes, out.used);
		if (!automaton_accepts(automaton, end)) {
			json_decref(text);
			text = json_false();
		}
	}
	arena_free(&out);
	return text;
}

/* A byte that may come next, most often a plain one; where `near`, one of a shortest way. */
static uint32_t step_randomly(struct automaton *automaton, uint32_t state, bool near,
                              uint64_t *random, char *byte) {
	const uint64_t distance = automaton_distance(automaton, state), draw = tiny_random(random);
	for (unsigned i = 0; i < 256 + PLAIN; i++) {
		const unsigned plain = ' ' + (i + (unsigned)(draw >> 32)) % PLAIN;
		*byte = (char)(i < PLAIN && draw % 8 ? plain : i + (unsigned)(draw >> 40));
		const uint32_t next = automaton_step(automaton, state, (uint8_t)*byte);
		if (next && (!near || automaton_distance(automaton, next) + 1 == distance))
			return next;
	}
	return AUTOMATON_DEAD;
}

/* NULL where no text is short enough. */
static json_t *draw_text(struct automaton *automaton, uint64_t *random) {
	static char text[TEXT_ROOM];
	uint32_t state = automaton_begin(automaton);
	const size_t chosen = (size_t)(tiny_random(random) % CHOSEN);
	size_t used = 0;
	for (;;) {
		const bool near = used >= chosen;
		const uint64_t distance = automaton_distance(automaton, state);
		if (used + distance >= TEXT_ROOM) return NULL;
		if (!distance && (near || tiny_random(random) % 8 == 0)) break;
		const uint32_t next = step_randomly(automaton, state, near, random, &text[used]);
		if (!next && distance) exit(4);
		if (!next) break;
		state = next;
		used++;
	}
	json_t *drawn = json_stringn(text, used);
	if (!drawn) exit(5);
	return drawn;
}

static json_t *answer_schema(const struct schema *schema, const json_t *list, uint64_t *random) {
	struct cuttle_grammar *grammar;
	struct automaton *automaton;
	struct cuttle_error error;
	char *gbnf = schema_grammar(schema);
	if (!gbnf) exit(1);
	json_t *answer = NULL, *texts = json_array(), *forms = json_array();
	if (cuttle_grammar_read(gbnf, strlen(gbnf), &grammar, &error)) {
		answer = json_pack("{ss}", "refused", error.message);
		json_decref(texts);
		json_decref(forms);
		free(gbnf);
		return answer;
	}
	if (automaton_new(grammar, 0, &automaton, NULL)) exit(1);
	for (json_int_t i = 0; i < json_integer_value(json_array_get(list, 1)); i++) {
		json_t *text = draw_text(automaton, random);
		if (text) json_array_append_new(texts, text);
		automaton_tidy(automaton, NULL, 0);
	}
	for (size_t i = 2; i < json_array_size(list); i++)
		json_array_append_new(forms, canonical(schema, automaton, json_array_get(list, i)));
	answer = json_pack("[soo]", gbnf, texts, forms);
	automaton_free(&automaton);
	cuttle_grammar_free(&grammar);
	free(gbnf);
	return answer;
}

/* False: it is no list. */
static bool answer_line(const char *line, size_t size, uint64_t *random) {
	json_t *list = json_loadb(line, size, JSON_ALLOW_NUL, NULL);
	char *text = json_dumps(json_array_get(list, 0), JSON_ENCODE_ANY);
	struct schema *schema = NULL;
	struct cuttle_error error;
	if (text) {
		json_t *answer = schema_read(text, strlen(text), &schema, &error)
		                     ? json_string(error.message)
		                     : answer_schema(schema, list, random);
		json_dumpf(answer, stdout, JSON_ENCODE_ANY);
		putchar('\n');
		fflush(stdout);
		json_decref(answer);
	}
	schema_free(schema);
	json_decref(list);
	free(text);
	return text != NULL;
}

int main(int argc, char **argv) {
	char *line = NULL;
	size_t room = 0;
	bool fine = true;
	uint64_t random = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	for (ssize_t size; fine && (size = getline(&line, &room, stdin)) > 0;)
		fine = answer_line(line, (size_t)size, &random);
	free(line);
	return fine ? 0 : 2;
}
