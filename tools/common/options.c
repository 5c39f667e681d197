// SPDX-License-Identifier: Apache-2.0
// Reads options from the command line and then from the environment, and prints their help. It
// makes getopt_long's tables from the verb's table, and stores each value at its entry's offset.
#include "tools/common/options.h"

#include "base/misuse.h"
#include "io/disk/fail.h"
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MOST_OPTIONS = 96, /* most options of a verb */
	LONG_BASE = 256,   /* getopt returns this plus the entry's number for a long option; it is
	                      above every letter */
	HELP_COLUMN = 31,  /* column where the help of an option begins */
	HELP_WIDTH = 110,  /* most columns of a line of help */
	VARIABLE = 64,     /* bytes of an environment variable's name, with its NUL */
	NAME_SIZE = 32     /* bytes of an option's or verb's name, with its NUL */
};

static void set_option_error(struct cuttle_error *error, const char *option, const char *problem) {
	(void)io_fail(error, CUTTLE_USAGE, "%s: %s", option, problem);
}

/* Says which value was refused and what is allowed. Returns false. */
static bool refuse_value(struct cuttle_error *error, const char *option, const char *text,
                         const char *allowed) {
	(void)io_fail(error, CUTTLE_USAGE, "%s: \"%.40s\" is not %s", option, text, allowed);
	return false;
}

bool options_real(const char *text, double *value) {
	char *end;
	if (!isdigit((unsigned char)*text) && !strchr("+-.", *text)) return false;
	errno = 0;
	double parsed = strtod(text, &end);
	if (end == text || *end || errno == ERANGE || !isfinite(parsed)) return false;
	*value = parsed;
	return true;
}

bool options_count(const char *text, uint64_t most, uint64_t *value) {
	uint64_t parsed = 0, zeros = 0;
	if (!isdigit((unsigned char)*text)) return false;
	for (; isdigit((unsigned char)*text); text++) {
		if (__builtin_mul_overflow(parsed, 10, &parsed) ||
		    __builtin_add_overflow(parsed, (uint64_t)(*text - '0'), &parsed))
			return false;
	}
	if (*text == 'e' || *text == 'E') {
		text += text[1] == '+' ? 2 : 1;
		if (!options_count(text, 19, &zeros)) return false;
		for (; zeros; zeros--)
			if (__builtin_mul_overflow(parsed, 10, &parsed)) return false;
	} else if (*text) return false;
	*value = parsed;
	return parsed <= most;
}

static int parse_choice(const char *names, const char *text) {
	size_t size = strlen(text);
	for (int position = 0; names; position++) {
		const char *bar = strchr(names, '|');
		size_t length = bar ? (size_t)(bar - names) : strlen(names);
		if (length == size && !memcmp(names, text, size)) return position;
		names = bar ? bar + 1 : NULL;
	}
	return CHOICE_NONE;
}

static bool parse_truth(const char *text, bool *value) {
	int position = parse_choice("0|1|false|true|no|yes", text);
	*value = position % 2 == 1;
	return position != CHOICE_NONE;
}

/* Whether the number is above what a range begins with, as "above 0, as in 3". */
static bool is_above(const char *range, double value) {
	const char above[] = "above ";
	return !range || strncmp(range, above, strlen(above)) != 0 ||
	       value > strtod(range + strlen(above), NULL);
}

/* Reads a whole number in the option's range. */
static bool set_count(const struct option_entry *entry, const char *text, uint64_t *count,
                      const char *option, struct cuttle_error *error) {
	const uint64_t room = entry->kind == OPTION_SMALL ? UINT32_MAX : COUNT_NONE - 1,
	               most = entry->most ? entry->most : room;
	char allowed[128];
	if (options_count(text, most, count) && *count >= entry->least) return true;
	(void)snprintf(allowed, sizeof allowed,
	               most <= UINT32_MAX ? "a whole number from %llu to %llu"
	                                  : "a whole number, %llu or more",
	               (unsigned long long)entry->least, (unsigned long long)most);
	return refuse_value(error, option, text, allowed);
}

/* Stores the value that `text` gives at the entry's offset. text is NULL for a flag on the command
 * line. Messages name the option as `option`. */
