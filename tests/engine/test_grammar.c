// SPDX-License-Identifier: Apache-2.0
// Tests grammars: engine/grammar/. It fails if a text is taken that a grammar does not have, or the
// other way round; if a mask differs from what the tokens' bytes say one by one; if a state is a
// dead end, or what is cached changes an answer. With `--bench` it prints times instead.
#include "engine/grammar/mask.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static struct cuttle_grammar *read_grammar(const char *gbnf) {
	struct cuttle_grammar *grammar;
	struct cuttle_error error;
	if (cuttle_grammar_read(gbnf, strlen(gbnf), &grammar, &error))
		fail_msg("%s: %s", gbnf, error.message);
	return grammar;
}

static struct automaton *follow_grammar(const struct cuttle_grammar *grammar, size_t bytes) {
	struct automaton *automaton;
	assert_int_equal(automaton_new(grammar, bytes, &automaton, NULL), CUTTLE_OK);
	return automaton;
}

/* A JSON-like record: the one grammar of the benches, too. */
static const char record[] =
    "root ::= \"{\\\"name\\\": \" string \", \\\"age\\\": \" number \", \\\"ward\\\": \" ward \", "
    "\\\"tags\\\": \" list \"}\"\n"
    "string ::= \"\\\"\" char{0,400} \"\\\"\"\n"
    "char ::= [^\"\\\\\\x00-\\x1f\\x7f] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" [0-9a-fA-F]{4})\n"
    "number ::= \"-\"? (\"0\" | [1-9] [0-9]{0,3}) (\".\" [0-9]+)?\n"
    "ward ::= \"\\\"\" (\"cardiology\" | \"surgery\" | \"intensive care\") \"\\\"\"\n"
    "list ::= \"[\" (value (\", \" value)*)? \"]\"\n"
    "value ::= string | number | list | \"true\" | \"null\"\n";

/* ---- languages ------------------------------------------------------------------------------- */

struct language {
	const char *gbnf;
	const char *texts[8];  /* it has these */
	const char *others[8]; /* and none of these */
};

