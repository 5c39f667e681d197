// SPDX-License-Identifier: Apache-2.0
// Fuzzes the opening of a model: the input is a GGUF file, or the second part of two. It fails if
// it is neither refused with one line nor a model whose every tensor can be read.
#include "base/misuse.h"
#include "engine/model/model.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/micro_model.h"
#include "tests/support/split_model.h"

#include <stdlib.h>
#include <string.h>

static void must_explain(enum cuttle_status status, const struct cuttle_error *error) {
	REQUIRE(status == CUTTLE_MODEL || status == CUTTLE_NOMEM);
	REQUIRE(error->message[0] && !strchr(error->message, '\n') &&
	        memchr(error->message, 0, sizeof error->message));
}

/* One of the two parts of a small model. The caller frees it. */
static uint8_t *make_micro_part(unsigned number, size_t *size) {
	size_t whole_size;
	uint8_t *whole = micro_model_bytes(MICRO_BPE, &whole_size);
	const struct split_part part = split_model_share(whole, whole_size, number, 2);
	uint8_t *bytes = split_model_part(whole, whole_size, &part, size);
	free(whole);
	return bytes;
}

/* The bytes of every tensor of a file that parses are inside it. */
static void read_all(const struct gguf *file, const uint8_t *bytes, size_t size) {
	for (size_t i = 0; i < gguf_tensor_count(file); i++) {
		const struct gguf_tensor *tensor = gguf_tensor_at(file, i);
		REQUIRE(tensor->data >= bytes && tensor->data <= bytes + size &&
		        tensor->bytes <= (size_t)(bytes + size - tensor->data));
		REQUIRE(!tensor->bytes || gguf_tensor_find(file, "") == NULL);
	}
}

/* The model from a copy of its own, as building drops the bytes that it has read. One pool of
 * threads serves all runs. */
static void build(const uint8_t *bytes, size_t size) {
	static struct threads *threads;
	struct cuttle_error error = {""};
	if (!threads) REQUIRE(threads_new(1, &threads, NULL) == CUTTLE_OK);
	struct model model = {.threads = threads};
	uint8_t *copy = malloc(size);
	REQUIRE(copy != NULL);
	memcpy(copy, bytes, size);
	const enum cuttle_status status =
	    model_build(&model, copy, &(struct gguf_part){size, size}, 1, NULL, &error);
	if (status) must_explain(status, &error);
	else
		REQUIRE(model.vocab_size == vocab_size(model.vocab) &&
		        model.heads % model.kv_heads == 0);
	model.threads = NULL;
	model_release(&model);
	free(copy);
}

/* The vocabulary, when only `held` bytes of the file are there. */
static void build_vocabulary(const uint8_t *bytes, size_t held, size_t size) {
	struct cuttle_error error = {""};
	struct model model = {0};
	uint8_t *copy = calloc(size + 1, 1);
	REQUIRE(copy != NULL);
	if (held) memcpy(copy, bytes, held);
	const enum cuttle_status status =
	    model_build_vocabulary(&model, copy, &(struct gguf_part){size, held}, 1, &error);
	if (status) must_explain(status, &error);
	else REQUIRE(model.info.vocab == vocab_size(model.vocab));
	model_release(&model);
	free(copy);
}

/* The input as the second part of two, behind a right first one. */
static void build_parts(const uint8_t *bytes, size_t size) {
	static uint8_t *first;
	static size_t first_size;
	struct cuttle_error error = {""};
	if (!first) first = make_micro_part(0, &first_size);
	uint8_t *both = malloc(first_size + size);
	REQUIRE(both != NULL);
	memcpy(both, first, first_size);
	if (size) memcpy(both + first_size, bytes, size);
	const struct gguf_part parts[] = {{first_size, first_size}, {size, size}};
	struct gguf *file;
	const enum cuttle_status status = gguf_parse_parts(both, parts, 2, &file, &error);
	if (status) must_explain(status, &error);
	else read_all(file, both, first_size + size);
	gguf_free(&file);
	free(both);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct cuttle_error error = {""};
	struct gguf *file = NULL;
	const enum cuttle_status status = gguf_parse(bytes, size, &file, &error);
	if (status) must_explain(status, &error);
	else read_all(file, bytes, size);
	gguf_free(&file);
	if (!status) build(bytes, size);
	build_vocabulary(bytes, size, size);
	build_vocabulary(bytes, size / 2, size);
	build_parts(bytes, size);
	return 0;
}

uint8_t *fuzz_seed(size_t index, size_t *size) {
	*size = 0;
	if (index == MICRO_SPM || index == MICRO_BPE)
		return micro_model_bytes((enum micro_tokenizer)index, size);
	if (index == 3) return make_micro_part(1, size);
	if (index > 3) return NULL;
	struct gguf_writer *writer = gguf_writer_new();
	for (uint32_t type = GGUF_U8; type <= GGUF_F64; type++) {
		char key[2] = {(char)('a' + type), 0}, array[2] = {(char)('A' + type), 0};
		if (type == GGUF_STRING || type == GGUF_ARRAY) continue;
		gguf_write_value(writer, key, type, (const uint64_t[]){1});
		gguf_write_array(writer, array, type, (const uint64_t[]){1, 1}, 2);
	}
	gguf_write_strings(writer, "strings", (const struct gguf_string[]){{"", 0}, {"x\0y", 3}},
	                   2);
	gguf_write_u32(writer, "general.alignment", 32);
	gguf_write_tensor(writer, "t", GGUF_TENSOR_Q8_0, 4, (const uint64_t[]){32, 1, 1, 1},
	                  (const uint8_t[34]){0}, 34);
	return gguf_writer_finish(&writer, size);
}
