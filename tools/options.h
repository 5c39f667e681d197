// SPDX-License-Identifier: Apache-2.0
// One option table per verb: parsing, help and environment are all read from it.
#ifndef CUTTLE_TOOLS_OPTIONS_H
#define CUTTLE_TOOLS_OPTIONS_H

#include "engine/cuttle.h"
#include <stdio.h>

enum option_kind { OPTION_FLAG, OPTION_TEXT, OPTION_LIST, OPTION_REAL, OPTION_COUNT, OPTION_CHOICE };

/* What an option that may be given several times was given. */
enum { OPTION_MOST = 4 };
struct option_list {
	const char *texts[OPTION_MOST];
	size_t count;
};

struct option_entry {
	const char *name; /* long name; the environment variable is CUTTLE_ and it in capitals, '-' as '_' */
	char letter;      /* short name, 0 = none */
	char group;       /* options of one group exclude each other: a flag silences the environment of the rest; 0 = none */
	enum option_kind kind;
	size_t offset;        /* of the value in the verb's struct */
	const char *argument; /* shown in help; for CHOICE the names, "auto|json|off", whose positions are the values; NULL for FLAG */
	const char *help;
	uint64_t most; /* COUNT: greatest value, 0 = UINT64_MAX - 1 */
};

/* The kind follows from the member's type, so a table cannot disagree with the struct it fills. */
#define OPTION(structure, member)                                                                                                          \
	.kind = _Generic(((structure *)0)->member,                                                                                        \
	    bool: OPTION_FLAG,                                                                                                            \
	    const char *: OPTION_TEXT,                                                                                                    \
	    struct option_list: OPTION_LIST,                                                                                              \
	    double: OPTION_REAL,                                                                                                          \
	    uint64_t: OPTION_COUNT,                                                                                                       \
	    int: OPTION_CHOICE),                                                                                                          \
	.offset = offsetof(structure, member)

/* What a COUNT or CHOICE member holds when an option without default was not given. */
#define COUNT_NONE UINT64_MAX
#define CHOICE_NONE (-1)

struct verb {
	const char *name;
	const char *usage;   /* what follows the name */
	const char *summary; /* one line */
	const char *about;   /* paragraphs after the options, may be NULL */
	const struct option_entry *options;
	size_t option_count;
	int (*run)(const struct verb *verb, int argc, char **argv);
};

enum options_result { OPTIONS_OK, OPTIONS_HELP, OPTIONS_WRONG };

/* Parses argv[1..] over the defaults in *values; flag beats environment beats default. Operands are moved to argv[*operands..argc-1].
 * -h and --help: OPTIONS_HELP. OPTIONS_WRONG: unknown or repeated-against-its-group option, a list too long, bad number, missing argument;
 * error says which.
 * Texts point into argv or the environment. Uses getopt's state: one thread only. */
enum options_result options_parse(const struct verb *verb, int argc, char **argv, void *values, int *operands, struct cuttle_error *error);

/* The whole text must be a finite number, or an integer of at most `most`. Also used for lists. */
bool options_real(const char *text, double *value);
bool options_count(const char *text, uint64_t most, uint64_t *value);

void options_help(const struct verb *verb, FILE *file);

#endif
