// SPDX-License-Identifier: Apache-2.0
// fuzz_schema.c: hostile schemas. What is read must give a grammar that is read, too; its shortest
// text and a random one must parse, fit the schema, and be written as they are. The input is a
// schema; a NUL byte and bytes that choose the random text may follow.
#include "engine/grammar/automaton.h"
#include "io/schema/canonical.h"
#include "io/schema/record.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

enum { TEXT_LONGEST = 4000, CHOSEN_BYTES = 200 };

static void fail_fuzz(const char *what, const char *text) {
	fprintf(stderr, "fuzz_schema: %s: %s\n", what, text);
	abort();
}

/* A byte that may come next: one that `draw` chooses, or a nearest one. */
static uint32_t step_somehow(struct automaton *automaton, uint32_t state, unsigned draw, bool near,
                             char *byte) {
	const uint64_t distance = automaton_distance(automaton, state);
	for (unsigned i = 0; i < 256; i++) {
		*byte = (char)(near ? i : i + draw);
		const uint32_t next = automaton_step(automaton, state, (uint8_t)*byte);
		if (next && (!near || automaton_distance(automaton, next) + 1 == distance))
			return next;
	}
	return AUTOMATON_DEAD;
}

/* Writes a text: bytes[size] choose its first bytes. Returns its size; 0: it is too long. */
static size_t write_text(struct automaton *automaton, const uint8_t *bytes, size_t size,
                         char text[TEXT_LONGEST]) {
	uint32_t state = automaton_begin(automaton);
	size_t used = 0;
	while (!automaton_accepts(automaton, state) || (used < size && used < CHOSEN_BYTES)) {
		const bool near = used >= size || used >= CHOSEN_BYTES;
		const uint64_t distance = automaton_distance(automaton, state);
		if (used + distance >= TEXT_LONGEST) return 0;
		const uint32_t next =
		    step_somehow(automaton, state, near ? 0 : bytes[used], near, &text[used]);
		if (!next && distance) fail_fuzz("a dead end", "");
		if (!next) break;
		state = next;
		used++;
	}
	return used;
}