static bool set_option(const struct option_entry *entry, const char *text, void *values,
                       const char *option, struct cuttle_error *error) {
	char *place = (char *)values + entry->offset;
	char allowed[128];
	switch (entry->kind) {
	case OPTION_FLAG:
		*(bool *)place = true;
		if (!text || parse_truth(text, (bool *)place)) return true;
		return refuse_value(error, option, text, "0 or 1");
	case OPTION_TEXT:
		*(const char **)(void *)place = text;
		return true;
	case OPTION_LIST: {
		struct option_list *list = (struct option_list *)(void *)place;
		if (list->count == (entry->most ? entry->most : OPTION_MOST)) {
			set_option_error(error, option, "is given too often");
			return false;
		}
		list->texts[list->count++] = text;
		return true;
	}
	case OPTION_REAL: {
		const bool may_be_auto = !strncmp(entry->argument, "auto|", strlen("auto|"));
		if (may_be_auto && !strcmp(text, "auto")) {
			*(double *)(void *)place = 0;
			return true;
		}
		if (options_real(text, (double *)(void *)place) &&
		    is_above(entry->range, *(double *)(void *)place))
			return true;
		(void)snprintf(allowed, sizeof allowed, "%sa number%s%s",
		               may_be_auto ? "auto or " : "", entry->range ? " " : "",
		               entry->range ? entry->range : "");
		return refuse_value(error, option, text, allowed);
	}
	case OPTION_COUNT:
		return set_count(entry, text, (uint64_t *)(void *)place, option, error);
	case OPTION_SMALL: {
		uint64_t count;
		if (!set_count(entry, text, &count, option, error)) return false;
		*(uint32_t *)(void *)place = (uint32_t)count;
		return true;
	}
	case OPTION_CHOICE:
		*(int *)(void *)place = parse_choice(entry->argument, text);
		if (*(int *)(void *)place != CHOICE_NONE) return true;
		(void)snprintf(allowed, sizeof allowed, "one of %s", entry->argument);
		return refuse_value(error, option, text, allowed);
	}
	return false;
}

static void name_variable(const struct option_entry *entry, char name[VARIABLE]) {
	(void)snprintf(name, VARIABLE, "CUTTLE_%s", entry->name);
	for (char *at = name; *at; at++) *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
}

/* Another option of the entry's group that was given, or NULL. */
static const struct option_entry *find_rival(const struct verb *verb,
                                             const struct option_entry *entry, const bool *given) {
	for (size_t i = 0; entry->group && i < verb->option_count; i++)
		if (given[i] && &verb->options[i] != entry &&
		    verb->options[i].group == entry->group)
			return &verb->options[i];
	return NULL;
}

static bool read_environment(const struct verb *verb, void *values, const bool *on_line,
                             struct cuttle_error *error) {
	bool given[MOST_OPTIONS] = {0};
	for (size_t i = 0; i < verb->option_count; i++) {
		char name[VARIABLE];
		name_variable(&verb->options[i], name);
		const char *text = getenv(name);
		if (!text || !*text || on_line[i] || find_rival(verb, &verb->options[i], on_line))
			continue;
		if (!set_option(&verb->options[i], text, values, name, error)) return false;
		given[i] = true;
		if (find_rival(verb, &verb->options[i], given)) {
			set_option_error(error, name,
			                 "contradicts another variable; set one of them");
			return false;
		}
	}
	return true;
}

/* How many letters must be put in, left out, replaced, or exchanged with the next one to turn a
 * into b. From "bugdet" to "budget" it is 1. Both are shorter than NAME_SIZE. row[j] is this number
 * for the first i letters of a and the first j of b. last belongs to i - 1, older to i - 2. */
static size_t count_typos(const char *a, const char *b) {
	size_t rows[3][NAME_SIZE + 1], *older = rows[0], *last = rows[1], *row = rows[2];
	const size_t width = strlen(b);
	for (size_t j = 0; j <= width; j++) last[j] = older[j] = j;
	for (size_t i = 1; i <= strlen(a); i++) {
		row[0] = i;
		for (size_t j = 1; j <= width; j++) {
			size_t least = last[j - 1] + (a[i - 1] != b[j - 1]);
			if (last[j] + 1 < least) least = last[j] + 1;
			if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
			const bool exchanged =
			    i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
			if (exchanged && older[j - 2] + 1 < least) least = older[j - 2] + 1;
			row[j] = least;
		}
		size_t *const reused = older;
		older = last;
		last = row;
		row = reused;
	}
	return last[width];
}

const char *options_nearest(const char *typed, const char *const names[], size_t count) {
	const char *nearest = NULL, *begun = NULL;
	size_t typos = SIZE_MAX, begins = 0;
	if (!*typed || strlen(typed) >= NAME_SIZE) return NULL;
	for (size_t i = 0; i < count; i++) {
		REQUIRE(strlen(names[i]) < NAME_SIZE);
		const size_t distance = count_typos(typed, names[i]);
		if (distance < typos && 3 * distance <= strlen(names[i])) {
			typos = distance;
			nearest = names[i];
		}
		if (strncmp(names[i], typed, strlen(typed)) != 0) continue;
		begins++;
		begun = names[i];
	}
	return begins == 1 ? begun : nearest;
}

