// SPDX-License-Identifier: Apache-2.0
// Tests the packed layout of every weight type, kernels/pack.c, against golden/types.txt. It fails
// if a weight read back through the layout differs in one bit from what another implementation
// reads.
#include "engine/gguf.h"
#include "kernels/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST_BLOCKS = 32, NAME = 16, MOST_BYTES = 256 };

struct golden {
	char type[NAME];
	uint8_t bytes[MOST_BYTES];
	size_t size;
	unsigned long long hash;
};

static const char *const names[PACKED_TYPES] = {
    [PACKED_F32] = "F32",       [PACKED_F16] = "F16",   [PACKED_BF16] = "BF16",
    [PACKED_Q8_0] = "Q8_0",     [PACKED_Q4_0] = "Q4_0", [PACKED_Q4_1] = "Q4_1",
    [PACKED_Q5_0] = "Q5_0",     [PACKED_Q5_1] = "Q5_1", [PACKED_IQ4_NL] = "IQ4_NL",
    [PACKED_IQ4_XS] = "IQ4_XS", [PACKED_Q4_K] = "Q4_K", [PACKED_Q5_K] = "Q5_K",
    [PACKED_Q6_K] = "Q6_K",     [PACKED_Q3_K] = "Q3_K", [PACKED_Q2_K] = "Q2_K"};

/* The golden blocks of a type; returns their number. */
static size_t read_golden(const char *type, struct golden blocks[MOST_BLOCKS]) {
	FILE *file = fopen("tests/golden/types.txt", "r");
	assert_non_null(file);
	char line[1024], hex[2 * MOST_BYTES + 1];
	size_t count = 0;
	while (fgets(line, sizeof line, file)) {
		struct golden *block = &blocks[count];
		if (*line == '#') continue;
		assert_true(count < MOST_BLOCKS);
		assert_int_equal(sscanf(line, "%15s %512s %llx", block->type, hex, &block->hash),
		                 3);
		if (strcmp(block->type, type)) continue;
		block->size = strlen(hex) / 2;
		for (size_t i = 0; i < block->size; i++) {
			unsigned byte;
			assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
			block->bytes[i] = (uint8_t)byte;
		}
		count++;
	}
	fclose(file);
	return count;
}

/* FNV-1a, 64 bits. */
static unsigned long long hash_of(const void *bytes, size_t size) {
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
	return hash;
}

static size_t golden_k(enum packed_type type) {
	return packed_has_levels(type) ? GEMM_SUPER : GEMM_BLOCK;
}

/* Each golden block is a channel, and each row holds it twice, so that groups, channels and blocks
 * within a row all count. */
static void check_type(enum packed_type type) {
	static struct golden blocks[MOST_BLOCKS];
	const size_t channels = read_golden(names[type], blocks), k = 2 * golden_k(type),
	             half = pack_row_bytes(type, k / 2);
	assert_true(channels > GEMM_GROUP - 1);
	size_t weights, scales, minima;
	assert_true(pack_sizes(type, channels + 1, k, &weights, &scales, &minima));
	uint8_t *file = malloc((channels + 1) * 2 * half);
	float *row = malloc(k * sizeof *row);
	struct packed_matrix matrix = {.type = type,
	                               .channels = channels + 1,
	                               .k = k,
	                               .weights = aligned_alloc(64, weights),
	                               .scales = malloc(scales + 1),
	                               .minima = malloc(minima + 1)};
	assert_true(file && row && matrix.weights && matrix.scales && matrix.minima);
	for (size_t c = 0; c <= channels; c++) // the last channel is the first again: the two
	                                       // halves of a row are different blocks
		for (size_t i = 0; i < 2; i++) {
			const struct golden *block = &blocks[(c + i) % channels];
			assert_int_equal(block->size, half);
			memcpy(file + (2 * c + i) * half, block->bytes, half);
		}
	pack_groups(&matrix, file, 0, (channels + GEMM_GROUP) / GEMM_GROUP);
	for (size_t c = 0; c <= channels; c++) {
		pack_row(&matrix, c, row);
		for (size_t i = 0; i < 2; i++)
			if (hash_of(row + i * k / 2, k / 2 * sizeof *row) !=
			    blocks[(c + i) % channels].hash)
				fail_msg("%s: block %zu reads %a, %a, ...", names[type],
				         (c + i) % channels, (double)row[i * k / 2],
				         (double)row[i * k / 2 + 1]);
	}
	free(file);
	free(row);
	free((void *)matrix.weights);
	free((void *)matrix.scales);
	free((void *)matrix.minima);
}

static void test_golden(void **state) {
	(void)state;
	for (enum packed_type type = PACKED_F32; type < PACKED_TYPES; type++) check_type(type);
}

/* The loader and the packing must agree on what a block is. */
static void test_blocks(void **state) {
	(void)state;
	size_t known = 0;
	for (uint32_t number = 0; number < 64; number++) {
		uint64_t elements, bytes;
		if (!gguf_tensor_block(number, &elements, &bytes)) continue;
		enum packed_type type = PACKED_F32;
		while (type < PACKED_TYPES && strcmp(names[type], gguf_type_name(number))) type++;
		assert_true(type < PACKED_TYPES);
		assert_int_equal(elements, pack_block(type));
		assert_int_equal(bytes, pack_block_bytes(type));
		known++;
	}
	assert_int_equal(known, PACKED_TYPES);
}

int main(void) {
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_golden),
	                                   cmocka_unit_test(test_blocks)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
