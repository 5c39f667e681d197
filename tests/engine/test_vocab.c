// SPDX-License-Identifier: Apache-2.0
// Tests the tokenizers of engine/text/ against vectors of llama.cpp and Hugging Face. It fails if
// one token differs, or if a wrong vocabulary is accepted. It skips what needs files that are not
// there.
#include "engine/text/vocab.h"

#include "engine/text/unicode.h"
#include "tests/support/files.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/statistics.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static uint8_t *read_whole(const char *path, size_t *size) {
	*size = 0;
	FILE *file = fopen(path, "rb");
	if (!file) return NULL;
	uint8_t *bytes = NULL;
	size_t capacity = 0, step;
	do {
		if (*size == capacity)
			bytes = realloc(bytes, capacity = capacity ? capacity * 2 : 1 << 20);
		assert_non_null(bytes);
		step = fread(bytes + *size, 1, capacity - *size, file);
		*size += step;
	} while (step);
	fclose(file);
	return bytes;
}

static struct vocab *vocab_of(const uint8_t *bytes, size_t size) {
	struct gguf *file;
	struct vocab *vocab;
	struct cuttle_error error;
	if (gguf_parse(bytes, size, &file, &error)) fail_msg("%s", error.message);
	if (vocab_read(file, &vocab, &error)) fail_msg("%s", error.message);
	gguf_free(&file);
	return vocab;
}

/* NULL, with a message, when the file is absent. */
static struct vocab *open_vocab(const char *path) {
	size_t size;
	uint8_t *bytes = read_whole(path, &size);
	if (!bytes) {
		print_message("skipped: %s is not here\n", path);
		return NULL;
	}
	struct vocab *vocab = vocab_of(bytes, size);
	free(bytes);
	return vocab;
}

static const char *model_path(void) {
	const char *path = getenv("CUTTLE_MODEL");
	return path && *path ? path : "models/SmolLM2-135M-Instruct.Q4_1.gguf";
}

static void assert_tokens(const struct vocab *vocab, const char *text, size_t size, bool special,
                          const int32_t *expected, size_t count) {
	size_t capacity = vocab_tokens_bound(size), found = 1;
	int32_t *ids = malloc((capacity + 1) * sizeof *ids);
	char *copy = malloc(size ? size : 1);
	assert_true(ids && copy);
	memcpy(copy, text, size);
	ids[0] = 77; // appended to, not overwritten
	struct cuttle_error error;
	assert_int_equal(
	    vocab_tokenize(vocab, copy, size, special, ids, capacity + 1, &found, &error),
	    CUTTLE_OK);
	if (ids[0] != 77 || found != count + 1 ||
	    (count && memcmp(ids + 1, expected, count * sizeof *ids))) {
		print_message("text: '%.*s'\nwanted:", (int)size, text);
		for (size_t i = 0; i < count; i++) print_message(" %d", expected[i]);
		print_message("\nfound: ");
		for (size_t i = 1; i < found; i++) print_message(" %d", ids[i]);
		fail_msg("\nother tokens than expected");
	}
	// One place too few is refused and changes nothing; the exact number is enough.
	found = 1;
	assert_int_equal(vocab_tokenize(vocab, copy, size, special, ids, count + 1, &found, &error),
	                 CUTTLE_OK);
	if (count) {
		found = 1;
		assert_int_equal(
		    vocab_tokenize(vocab, copy, size, special, ids, count, &found, &error),
		    CUTTLE_USAGE);
		assert_int_equal(found, 1);
	}
	free(copy);
	free(ids);
}

