// SPDX-License-Identifier: Apache-2.0
// Fuzzes engine/text/: an arbitrary vocabulary, and arbitrary bytes that it tokenises. The input
// is read as: kind; number of tokens; for each token its length, type, score and text; number of
// merges; for each merge two lengths and two texts. The rest is the text to be tokenised. It fails
// on a crash, or if tokens come out that are too many or not of the vocabulary.
#include "base/misuse.h"
#include "engine/text/vocab.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/gguf_writer.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS = 255, MERGES = 63 };

struct input {
	const uint8_t *bytes;
	size_t size;
};

static uint8_t take(struct input *input) {
	if (!input->size) return 0;
	input->size--;
	return *input->bytes++;
}

static struct gguf_string take_string(struct input *input, size_t size) {
	if (size > input->size) size = input->size;
	const struct gguf_string string = {(const char *)input->bytes, size};
	input->bytes += size;
	input->size -= size;
	return string;
}

static uint8_t *file_of(struct input *input, size_t *size) {
	static const char *const splits[] = {"smollm", "gpt-2",  "llama-bpe",
	                                     "qwen2",  "tekken", "default"};
	struct gguf_string tokens[TOKENS], merges[MERGES];
	int32_t types[TOKENS];
	float scores[TOKENS];
	const uint8_t kind = take(input);
	const size_t count = take(input) % TOKENS + 1;
	for (size_t i = 0; i < count; i++) {
		const uint8_t head = take(input);
		types[i] = head / 32;
		scores[i] = (float)(int8_t)take(input) / 8.0f;
		tokens[i] = take_string(input, head % 32);
	}
	const size_t merge_count = take(input) % (MERGES + 1);
	for (size_t i = 0; i < merge_count; i++) merges[i] = take_string(input, take(input) % 32);
	struct gguf_writer *writer = gguf_writer_new();
	gguf_write_text(writer, "tokenizer.ggml.model", kind & 1 ? "gpt2" : "llama");
	if (kind & 1) gguf_write_text(writer, "tokenizer.ggml.pre", splits[kind / 16 % 6]);
	gguf_write_strings(writer, "tokenizer.ggml.tokens", tokens, count);
	gguf_write_array(writer, "tokenizer.ggml.token_type", GGUF_I32, types, count);
	gguf_write_array(writer, "tokenizer.ggml.scores", GGUF_F32, scores, count);
	gguf_write_strings(writer, "tokenizer.ggml.merges", merges, merge_count);
	if (kind & 2) gguf_write_u32(writer, "tokenizer.ggml.bos_token_id", kind / 16);
	if (kind & 4) gguf_write_bool(writer, "tokenizer.ggml.add_space_prefix", kind & 8);
	gguf_write_u32(writer, "tokenizer.ggml.unknown_token_id", 0);
	return gguf_writer_finish(&writer, size);
}

/* Tokens are of the vocabulary and within the bound, text spells no control token, and their bytes
 * fit what was announced. */
static void tokenize(const struct vocab *vocab, const char *text, size_t size, bool parse_special) {
	const size_t bound = vocab_tokens_bound(size);
	int32_t *ids = malloc(bound * sizeof *ids);
	REQUIRE(ids != NULL);
	size_t count = 0, fewer = 0, written = 0, again = 0;
	struct cuttle_error error = {""};
	REQUIRE(vocab_tokenize(vocab, text, size, parse_special, ids, bound, &count, &error) ==
	            CUTTLE_OK &&
	        count <= bound);
	for (size_t i = 0; i < count; i++) {
		REQUIRE(ids[i] >= 0 && (size_t)ids[i] < vocab_size(vocab));
		REQUIRE(parse_special || vocab_type(vocab, ids[i]) != VOCAB_CONTROL);
	}
	vocab_detokenize(vocab, ids, count, true, NULL, 0, &written);
	char *bytes = malloc(written + 1);
	REQUIRE(bytes != NULL);
	vocab_detokenize(vocab, ids, count, true, bytes, written, &again);
	REQUIRE(again == written);
	if (count)
		REQUIRE(vocab_tokenize(vocab, text, size, parse_special, ids, count - 1, &fewer,
		                       &error) == CUTTLE_USAGE &&
		        !fewer);
	free(bytes);
	free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct input input = {bytes, size};
	struct cuttle_error error = {""};
	struct gguf *file;
	struct vocab *vocab;
	size_t file_size;
	uint8_t *made = file_of(&input, &file_size);
	REQUIRE(gguf_parse(made, file_size, &file, &error) == CUTTLE_OK);
	if (vocab_read(file, &vocab, &error))
		REQUIRE(!vocab && error.message[0] && !strchr(error.message, '\n'));
	gguf_free(&file);
	free(made);
	if (!vocab) return 0;
	tokenize(vocab, (const char *)input.bytes, input.size, false);
	tokenize(vocab, (const char *)input.bytes, input.size, true);
	vocab_free(&vocab);
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
	static const struct fuzz_literal seeds[] = {
	    // SentencePiece, and each pre-tokenizer: types are the length's high bits (1 normal, 2
	    // unknown, 3 control, 4 user-defined, 6
	    // byte).
	    FUZZ_LITERAL("\x00\x06\x45\0<unk>\x63\0<s>\x23\0\xe2\x96\x81\x21\x10"
	                 "a\x21\x08"
	                 "b\x22\x20"
	                 "ab\x84\0<br>\x00 ab a<s>b<br>\xf0\x9f\x90\x99 \xff ba"),
	    FUZZ_LITERAL("\x01\x05\x63\0<s>\x21\0a\x21\0b\x22\0ab\x22\0\xc4\xa0\x23\0aba\x02\x03"
	                 "a b\x04"
	                 "ab aab  don't 123 a\xc3\xa9\n\n <s> a"),
	    FUZZ_LITERAL("\x11\x04\x63\0<s>\x21\0a\x21\0b\x22\0ab\x01\x03"
	                 "a bI'll 42  x\t\xe6\xbc\xa2 ab"),
	    FUZZ_LITERAL("\x27\x04\x63\0<s>\x21\0a\x21\0b\x22\0ab\x01\x03"
	                 "a bI'LL 4242  x\r\n\xe6\xbc\xa2 ab"),
	    FUZZ_LITERAL("\x31\x04\x63\0<s>\x21\0a\x21\0b\x22\0ab\x01\x03"
	                 "a bI'LL 4242  x\r\n\xe6\xbc\xa2 ab"),
	};
	return fuzz_copy(seeds, sizeof seeds / sizeof *seeds, index, size);
}
