// SPDX-License-Identifier: Apache-2.0
// Tests cuttle_embed. It fails if a vector differs from the formula of embed.h, computed here token
// by token. It fails if a bit depends on the kernels, on threads, or on the other texts of the
// call, which also move where a text is cut into passes. It fails if BOS or a token beyond the
// limit counts, or if a text that has no direction is an error. The bits are written down here.
#include "engine/forward/forward.h"
#include "tests/support/statistics.h"
#include "tests/support/tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
	LONGEST = 620, /* tokens; a vector reads 512 of them, or the model's context */
	TEXTS = 40     /* more than one pass has seats for */
};

struct world {
	int32_t ids[TEXTS][LONGEST];
	struct cuttle_embed_text texts[TEXTS];
};

/* Texts of 1 to about 60 tokens; three are long, one is empty. */
static void make_texts(struct world *world) {
	uint64_t seed = 5;
	for (size_t text = 0; text < TEXTS; text++) {
		size_t count = 1 + tiny_random(&seed) % 60;
		if (text == 3 || text == 20) count = 300;
		if (text == 21) count = 600;
		if (text == 7) count = 0;
		for (size_t i = 0; i < LONGEST; i++)
			world->ids[text][i] = (int32_t)(tiny_random(&seed) % TINY_BYTES);
		world->texts[text] = (struct cuttle_embed_text){world->ids[text], count};
	}
}

static void embed_texts(struct cuttle_model *model, const struct cuttle_embed_text *texts,
                        size_t count, uint32_t layer, double *out) {
	struct cuttle_error error = {""};
	if (cuttle_embed(model, texts, count, layer, out, &error)) fail_msg("%s", error.message);
}

/* Sets the one number behind a key of a GGUF file. */
static void set_key(uint8_t *bytes, size_t size, const char *key, const void *value,
                    size_t value_size) {
	const size_t length = strlen(key);
	for (size_t i = 0; i + length + 4 + value_size <= size; i++)
		if (!memcmp(bytes + i, key, length)) {
			memcpy(bytes + i + length + 4, value, value_size);
			return;
		}
	fail_msg("no key %s", key);
}

static struct cuttle_model *open_changed(const char *key, const void *value, size_t value_size) {
	size_t size;
	uint8_t *bytes = tiny_model_bytes(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1, &size);
	set_key(bytes, size, key, value, value_size);
	return tiny_model_open_bytes(bytes, size, 1);
}

/* The formula, with one row a pass, over the tokens from `begin` on. The norm is this function's
 * own. */
static void embed_slowly(struct cuttle_model *handle, const struct cuttle_embed_text *text,
                         size_t begin, bool normed, double *out) {
	const struct model *m = &handle->model;
	struct forward *forward;
	struct region region = {0};
	float hidden[TINY_WIDTH];
	size_t kv;
	assert_int_equal(m->width, TINY_WIDTH);
	assert_int_equal(forward_new(m, 1, 1, TINY_CONTEXT, &forward, NULL), CUTTLE_OK);
	assert_true(kv_bytes(m, TINY_CONTEXT, &kv) && region_map(&region, kv, true));
	struct context context = {.own = {region_carve(&region, kv), TINY_CONTEXT}};
	memset(out, 0, TINY_WIDTH * sizeof *out);
	for (size_t i = 0; i < text->count && i < TINY_CONTEXT; i++) {
		const struct row row = {&context, i, text->ids[i], hidden};
		forward_rows(forward, &row, 1, false);
		double square = 0, scale = 1;
		for (size_t d = 0; d < TINY_WIDTH; d++) square += (double)hidden[d] * hidden[d];
		if (normed) scale = 1 / sqrt(square / TINY_WIDTH + (double)m->norm_epsilon);
		for (size_t d = 0; i >= begin && d < TINY_WIDTH; d++)
			out[d] += hidden[d] * scale * (normed ? (double)m->output_norm[d] : 1);
	}
	double square = 0;
	for (size_t d = 0; d < TINY_WIDTH; d++) square += out[d] * out[d];
	for (size_t d = 0; d < TINY_WIDTH; d++) out[d] /= square > 0 ? sqrt(square) : 1;
	region_unmap(&region, true);
	forward_free(&forward);
}

static void assert_near(const double *vector, const double *expected) {
	for (size_t d = 0; d < TINY_WIDTH; d++)
		if (fabs(vector[d] - expected[d]) > 1e-6)
			fail_msg("dimension %zu is %.9f, not %.9f", d, vector[d], expected[d]);
}

