// SPDX-License-Identifier: Apache-2.0
// stops.h: the stops of a plan, a rewriter or a completer, and the search for them.
// Private data: the text that is searched, which is drawn tokens (transcript.h).
#ifndef CUTTLE_ENGINE_RUN_PLAN_STOPS_H
#define CUTTLE_ENGINE_RUN_PLAN_STOPS_H

#include "engine/cuttle/stop.h"

#include <stdint.h>

struct stops {
	char **all; /* [count] owned; {0} = none */
	size_t count;
	bool loose; /* white space may stand behind their line breaks */
};

#define STOPS_NONE SIZE_MAX

/* Copies what a caller gave, or the mark of the plain form where nothing is given and `marked`.
 * stops_free frees it. USAGE: there are too many, or one is empty, too long, or not UTF-8. NOMEM.
 * On failure *stops is empty. */
enum cuttle_status stops_copy(const struct cuttle_stops *given, bool marked, struct stops *stops,
                              struct cuttle_error *error);
void stops_free(struct stops *stops);

/* Where the first stop begins that ends behind byte `before` of text[size]; STOPS_NONE = none does.
 * Those that end earlier were looked for earlier. */
size_t stops_find(const struct stops *stops, const char *text, size_t size, size_t before);

#endif
