// SPDX-License-Identifier: Apache-2.0
// manual.h: manual pages and completions, from the same tables of options as the help.
// The build prints them by cuttle help --mdoc and cuttle help --completion. No private data: it
// prints tables that are compiled in.
// Example: cuttle help --mdoc generate prints the page cuttle-generate(1).
#ifndef CUTTLE_TOOLS_MANUAL_H
#define CUTTLE_TOOLS_MANUAL_H

#include "tools/common/options.h"

/* What an exit code means. */
struct exit_code {
	int code;
	const char *meaning; /* without a full stop */
};

/* All that the pages tell of the whole command. */
struct manual {
	const struct verb *const *verbs; /* [verb_count] */
	size_t verb_count;
	const struct exit_code *exit_codes; /* [exit_code_count] */
	size_t exit_code_count;
	const char *about; /* what the command does, one sentence */
};

/* Prints a page in mdoc, the format of mandoc and groff: of a verb, or of the command where verb is
 * NULL. */
void manual_page(const struct manual *manual, const struct verb *verb, FILE *file);

/* Prints what makes a shell complete verbs, options, names of values and files. False: `shell` is
 * none of bash, zsh and fish, and nothing was printed. */
bool manual_completion(const struct manual *manual, const char *shell, FILE *file);

#endif
