// SPDX-License-Identifier: Apache-2.0
// Writes the tiny model of tests/tiny_model.h, for shell tests that need hundreds of runs and for tests/oracle. usage: gen_tiny FILE [TYPE
// [WIDTH]] TYPE as GGUF names it, for all matrices; without it they are Q4_1, and embedding and head Q8_0.
#include "tests/tiny_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *bytes_of(const char *name, const char *width, size_t *size) {
	if (!name) return tiny_model_bytes(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1, size);
	for (uint32_t number = 0; number < GGUF_TENSOR_TYPES; number++) {
		uint64_t block, bytes;
		const enum gguf_tensor_type type = (enum gguf_tensor_type)number;
		if (!gguf_tensor_block(number, &block, &bytes) || strcmp(gguf_type_name(number), name) != 0) continue;
		return width ? tiny_model_of_width(type, type, strtoul(width, NULL, 10), 1, size) : tiny_model_bytes(type, type, 1, size);
	}
	return NULL;
}

int main(int argc, char **argv) {
	size_t size;
	uint8_t *bytes = argc > 1 && argc < 5 ? bytes_of(argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL, &size) : NULL;
	FILE *file = bytes ? fopen(argv[1], "wb") : NULL;
	if (!file) {
		free(bytes);
		fprintf(stderr, "usage: gen_tiny FILE [TYPE [WIDTH]]\n");
		return 2;
	}
	const bool written = fwrite(bytes, 1, size, file) == size;
	free(bytes);
	return fclose(file) || !written;
}
