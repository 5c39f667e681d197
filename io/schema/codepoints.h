// SPDX-License-Identifier: Apache-2.0
// codepoints.h: sets of characters: code points from 0 to U+10FFFF without surrogates.
//
// A set is public; it comes from a schema's pattern.
// Example: a-z without b is the ranges a-a, c-z.
#ifndef CUTTLE_IO_SCHEMA_CODEPOINTS_H
#define CUTTLE_IO_SCHEMA_CODEPOINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codepoint_range {
	uint32_t first;
	uint32_t last; /* itself in the range */
};

/* Begin with all members zero: the empty set. Ranges are in order, apart from each other, and hold
 * no surrogate. */
struct codepoints {
	struct codepoint_range *ranges;
	size_t count;
	size_t room;
};

void codepoints_free(struct codepoints *set);
/* Each of these returns false without memory; the set is then only good for codepoints_free. */
bool codepoints_add(struct codepoints *set, uint32_t first, uint32_t last);
bool codepoints_join(struct codepoints *set, const struct codepoints *more);
/* Makes of a set all characters that it has not. */
bool codepoints_invert(struct codepoints *set);

bool codepoints_have(const struct codepoints *set, uint32_t code_point);
bool codepoints_equal(const struct codepoints *a, const struct codepoints *b);

#endif
