// SPDX-License-Identifier: Apache-2.0
// golden.c: line by line, so that a file may be long.
#include "tests/support/golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

size_t golden_read(const char *path, const char *name, double *numbers, size_t most) {
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	char *line = NULL;
	size_t space = 0, count = 0;
	const size_t length = strlen(name);
	bool found = false;
	while (!found && getline(&line, &space, file) > 0) {
		if (strncmp(line, name, length) != 0 || line[length] != ' ') continue;
		found = true;
		char *at = line + length, *end;
		for (;; at = end) {
			const double number = strtod(at, &end);
			if (end == at) break;
			assert_true(count < most);
			numbers[count++] = number;
		}
	}
	if (!found) fail_msg("%s has no line %s", path, name);
	free(line);
	fclose(file);
	return count;
}
