// SPDX-License-Identifier: Apache-2.0
// Writes the tiny model of tests/support/tiny_model.h to a file. Shell tests that need hundreds of
// runs use it, and so does tests/oracle.
// usage: gen_tiny FILE [finite | TYPE WIDTH]
// finite: no token spoils the texts in which it is drawn (tiny_model_finite).
// TYPE is the type of all matrices, as GGUF names it. Without TYPE, embedding and head are Q8_0,
// and the other matrices are Q4_1.
#include "tests/support/tiny_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *make_typed_model(const char *name, const char *width, size_t *size) {
	for (uint32_t number = 0; number < GGUF_TENSOR_TYPES; number++) {
		uint64_t block, bytes;
		if (gguf_tensor_block(number, &block, &bytes) &&
		    !strcmp(gguf_type_name(number), name))
			return tiny_model_of_width((enum gguf_tensor_type)number,
			                           strtoul(width, NULL, 10), size);
	}
	return NULL;
}

int main(int argc, char **argv) {
	size_t size;
	tiny_model_finite = argc == 3 && !strcmp(argv[2], "finite");
	uint8_t *bytes = argc == 2 || tiny_model_finite
	                     ? tiny_model_bytes(GGUF_TENSOR_Q4_1, GGUF_TENSOR_Q8_0, 1, &size)
	                 : argc == 4 ? make_typed_model(argv[2], argv[3], &size)
	                             : NULL;
	FILE *file = bytes ? fopen(argv[1], "wb") : NULL;
	if (!file) {
		free(bytes);
		fprintf(stderr, "usage: gen_tiny FILE [finite | TYPE WIDTH]\n");
		return 2;
	}
	const bool written = fwrite(bytes, 1, size, file) == size;
	free(bytes);
	return fclose(file) || !written;
}
