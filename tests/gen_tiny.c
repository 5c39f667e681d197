// SPDX-License-Identifier: Apache-2.0
// Writes the tiny model of tests/tiny_model.h, for shell tests that need hundreds of runs. usage: gen_tiny FILE
#include "tests/tiny_model.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
	size_t size;
	FILE *file = argc == 2 ? fopen(argv[1], "wb") : NULL;
	if (!file) {
		fprintf(stderr, "usage: gen_tiny FILE\n");
		return 2;
	}
	uint8_t *bytes = tiny_model_bytes(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1, &size);
	const bool written = fwrite(bytes, 1, size, file) == size;
	free(bytes);
	return fclose(file) || !written;
}
