// SPDX-License-Identifier: Apache-2.0
// Writes a model as parts (tests/support/split_model.h), for shell tests.
// usage: gen_split FILE NAME COUNT writes NAME-00001-of-0000C.gguf and so on.
#include "tests/support/split_model.h"

#include "tests/support/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int main(int argc, char **argv) {
	struct stat about;
	if (argc != 4 || stat(argv[1], &about)) {
		fprintf(stderr, "usage: gen_split FILE NAME COUNT\n");
		return 2;
	}
	const unsigned count = (unsigned)strtoul(argv[3], NULL, 10);
	uint8_t *bytes = malloc((size_t)about.st_size + 1);
	if (!bytes) return 1;
	const size_t size = files_get(argv[1], bytes, (size_t)about.st_size + 1);
	for (unsigned i = 0; i < count; i++) {
		const struct split_part part = split_model_share(bytes, size, i, count);
		size_t part_size;
		char path[4096];
		uint8_t *part_bytes = split_model_part(bytes, size, &part, &part_size);
		(void)snprintf(path, sizeof path, "%s-%05u-of-%05u.gguf", argv[2], i + 1, count);
		files_put(path, part_bytes, part_size);
		free(part_bytes);
	}
	free(bytes);
	return 0;
}