/* Sets the error for an option that the verb does not have. */
static void refuse_unknown_option(const struct verb *verb, const char *option,
                                  struct cuttle_error *error) {
	const char *names[MOST_OPTIONS + 2];
	char typed[NAME_SIZE];
	size_t count = 0;
	for (; count < verb->option_count; count++) names[count] = verb->options[count].name;
	names[count++] = "help";
	names[count++] = "version";
	const char *name = option + strspn(option, "-");
	(void)snprintf(typed, sizeof typed, "%.*s", (int)strcspn(name, "="), name);
	const char *meant = option[1] == '-' ? options_nearest(typed, names, count) : NULL;
	if (meant)
		(void)io_fail(error, CUTTLE_USAGE,
		              "%.80s: is not an option here; did you mean %s--%s?", option,
		              strcmp(meant, "version") != 0 ? "" : "cuttle ", meant);
	else
		(void)io_fail(
		    error, CUTTLE_USAGE,
		    "%.80s: is not an option here; cuttle help %s%s shows those there are", option,
		    verb->name, options_are_many(verb) ? " --all" : "");
}

/* Sets the error for what getopt could not read. optopt is then the letter, or the number that
 * make_getopt_tables gave a long option, or 0 for an unknown long option. */
static void explain_getopt_error(const struct verb *verb, int argc, char **argv, bool missing,
                                 struct cuttle_error *error) {
	const char letter[3] = {'-', (char)optopt, 0};
	const char *option = optopt && optopt < LONG_BASE   ? letter
	                     : optind > 0 && optind <= argc ? argv[optind - 1]
	                                                    : "option";
	if (missing) set_option_error(error, option, "needs a value after it");
	else if (optopt >= LONG_BASE) set_option_error(error, option, "takes no value");
	else refuse_unknown_option(verb, option, error);
}

/* Makes the tables of getopt_long. `shorts` begins with ':', so that getopt returns ':' for a
 * missing argument. */
static void make_getopt_tables(const struct verb *verb, struct option *longs, char *shorts) {
	REQUIRE(verb->option_count <= MOST_OPTIONS);
	*shorts++ = ':';
	*shorts++ = 'h';
	for (size_t i = 0; i < verb->option_count; i++) {
		const struct option_entry *entry = &verb->options[i];
		bool argument = entry->kind != OPTION_FLAG;
		longs[i] = (struct option){entry->name, argument ? required_argument : no_argument,
		                           NULL, LONG_BASE + (int)i};
		if (!entry->letter) continue;
		*shorts++ = entry->letter;
		if (argument) *shorts++ = ':';
	}
	*shorts = 0;
	longs[verb->option_count] = (struct option){"help", no_argument, NULL, 'h'};
	longs[verb->option_count + 1] = (struct option){0};
}

static size_t find_entry(const struct verb *verb, int found) {
	if (found >= LONG_BASE) return (size_t)(found - LONG_BASE);
	size_t i = 0;
	while (verb->options[i].letter != found) i++;
	return i;
}

/* An option that getopt found earlier, as it was spelled. */
struct spelling {
	int found;         /* its letter, or its number among the long ones; 0 = not yet */
	const char *value; /* NULL = a flag */
};

/* Refuses one option in two spellings with two values, as -N 2 --num 20. In one spelling the last
 * value counts, so that a script can add to a line. */
static bool check_spelling(const struct option_entry *entry, const struct spelling *before,
                           const struct spelling *now, struct cuttle_error *error) {
	const bool same = !before->found || before->found == now->found;
	if (same || entry->kind == OPTION_LIST || !now->value || !strcmp(before->value, now->value))
		return true;
	const char *by_letter = before->found < LONG_BASE ? before->value : now->value,
	           *by_name = before->found < LONG_BASE ? now->value : before->value;
	(void)io_fail(error, CUTTLE_USAGE,
	              "-%c %.40s and --%s %.40s are one option with two values: give it once",
	              entry->letter, by_letter, entry->name, by_name);
	return false;
}

/* Of the verb that was parsed last: which of its options stood on the command line. */
static bool on_line[MOST_OPTIONS];

