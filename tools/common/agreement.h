// SPDX-License-Identifier: Apache-2.0
// agreement.h: counts how well found spans agree with those that a document has: recall and
// precision of each type.
//
// The counts come from private data: who prints them says so.
// Example: tagged are PERSON 0..8 and DATE_TIME 20..24; found are PERSON 0..10 and CODE 20..24. Of
// each type one is tagged. PERSON: same 1, hidden 1. DATE_TIME: same 0, hidden 1, as CODE hides it.
#ifndef CUTTLE_TOOLS_COMMON_AGREEMENT_H
#define CUTTLE_TOOLS_COMMON_AGREEMENT_H

#include "io/documents/spans.h"
#include <stdio.h>

struct agreement {
	struct agreement_counts {
		size_t tagged;  /* spans of this type that the documents have */
		size_t same;    /* of them: wholly within found spans of this type */
		size_t hidden;  /* of them: wholly within found spans of any types */
		size_t found;   /* spans of this type that were found */
		size_t right;   /* of them: they touch a tagged span of this type */
		size_t private; /* of them: they touch a tagged span of any type */
	} types[SPANS_TYPES];   /* by number of type */
};

/* Counts one document. NOMEM. */
enum cuttle_status agreement_add(struct agreement *agreement, const struct span_types *types,
                                 const struct spans *tagged, const struct spans *found,
                                 struct cuttle_error *error);
/* Prints a table, a line for each type. */
void agreement_print(const struct agreement *agreement, const struct span_types *types, FILE *file);

#endif