static void test_formula(void **state) {
	(void)state;
	static struct world world;
	static double vectors[3][TEXTS][TINY_WIDTH];
	double expected[TINY_WIDTH];
	make_texts(&world);
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 2);
	for (uint32_t layer = 0; layer <= TINY_LAYERS; layer++)
		embed_texts(model, world.texts, TEXTS, layer, vectors[layer][0]);
	// A model that has forgotten its second layer ends where layer 1 does.
	struct cuttle_model *first = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	first->model.layers = first->model.attending = 1;
	for (size_t text = 0; text < TEXTS; text += briefly() ? 7 : 1) {
		embed_slowly(model, &world.texts[text], 0, true, expected);
		assert_near(vectors[0][text], expected);
		embed_slowly(first, &world.texts[text], 0, false, expected);
		assert_near(vectors[1][text], expected);
		embed_slowly(model, &world.texts[text], 0, false, expected);
		assert_near(vectors[2][text], expected);
		double square = 0;
		for (size_t d = 0; d < TINY_WIDTH; d++)
			square += vectors[0][text][d] * vectors[0][text][d];
		if (world.texts[text].count) assert_true(fabs(square - 1) < 1e-14);
		else assert_true(square == 0);
	}
	first->model.layers = first->model.attending = TINY_LAYERS;
	cuttle_model_free(&first);
	cuttle_model_free(&model);
}

/* FNV-1a, 64 bits. */
static uint64_t fingerprint_of(const void *bytes, size_t size) {
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
	return hash;
}

/* Each text alone by the scalar kernels; then all together, in two orders, by every tier. */
static void test_bits(void **state) {
	(void)state;
	static struct world world;
	static double expected[2][TEXTS][TINY_WIDTH], vectors[TEXTS][TINY_WIDTH];
	make_texts(&world);
	assert_true(kernels_set("scalar"));
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	for (uint32_t layer = 0; layer < 2; layer++)
		for (size_t text = 0; text < TEXTS; text++)
			embed_texts(model, &world.texts[text], 1, layer, expected[layer][text]);
	cuttle_model_free(&model);
	const uint64_t fingerprint = fingerprint_of(expected, sizeof expected);
	if (fingerprint != 0xb635230b50f7e802u)
		fail_msg("the fingerprint is %016llx", (unsigned long long)fingerprint);
	const struct kernels *tables[8];
	const size_t tiers = kernels_available(tables);
	for (unsigned threads = 1; threads <= 3; threads++) {
		model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, threads);
		for (size_t tier = 0; tier < tiers; tier++) {
			if (briefly() && (tier + threads) % 3) continue;
			assert_true(kernels_set(tables[tier]->name));
			for (uint32_t layer = 0; layer < 2; layer++) {
				embed_texts(model, world.texts, TEXTS, layer, vectors[0]);
				assert_memory_equal(vectors, expected[layer], sizeof vectors);
			}
			struct cuttle_embed_text turned[TEXTS];
			for (size_t i = 0; i < TEXTS; i++) turned[i] = world.texts[TEXTS - 1 - i];
			embed_texts(model, turned, TEXTS, 0, vectors[0]);
			for (size_t i = 0; i < TEXTS; i++)
				assert_memory_equal(vectors[i], expected[0][TEXTS - 1 - i],
				                    sizeof vectors[i]);
		}
		cuttle_model_free(&model);
	}
	kernels_set("auto");
}

/* "--isa blas" multiplies prompts in fp32, and rounds a row by its neighbours: not here. */
static void test_blas_changes_nothing(void **state) {
	(void)state;
	static struct world world;
	static double expected[TEXTS][TINY_WIDTH], vectors[TEXTS][TINY_WIDTH];
	make_texts(&world);
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 2);
	embed_texts(model, world.texts, TEXTS, 0, expected[0]);
	cuttle_model_free(&model);
	if (cuttle_isa_set("blas", NULL)) skip();
	model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 2);
	embed_texts(model, world.texts, TEXTS, 0, vectors[0]);
	assert_memory_equal(vectors, expected, sizeof vectors);
	cuttle_model_free(&model);
	assert_int_equal(cuttle_isa_set("auto", NULL), CUTTLE_OK);
}

/* BOS is seen by the tokens behind it, but has no part in the mean and takes nobody's place. Where
 * texts do not begin with it, the same id is a token as any other. */