#define ASSERT_TOKENS(vocab, text, special, ...)                                                   \
	assert_tokens(vocab, text, sizeof(text) - 1, special, (const int32_t[]){__VA_ARGS__},      \
	              sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static size_t parse_ids(const char **line, const char *end, int32_t *ids, size_t capacity) {
	size_t count = 0;
	while (*line < end && **line != '\n') {
		char *after;
		long id = strtol(*line, &after, 10);
		if (after == *line) break;
		assert_true(count < capacity);
		ids[count++] = (int32_t)id;
		*line = after;
		while (*line < end && **line == ' ') ++*line;
	}
	if (*line < end && **line == '\n') ++*line;
	return count;
}

/* The .inp file holds texts with a marker line after each; the .out file has a line of ids for
 * each text. */
static void run_llama_cpp_vectors(const char *name) {
	static const char marker[] = "\n__ggml_vocab_test__\n";
	char path[4096], end_of_path[64];
	struct vocab *vocab = open_vocab(files_data(name, path, sizeof path));
	if (!vocab) skip();
	size_t input_size, output_size, cases = 0;
	snprintf(end_of_path, sizeof end_of_path, "%s.inp", name);
	char *input = (char *)read_whole(files_data(end_of_path, path, sizeof path), &input_size);
	snprintf(end_of_path, sizeof end_of_path, "%s.out", name);
	char *output = (char *)read_whole(files_data(end_of_path, path, sizeof path), &output_size);
	assert_true(input && output && output_size);
	output[output_size - 1] = '\0';
	const char *text = input, *line = output;
	while (text < input + input_size) {
		int32_t ids[4096];
		const char *end =
		    memmem(text, (size_t)(input + input_size - text), marker, sizeof marker - 1);
		if (!end) break; // the file ends with a marker
		size_t count = parse_ids(&line, output + output_size - 1, ids, 4096);
		assert_tokens(vocab, text, (size_t)(end - text), false, ids, count);
		text = end + sizeof marker - 1;
		cases++;
	}
	assert_in_range(cases, 40, 1000);
	free(input);
	free(output);
	vocab_free(&vocab);
}

static void test_gpt2_vectors(void **state) {
	(void)state;
	run_llama_cpp_vectors("vocab/gpt-2.gguf");
}

static void test_spm_vectors(void **state) {
	(void)state;
	run_llama_cpp_vectors("vocab/llama-spm.gguf");
}

/* Each line is "hex id id ...": a text in hexadecimal and its tokens. A text must also come back
 * from its tokens when the vocabulary has a token for each of its bytes. */
static void run_golden(const struct vocab *vocab, const char *path) {
	size_t size, cases = 0, returned = 0;
	char *golden = (char *)read_whole(path, &size);
	assert_true(golden && size && golden[size - 1] == '\n');
	golden[size - 1] = '\0';
	for (const char *line = golden, *end = golden + size - 1; line < end;) {
		if (*line == '#') {
			line = strchr(line, '\n') + 1;
			continue;
		}
		char text[4096];
		int32_t ids[4096];
		size_t length = 0;
		for (unsigned byte;
		     isxdigit((unsigned char)*line) && sscanf(line, "%2x", &byte) == 1; line += 2)
			text[length++] = (char)byte;
		line += *line == '-';
		line += *line == ' ';
		size_t count = parse_ids(&line, end, ids, 4096);
		assert_tokens(vocab, text, length, false, ids, count);
		char back[4096];
		size_t back_size = 0;
		vocab_detokenize(vocab, ids, count, true, back, sizeof back, &back_size);
		returned += back_size == length && !memcmp(back, text, length);
		cases++;
	}
	assert_in_range(cases, 200, 10000);
	assert_in_range(returned, cases - 4,
	                cases); // the rest holds bytes that SmolLM2 has no token for
	free(golden);
}

static void test_smollm_golden(void **state) {
	(void)state;
	struct vocab *vocab = open_vocab(model_path());
	if (!vocab) skip();
	assert_string_equal(vocab_kind(vocab), "gpt2/smollm");
	assert_int_equal(vocab_size(vocab), 49152);
	assert_int_equal(vocab_bos(vocab), 1);
	assert_int_equal(vocab_eos(vocab), 2);
	assert_false(vocab_add_bos(vocab));
	assert_true(vocab_ends_text(vocab, 0) && vocab_ends_text(vocab, 2));
	assert_false(vocab_ends_text(vocab, 1) || vocab_ends_text(vocab, 20));
	assert_true(vocab_drawable(vocab, 0) && vocab_drawable(vocab, 2) &&
	            vocab_drawable(vocab, 20));
	assert_false(vocab_drawable(vocab, 1) || vocab_drawable(vocab, 16));
	run_golden(vocab, "tests/golden/smollm_tokens.txt");

	// With parse_special, control tokens written out in the text are tokens.
	ASSERT_TOKENS(vocab, "<|im_start|>user\nHello world<|im_end|>", true, 1, 4093, 198, 19556,
	              905, 2);
	ASSERT_TOKENS(vocab, "<|im_end|><|im_end|>", true, 2, 2);
	// Invalid UTF-8: each bad byte becomes one U+FFFD (EF BF BD). The tokens are those of the
	// text with U+FFFD in its place.
	int32_t mark[3], ids[64];
	size_t marks = 0, count = 0;
	assert_int_equal(vocab_tokenize(vocab, "\xef\xbf\xbd", 3, false, mark, 3, &marks, NULL),
	                 CUTTLE_OK);
	static const struct {
		const char *bad, *good;
	} invalid[] = {{"\xff", "\xef\xbf\xbd"},
	               {"a\x80z", "a\xef\xbf\xbdz"},
	               {"\xc3", "\xef\xbf\xbd"},
	               {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
	               {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
	               {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	               {"\xf4\x90\x80\x80 x", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd x"},
	               {"\xe2\x28\xa1", "\xef\xbf\xbd(\xef\xbf\xbd"},
	               {"ok \xf0\x9f\xa6", "ok \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}};
	for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
		count = 0;
		assert_int_equal(vocab_tokenize(vocab, invalid[i].good, strlen(invalid[i].good),
		                                false, ids, 64, &count, NULL),
		                 CUTTLE_OK);
		assert_tokens(vocab, invalid[i].bad, strlen(invalid[i].bad), false, ids, count);
	}
	vocab_free(&vocab);
}

/* The model's metadata; skips when it is not here. */
static struct gguf *open_model(uint8_t **bytes) {
	struct gguf *file;
	size_t size;
	*bytes = read_whole(model_path(), &size);
	if (!*bytes) {
		print_message("skipped: %s is not here\n", model_path());
		skip();
	}
	assert_int_equal(gguf_parse(*bytes, size, &file, NULL), CUTTLE_OK);
	return file;
}

/* The file's vocabulary, read from a copy that names another pre-tokenizer. */
static struct vocab *split_as(const struct gguf *file, const char *pre) {
	size_t size, tokens, merges, types;
	struct gguf_string *token_texts, *merge_texts;
	int32_t *token_types;
	assert_int_equal(
	    gguf_strings(file, "tokenizer.ggml.tokens", true, &token_texts, &tokens, NULL),
	    CUTTLE_OK);
	assert_int_equal(
	    gguf_strings(file, "tokenizer.ggml.merges", true, &merge_texts, &merges, NULL),
	    CUTTLE_OK);
	assert_int_equal(
	    gguf_ints(file, "tokenizer.ggml.token_type", true, &token_types, &types, NULL),
	    CUTTLE_OK);
	struct gguf_writer *writer = gguf_writer_new();
	gguf_write_text(writer, "tokenizer.ggml.model", "gpt2");
	gguf_write_text(writer, "tokenizer.ggml.pre", pre);
	gguf_write_strings(writer, "tokenizer.ggml.tokens", token_texts, tokens);
	gguf_write_strings(writer, "tokenizer.ggml.merges", merge_texts, merges);
	gguf_write_array(writer, "tokenizer.ggml.token_type", GGUF_I32, token_types, types);
	gguf_write_u32(writer, "tokenizer.ggml.bos_token_id", 1);
	uint8_t *bytes = gguf_writer_finish(&writer, &size);
	free(token_texts);
	free(merge_texts);
	free(token_types);
	struct vocab *vocab = vocab_of(bytes, size);
	free(bytes);
	return vocab;
}

/* Granite's name for the split of SmolLM2. */
static void test_refact_golden(void **state) {
	(void)state;
	uint8_t *bytes;
	struct gguf *file = open_model(&bytes);
	struct vocab *vocab = split_as(file, "refact");
	gguf_free(&file);
	free(bytes);
	assert_string_equal(vocab_kind(vocab), "gpt2/refact");
	assert_false(vocab_add_bos(vocab));
	run_golden(vocab, "tests/golden/smollm_tokens.txt");
	vocab_free(&vocab);
}

static void test_llama_bpe_golden(void **state) {
	(void)state;
	uint8_t *bytes;
	struct gguf *file = open_model(&bytes);
	struct vocab *vocab = split_as(file, "llama-bpe");
	gguf_free(&file);
	free(bytes);
	assert_string_equal(vocab_kind(vocab), "gpt2/llama-bpe");
	assert_true(vocab_add_bos(vocab));
	run_golden(vocab, "tests/golden/llama_bpe_tokens.txt");
	vocab_free(&vocab);
}

/* Bytes of a text that repeats one character: 10 MiB in nightly runs, else 2 MiB. At night 2
 * seconds are allowed. Else 5, for a sanitizer may be at work; a quadratic tokenizer takes hours.
 */
static size_t run_size(void) {
	return (size_t)(nightly() ? 10 : 2) << 20;
}

static size_t tokens_of_run(const struct vocab *vocab, const char *unit) {
	// A byte that is not UTF-8 becomes a character of three bytes, so a third is enough.
	const size_t size = run_size() / (*unit == '\xff' ? 3 : 1), step = *unit ? strlen(unit) : 1,
	             bound = vocab_tokens_bound(size);
	size_t count = 0;
	char *text = malloc(size);
	int32_t *ids = malloc(bound * sizeof *ids);
	assert_true(text && ids);
	for (size_t i = 0; i < size; i++) text[i] = unit[i % step];
	const clock_t begin = clock();
	assert_int_equal(vocab_tokenize(vocab, text, size, false, ids, bound, &count, NULL),
	                 CUTTLE_OK);
	const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
	print_message("%s, %zu MiB of '%s': %zu tokens, %.2f s\n", vocab_kind(vocab), size >> 20,
	              isprint((unsigned char)*unit) ? unit : "..", count, seconds);
	assert_true(seconds < (nightly() ? 2 : 5));
	free(text);
	free(ids);
	return count;
}

static void time_runs(struct vocab *vocab) {
	static const char *const units[] = {"a", " ", "\xf0\x9f\x98\x80", "\0"};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		assert_in_range(tokens_of_run(vocab, units[i]), 1, 2 * run_size());
	vocab_free(&vocab);
}

static void test_runs_with_real_vocabularies(void **state) {
	(void)state;
	static const char *const pre[] = {"smollm", "gpt-2", "llama-bpe", "qwen2", "default"};
	char path[4096];
	struct vocab *pieces = open_vocab(files_data("vocab/llama-spm.gguf", path, sizeof path));
	if (pieces) time_runs(pieces);
	uint8_t *bytes;
	struct gguf *file = open_model(&bytes);
	for (size_t i = 0; i < (nightly() ? sizeof pre / sizeof *pre : 1); i++)
		time_runs(split_as(file, pre[i]));
	gguf_free(&file);
	free(bytes);
}

/* ---- vocabularies made here ------------------------------------------------------------------ */

enum { BYTES = 256, VOCAB_HUGE = 5000 };

/* A small vocabulary that a test changes before it is written to a file. A field that is not set is
 * not written. */
struct sketch {
	const char *model, *pre;
	struct gguf_string tokens[BYTES + 32], merges[32];
	int32_t types[BYTES + 32];
	float scores[BYTES + 32];
	bool narrow_types; /* types are written as u8 */
	size_t token_count, merge_count, type_count, score_count;
	int64_t bos, eos, unknown;
	char texts[BYTES][8];
};

static void add_token(struct sketch *sketch, const char *text, int32_t type, float score) {
	sketch->tokens[sketch->token_count] = (struct gguf_string){text, strlen(text)};
	sketch->types[sketch->token_count] = type;
	sketch->scores[sketch->token_count] = score;
	sketch->type_count = sketch->score_count = ++sketch->token_count;
}

static void add_merge(struct sketch *sketch, const char *text) {
	sketch->merges[sketch->merge_count++] = (struct gguf_string){text, strlen(text)};
}

/* Token b is byte b; then ab = 256, abc = 257, " a" = 258, <=> = 259 (control), USER = 260,
 * USERUSER = 261, <|im_end|> = 262. */
static void sketch_bpe(struct sketch *sketch) {
	*sketch =
	    (struct sketch){.model = "gpt2", .pre = "gpt-2", .bos = -1, .eos = -1, .unknown = -1};
	for (int byte = 0, extra = 0; byte < BYTES; byte++) {
		bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
		utf8_write(printable ? (uint32_t)byte : (uint32_t)(256 + extra++),
		           sketch->texts[byte]);
		add_token(sketch, sketch->texts[byte], VOCAB_NORMAL, 0);
	}
	add_token(sketch, "ab", VOCAB_NORMAL, 0);
	add_token(sketch, "abc", VOCAB_NORMAL, 0);
	add_token(sketch, "\xc4\xa0\x61", VOCAB_NORMAL, 0);
	add_token(sketch, "<=>", VOCAB_CONTROL, 0);
	add_token(sketch, "USER", VOCAB_USER_DEFINED, 0);
	add_token(sketch, "USERUSER", VOCAB_USER_DEFINED, 0);
	add_token(sketch, "<|im_end|>", VOCAB_NORMAL, 0);
	add_merge(sketch, "a b");
	add_merge(sketch, "ab c");
	add_merge(sketch, "\xc4\xa0 a");
}

#define SPACE "\xe2\x96\x81" /* U+2581 */

/* <unk> <s> </s>, byte b = 3 + b, then _ = 259, a = 260, b = 261, ab = 262, _a = 263, _ab = 264, aa
 * = 265 */
static void sketch_spm(struct sketch *sketch) {
	*sketch = (struct sketch){.model = "llama", .bos = 1, .eos = 2, .unknown = 0};
	add_token(sketch, "<unk>", VOCAB_UNKNOWN, 0);
	add_token(sketch, "<s>", VOCAB_CONTROL, 0);
	add_token(sketch, "</s>", VOCAB_CONTROL, 0);
	for (int byte = 0; byte < BYTES; byte++) {
		snprintf(sketch->texts[byte], sizeof sketch->texts[byte], "<0x%02X>",
		         (unsigned)byte);
		add_token(sketch, sketch->texts[byte], VOCAB_BYTE, 0);
	}
	add_token(sketch, SPACE, VOCAB_NORMAL, -1);
	add_token(sketch, "a", VOCAB_NORMAL, -2);
	add_token(sketch, "b", VOCAB_NORMAL, -3);
	add_token(sketch, "ab", VOCAB_NORMAL, -1.5f);
	add_token(sketch, SPACE "a", VOCAB_NORMAL, -1.2f);
	add_token(sketch, SPACE "ab", VOCAB_NORMAL, INFINITY);
	add_token(sketch, "aa", VOCAB_NORMAL, -4);
}

static uint8_t *write_sketch(const struct sketch *sketch, size_t *size) {
	struct gguf_writer *writer = gguf_writer_new();
	if (sketch->model) gguf_write_text(writer, "tokenizer.ggml.model", sketch->model);
	if (sketch->pre) gguf_write_text(writer, "tokenizer.ggml.pre", sketch->pre);
	gguf_write_strings(writer, "tokenizer.ggml.tokens", sketch->tokens, sketch->token_count);
	if (sketch->narrow_types)
		gguf_write_array(writer, "tokenizer.ggml.token_type", GGUF_U8, sketch->types,
		                 sketch->type_count);
	else if (sketch->type_count)
		gguf_write_array(writer, "tokenizer.ggml.token_type", GGUF_I32, sketch->types,
		                 sketch->type_count);
	if (sketch->score_count)
		gguf_write_array(writer, "tokenizer.ggml.scores", GGUF_F32, sketch->scores,
		                 sketch->score_count);
	if (sketch->merge_count)
		gguf_write_strings(writer, "tokenizer.ggml.merges", sketch->merges,
		                   sketch->merge_count);
	if (sketch->bos >= 0)
		gguf_write_u32(writer, "tokenizer.ggml.bos_token_id", (uint32_t)sketch->bos);
	if (sketch->eos >= 0)
		gguf_write_u32(writer, "tokenizer.ggml.eos_token_id", (uint32_t)sketch->eos);
	if (sketch->unknown >= 0)
		gguf_write_u32(writer, "tokenizer.ggml.unknown_token_id",
		               (uint32_t)sketch->unknown);
	return gguf_writer_finish(&writer, size);
}

static struct vocab *sketched(const struct sketch *sketch) {
	size_t size;
	uint8_t *bytes = write_sketch(sketch, &size);
	struct vocab *vocab = vocab_of(bytes, size);
	memset(bytes, 0xaa, size); // the vocabulary must not point into the file
	free(bytes);
	return vocab;
}

static void refused(const struct sketch *sketch, const char *message) {
	size_t size;
	struct gguf *file;
	struct vocab *vocab = (struct vocab *)1;
	struct cuttle_error error = {""};
	uint8_t *bytes = write_sketch(sketch, &size);
	assert_int_equal(gguf_parse(bytes, size, &file, &error), CUTTLE_OK);
	if (vocab_read(file, &vocab, &error) != CUTTLE_MODEL || vocab ||
	    !strstr(error.message, message))
		fail_msg("wanted '%s', got '%s'", message, error.message);
	gguf_free(&file);
	free(bytes);
}

static void test_bpe_by_hand(void **state) {
	(void)state;
	struct sketch sketch;
	sketch_bpe(&sketch);
	// Token 263. Of two tokens with the same text, the last one counts.
	add_token(&sketch, "ab", VOCAB_NORMAL, 0);
	sketch.tokens['q'] = (struct gguf_string){"no byte", 7};
	struct vocab *vocab = sketched(&sketch);
	ASSERT_TOKENS(vocab, "abc", false, 257);
	// In " ab", "a b" of rank 0 is merged before "Ġ a" of rank 2.
	ASSERT_TOKENS(vocab, "ab ab ac", false, 263, ' ', 263, 258, 'c');
	// A byte without a token is left out, and its neighbours are not merged.
	ASSERT_TOKENS(vocab, "aqb", false, 'a', 'b');
	assert_tokens(vocab, "q", 1, false, NULL, 0);
	vocab_free(&vocab);
}

static void test_llama_bpe_by_hand(void **state) {
	(void)state;
	struct sketch sketch;
	sketch_bpe(&sketch);
	sketch.pre = "llama-bpe";
	add_token(&sketch, "12", VOCAB_NORMAL, 0);   // 263
	add_token(&sketch, "123", VOCAB_NORMAL, 0);  // 264
	add_token(&sketch, "1234", VOCAB_NORMAL, 0); // 265
	add_token(&sketch, "xyz", VOCAB_NORMAL, 0);  // 266
	add_token(&sketch, "===", VOCAB_CONTROL, 0);
	add_merge(&sketch, "1 2");
	add_merge(&sketch, "12 3");
	add_merge(&sketch, "123 4");
	struct vocab *vocab = sketched(&sketch);
	assert_false(vocab_add_bos(vocab)); // the file names no BOS
	ASSERT_TOKENS(vocab, "1234", false, 264, '4');
	ASSERT_TOKENS(vocab, "123412", false, 264, '4', 263); // words of three digits: 123, 412
	ASSERT_TOKENS(vocab, "xyz", false, 266);              // a word that is a token, no merges
	ASSERT_TOKENS(vocab, "xyza", false, 'x', 'y', 'z', 'a');
	ASSERT_TOKENS(vocab, "===", false, '=', '=', '='); // a control token is no such word
	ASSERT_TOKENS(vocab, "===", true, 267);
	vocab_free(&vocab);
}

static void test_special_tokens(void **state) {
	(void)state;
	struct sketch sketch;
	sketch_bpe(&sketch);
	add_token(&sketch, "<=", VOCAB_NORMAL, 0);          // 263
	add_token(&sketch, "AAB", VOCAB_USER_DEFINED, 0);   // 264
	add_token(&sketch, "BCCC", VOCAB_USER_DEFINED, 0);  // 265
	add_token(&sketch, "RUS", VOCAB_USER_DEFINED, 0);   // 266
	add_token(&sketch, "", VOCAB_USER_DEFINED, 0);      // never matches
	add_token(&sketch, "SERUSERUSE", VOCAB_CONTROL, 0); // 268
	add_merge(&sketch, "< =");
	add_merge(&sketch, "<= >"); // makes a control token, so it is left out
	struct vocab *vocab = sketched(&sketch);
	ASSERT_TOKENS(vocab, "a<=>", true, 'a', 259);
	ASSERT_TOKENS(vocab, "a<=>", false, 'a', 263, '>');
	ASSERT_TOKENS(vocab, "xUSERUSERUSERy", false, 'x', 261, 260, 'y');
	ASSERT_TOKENS(vocab, "xUSERUSERUSERy", true, 'x', 'U', 268, 'R', 'y');
	ASSERT_TOKENS(vocab, "USERUSX", false, 260, 'U', 'S', 'X');
	// BCCC is preferred to AAB: it is longer, though it begins later.
	ASSERT_TOKENS(vocab, "AABCCC", false, 'A', 'A', 265);
	ASSERT_TOKENS(vocab, "AABAAB", false, 264, 264);
	// A token with an end-of-turn name is a control token, whatever its type in the file.
	assert_int_equal(vocab_type(vocab, 262), VOCAB_CONTROL);
	assert_true(vocab_ends_text(vocab, 262) && vocab_drawable(vocab, 262) &&
	            vocab_drawable(vocab, 260));
	assert_false(vocab_drawable(vocab, 259) || vocab_ends_text(vocab, 259));
	ASSERT_TOKENS(vocab, "|<|im_end|>", true, '|', 262);
	ASSERT_TOKENS(vocab, "<|im_end|>", false, '<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|', '>');
	assert_int_equal(vocab_find(vocab, "USERUSER", 8), 261);
	assert_int_equal(vocab_find(vocab, "USERUSE", 7), -1);
	assert_int_equal(vocab_find(vocab, "", 0), -1);
	assert_int_equal(vocab_piece(vocab, 258).size, 3);
	char text[16];
	size_t size = 2;
	vocab_detokenize(vocab, (const int32_t[]){258, 259, 260, 257}, 4, true, text, 6, &size);
	assert_int_equal(size, 2 + 2 + 4 + 3); // the control token writes nothing
	assert_memory_equal(text + 2, " aUS", 4);
	vocab_free(&vocab);
}

static void test_spm_by_hand(void **state) {
	(void)state;
	struct sketch sketch;
	sketch_spm(&sketch);
	add_token(&sketch, "<", VOCAB_NORMAL, -5);  // 266
	add_token(&sketch, "/", VOCAB_NORMAL, -5);  // 267
	add_token(&sketch, "s", VOCAB_NORMAL, -5);  // 268
	add_token(&sketch, ">", VOCAB_NORMAL, -5);  // 269
	add_token(&sketch, "</", VOCAB_NORMAL, -5); // 270
	add_token(&sketch, "s>", VOCAB_NORMAL, -5); // 271
	struct vocab *vocab = sketched(&sketch);
	assert_string_equal(vocab_kind(vocab), "llama");
	assert_true(vocab_add_bos(vocab) && vocab_ends_text(vocab, 2) && vocab_drawable(vocab, 3) &&
	            !vocab_drawable(vocab, 0));
	assert_int_equal(vocab_tokenize(vocab, NULL, 0, false, NULL, 0, &(size_t){0}, NULL),
	                 CUTTLE_OK);
	ASSERT_TOKENS(vocab, "ab", false, 264);
	ASSERT_TOKENS(vocab, " ", false, 259, 259);
	ASSERT_TOKENS(vocab, "b", false, 259, 261);
	ASSERT_TOKENS(vocab, "aaa", false, 263, 265);
	ASSERT_TOKENS(vocab, "baaa", false, 259, 261, 265, 260); // of equal scores the leftmost
	ASSERT_TOKENS(vocab, "baaab", false, 259, 261, 265, 262);
	ASSERT_TOKENS(vocab, "a\xc3\xa9", false, 263, 3 + 0xc3, 3 + 0xa9);
	ASSERT_TOKENS(vocab, "\xff\0\xe2", false, 259, 3 + 0xff, 3, 3 + 0xe2);
	ASSERT_TOKENS(vocab, "<s>a</s>", true, 1, 263, 2);
	ASSERT_TOKENS(vocab, "a<s>a", true, 263, 1, 263);
	ASSERT_TOKENS(vocab, "</s>", false, 259, 270, 271); // not 2, though both halves are there
	char text[16];
	size_t size = 0;
	vocab_detokenize(vocab, (const int32_t[]){1, 264, 263, 3 + 0xc3, 2}, 5, true, text,
	                 sizeof text, &size);
	assert_int_equal(size, 5);
	assert_memory_equal(text, "ab a\xc3", 5);
	size = 0;
	vocab_detokenize(vocab, (const int32_t[]){264}, 1, false, text, sizeof text, &size);
	assert_int_equal(size, 3);
	vocab_free(&vocab);
}

static void test_round_trip(void **state) {
	(void)state;
	for (int spm = 0; spm < 2; spm++) {
		struct sketch sketch;
		(spm ? sketch_spm : sketch_bpe)(&sketch);
		struct vocab *vocab = sketched(&sketch);
		uint64_t random = 20240607;
		for (int round = 0; round < 3000; round++) {
			char text[256], back[256];
			int32_t ids[1100];
			size_t size = 0, count = 0, back_size = 0;
			for (int i = 0; i < round % 60; i++) {
				random =
				    random * UINT64_C(6364136223846793005) + 1442695040888963407;
				static const uint32_t spans[] = {0x03, 0x80, 0x800, 0x3000,
				                                 0x110000};
				uint32_t code_point =
				    (uint32_t)(random >> 33) % spans[(random >> 60) % 5];
				if (code_point < 3)
					code_point = code_point ? 0x60 + code_point : ' ';
				if ((code_point >= 0xd800 && code_point <= 0xdfff) ||
				    code_point == 0x2581)
					code_point = 0;
				size += utf8_write(code_point, text + size);
			}
			assert_int_equal(
			    vocab_tokenize(vocab, text, size, false, ids, 1100, &count, NULL),
			    CUTTLE_OK);
			vocab_detokenize(vocab, ids, count, true, back, sizeof back, &back_size);
			assert_int_equal(back_size, size);
			assert_memory_equal(back, text, size);
		}
		vocab_free(&vocab);
	}
}

/* Runs of 2, 4, .. 4096 letters are tokens. No word of one letter can have a longer chain of
 * merges. */
static void test_runs_of_one_letter(void **state) {
	(void)state;
	static char runs[12][4097], merges[12][4100];
	for (int spm = 0; spm < 2; spm++) {
		struct sketch sketch;
		(spm ? sketch_spm : sketch_bpe)(&sketch);
		for (int i = 0, length = 2; i < 12; i++, length *= 2) {
			memset(runs[i], 'z', (size_t)length);
			memset(merges[i], 'z', (size_t)length + 1);
			merges[i][length / 2] = ' ';
			add_token(&sketch, runs[i], VOCAB_NORMAL, (float)-i);
			if (!spm) add_merge(&sketch, merges[i]);
		}
		if (spm) add_token(&sketch, "z", VOCAB_NORMAL, -20);
		struct vocab *vocab = sketched(&sketch);
		assert_int_equal(tokens_of_run(vocab, "z"), (run_size() >> 12) + (size_t)spm);
		static const char *const units[] = {" ", "\n", "1", "!", "\xff", "U"};
		for (size_t i = 0; i < sizeof units / sizeof *units; i++)
			assert_true(tokens_of_run(vocab, units[i]));
		vocab_free(&vocab);
	}
}

static void test_refuses_kinds_and_counts(void **state) {
	(void)state;
	struct sketch good, bad;
	sketch_spm(&good);
#define REFUSED(change, message)                                                                   \
	do {                                                                                       \
		bad = good;                                                                        \
		change;                                                                            \
		refused(&bad, message);                                                            \
	} while (0)
	REFUSED(bad.model = NULL, "lacks tokenizer.ggml.model");
	REFUSED(bad.model = "bert", "'bert'");
	REFUSED(bad.token_count = bad.type_count = bad.score_count = 0, "empty");
	REFUSED(bad.type_count--, "token_type has");
	REFUSED(bad.type_count = 0, "lacks tokenizer.ggml.token_type");
	REFUSED(bad.narrow_types = true, "token_type is an array of u8");
	REFUSED(bad.types[5] = 0, "type that does not exist");
	REFUSED(bad.types[5] = 7, "type that does not exist");
	REFUSED(bad.types[5] = -1, "type that does not exist");
	REFUSED(bad.score_count--, "scores has");
	REFUSED(bad.score_count = 0, "lacks tokenizer.ggml.scores");
	REFUSED(bad.scores[7] = NAN, "not a number");
	REFUSED(bad.bos = (int64_t)bad.token_count, "outside the vocabulary");
	REFUSED(bad.eos = UINT32_MAX, "outside the vocabulary");
	REFUSED(bad.unknown = 1 << 30, "outside the vocabulary");
	static const char *const names[] = {"<0xZZ>", "<0x1>", "<0x-1>", "<0xab>",
	                                    "<0x41",  "",      "A"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		REFUSED((bad.tokens[3 + 0x41] = (struct gguf_string){names[i], strlen(names[i])}),
		        "type byte but not named");
	REFUSED((bad.tokens[3 + 0x41] = (struct gguf_string){"other", 5}, bad.types[3 + 0x41] = 1,
	         bad.unknown = -1),
	        "neither <0x41>");
	static char huge[VOCAB_HUGE];
	REFUSED((bad.tokens[260] = (struct gguf_string){huge, sizeof huge}), "longer than");

	sketch_bpe(&good);
	REFUSED(bad.pre = "tekken", "'tekken'");
	REFUSED(bad.pre = "", "''");
	REFUSED(bad.merge_count = 0, "lacks tokenizer.ggml.merges");
	static const char *const merges[] = {"",     "a",    "ab",    "a ",  " b", "a  b", "a c",
	                                     "zz b", "b zz", "a b c", "b a", " ",  "  "};
	for (size_t i = 0; i < sizeof merges / sizeof *merges; i++)
		REFUSED(add_merge(&bad, merges[i]), "merge 3");
	REFUSED((bad.merges[3] = (struct gguf_string){huge, sizeof huge}, bad.merge_count++),
	        "merge 3");
}

/* Changes one bit of a vocabulary file at a time. The file is then refused, or good enough to
 * tokenise with. */
static void test_every_bit(void **state) {
	(void)state;
	static const char text[] = "ab abc\xff <s>USER <=> 12\n  z";
	for (int spm = 0; spm < 2; spm++) {
		struct sketch sketch;
		(spm ? sketch_spm : sketch_bpe)(&sketch);
		size_t size, accepted = 0;
		uint8_t *bytes = write_sketch(&sketch, &size);
		// Every third bit is enough, and quick. 8 and 3 are coprime, so each place in a
		// byte has its turn.
		for (size_t bit = 0; bit < size * 8; bit += 3) {
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			struct gguf *file;
			struct vocab *vocab = NULL;
			if (!gguf_parse(bytes, size, &file, NULL) &&
			    !vocab_read(file, &vocab, NULL)) {
				int32_t ids[160];
				size_t count = 0, written = 0;
				char back[512];
				assert_int_equal(vocab_tokenize(vocab, text, sizeof text, bit & 1,
				                                ids, 160, &count, NULL),
				                 CUTTLE_OK);
				vocab_detokenize(vocab, ids, count, true, back, sizeof back,
				                 &written);
				accepted++;
			}
			vocab_free(&vocab);
			gguf_free(&file);
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		assert_in_range(accepted, 1, size * 8 / 3 - 100);
		free(bytes);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_gpt2_vectors),
	    cmocka_unit_test(test_spm_vectors),
	    cmocka_unit_test(test_smollm_golden),
	    cmocka_unit_test(test_refact_golden),
	    cmocka_unit_test(test_llama_bpe_golden),
	    cmocka_unit_test(test_bpe_by_hand),
	    cmocka_unit_test(test_llama_bpe_by_hand),
	    cmocka_unit_test(test_special_tokens),
	    cmocka_unit_test(test_spm_by_hand),
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_runs_with_real_vocabularies),
	    cmocka_unit_test(test_runs_of_one_letter),
	    cmocka_unit_test(test_refuses_kinds_and_counts),
	    cmocka_unit_test(test_every_bit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
