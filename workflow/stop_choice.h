// SPDX-License-Identifier: Apache-2.0
// stop_choice.h: from the words of --stop to the stops of a plan (engine/cuttle/stop.h).
//
// No private data: the texts that `auto` looks at are public examples, or were drawn under a
// guarantee. For example: auto, examples without a line break, the plain form: a text ends before
// "\n", and before "\n###".
//
// A run that older versions have begun has no stops: its texts end as its form says. So where
// --stop is not given and such a run stands, it goes on like that (stop_choice_forget).
#ifndef CUTTLE_WORKFLOW_STOP_CHOICE_H
#define CUTTLE_WORKFLOW_STOP_CHOICE_H

#include "engine/cuttle/stop.h"

enum { STOP_WORDS = 16 }; /* --stop may be given so often */

struct stop_choice {
	const char *all[STOP_WORDS + CUTTLE_STOPS_AUTO];
	char *owned[STOP_WORDS]; /* [owned_count] what words mean */
	size_t owned_count;
	struct cuttle_stops stops; /* of all; it is the caller's, and must not move */
};

/* Makes *choice from words[word_count]: auto, none, or a string with \n, \t and \\ in it. None
 * given is auto. texts[count] are what auto looks at; `marked` as for cuttle_stops_auto. Call
 * stop_choice_free in any case. USAGE: a word is none of these, or none stands beside others.
 * NOMEM.
 */
enum cuttle_status stop_choice_make(const char *const *words, size_t word_count,
                                    const char *const *texts, size_t count, bool marked,
                                    struct stop_choice *choice, struct cuttle_error *error);
/* Makes it the form's own rule, as if there were no stops. */
void stop_choice_forget(struct stop_choice *choice);
void stop_choice_free(struct stop_choice *choice);

#endif
