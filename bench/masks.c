// SPDX-License-Identifier: Apache-2.0
// Draws texts of schemas and grammars, and times cuttle's masks on them, for bench/masks.py.
// No private data: all is public here.
// usage: masks draw VOCAB.gguf PROSE.jsonl CASE...     a CASE is NAME.schema.json or NAME.gbnf
//        masks time VOCAB.gguf DRAWN.json
// `draw` prints the vocabulary's tokens and, for each case, its source, its grammar and texts as
// tokens. `time` follows these texts: the same file goes to every peer, so all see the same states.
// A text is prose where prose is allowed, and a random allowed token elsewhere. Times are in
// microseconds and include one reading of the clock, which "call" tells.
#include "engine/grammar/mask.h"
#include "engine/status.h"
#include "io/schema/schema.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXTS = 6, LONGEST = 400, BYTES = 1 << 14, PROSE = 1 << 15, SEARCHED = 64 };

_Noreturn static void stop_masks(const char *what) {
	fprintf(stderr, "masks: %s\n", what);
	exit(1);
}

static double clock_us(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static uint64_t draw_number(uint64_t below) {
	static uint64_t state = 1;
	state += 0x9e3779b97f4a7c15u;
	uint64_t x = state;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (x ^ x >> 31) % below;
}

static char *whole_file(const char *path, size_t *size) {
	FILE *file = fopen(path, "rb");
	if (!file) stop_masks(path);
	fseek(file, 0, SEEK_END);
	*size = (size_t)ftell(file);
	rewind(file);
	char *bytes = malloc(*size + 1);
	if (!bytes || fread(bytes, 1, *size, file) != *size) stop_masks(path);
	fclose(file);
	bytes[*size] = 0;
	return bytes;
}

static struct vocab *open_vocab(const char *path) {
	size_t size;
	struct gguf *file;
	struct vocab *vocab;
	struct cuttle_error error;
	char *bytes = whole_file(path, &size);
	if (gguf_parse((const uint8_t *)bytes, size, &file, &error) ||
	    vocab_read(file, &vocab, &error))
		stop_masks(error.message);
	gguf_free(&file);
	free(bytes);
	return vocab;
}

/* ---- draw ------------------------------------------------------------------------------------ */

struct prose {
	int32_t ids[PROSE];
	size_t count;
	size_t at;
};

static void read_prose(const char *path, const struct vocab *vocab, struct prose *prose) {
	struct cuttle_error error;
	size_t size;
	char *bytes = whole_file(path, &size);
	for (char *line = strtok(bytes, "\n"); line; line = strtok(NULL, "\n")) {
		json_t *record = json_loads(line, 0, NULL);
		const char *text = json_string_value(json_object_get(record, "text"));
		if (!text || vocab_tokenize(vocab, text, strlen(text), false, prose->ids, PROSE,
		                            &prose->count, &error))
			stop_masks("the prose cannot be read");
		json_decref(record);
	}
	free(bytes);
}

static bool bit_of(const uint64_t *bits, int32_t id) {
	return bits[id / 64] >> id % 64 & 1;
}

/* Prose is taken up where it stopped; what is not allowed is left out. A state has a token. */
static int32_t pick_allowed(const struct vocab *vocab, struct mask *mask, uint32_t state,
                            bool close, struct prose *prose) {
	struct mask_answer answer;
	if (!(close ? mask_closing(mask, state, &answer) : mask_tokens(mask, state, &answer)))
		stop_masks("out of memory");
	for (size_t i = 0; i < SEARCHED && !close; i++) {
		const size_t at = (prose->at + i) % prose->count;
		if (!bit_of(answer.bits, prose->ids[at])) continue;
		prose->at = at + 1;
		return prose->ids[at];
	}
	for (size_t tries = 0;; tries++) {
		uint64_t left = draw_number(answer.count);
		int32_t id = 0;
		while (!bit_of(answer.bits, id) || left--) id++;
		char bytes[1024];
		size_t size = 0;
		vocab_detokenize(vocab, &id, 1, false, bytes, sizeof bytes, &size);
		// xgrammar knows no escapes in strings of bounded length.
		if (size > sizeof bytes || !memchr(bytes, '\\', size) || tries > SEARCHED)
			return id;
	}
}

static json_t *draw_one(const struct vocab *vocab, struct automaton *automaton, struct mask *mask,
                        struct prose *prose) {
	char text[BYTES];
	int32_t ids[BYTES];
	size_t size = 0, count = 0;
	struct cuttle_error error;
	uint32_t at = automaton_begin(automaton);
	for (size_t i = 0;; i++) {
		const bool close = i >= LONGEST || draw_number(LONGEST) == 0;
		const int32_t id = pick_allowed(vocab, mask, at, close, prose);
		if (vocab_ends_text(vocab, id)) break;
		vocab_detokenize(vocab, &id, 1, false, text, sizeof text, &size);
		if (size > sizeof text) stop_masks("a text is too long");
		at = mask_step(mask, at, id);
	}
	if (vocab_tokenize_piece(vocab, VOCAB_TEXT, text, size, false, ids, BYTES, &count, &error))
		stop_masks(error.message);
	json_t *list = json_array();
	at = automaton_begin(automaton);
	for (size_t i = 0; i < count; i++) {
		json_array_append_new(list, json_integer(ids[i]));
		at = mask_step(mask, at, ids[i]);
	}
	if (!automaton_accepts(automaton, at)) stop_masks("a text that the grammar does not have");
	return list;
}

static bool has_ending(const char *path, const char *ending) {
	const size_t size = strlen(path), more = strlen(ending);
	return size > more && !strcmp(path + size - more, ending);
}

static char *grammar_of_schema(const char *source, size_t size) {
	struct schema *schema;
	struct cuttle_error error;
	if (schema_read(source, size, &schema, &error)) stop_masks(error.message);
	char *gbnf = schema_grammar(schema);
	schema_free(schema);
	if (!gbnf) stop_masks("out of memory");
	return gbnf;
}

static json_t *draw_case(const struct vocab *vocab, const char *path, struct prose *prose) {
	size_t size;
	struct cuttle_error error;
	struct cuttle_grammar *grammar;
	struct automaton *automaton;
	struct mask *mask;
	struct trie *trie = trie_new(vocab);
	char *source = whole_file(path, &size);
	const bool schema = has_ending(path, ".schema.json");
	char *gbnf = schema ? grammar_of_schema(source, size) : strdup(source);
	if (!trie || cuttle_grammar_read(gbnf, strlen(gbnf), &grammar, &error) ||
	    automaton_new(grammar, 0, &automaton, &error) || mask_check(automaton, vocab, &error) ||
	    mask_new(automaton, vocab, trie, 0, &mask, &error))
		stop_masks(error.message);
	json_t *texts = json_array();
	for (size_t i = 0; i < TEXTS; i++)
		json_array_append_new(texts, draw_one(vocab, automaton, mask, prose));
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	json_t *drawn = json_pack("{ss%ssss?so}", "name", name, strcspn(name, "."), "gbnf", gbnf,
	                          "schema", schema ? source : NULL, "texts", texts);
	mask_free(&mask);
	trie_free(trie);
	automaton_free(&automaton);
	cuttle_grammar_free(&grammar);
	free(source);
	free(gbnf);
	if (!drawn) stop_masks("a case is no UTF-8");
	return drawn;
}

/* Each token's bytes in hexadecimal, empty for one that no text has; and those that end a text. */
static json_t *spell_vocab(const struct vocab *vocab) {
	json_t *tokens = json_array(), *ends = json_array();
	for (int32_t id = 0; (size_t)id < vocab_size(vocab); id++) {
		char bytes[1024], spelled[2 * sizeof bytes + 1] = "";
		size_t size = 0;
		const bool end = vocab_ends_text(vocab, id);
		if (end) json_array_append_new(ends, json_integer(id));
		if (!end && vocab_drawable(vocab, id))
			vocab_detokenize(vocab, &id, 1, false, bytes, sizeof bytes, &size);
		if (size > sizeof bytes) stop_masks("a token is too long");
		for (size_t i = 0; i < size; i++)
			snprintf(spelled + 2 * i, 3, "%02x", (uint8_t)bytes[i]);
		json_array_append_new(tokens, json_string(spelled));
	}
	return json_pack("{soso}", "tokens", tokens, "ends", ends);
}

static void draw_cases(const struct vocab *vocab, const char *path, int count, char **cases) {
	static struct prose prose;
	read_prose(path, vocab, &prose);
	json_t *out = spell_vocab(vocab), *drawn = json_array();
	for (int i = 0; i < count; i++)
		json_array_append_new(drawn, draw_case(vocab, cases[i], &prose));
	json_object_set_new(out, "cases", drawn);
	json_dumpf(out, stdout, JSON_COMPACT);
	json_decref(out);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void follow_texts(const json_t *texts, struct automaton *automaton, struct mask *mask,
                         json_t *masks, json_t *steps, double *allowed) {
	const json_t *text, *token;
	size_t i, j;
	*allowed = 0;
	json_array_foreach(texts, i, text) {
		uint32_t at = automaton_begin(automaton);
		json_array_foreach(text, j, token) {
			struct mask_answer answer;
			const int32_t id = (int32_t)json_integer_value(token);
			const double begin = clock_us();
			const bool ok = mask_tokens(mask, at, &answer);
			const double middle = clock_us();
			const uint32_t next = mask_step(mask, at, id);
			automaton_hold(automaton, next);
			automaton_release(automaton, at);
			const double end = clock_us();
			// The first state is held once more by the automaton itself.
			if (j == 0) automaton_hold(automaton, at);
			if (!ok || !next || !bit_of(answer.bits, id))
				stop_masks("a text is refused");
			json_array_append_new(masks, json_real(middle - begin));
			json_array_append_new(steps, json_real(end - middle));
			*allowed += answer.count;
			at = next;
		}
		if (!automaton_accepts(automaton, at)) stop_masks("a text does not end");
		automaton_release(automaton, at);
	}
}

static json_t *time_case(const struct vocab *vocab, const struct trie *trie, const json_t *drawn) {
	const char *source = json_string_value(json_object_get(drawn, "schema"));
	const char *gbnf = json_string_value(json_object_get(drawn, "gbnf"));
	const json_t *texts = json_object_get(drawn, "texts");
	struct cuttle_error error;
	struct cuttle_grammar *grammar;
	struct automaton *automaton;
	struct mask *mask;
	json_t *first = json_array(), *again = json_array(), *step = json_array(),
	       *step_again = json_array();
	double allowed;
	const double begin = clock_us();
	char *made = source ? grammar_of_schema(source, strlen(source)) : strdup(gbnf);
	if (cuttle_grammar_read(made, strlen(made), &grammar, &error) ||
	    automaton_new(grammar, 0, &automaton, &error))
		stop_masks(error.message);
	const double middle = clock_us();
	if (mask_new(automaton, vocab, trie, 0, &mask, &error)) stop_masks(error.message);
	const double end = clock_us();
	follow_texts(texts, automaton, mask, first, step, &allowed);
	follow_texts(texts, automaton, mask, again, step_again, &allowed);
	mask_free(&mask);
	automaton_free(&automaton);
	cuttle_grammar_free(&grammar);
	free(made);
	return json_pack("{sOsfsfsosososo sf}", "name", json_object_get(drawn, "name"), "compile",
	                 end - begin, "grammar", middle - begin, "first", first, "again", again,
	                 "step", step, "step_again", step_again, "allowed", allowed);
}

static void time_cases(const struct vocab *vocab, const char *path) {
	json_t *drawn = json_load_file(path, 0, NULL), *out = json_array(), *one;
	size_t i;
	double call = 1e9;
	if (!drawn) stop_masks(path);
	for (i = 0; i < 1000; i++) {
		const double begin = clock_us(), took = clock_us() - begin;
		if (took < call) call = took;
	}
	const double begin = clock_us();
	struct trie *trie = trie_new(vocab);
	const double end = clock_us();
	if (!trie) stop_masks("out of memory");
	json_array_foreach(json_object_get(drawn, "cases"), i, one)
	    json_array_append_new(out, time_case(vocab, trie, one));
	trie_free(trie);
	out = json_pack("{sfsfso}", "call", call, "vocabulary", end - begin, "cases", out);
	json_dumpf(out, stdout, JSON_COMPACT | JSON_REAL_PRECISION(7));
	json_decref(out);
	json_decref(drawn);
}

int main(int argc, char **argv) {
	const bool draw = argc > 4 && !strcmp(argv[1], "draw");
	if (!draw && (argc != 4 || strcmp(argv[1], "time") != 0)) {
		fputs("usage: masks draw VOCAB.gguf PROSE.jsonl CASE...\n"
		      "       masks time VOCAB.gguf DRAWN.json\n",
		      stderr);
		return 2;
	}
	struct vocab *vocab = open_vocab(argv[2]);
	if (draw) draw_cases(vocab, argv[3], argc - 4, argv + 4);
	else time_cases(vocab, argv[3]);
	vocab_free(&vocab);
	return 0;
}
