// SPDX-License-Identifier: Apache-2.0
// Tests the byte-level pre-tokenizers of engine/text/ over one small vocabulary. Hugging Face's
// tokenizers made the golden vectors of qwen2, default, dbrx and gpt-4o. With
// CUTTLE_RANDOM_TOKENS=FOLDER, all pre-tokenizers read the random strings that
// tests/golden/make_small_tokens.py wrote there. It fails if one token differs, or if a long run of
// one kind of character takes more than linear time.
#include "base/utf8.h"
#include "engine/text/vocab.h"
#include "tests/support/gguf_writer.h"
#include "tests/support/statistics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { BYTES = 256, MERGES = 512, LONGEST = 128 };

/* Token b is byte b, in GPT-2's letter for it; token 256 + i is what merge i makes. */
static struct vocab *small_vocab(const char *pre) {
	static char texts[BYTES + MERGES][LONGEST], merges[MERGES][LONGEST];
	static struct gguf_string tokens[BYTES + MERGES], rules[MERGES];
	for (uint32_t byte = 0, extra = 0; byte < BYTES; byte++) {
		const bool printable =
		    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte != 0xad);
		tokens[byte] = (struct gguf_string){
		    texts[byte], utf8_write(printable ? byte : 256 + extra++, texts[byte])};
	}
	FILE *file = fopen("tests/golden/small_merges.txt", "r");
	assert_non_null(file);
	for (size_t i = 0; i < MERGES; i++) {
		assert_non_null(fgets(merges[i], LONGEST, file));
		merges[i][strcspn(merges[i], "\n")] = 0;
		rules[i] = (struct gguf_string){merges[i], strlen(merges[i])};
		const char *space = strchr(merges[i], ' ');
		assert_non_null(space);
		const int length = snprintf(texts[BYTES + i], LONGEST, "%.*s%s",
		                            (int)(space - merges[i]), merges[i], space + 1);
		tokens[BYTES + i] = (struct gguf_string){texts[BYTES + i], (size_t)length};
	}
	fclose(file);
	struct gguf_writer *writer = gguf_writer_new();
	gguf_write_text(writer, "tokenizer.ggml.model", "gpt2");
	if (pre) gguf_write_text(writer, "tokenizer.ggml.pre", pre);
	gguf_write_strings(writer, "tokenizer.ggml.tokens", tokens, BYTES + MERGES);
	gguf_write_strings(writer, "tokenizer.ggml.merges", rules, MERGES);
	size_t size;
	uint8_t *bytes = gguf_writer_finish(&writer, &size);
	struct gguf *gguf;
	struct vocab *vocab;
	struct cuttle_error error;
	assert_int_equal(gguf_parse(bytes, size, &gguf, &error), CUTTLE_OK);
	if (vocab_read(gguf, &vocab, &error)) fail_msg("%s", error.message);
	gguf_free(&gguf);
	free(bytes);
	return vocab;
}

/* One "hex id id ..." line. */
static void check_line(const struct vocab *vocab, const char *line) {
	char text[4096];
	int32_t ids[16400];
	size_t length = 0, count = 0;
	const char *at = line;
	for (unsigned byte; *at != ' ' && *at != '-' && sscanf(at, "%2x", &byte) == 1; at += 2) {
		assert_true(length < sizeof text);
		text[length++] = (char)byte;
	}
	assert_true(vocab_tokens_bound(length) <= sizeof ids / sizeof *ids);
	assert_int_equal(
	    vocab_tokenize(vocab, text, length, false, ids, sizeof ids / sizeof *ids, &count, NULL),
	    CUTTLE_OK);
	at += *at == '-';
	for (size_t i = 0; i < count; i++) {
		char *after;
		if (strtol(at, &after, 10) != ids[i] || after == at)
			fail_msg("token %zu of %s", i, line);
		at = after;
	}
	if (*at != '\n') fail_msg("a token is missing of %s", line);
}

static size_t check_file(const char *pre, const char *path) {
	FILE *file = fopen(path, "r");
	if (!file) fail_msg("%s is not here", path);
	struct vocab *vocab = small_vocab(pre);
	char *line = NULL;
	size_t room = 0, cases = 0;
	while (getline(&line, &room, file) > 0)
		if (*line != '#') check_line(vocab, line), cases++;
	free(line);
	fclose(file);
	vocab_free(&vocab);
	return cases;
}

static void test_golden(void **state) {
	(void)state;
	assert_in_range(check_file("qwen2", "tests/golden/qwen2_tokens.txt"), 300, 1000);
	assert_in_range(check_file("deepseek-r1-qwen", "tests/golden/qwen2_tokens.txt"), 300, 1000);
	assert_in_range(check_file("default", "tests/golden/default_tokens.txt"), 300, 1000);
	assert_in_range(check_file(NULL, "tests/golden/default_tokens.txt"), 300, 1000);
	assert_in_range(check_file("gpt-4o", "tests/golden/gpt4o_tokens.txt"), 300, 1000);
	assert_in_range(check_file("dbrx", "tests/golden/dbrx_tokens.txt"), 300, 1000);
	assert_in_range(check_file("smaug-bpe", "tests/golden/dbrx_tokens.txt"), 300, 1000);
}

static const char *const all[] = {"gpt-2",   "smollm", "llama-bpe", "qwen2",
                                  "default", "dbrx",   "gpt-4o"};

static void test_random_strings(void **state) {
	(void)state;
	const char *folder = getenv("CUTTLE_RANDOM_TOKENS");
	if (!folder) skip();
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		char path[512];
		snprintf(path, sizeof path, "%s/%s.txt", folder, all[i]);
		print_message("%s: %zu random strings equal\n", all[i], check_file(all[i], path));
	}
}

/* Whatever a text repeats: no scanner looks back, and merging is n log n. */
static void test_long_runs(void **state) {
	(void)state;
	static const char *const units[] = {"a", " ",    "\xf0\x9f\x98\x80", "\0", "1", "\xd9\xa3",
	                                    "'", "\r\n", " \xd9\xa3"};
	const size_t size = nightly() ? 10 << 20 : briefly() ? 1 << 18 : 2 << 20;
	char *text = malloc(size);
	int32_t *ids = malloc(vocab_tokens_bound(size) * sizeof *ids);
	assert_true(text && ids);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct vocab *vocab = small_vocab(all[i]);
		double slowest = 0;
		for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
			const size_t step = *units[u] ? strlen(units[u]) : 1;
			for (size_t at = 0; at < size; at++) text[at] = units[u][at % step];
			size_t count = 0;
			const clock_t start = clock();
			assert_int_equal(vocab_tokenize(vocab, text, size, false, ids,
			                                vocab_tokens_bound(size), &count, NULL),
			                 CUTTLE_OK);
			const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
			if (seconds > slowest) slowest = seconds;
		}
		print_message("%s: %zu KiB of anything in at most %.2f s\n", all[i], size >> 10,
		              slowest);
		assert_true(
		    slowest <
		    (nightly() ? 2
		               : 5)); // by day a sanitizer may be at work; quadratic would be hours
		vocab_free(&vocab);
	}
	free(text);
	free(ids);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden),
	                                   cmocka_unit_test(test_random_strings),
	                                   cmocka_unit_test(test_long_runs)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