static const struct language languages[] = {
    {"root ::= \"ab\" | \"a\"", {"a", "ab"}, {"", "b", "abb", "aab"}},
    {"root ::= \"a\"? \"b\"* \"c\"+", {"c", "abcc", "bbc"}, {"", "a", "ab", "aac"}},
    {"root ::= [a-c-]{2}", {"ab", "c-"}, {"a", "abc", "ad"}},
    {"root ::= [^a-c\\n]{1,2}", {"d", "\xc3\xa9-", "\xf0\x9f\x98\x80"}, {"", "a", "\n", "ddd"}},
    {"root ::= \"x\"{2,3} | \"y\"{,2} | \"z\"{3,}",
     {"xx", "xxx", "", "y", "zzzz"},
     {"x", "xxxx", "yyy", "zz"}},
    {"root ::= .",
     {"a", "\n", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"},
     {"", "ab", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80", "\xff"}},
    {"root ::= [\\u07f0-\\u0810]", {"\xdf\xb0", "\xe0\xa0\x90"}, {"\xdf\xaf", "\xe0\xa0\x91"}},
    {"root ::= \"\\x41\\u00e9\\U0001f600\\n\\r\\t\\\\\\\"\\[\\]\"",
     {"A\xc3\xa9\xf0\x9f\x98\x80\n\r\t\\\"[]"},
     {"A"}},
    {"root ::= (\n \"a\" # one\n \"b\")+ |\n \"c\" #two\n# three\n\n",
     {"ab", "abab", "c"},
     {"a", "abc"}},
    {"root ::= \"(\" root \")\" | \"\"", {"", "()", "((()))"}, {"(", "(()", "())"}},
    {"root ::= item (\",\" item)*\r\nitem ::=\n [0-9]{1,3}\r\n",
     {"1", "12,345"},
     {"", "1,", "1234"}},
    {"root ::= (\"a\"? \"b\"?){2,3} \"c\"",
     {"c", "abc", "ababbc", "aaac"},
     {"aaaac", "bababac", "d"}},
    {"root ::= ((\"a\"*){3,})* \"b\"", {"b", "aaaaab"}, {"", "ba"}},
    {"root ::= (\"a\"{0,1000000}){0,1000000}", {"", "aaaa"}, {"b"}},
    {"root ::= (\"a\"{2}){2} | (\"b\"{1,2}){2}",
     {"aaaa", "bb", "bbbb"},
     {"aa", "aaa", "b", "bbbbb"}},
    {"root ::= a a a \"z\"\na ::= \"x\"? | \"\"", {"z", "xxxz"}, {"xxxxz", ""}},
    {"root ::= e{5} \"q\" ( ) \"\"{9}\ne ::= \"\" | ()", {"q"}, {"", "qq"}},
    {"root ::= \"a\" root | \"a\"", {"a", "aaa"}, {"", "ab"}},
    {"root ::= \"a\"?? \"b\"{0} \"c\"{1}", {"c", "ac"}, {"bc", ""}},
};

static bool has_text(struct automaton *automaton, const char *text) {
	return automaton_accepts(
	    automaton, automaton_walk(automaton, automaton_begin(automaton), text, strlen(text)));
}

static void constructs_mean_what_they_say(void **state) {
	(void)state;
	for (size_t i = 0; i < sizeof languages / sizeof *languages; i++) {
		const struct language *language = languages + i;
		struct cuttle_grammar *grammar = read_grammar(language->gbnf);
		struct automaton *automaton = follow_grammar(grammar, 0);
		for (size_t j = 0; j < 8 && language->texts[j]; j++)
			if (!has_text(automaton, language->texts[j]))
				fail_msg("%s lacks '%s'", language->gbnf, language->texts[j]);
		for (size_t j = 0; j < 8 && language->others[j]; j++)
			if (has_text(automaton, language->others[j]))
				fail_msg("%s has '%s'", language->gbnf, language->others[j]);
		automaton_free(&automaton);
		cuttle_grammar_free(&grammar);
	}
}

static void wrong_grammars_are_refused(void **state) {
	(void)state;
	static const char *const cases[][2] = {
	    {"", "no rule \"root\""},
	    {"rot ::= \"a\"", "no rule \"root\""},
	    {"root ::= a\n", "line 1, column 10: there is no rule \"a\""},
	    {"root ::= \"a\"\n\nroot ::= \"b\"", "line 3, column 1: there are two rules"},
	    {"root ::= root \"a\" | \"b\"", "begins with itself"},
	    {"root ::= \"x\" a\na ::= b? c\nb ::= \"b\"\nc ::= a | \"c\"", "begins with itself"},
	    {"root ::= \"x\" a\na ::= (\"y\"*)* \"\" a \"c\" | \"d\"", "begins with itself"},
	    {"root ::= \"a\" root", "never ends"},
	    {"root ::= \"a\" | b\nb ::= \"b\" b", "rule \"b\" never ends"},
	    {"root ::= ((\"a\"{1000000}){1000000}){9}", "never ends"},
	    {"root ::= \"a\"{1000001}", "at most 1000000"},
	    {"root ::= \"a\"{3,2}", "swap"},
	    {"root ::= \"a\"{}", "repetitions are"},
	    {"root ::= \"a", "no end: close it with \""},
	    {"root ::= [a", "no end: close it with ]"},
	    {"root ::= (\"a\"", "no end: close it with )"},
	    {"root ::= \"a\")", "no ( for this )"},
	    {"root ::= []", "no character is in this class"},
	    {"root ::= [b-a]", "ends before it begins"},
	    {"root ::= \"\\q\"", "line 1, column 11: \\ stands before"},
	    {"root ::= \"\\ud800\"", "surrogate"},
	    {"root ::= \"\\U00110000\"", "no character is above"},
	    {"root ::= \"\xff\"", "not UTF-8"},
	    {"root ::= <think>", "tokens by name"},
	    {"root ::= !<think>", "tokens by name"},
	    {"root = \"a\"", "a rule is NAME ::="},
	    {"root ::= \"a\"\n| \"b\"", "a rule is NAME ::="},
	    {"root ::= \"a\" ?", NULL},
	    {"root ::= \"\xc3\xa9\" %", "line 1, column 14: this character begins nothing"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cuttle_grammar *grammar;
		struct cuttle_error error = {""};
		const enum cuttle_status status =
		    cuttle_grammar_read(cases[i][0], strlen(cases[i][0]), &grammar, &error);
		assert_int_equal(status, cases[i][1] ? CUTTLE_INPUT : CUTTLE_OK);
		if (cases[i][1] && !strstr(error.message, cases[i][1]))
			fail_msg("%s: %s", cases[i][0], error.message);
		cuttle_grammar_free(&grammar);
	}
}

static double seconds_now(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Texts of 1 MiB made of one piece, behind "root ::= ". */
static void large_grammars_take_no_time(void **state) {
	(void)state;
	static const char *const pieces[] = {
	    "a ", "(",      "()", "a*",    "[^a]", ".",    "\"a\"|",       "\"a\"?", "\"a\"{9}",
	    "a|", "\na::=", "\\", "[a-z]", "|",    "(.)?", "\"\xc3\xa9\"", "*",      "a"};
	const size_t size = 1 << 20;
	char *text = malloc(size);
	assert_non_null(text);
	for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
		const size_t step = strlen(pieces[i]);
		size_t at = (size_t)sprintf(text, "a ::= \"a\"\nroot ::= ");
		for (; at + step <= size; at += step) memcpy(text + at, pieces[i], step);
		struct cuttle_grammar *grammar;
		const double begin = seconds_now();
		const enum cuttle_status status = cuttle_grammar_read(text, at, &grammar, NULL);
		const double took = seconds_now() - begin;
		if (took > 1) print_message("'%s' took %.2f s\n", pieces[i], took);
		assert_true(status == CUTTLE_OK || status == CUTTLE_INPUT);
		if (!status) { // what it makes of a byte takes no time either
			struct automaton *automaton = follow_grammar(grammar, 0);
			automaton_walk(automaton, automaton_begin(automaton), "aaaa", 4);
			automaton_free(&automaton);
		}
		cuttle_grammar_free(&grammar);
	}
	free(text);
}

/* ---- distances and forced bytes -------------------------------------------------------------- */

/* By breadth-first search over bytes; UINT64_MAX beyond `most` states. */
static uint64_t distance_slowly(struct automaton *automaton, uint32_t state, size_t most) {
	uint32_t *queue = malloc((most + 256) * sizeof *queue);
	uint64_t *depth = calloc(most + 256, sizeof *depth), found = UINT64_MAX;
	assert_true(queue && depth);
	size_t count = 1;
	queue[0] = state;
	for (size_t i = 0; i < count && count < most && found == UINT64_MAX; i++) {
		if (automaton_accepts(automaton, queue[i])) found = depth[i];
		for (unsigned byte = 0; byte < 256; byte++) {
			const uint32_t next = automaton_step(automaton, queue[i], (uint8_t)byte);
			size_t j = 0;
			while (j < count && queue[j] != next) j++;
			if (!next || j < count) continue;
			depth[count] = depth[i] + 1;
			queue[count++] = next;
		}
	}
	free(queue);
	free(depth);
	return found;
}

static unsigned possible_bytes(struct automaton *automaton, uint32_t state, uint8_t bytes[256]) {
	unsigned count = 0;
	for (unsigned byte = 0; byte < 256; byte++)
		if (automaton_step(automaton, state, (uint8_t)byte)) bytes[count++] = (uint8_t)byte;
	return count;
}

static void check_state(struct automaton *automaton, uint32_t state) {
	uint8_t bytes[256];
	char forced[4] = "";
	const uint64_t distance = automaton_distance(automaton, state);
	const unsigned count = possible_bytes(automaton, state, bytes);
	const uint64_t slow = distance_slowly(automaton, state, 600);
	assert_true(distance <= automaton_farthest(automaton));
	if (slow != UINT64_MAX) assert_int_equal(distance, slow);
	assert_int_equal(distance == 0, automaton_accepts(automaton, state));
	bool falls = distance == 0;
	for (unsigned i = 0; i < count; i++) {
		const uint64_t next =
		    automaton_distance(automaton, automaton_step(automaton, state, bytes[i]));
		assert_true(next + 1 >= distance);
		falls |= next + 1 == distance;
	}
	assert_true(falls); // no dead end
	const bool one = count == 1 && distance;
	assert_int_equal(automaton_forced(automaton, state, forced, 1), one);
	if (one) assert_int_equal((uint8_t)forced[0], bytes[0]);
}

/* Ambiguous without end: how often "a" or "aa" was taken is a set of counters, all below the least.
 */
static const char crowd[] = "root ::= (\"a\" | \"aa\" | \"ab\" [xyz]{3}){3000,5000} \"c\"";

/* The most that is ever left, where no rule is part of itself. */
static void the_farthest_place_is_known(void **state) {
	(void)state;
	static const struct {
		const char *gbnf;
		uint64_t farthest;
	} cases[] = {{"root ::= (\"ab\" | \"a\" \"xyz\"?) \"c\"", 3},
	             {"root ::= \"abc\"", 3},
	             {"root ::= a{5} \"z\"\na ::= \"b\" | \"cde\"", 4 + 2 + 1},
	             {"root ::= a* \"z\"\na ::= [b\\U0001f600]", 4},
	             {"root ::= \"\"", 0},
	             {"root ::= \"a\" root | \"b\"", UINT64_MAX}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct cuttle_grammar *grammar = read_grammar(cases[i].gbnf);
		struct automaton *automaton = follow_grammar(grammar, 0);
		assert_int_equal(automaton_farthest(automaton), cases[i].farthest);
		automaton_free(&automaton);
		cuttle_grammar_free(&grammar);
	}
}

static void states_know_their_way_out(void **state) {
	(void)state;
	uint64_t random = 5;
	for (size_t i = 0; i < sizeof languages / sizeof *languages + 2; i++) {
		const size_t last = sizeof languages / sizeof *languages;
		struct cuttle_grammar *grammar = read_grammar(i < last    ? languages[i].gbnf
		                                              : i == last ? record
		                                                          : crowd);
		struct automaton *automaton = follow_grammar(grammar, 0);
		uint32_t at = automaton_begin(automaton);
		for (unsigned step = 0; step < (briefly() ? 20 : 60); step++) {
			uint8_t bytes[256];
			check_state(automaton, at);
			const unsigned count = possible_bytes(automaton, at, bytes);
			if (!count) break;
			at = automaton_step(automaton, at, bytes[tiny_random(&random) % count]);
		}
		automaton_free(&automaton);
		cuttle_grammar_free(&grammar);
	}
}

/* However large a set becomes, the way to the end stays. */
static void crowds_come_to_an_end(void **state) {
	(void)state;
	struct cuttle_grammar *grammar = read_grammar(crowd);
	struct automaton *automaton = follow_grammar(grammar, 0);
	uint32_t at = automaton_begin(automaton);
	for (unsigned i = 0; i < 2500; i++) assert_true(at = automaton_step(automaton, at, 'a'));
	assert_true(automaton_crowded(automaton));
	uint64_t distance = automaton_distance(automaton, at);
	assert_int_equal(distance, 501);
	while (distance--) {
		at = automaton_step(automaton, at, distance ? 'a' : 'c');
		assert_int_equal(automaton_distance(automaton, at), distance);
	}
	assert_true(automaton_accepts(automaton, at));
	automaton_free(&automaton);
	cuttle_grammar_free(&grammar);
}

static void forced_runs_are_whole(void **state) {
	(void)state;
	struct cuttle_grammar *grammar = read_grammar(record);
	struct automaton *automaton = follow_grammar(grammar, 0);
	char bytes[64];
	const uint32_t begin = automaton_begin(automaton);
	size_t size = automaton_forced(automaton, begin, bytes, sizeof bytes);
	assert_int_equal(size, 10);
	assert_memory_equal(bytes, "{\"name\": \"", 10);
	assert_int_equal(automaton_forced(automaton, begin, bytes, 3), 3);
	const char *text = "{\"name\": \"x\", \"age\": 7, \"ward\": \"s";
	size = automaton_forced(automaton, automaton_walk(automaton, begin, text, strlen(text)),
	                        bytes, sizeof bytes);
	assert_int_equal(size, 18);
	assert_memory_equal(bytes, "urgery\", \"tags\": [", 18);
	automaton_free(&automaton);
	cuttle_grammar_free(&grammar);
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* What mask.h's functions are asked for: SHORTEST is mask_closing, any other number mask_within. */
#define ANY_WAY UINT64_MAX
#define SHORTEST (UINT64_MAX - 1)

static bool allowed_slowly(struct automaton *automaton, const struct vocab *vocab, uint32_t state,
                           int32_t id, uint64_t most) {
	char bytes[4096];
	size_t size = 0;
	if (!vocab_drawable(vocab, id)) return false;
	if (vocab_ends_text(vocab, id)) return automaton_accepts(automaton, state);
	vocab_detokenize(vocab, &id, 1, false, bytes, sizeof bytes, &size);
	for (size_t i = 0; i < size && state; i++) {
		const uint64_t before = automaton_distance(automaton, state);
		state = automaton_step(automaton, state, (uint8_t)bytes[i]);
		if (most == SHORTEST && automaton_distance(automaton, state) + 1 != before)
			return false;
	}
	return size && state && automaton_distance(automaton, state) <= most;
}

static void check_answer(struct automaton *automaton, const struct vocab *vocab, uint32_t state,
                         const struct mask_answer *answer, uint64_t most) {
	uint32_t count = 0, going = 0;
	for (size_t id = 0; id < vocab_size(vocab); id++) {
		const bool allowed = allowed_slowly(automaton, vocab, state, (int32_t)id, most);
		assert_int_equal(answer->bits[id / 64] >> id % 64 & 1, allowed);
		count += allowed;
		going += allowed && !vocab_ends_text(vocab, (int32_t)id);
		if (allowed && answer->count == 1) assert_int_equal(answer->only, id);
	}
	assert_int_equal(answer->count, count);
	assert_int_equal(answer->going, going);
	assert_int_equal(answer->ends, automaton_accepts(automaton, state));
	assert_true(count);
	if (count != 1) assert_int_equal(answer->only, -1);
}

static int32_t draw_bit(const struct mask_answer *answer, uint64_t *random) {
	uint32_t left = (uint32_t)(tiny_random(random) % answer->count);
	for (int32_t id = 0;; id++)
		if (answer->bits[id / 64] >> id % 64 & 1 && !left--) return id;
}

static struct mask *follow_with(struct automaton *automaton, const struct vocab *vocab,
                                size_t bytes, struct trie **trie) {
	struct mask *mask;
	*trie = trie_new(vocab);
	assert_non_null(*trie);
	assert_int_equal(mask_new(automaton, vocab, *trie, bytes, &mask, NULL), CUTTLE_OK);
	return mask;
}

/* Along a random text: each mask is right. The automaton may use so many bytes. */
static void follow_text(const struct cuttle_grammar *grammar, const struct vocab *vocab,
                        size_t bytes, unsigned steps, bool closing, uint64_t random) {
	struct automaton *automaton = follow_grammar(grammar, bytes),
	                 *other = follow_grammar(grammar, 0);
	struct trie *trie;
	struct mask *mask;
	struct mask_answer answer;
	mask = follow_with(automaton, vocab, 1, &trie);
	assert_int_equal(mask_check(automaton, vocab, NULL), CUTTLE_OK);
	uint32_t state = automaton_begin(automaton), same = automaton_begin(other);
	automaton_hold(automaton, state);
	for (unsigned i = 0; i < steps; i++) {
		assert_true(mask_closing(mask, state, &answer));
		check_answer(other, vocab, same, &answer, SHORTEST);
		const uint64_t distance = automaton_distance(automaton, state);
		if (!closing) {
			const uint64_t most = distance + (distance ? i % 4 : 0) - (distance > 0);
			assert_true(mask_within(mask, state, most, &answer));
			check_answer(other, vocab, same, &answer, most);
			assert_true(mask_tokens(mask, state, &answer));
			check_answer(other, vocab, same, &answer, ANY_WAY);
		}
		const int32_t token = draw_bit(&answer, &random);
		if (vocab_ends_text(vocab, token)) {
			assert_int_equal(mask_step(mask, state, token), state);
			break;
		}
		const uint32_t next = mask_step(mask, state, token);
		automaton_hold(automaton, next);
		automaton_release(automaton, state);
		state = next;
		char text[4096];
		size_t size = 0;
		vocab_detokenize(vocab, &token, 1, false, text, sizeof text, &size);
		same = automaton_walk(other, same, text, size);
		if (closing)
			assert_int_equal(automaton_distance(automaton, state), distance - size);
		assert_int_equal(automaton_distance(automaton, state),
		                 automaton_distance(other, same));
	}
	mask_free(&mask);
	trie_free(trie);
	automaton_free(&automaton);
	automaton_free(&other);
}

static void follow_grammars(const struct vocab *vocab, unsigned texts, unsigned steps) {
	for (size_t i = 0; i <= sizeof languages / sizeof *languages; i++) {
		const bool last = i == sizeof languages / sizeof *languages;
		struct cuttle_grammar *grammar = read_grammar(last ? record : languages[i].gbnf);
		for (unsigned text = 0; text < texts; text++)
			follow_text(grammar, vocab, text % 2 ? 1 : 0, steps, text % 3 == 2,
			            17 + text);
		cuttle_grammar_free(&grammar);
	}
}

/* The tiny vocabulary: all bytes, one token of two, one that ends. */
static struct vocab *tiny_vocab(void) {
	struct gguf_writer *writer = gguf_writer_new();
	tiny_vocab_write(writer);
	size_t size;
	uint8_t *bytes = gguf_writer_finish(&writer, &size);
	struct gguf *file;
	struct vocab *vocab;
	assert_int_equal(gguf_parse(bytes, size, &file, NULL), CUTTLE_OK);
	assert_int_equal(vocab_read(file, &vocab, NULL), CUTTLE_OK);
	gguf_free(&file);
	free(bytes);
	return vocab;
}

/* "a", "aa" to 20 of them, "ab", "abab" to 24 bytes, "b", "c", and one that ends. */
static struct vocab *runs_vocab(void) {
	enum { RUNS = 20, PAIRS = 12 };
	static char as[RUNS], abs[2 * PAIRS];
	struct gguf_string tokens[RUNS + PAIRS + 3] = {{"b", 1}, {"c", 1}, {"<|im_end|>", 10}};
	memset(as, 'a', sizeof as);
	for (size_t i = 0; i < sizeof abs; i++) abs[i] = i % 2 ? 'b' : 'a';
	for (size_t i = 0; i < RUNS; i++) tokens[3 + i] = (struct gguf_string){as, i + 1};
	for (size_t i = 0; i < PAIRS; i++)
		tokens[3 + RUNS + i] = (struct gguf_string){abs, 2 * i + 2};
	struct gguf_writer *writer = gguf_writer_new();
	gguf_write_text(writer, "tokenizer.ggml.model", "gpt2");
	gguf_write_strings(writer, "tokenizer.ggml.tokens", tokens, RUNS + PAIRS + 3);
	gguf_write_strings(writer, "tokenizer.ggml.merges", tokens, 0);
	size_t size;
	uint8_t *bytes = gguf_writer_finish(&writer, &size);
	struct gguf *file;
	struct vocab *vocab;
	struct cuttle_error error = {""};
	assert_int_equal(gguf_parse(bytes, size, &file, NULL), CUTTLE_OK);
	if (vocab_read(file, &vocab, &error)) fail_msg("%s", error.message);
	gguf_free(&file);
	free(bytes);
	return vocab;
}

/* A vocabulary of a file; NULL where it is not there. */
static struct vocab *file_vocab(const char *path) {
	FILE *stream = fopen(path, "rb");
	if (!stream) {
		print_message("skipped: %s is not here\n", path);
		return NULL;
	}
	fseek(stream, 0, SEEK_END);
	const size_t size = (size_t)ftell(stream);
	uint8_t *bytes = malloc(size);
	assert_non_null(bytes);
	rewind(stream);
	assert_int_equal(fread(bytes, 1, size, stream), size);
	fclose(stream);
	struct gguf *file;
	struct vocab *vocab;
	assert_int_equal(gguf_parse(bytes, size, &file, NULL), CUTTLE_OK);
	assert_int_equal(vocab_read(file, &vocab, NULL), CUTTLE_OK);
	gguf_free(&file);
	free(bytes);
	return vocab;
}

static const char *model_path(void) {
	const char *path = getenv("CUTTLE_MODEL");
	return path && *path ? path : "models/SmolLM2-135M-Instruct.Q4_1.gguf";
}

static void masks_say_what_bytes_say(void **state) {
	(void)state;
	struct vocab *vocab = tiny_vocab();
	follow_grammars(vocab, 6, 40);
	vocab_free(&vocab);
}

static void masks_of_a_model_are_right(void **state) {
	(void)state;
	struct vocab *vocab = file_vocab(model_path());
	if (!vocab) return;
	follow_grammars(vocab, 2, 12);
	vocab_free(&vocab);
}

/* Inside a string the counter does not matter until the last token's bytes before its end. */
static void long_strings_share_a_mask(void **state) {
	(void)state;
	struct vocab *vocab = tiny_vocab();
	struct cuttle_grammar *grammar = read_grammar("root ::= \"\\\"\" [^\"]{5,400} \"\\\"\"");
	struct automaton *automaton = follow_grammar(grammar, 0);
	struct trie *trie;
	struct mask *mask;
	struct mask_answer answer;
	const uint64_t *shared = NULL;
	mask = follow_with(automaton, vocab, 0, &trie);
	uint32_t at = automaton_step(automaton, automaton_begin(automaton), '"');
	for (unsigned i = 0; i <= 400; i++) {
		assert_true(mask_tokens(mask, at, &answer));
		check_answer(automaton, vocab, at, &answer, ANY_WAY);
		if (i == 5) shared = answer.bits;
		if (i > 5 && i < 390) assert_ptr_equal(answer.bits, shared);
		if (i > 397) assert_ptr_not_equal(answer.bits, shared);
		at = automaton_step(automaton, at, 'z');
	}
	assert_int_equal(at, AUTOMATON_DEAD);
	mask_free(&mask);
	trie_free(trie);
	automaton_free(&automaton);
	cuttle_grammar_free(&grammar);
	vocab_free(&vocab);
}

/* Short, middle and long tokens each look as far ahead as they are long, and no farther. */
static void tokens_of_all_lengths_know_limits(void **state) {
	(void)state;
	static const char *const grammars[] = {
	    "root ::= \"a\"{3,60}",
	    "root ::= \"a\"{50,60}",
	    "root ::= (\"ab\" | \"aaa\"){2,24} \"c\"",
	    "root ::= (\"ab\" | \"aaa\"){22,24} \"c\"",
	    "root ::= ((\"ab\"){1,4} \"a\"){1,6} \"c\"?",
	    "root ::= (\"a\"{1,30} \"b\"){1,3}",
	};
	struct vocab *vocab = runs_vocab();
	for (size_t i = 0; i < sizeof grammars / sizeof *grammars; i++) {
		struct cuttle_grammar *grammar = read_grammar(grammars[i]);
		struct automaton *automaton = follow_grammar(grammar, 0);
		struct trie *trie;
		struct mask *mask;
		struct mask_answer answer;
		mask = follow_with(automaton, vocab, 0, &trie);
		uint64_t random = 3;
		for (unsigned text = 0; text < 8; text++) {
			for (uint32_t at = automaton_begin(automaton); at;) {
				assert_true(mask_tokens(mask, at, &answer));
				check_answer(automaton, vocab, at, &answer, ANY_WAY);
				// Mostly "a": long texts come near the limits.
				const char *next = tiny_random(&random) % 4 ? "abc" : "bac";
				uint32_t there = AUTOMATON_DEAD;
				for (; *next && !there; next++)
					there = automaton_step(automaton, at, (uint8_t)*next);
				at = there;
			}
		}
		mask_free(&mask);
		trie_free(trie);
		automaton_free(&automaton);
		cuttle_grammar_free(&grammar);
	}
	vocab_free(&vocab);
}

/* More states than masks are kept: each is asked for twice, the second time when it was forgotten.
 */
static void forgotten_masks_are_made_anew(void **state) {
	(void)state;
	enum { DEPTH = 3 * MASK_VALID / 2 };
	struct vocab *vocab = tiny_vocab();
	struct cuttle_grammar *grammar = read_grammar("root ::= \"(\" root [a-c] | \"x\"");
	struct automaton *automaton = follow_grammar(grammar, 1);
	struct trie *trie;
	struct mask *mask;
	struct mask_answer answer;
	mask = follow_with(automaton, vocab, 1, &trie);
	for (unsigned round = 0; round < 2; round++) {
		uint32_t at = automaton_begin(automaton);
		for (unsigned i = 0; i < 2 * DEPTH + 2; i++) {
			assert_true(mask_tokens(mask, at, &answer));
			check_answer(automaton, vocab, at, &answer, ANY_WAY);
			if (i == 2 * DEPTH + 1) break;
			const int32_t token = i < DEPTH ? '(' : i == DEPTH ? 'x' : 'b';
			assert_true(at = mask_step(mask, at, token));
		}
		assert_true(answer.ends);
	}
	mask_free(&mask);
	trie_free(trie);
	automaton_free(&automaton);
	cuttle_grammar_free(&grammar);
	vocab_free(&vocab);
}

static void bytes_without_a_token_are_named(void **state) {
	(void)state;
	static const struct gguf_string tokens[] = {
	    {"a", 1}, {"bc", 2}, {"c", 1}, {"<|im_end|>", 10}};
	struct gguf_writer *writer = gguf_writer_new();
	gguf_write_text(writer, "tokenizer.ggml.model", "gpt2");
	gguf_write_strings(writer, "tokenizer.ggml.tokens", tokens, 4);
	gguf_write_strings(writer, "tokenizer.ggml.merges", tokens, 0);
	size_t size;
	uint8_t *bytes = gguf_writer_finish(&writer, &size);
	struct gguf *file;
	struct vocab *vocab;
	struct cuttle_error error = {""};
	assert_int_equal(gguf_parse(bytes, size, &file, NULL), CUTTLE_OK);
	if (vocab_read(file, &vocab, &error)) fail_msg("%s", error.message);
	struct cuttle_grammar *grammar = read_grammar("root ::= \"a\" | \"bc\"");
	struct automaton *automaton = follow_grammar(grammar, 0);
	struct trie *trie;
	struct mask *mask;
	mask = follow_with(automaton, vocab, 0, &trie);
	assert_int_equal(mask_check(automaton, vocab, &error), CUTTLE_MODEL);
	assert_non_null(strstr(error.message, "byte 0x62"));
	mask_free(&mask);
	trie_free(trie);
	automaton_free(&automaton);
	cuttle_grammar_free(&grammar);
	vocab_free(&vocab);
	gguf_free(&file);
	free(bytes);
}

/* ---- times ----------------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b) {
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void print_times(const char *name, double *times, size_t count) {
	qsort(times, count, sizeof *times, compare_times);
	printf("  %-28s median %8.2f us  p99 %8.2f us  max %8.2f us  (%zu)\n", name,
	       times[count / 2] * 1e6, times[count * 99 / 100] * 1e6, times[count - 1] * 1e6,
	       count);
}

static void bench_vocab(const struct vocab *vocab) {
	enum { STEPS = 420 };
	static double fresh[STEPS], seen[STEPS], steps[STEPS];
	struct cuttle_grammar *grammar = read_grammar(record);
	struct automaton *automaton = follow_grammar(grammar, 0);
	struct trie *trie;
	struct mask *mask;
	struct mask_answer answer;
	double begin = seconds_now();
	mask = follow_with(automaton, vocab, 0, &trie);
	printf("%zu tokens, %s: mask_new %.1f ms\n", vocab_size(vocab), vocab_kind(vocab),
	       (seconds_now() - begin) * 1e3);
	char text[STEPS + 1];
	memset(text, 'x', STEPS);
	memcpy(text, "{\"name\": \"", 10);
	memcpy(text + 410, "\", \"age\":", 9);
	uint32_t at = automaton_begin(automaton);
	for (size_t i = 0; i < STEPS - 1; i++) {
		automaton_hold(automaton, at);
		begin = seconds_now();
		assert_true(mask_tokens(mask, at, &answer));
		fresh[i] = seconds_now() - begin;
		begin = seconds_now();
		assert_true(mask_tokens(mask, at, &answer));
		seen[i] = seconds_now() - begin;
		begin = seconds_now();
		at = automaton_step(automaton, at, (uint8_t)text[i]);
		steps[i] = seconds_now() - begin;
		assert_true(at);
	}
	print_times("mask of a new state", fresh, STEPS - 1);
	print_times("mask of a seen state", seen, STEPS - 1);
	print_times("step by a byte", steps, STEPS - 1);
	mask_free(&mask);
	trie_free(trie);
	automaton_free(&automaton);
	cuttle_grammar_free(&grammar);
}

/* usage: test_grammar --bench [FILE.gguf]... */
static int bench_files(int count, char **files) {
	for (int i = 0; i < count; i++) {
		struct vocab *vocab = file_vocab(files[i]);
		if (vocab) bench_vocab(vocab);
		vocab_free(&vocab);
	}
	return 0;
}

int main(int argc, char **argv) {
	if (argc > 1 && !strcmp(argv[1], "--bench")) {
		char *model = (char *)model_path();
		return argc > 2 ? bench_files(argc - 2, argv + 2) : bench_files(1, &model);
	}
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(constructs_mean_what_they_say),
	    cmocka_unit_test(wrong_grammars_are_refused),
	    cmocka_unit_test(large_grammars_take_no_time),
	    cmocka_unit_test(the_farthest_place_is_known),
	    cmocka_unit_test(states_know_their_way_out),
	    cmocka_unit_test(crowds_come_to_an_end),
	    cmocka_unit_test(forced_runs_are_whole),
	    cmocka_unit_test(masks_say_what_bytes_say),
	    cmocka_unit_test(masks_of_a_model_are_right),
	    cmocka_unit_test(long_strings_share_a_mask),
	    cmocka_unit_test(tokens_of_all_lengths_know_limits),
	    cmocka_unit_test(forgotten_masks_are_made_anew),
	    cmocka_unit_test(bytes_without_a_token_are_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
