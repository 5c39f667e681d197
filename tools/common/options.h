// SPDX-License-Identifier: Apache-2.0
// Options of the command. Each verb has one table of struct option_entry; parsing, help and the
// environment variables all come from it. tools/common/verbs.c calls options_parse and
// options_help. Values are paths, names and numbers, never private text. For example:
//   struct values { uint64_t tokens; };
//   {.name = "max-tokens", .letter = 'n', OPTION(struct values, tokens), .argument = "T",
//    .help = "hard cap of tokens", .least = 1}
// This entry reads -n 200, --max-tokens 200 and CUTTLE_MAX_TOKENS=200 into values.tokens.
#ifndef CUTTLE_TOOLS_COMMON_OPTIONS_H
#define CUTTLE_TOOLS_COMMON_OPTIONS_H

#include "engine/cuttle.h"
#include <stdio.h>

enum option_kind {
	OPTION_FLAG,  /* bool: true when it is given */
	OPTION_TEXT,  /* const char *: the argument */
	OPTION_LIST,  /* struct option_list: may be given several times */
	OPTION_REAL,  /* double: a finite number */
	OPTION_COUNT, /* uint64_t: a whole number */
	OPTION_SMALL, /* uint32_t: the same, up to 2^32 - 1 */
	OPTION_CHOICE /* int or an enum: one of several names, by its position from 0 */
};

/* The arguments of an option that may be given several times. */
enum { OPTION_MOST = 16 }; /* most of them */
struct option_list {
	const char *texts[OPTION_MOST];
	size_t count;
};

struct option_entry {
	/* Long name. The environment variable has it in capitals behind CUTTLE_, with '_' for '-':
	 * max-tokens is CUTTLE_MAX_TOKENS. */
	const char *name;
	char letter; /* short name, 0 = none */
	/* Options of one group exclude each other; 0 = none. One on the command line also makes the
	 * environment variables of the others count for nothing. */
	char group;
	enum option_kind kind;
	size_t offset; /* bytes from the start of the verb's struct to the value */
	/* Shown in help; NULL for FLAG. For CHOICE it holds the names: with "auto|json|off" the
	 * argument json gives the value 1. For REAL it may begin with "auto|": auto gives 0. */
	const char *argument;
	const char *help;
	uint64_t least; /* COUNT: smallest value */
	/* COUNT: greatest value; 0 = UINT64_MAX - 1, of SMALL UINT32_MAX. LIST: how often it may be
	 * given; 0 = OPTION_MOST. */
	uint64_t most;
	/* REAL: says in messages which numbers have a meaning, as "above 0, as in 3"; NULL = any.
	 * Parsing checks an "above" at its beginning; the rest, whoever uses the value. */
	const char *range;
	/* A first run needs it: help shows it, too, where it does not show all. */
	bool first;
};

/* In the help, this heading stands before the option of that name. */
struct option_heading {
	const char *option; /* long name; NULL ends a list of headings */
	const char *heading;
};

/* Kind and offset of a member. The kind comes from the member's type, so a table cannot disagree
 * with its struct. */
// clang-format off
#define OPTION(structure, member) \
	.kind = _Generic(((structure *)0)->member, \
	    bool: OPTION_FLAG, \
	    const char *: OPTION_TEXT, \
	    struct option_list: OPTION_LIST, \
	    double: OPTION_REAL, \
	    uint64_t: OPTION_COUNT, \
	    uint32_t: OPTION_SMALL, \
	    int: OPTION_CHOICE), \
	.offset = offsetof(structure, member)
/* The same of an enum, whose type is that of a whole number. */
#define OPTION_ENUM(structure, member) \
	.kind = OPTION_CHOICE, .offset = offsetof(structure, member)
// clang-format on

/* The value of a COUNT or CHOICE member whose option has no default and was not given. The verb
 * sets it before parsing. */
#define COUNT_NONE UINT64_MAX
#define CHOICE_NONE (-1)

struct verb {
	const char *name;
	const char *usage;   /* behind the name, in the usage line */
	const char *summary; /* one line */
	const char *example; /* behind the name, in a command that works; it fits one line */
	const char *another; /* a second one for the help, NULL = none */
	const char *about;   /* paragraphs after the options; NULL = none */
	/* Words of which one may or must stand behind the name, as in cuttle ledger init; NULL =
	 * none. */
	const char *const *actions;
	size_t action_count;
	const struct option_entry *options;
	size_t option_count;
	/* What help and manual list, where that is other than all options: names and words alone.
	 * NULL = all options. */
	const struct option_entry *listed;
	size_t listed_count;
	/* Where the help groups the options, and ends it with {NULL}; NULL = not at all. */
	const struct option_heading *headings;
	int (*run)(const struct verb *verb, int argc, char **argv);
};

enum options_result { OPTIONS_OK, OPTIONS_HELP, OPTIONS_WRONG };

/* Parses argv[1..] and the environment into *values, which holds the defaults. An option on the
 * command line beats its environment variable, and that beats the default. Arguments that belong to
 * no option (operands) are moved to argv[*operands..argc-1]. Texts point into argv or the
 * environment. Uses the global state of getopt: one thread only.
 * OPTIONS_HELP: -h or --help was given.
 * OPTIONS_WRONG: an unknown option, two options of one group, a list too long, a bad value, a
 * missing argument; error says which. */
enum options_result options_parse(const struct verb *verb, int argc, char **argv, void *values,
                                  int *operands, struct cuttle_error *error);

/* Whether the option stood on the command line of the verb that was parsed last, and not in the
 * environment alone. */
bool options_typed(const struct verb *verb, const char *name);

/* Read a number from the whole text, with an exponent maybe: 1e3. Also used for the items of lists.
 * False, with *value unchanged by options_real: it is no finite number, or no whole number of at
 * most `most`. */
bool options_real(const char *text, double *value);
bool options_count(const char *text, uint64_t most, uint64_t *value);

/* Guesses which of names[count] was meant; NULL = none. First choice is the only name that begins
 * with what was typed. Second is the nearest name, when at most a third of its letters are wrong:
 * "genrate" has one typo, and "generate" has eight letters. */
const char *options_nearest(const char *typed, const char *const names[], size_t count);

/* Refuses a variable of the environment that begins with CUTTLE_ and is no option of any of the
 * verbs. A typing error would be an option that was not given, as CUTTLE_APROVAL. A few others that
 * begin so are let through. USAGE: the message names it, and which was meant. NOMEM. */
enum cuttle_status options_check_environment(const struct verb *const verbs[], size_t verb_count,
                                             struct cuttle_error *error);

/* A verb of more options has a short help, which shows those for a first run. */
enum { OPTIONS_WHOLE = 26 };
/* Prints the help of a verb: the whole of it where `all` is true or the verb has few options. Else
 * it prints the short one, whose last line says how to see all. */
void options_help(const struct verb *verb, bool all, FILE *file);
/* Whether a verb has a short help beside the whole one. */
bool options_are_many(const struct verb *verb);

/* What help and manual list of a verb, and how many these are. */
const struct option_entry *options_listed(const struct verb *verb, size_t *count);

/* The heading that stands before the option of that long name; NULL = none. */
const char *options_heading(const struct verb *verb, const char *option);

#endif
