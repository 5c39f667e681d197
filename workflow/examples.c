// SPDX-License-Identifier: Apache-2.0
// See examples.h.
#include "workflow/examples.h"

#include <stdbool.h>
#include <string.h>

/* How many of the first `most` are of this kind: in the group, or outside it. */
static size_t count_examples(const size_t *groups, size_t count, size_t group, size_t but,
                             bool inside, size_t most) {
	size_t found = 0;
	for (size_t i = 0; i < count && found < most; i++)
		found += i != but && (groups[i] == group) == inside;
	return found;
}

size_t examples_choose(const size_t *groups, size_t count, size_t group, size_t most, size_t but,
                       size_t *chosen) {
	if (!most) most = count;
	size_t own = count_examples(groups, count, group, but, true, most),
	       others = count_examples(groups, count, group, but, false, most - own), used = 0;
	for (size_t i = 0; i < count; i++) {
		size_t *left = groups[i] == group ? &own : &others;
		if (i == but || !*left) continue;
		--*left;
		chosen[used++] = i;
	}
	return used;
}

size_t examples_group(const char *example, const char *const *headings, size_t count,
                      const char **text) {
	for (size_t i = 0; i < count; i++) {
		const size_t size = strlen(headings[i]);
		if (strncmp(example, headings[i], size) != 0 || example[size] != '\n') continue;
		*text = example + size + 1;
		return i;
	}
	*text = example;
	return EXAMPLES_NO_GROUP;
}