bool options_typed(const struct verb *verb, const char *name) {
	size_t i = 0;
	while (i < verb->option_count && strcmp(verb->options[i].name, name) != 0) i++;
	REQUIRE(i < verb->option_count);
	return on_line[i];
}

enum options_result options_parse(const struct verb *verb, int argc, char **argv, void *values,
                                  int *operands, struct cuttle_error *error) {
	struct option longs[MOST_OPTIONS + 2];
	char shorts[2 * MOST_OPTIONS + 4];
	bool given[MOST_OPTIONS] = {0};
	struct spelling spellings[MOST_OPTIONS] = {0};
	int found;
	make_getopt_tables(verb, longs, shorts);
	opterr = 0;
	optind = 0; // makes getopt begin anew, in glibc and musl
	while ((found = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (found == 'h') return OPTIONS_HELP;
		if (found == '?' || found == ':') {
			explain_getopt_error(verb, argc, argv, found == ':', error);
			return OPTIONS_WRONG;
		}
		size_t i = find_entry(verb, found);
		const struct option_entry *entry = &verb->options[i];
		char name[VARIABLE];
		(void)snprintf(name, sizeof name, "--%s", entry->name);
		const struct spelling spelling = {found, optarg};
		if (!check_spelling(entry, &spellings[i], &spelling, error)) return OPTIONS_WRONG;
		spellings[i] = spelling;
		given[i] = true;
		if (find_rival(verb, entry, given)) {
			(void)io_fail(error, CUTTLE_USAGE, "--%s and --%s exclude each other",
			              find_rival(verb, entry, given)->name, entry->name);
			return OPTIONS_WRONG;
		}
		if (!set_option(entry, optarg, values, name, error)) return OPTIONS_WRONG;
	}
	*operands = optind;
	memcpy(on_line, given, sizeof on_line);
	return read_environment(verb, values, given, error) ? OPTIONS_OK : OPTIONS_WRONG;
}

/* Prints the words of the text up to column HELP_WIDTH, further lines from column `indent` on. The
 * cursor stands in column `at`. Newlines in the text are kept. */
static void print_wrapped(FILE *file, const char *text, int at, int indent) {
	for (bool begins = true; *text;) {
		size_t word = strcspn(text, " \n");
		if (!begins && at + 1 + (int)word > HELP_WIDTH) {
			fprintf(file, "\n%*s", indent, "");
			at = indent;
			begins = true;
		}
		at += fprintf(file, "%s%.*s", begins ? "" : " ", (int)word, text);
		text += word;
		begins = *text == '\n';
		if (begins) at = fprintf(file, "\n%*s", text[1] == '\n' ? 0 : indent, "") - 1;
		text += *text != 0;
	}
	fputc('\n', file);
}

const char *options_heading(const struct verb *verb, const char *option) {
	const struct option_heading *heading = verb->headings;
	while (heading && heading->option && strcmp(heading->option, option) != 0) heading++;
	return heading ? heading->heading : NULL;
}

const struct option_entry *options_listed(const struct verb *verb, size_t *count) {
	*count = verb->listed ? verb->listed_count : verb->option_count;
	return verb->listed ? verb->listed : verb->options;
}

/* Variables that begin like ours and are no option. */
static bool is_other_variable(const char *name) {
	// The key of cuttle infer; the settings of packaging/examples; what our own tests, scripts
	// and measurements are told; and what Kubernetes sets for a service that is called cuttle.
	static const char *const whole[] = {"API_KEY", "SETTINGS", "DATA",  "EXAMPLE",
	                                    "CLIENTS", "LOOPBACK", "PEERS", "JOBS"};
	static const char *const begun[] = {"TEST_", "SERVICE_", "PORT"};
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		if (!strcmp(name, whole[i])) return true;
	for (size_t i = 0; i < sizeof begun / sizeof *begun; i++)
		if (!strncmp(name, begun[i], strlen(begun[i]))) return true;
	return false;
}

/* The long names of all verbs' options, each once, to be freed; NULL: out of memory. */
static const char **list_names(const struct verb *const verbs[], size_t verb_count, size_t *count) {
	const char **names = calloc(verb_count * MOST_OPTIONS, sizeof *names);
	*count = 0;
	for (size_t v = 0; names && v < verb_count; v++)
		for (size_t i = 0; i < verbs[v]->option_count; i++) {
			size_t known = 0;
			while (known < *count &&
			       strcmp(names[known], verbs[v]->options[i].name) != 0)
				known++;
			if (known == *count) names[(*count)++] = verbs[v]->options[i].name;
		}
	return names;
}

/* Whether a name behind CUTTLE_ is one that somebody reads; else the error names it. */
static bool check_variable(const char *name, const char *const names[], size_t count,
                           struct cuttle_error *error) {
	char typed[VARIABLE], variable[VARIABLE] = "";
	(void)snprintf(typed, sizeof typed, "%s", name);
	for (char *at = typed; *at; at++)
		*at = *at == '_' ? '-' : (char)tolower((unsigned char)*at);
	for (size_t i = 0; i < count; i++) {
		const struct option_entry entry = {.name = names[i]};
		name_variable(&entry, variable);
		if (!strcmp(variable + strlen("CUTTLE_"), name)) return true;
	}
	if (is_other_variable(name)) return true;
	const char *meant = options_nearest(typed, names, count);
	const struct option_entry entry = {.name = meant ? meant : ""};
	name_variable(&entry, variable);
	(void)io_fail(error, CUTTLE_USAGE,
	              meant
	                  ? "CUTTLE_%.60s in the environment is no option of cuttle; did you "
	                    "mean %s?"
	                  : "CUTTLE_%.60s in the environment is no option of cuttle: unset it%.0s",
	              name, variable);
	return false;
}

enum cuttle_status options_check_environment(const struct verb *const verbs[], size_t verb_count,
                                             struct cuttle_error *error) {
	size_t count;
	const char **names = list_names(verbs, verb_count, &count);
	enum cuttle_status status =
	    names ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	for (char **at = environ; !status && at && *at; at++) {
		char name[VARIABLE];
		const char *value = strchr(*at, '=');
		// As elsewhere, an empty variable counts for nothing.
		if (strncmp(*at, "CUTTLE_", strlen("CUTTLE_")) != 0 || !value || !value[1])
			continue;
		(void)snprintf(name, sizeof name, "%.*s",
		               (int)(value - *at - (ptrdiff_t)strlen("CUTTLE_")),
		               *at + strlen("CUTTLE_"));
		if (!check_variable(name, names, count, error)) status = CUTTLE_USAGE;
	}
	free(names);
	return status;
}

bool options_are_many(const struct verb *verb) {
	size_t count;
	(void)options_listed(verb, &count);
	return count > OPTIONS_WHOLE;
}

static void print_option(const struct option_entry *entry, FILE *file) {
	char letter[8] = "    ";
	if (entry->letter) (void)snprintf(letter, sizeof letter, "-%c, ", entry->letter);
	int at = fprintf(file, "  %s--%s%s%s", letter, entry->name, entry->argument ? " " : "",
	                 entry->argument ? entry->argument : "");
	if (at >= HELP_COLUMN) at = fprintf(file, "\n") - 1;
	fprintf(file, "%*s", HELP_COLUMN - at, "");
	print_wrapped(file, entry->help, HELP_COLUMN, HELP_COLUMN);
}

/* Prints the options, those for a first run or all, each behind the heading of its part. */
static void print_options(const struct verb *verb, bool all, FILE *file) {
	size_t count;
	const struct option_entry *listed = options_listed(verb, &count);
	const char *heading = NULL; // the one that waits for its first option
	bool begun = false;
	for (size_t i = 0; i < count; i++) {
		const char *next = options_heading(verb, listed[i].name);
		if (next) heading = next;
		if (!all && !listed[i].first) continue;
		if (heading) fprintf(file, "%s%s:\n", begun ? "\n" : "", heading);
		heading = NULL;
		begun = true;
		print_option(&listed[i], file);
	}
	fprintf(file, "  -h, --help\n\n");
}

void options_help(const struct verb *verb, bool all, FILE *file) {
	const bool whole = all || !options_are_many(verb);
	fprintf(file, "usage: cuttle %s %s\n\n%s\n\n", verb->name, verb->usage, verb->summary);
	if (verb->example)
		fprintf(file, "For example:\n    cuttle %s %s\n", verb->name, verb->example);
	if (verb->another) fprintf(file, "    cuttle %s %s\n", verb->name, verb->another);
	if (verb->example) fputc('\n', file);
	print_options(verb, whole, file);
	if (!whole) {
		fprintf(file, "All options: cuttle help %s --all\n", verb->name);
		return;
	}
	if (verb->about) print_wrapped(file, verb->about, 0, 0);
	char example[VARIABLE];
	name_variable(&verb->options[0], example);
	fprintf(file,
	        "Each long option can also be set in the environment, as %s and so on; the command "
	        "line wins.\nAnother variable that begins with CUTTLE_ is refused.\n",
	        example);
}
