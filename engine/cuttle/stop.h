// SPDX-License-Identifier: Apache-2.0
// stop.h: where a text ends before its last token is drawn.
// No private data: stops are public, and so is the text that is searched for them, for its tokens
// were drawn. So they cost nothing (dp/PRIVACY.md, step 53).
// How: a text ends before the first of its stops, wherever that begins. Behind a line break of a
// stop there may be spaces, tabs and carriage returns more. A stop of white space alone counts only
// behind something else. What stands behind a stop is cut off, but its token was drawn and paid.
// Example: with "\n\n" the text "\nFine.\n \nNow" is "Fine.".
#ifndef CUTTLE_STOP_H
#define CUTTLE_STOP_H

#include "status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	CUTTLE_STOPS = 32,       /* stops of a plan, at most */
	CUTTLE_STOP_BYTES = 256, /* bytes of one, at most */
	CUTTLE_STOPS_AUTO = 2    /* stops that cuttle_stops_auto finds, at most */
};

struct cuttle_stops {
	/* [count] not empty, UTF-8. */
	const char *const *strings;
	size_t count;
	/* true: these, and no others. false: "\n###" alone, byte for byte, in CUTTLE_CONTINUE of a
	 * plan, and none elsewhere. */
	bool given;
};

/* Finds stops that suit texts like texts[count], which must be public: a line break where none of
 * them has one, a blank line where one has a line break and none has a blank line. White space at
 * their ends does not count. In the plain form (`marked`) "\n###" too. Writes them into
 * stops[CUTTLE_STOPS_AUTO] and returns how many there are. Without texts nothing is known of line
 * breaks. Example: "a\nb" and "c" give "\n\n", and with `marked` "\n###". */
CUTTLE_API size_t cuttle_stops_auto(const char *const *texts, size_t count, bool marked,
                                    const char *stops[CUTTLE_STOPS_AUTO]);

#ifdef __cplusplus
}
#endif

#endif