/* Where alternatives overlap, members may come in the order of another one. */
static void check_text(const struct schema *schema, struct automaton *automaton, const char *text,
                       size_t size, bool ordered) {
	struct arena out = {0};
	bool fits;
	json_t *value = json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (!value) fail_fuzz("no JSON", text);
	if (schema_record(schema, value, &out, &fits)) abort();
	if (!fits || schema_misfit(schema, value) != SIZE_MAX) fail_fuzz("does not fit", text);
	if (ordered && (out.used != size || memcmp(out.bytes, text, size) != 0))
		fail_fuzz("is written otherwise", text);
	json_t *again = json_loadb(out.bytes, out.used, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	if (!again || !canonical_same(value, again)) fail_fuzz("is another value", text);
	const uint32_t end =
	    automaton_walk(automaton, automaton_begin(automaton), out.bytes, out.used);
	if (!automaton_accepts(automaton, end)) fail_fuzz("its form is not of the grammar", text);
	json_decref(value);
	json_decref(again);
	arena_free(&out);
}

static void check_schema(const struct schema *schema, const char *gbnf, bool ordered,
                         const uint8_t *bytes, size_t size) {
	struct cuttle_grammar *grammar;
	struct automaton *automaton;
	struct cuttle_error error;
	char text[TEXT_LONGEST + 1];
	if (cuttle_grammar_read(gbnf, strlen(gbnf), &grammar, &error)) {
		// Too large, or its shortest text is longer than 2^40 bytes.
		if (!strstr(error.message, "at most 1048576") &&
		    !strstr(error.message, "never ends"))
			fail_fuzz(error.message, gbnf);
		return;
	}
	if (automaton_new(grammar, 0, &automaton, NULL)) abort();
	if (automaton_distance(automaton, automaton_begin(automaton)) == UINT64_MAX)
		fail_fuzz("no end", gbnf);
	for (size_t some = 0; some <= size; some += size ? size : 1) {
		const size_t length = write_text(automaton, bytes, some, text);
		text[length] = 0;
		if (length) check_text(schema, automaton, text, length, ordered);
	}
	automaton_free(&automaton);
	cuttle_grammar_free(&grammar);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	const uint8_t *end = memchr(bytes, 0, size);
	const size_t length = end ? (size_t)(end - bytes) : size;
	struct schema *schema;
	struct cuttle_error error;
	if (schema_read((const char *)bytes, length, &schema, &error)) {
		if (error.message[0] != '"') fail_fuzz("no place", error.message);
		for (const char *at = error.message; *at; at++)
			if ((unsigned char)*at < ' ') fail_fuzz("no line", error.message);
		return 0;
	}
	char *gbnf = schema_grammar(schema);
	if (!gbnf) abort();
	check_schema(schema, gbnf, !memmem(bytes, length, "anyOf", 5), bytes + length + !!end,
	             size - length - !!end);
	struct schema_fields *fields = schema_fields(schema);
	if (!fields || (fields->count && !schema_is_object(schema))) abort();
	schema_fields_free(fields);
	free(gbnf);
	schema_free(schema);
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    FUZZ_LITERAL(
	        "{\"type\":\"object\",\"properties\":{\"d\":{\"type\":\"string\",\"format\":"
	        "\"date\"},\"w\":{\"enum\":[\"A\\\"\",\"\\u00e9\",1.5,null,{\"a\":[1]}]},\"n\":"
	        "{\"type\":\"string\",\"minLength\":1,\"maxLength\":40}},\"required\":[\"w\"],"
	        "\"additionalProperties\":false}\0{\"w\": \"A"),
	    FUZZ_LITERAL(
	        "{\"type\":[\"integer\",\"null\"],\"minimum\":-12.5,\"exclusiveMaximum\":305,"
	        "\"multipleOf\":1}\0-1"),
	    FUZZ_LITERAL(
	        "{\"type\":\"number\",\"exclusiveMinimum\":-0.25,\"maximum\":1e2}\0009.9999"),
	    FUZZ_LITERAL(
	        "{\"type\":\"string\",\"pattern\":\"^([A-Z]|\\\\d{2,}?[^a-c\\\\s]|(?:x|y)*)+"
	        "\\\\.$\",\"maxLength\":9}\0\"AB"),
	    FUZZ_LITERAL(
	        "{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"type\":\"boolean\"}],"
	        "\"items\":{\"$ref\":\"#\"},\"minItems\":1,\"maxItems\":4}\0[1, t"),
	    FUZZ_LITERAL(
	        "{\"anyOf\":[{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]},{\"$ref\":"
	        "\"#/$defs/a~1b\"}],\"$defs\":{\"a/b\":{\"type\":\"object\",\"properties\":"
	        "{\"a\":{\"$ref\":\"#/$defs/a~1b\"},\"b\":{\"type\":\"number\"}}}}}\0{\"a\": {"),
	    FUZZ_LITERAL(
	        "{\"oneOf\":[{\"$ref\":\"#/$defs/A\"},{\"$ref\":\"#/$defs/"
	        "B\",\"required\":[\"k\"]}],"
	        "\"discriminator\":{\"propertyName\":\"k\",\"mapping\":{\"a\":\"A\",\"2\":\"#/"
	        "$defs/B\"}},"
	        "\"$defs\":{\"A\":{\"type\":\"object\",\"properties\":{\"k\":{\"const\":\"a\"}},"
	        "\"required\":"
	        "[\"k\"],\"additionalProperties\":false},\"B\":{\"allOf\":[{\"type\":\"object\","
	        "\"properties\":{\"k\":{\"enum\":[2,99999999999999999999]}}},{\"properties\":{"
	        "\"k\":"
	        "{\"type\":\"integer\",\"nullable\":true,\"format\":\"uint8\"}}}]}}}\0{\"k\": \"a"),
	    FUZZ_LITERAL(
	        "{\"type\":\"array\",\"items\":[{\"type\":\"string\",\"format\":\"date-time\"},"
	        "{\"type\":\"string\",\"format\":\"email\",\"maxLength\":9},{\"$ref\":"
	        "\"#/items/0\"}],\"additionalItems\":false,\"minItems\":1}\0[\"2024-0"),
	};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