static void test_bos(void **state) {
	(void)state;
	static int32_t ids[LONGEST];
	double vector[TINY_WIDTH], other[TINY_WIDTH];
	for (size_t i = 1; i < LONGEST; i++) ids[i] = (int32_t)(i * 7 % TINY_BYTES);
	ids[0] = TINY_START;
	const struct cuttle_embed_text bos = {ids, 1}, text = {ids, 3};
	size_t size;
	uint8_t *bytes = tiny_model_bytes(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1, &size);
	set_key(bytes, size, "tokenizer.ggml.add_bos_token", &(bool){true}, sizeof(bool));
	set_key(bytes, size, "llama.context_length", &(uint32_t){1000}, sizeof(uint32_t));
	struct cuttle_model *model = tiny_model_open_bytes(bytes, size, 1);
	embed_texts(model, &bos, 1, 0, vector);
	for (size_t d = 0; d < TINY_WIDTH; d++) assert_true(vector[d] == 0);
	embed_slowly(model, &text, 1, true, other);
	embed_texts(model, &text, 1, 0, vector);
	assert_near(vector, other);
	const struct cuttle_embed_text all = {ids, LONGEST}, first = {ids, 513};
	embed_texts(model, &all, 1, 0, vector);
	embed_texts(model, &first, 1, 0, other);
	assert_memory_equal(vector, other, sizeof vector);
	const struct cuttle_embed_text fewer = {ids, 512};
	embed_texts(model, &fewer, 1, 0, other);
	assert_memory_not_equal(vector, other, sizeof vector);
	cuttle_model_free(&model);
	model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	embed_slowly(model, &text, 0, true, other);
	embed_texts(model, &text, 1, 0, vector);
	assert_near(vector, other);
	cuttle_model_free(&model);
}

static void test_limit(void **state) {
	(void)state;
	static int32_t ids[LONGEST];
	double all[TINY_WIDTH], first[TINY_WIDTH], fewer[TINY_WIDTH];
	for (size_t i = 0; i < LONGEST; i++) ids[i] = (int32_t)(i * 11 % TINY_BYTES);
	struct cuttle_model *model =
	    open_changed("llama.context_length", &(uint32_t){1000}, sizeof(uint32_t));
	const struct cuttle_embed_text texts[] = {{ids, LONGEST}, {ids, 512}, {ids, 511}};
	embed_texts(model, &texts[0], 1, 0, all);
	embed_texts(model, &texts[1], 1, 0, first);
	embed_texts(model, &texts[2], 1, 0, fewer);
	assert_memory_equal(all, first, sizeof all);
	assert_memory_not_equal(all, fewer, sizeof all);
	cuttle_model_free(&model);
	model = open_changed("llama.context_length", &(uint32_t){511}, sizeof(uint32_t));
	embed_texts(model, &texts[0], 1, 0, all);
	assert_memory_equal(all, fewer, sizeof all);
	cuttle_model_free(&model);
}

/* A text whose states are not finite has zeros, as an empty one has, and spoils no other. */
static void test_no_text_is_an_error(void **state) {
	(void)state;
	int32_t bad[3] = {65, TINY_NAN, 66}, good[3] = {65, 66, 67};
	double vectors[3][TINY_WIDTH], expected[TINY_WIDTH];
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 2);
	const struct cuttle_embed_text texts[] = {{bad, 3}, {good, 3}, {NULL, 0}};
	embed_texts(model, texts, 3, 0, vectors[0]);
	embed_texts(model, &texts[1], 1, 0, expected);
	for (size_t d = 0; d < TINY_WIDTH; d++) {
		assert_true(vectors[0][d] == 0);
		assert_true(vectors[2][d] == 0);
	}
	assert_memory_equal(vectors[1], expected, sizeof expected);
	cuttle_model_free(&model);
}

static void test_refusals(void **state) {
	(void)state;
	int32_t ids[2] = {65, TINY_VOCAB};
	double out[TINY_WIDTH];
	struct cuttle_error error = {""};
	struct cuttle_model *model = tiny_model_open(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1);
	struct cuttle_embed_text text = {ids, 2};
	assert_int_equal(cuttle_embed(model, &text, 1, 0, out, &error), CUTTLE_USAGE);
	assert_string_equal(error.message, "a token is outside the vocabulary of 259");
	text.count = 1;
	assert_int_equal(cuttle_embed(model, &text, 1, 3, out, &error), CUTTLE_USAGE);
	assert_string_equal(error.message, "layer 3 is above the model's 2");
	assert_int_equal(cuttle_embed(model, &text, 1, 2, out, &error), CUTTLE_OK);
	assert_int_equal(cuttle_embed(model, NULL, 0, 0, NULL, &error), CUTTLE_OK);
	cuttle_model_free(&model);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_formula),
	    cmocka_unit_test(test_bits),
	    cmocka_unit_test(test_blas_changes_nothing),
	    cmocka_unit_test(test_bos),
	    cmocka_unit_test(test_limit),
	    cmocka_unit_test(test_no_text_is_an_error),
	    cmocka_unit_test(test_refusals),
	};
	return cmocka_run_group_tests_name("embed", tests, NULL, NULL);
}
