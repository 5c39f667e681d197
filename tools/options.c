// SPDX-License-Identifier: Apache-2.0
// Options from the command line and the environment, and their help.
#include "tools/options.h"

#include "base/misuse.h"
#include "io/fail.h"
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPTIONS = 64, LONG_BASE = 256, HELP_COLUMN = 31, HELP_WIDTH = 110, VARIABLE = 64 };

static void wrong(struct cuttle_error *error, const char *option, const char *problem) {
	(void)io_fail(error, CUTTLE_USAGE, "%s: %s", option, problem);
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
	uint64_t parsed = 0;
	if (!*text) return false;
	for (; *text; text++) {
		if (!isdigit((unsigned char)*text) || __builtin_mul_overflow(parsed, 10, &parsed) ||
		    __builtin_add_overflow(parsed, (uint64_t)(*text - '0'), &parsed))
			return false;
	}
	*value = parsed;
	return parsed <= most;
}

static int choice(const char *names, const char *text) {
	size_t size = strlen(text);
	for (int position = 0; names; position++) {
		const char *bar = strchr(names, '|');
		size_t length = bar ? (size_t)(bar - names) : strlen(names);
		if (length == size && !memcmp(names, text, size)) return position;
		names = bar ? bar + 1 : NULL;
	}
	return CHOICE_NONE;
}

static bool truth(const char *text, bool *value) {
	int position = choice("0|1|false|true|no|yes", text);
	*value = position % 2 == 1;
	return position != CHOICE_NONE;
}

/* Stores the text (NULL: a flag on the command line) in the entry's place. `option` names it in messages. */
static bool set(const struct option_entry *entry, const char *text, void *values, const char *option, struct cuttle_error *error) {
	char *place = (char *)values + entry->offset;
	char problem[128];
	switch (entry->kind) {
	case OPTION_FLAG:
		*(bool *)place = true;
		if (!text || truth(text, (bool *)place)) return true;
		wrong(error, option, "must be 0 or 1");
		return false;
	case OPTION_TEXT:
		*(const char **)(void *)place = text;
		return true;
	case OPTION_LIST: {
		struct option_list *list = (struct option_list *)(void *)place;
		if (list->count == OPTION_MOST) {
			wrong(error, option, "is given too often");
			return false;
		}
		list->texts[list->count++] = text;
		return true;
	}
	case OPTION_REAL:
		if (options_real(text, (double *)(void *)place)) return true;
		wrong(error, option, "must be a number, finite and not below 2.3e-308 in size");
		return false;
	case OPTION_COUNT: {
		uint64_t most = entry->most ? entry->most : COUNT_NONE - 1;
		if (options_count(text, most, (uint64_t *)(void *)place)) return true;
		(void)snprintf(problem, sizeof problem, "must be a whole number from 0 to %llu", (unsigned long long)most);
		wrong(error, option, problem);
		return false;
	}
	case OPTION_CHOICE:
		*(int *)(void *)place = choice(entry->argument, text);
		if (*(int *)(void *)place != CHOICE_NONE) return true;
		(void)snprintf(problem, sizeof problem, "must be one of %s", entry->argument);
		wrong(error, option, problem);
		return false;
	}
	return false;
}

static void variable(const struct option_entry *entry, char name[VARIABLE]) {
	(void)snprintf(name, VARIABLE, "CUTTLE_%s", entry->name);
	for (char *at = name; *at; at++) *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
}

/* The other option of entry's group that was given, or NULL. */
static const struct option_entry *rival(const struct verb *verb, const struct option_entry *entry, const bool *given) {
	for (size_t i = 0; entry->group && i < verb->option_count; i++)
		if (given[i] && &verb->options[i] != entry && verb->options[i].group == entry->group) return &verb->options[i];
	return NULL;
}

static bool from_environment(const struct verb *verb, void *values, const bool *on_line, struct cuttle_error *error) {
	bool given[MOST_OPTIONS] = {0};
	for (size_t i = 0; i < verb->option_count; i++) {
		char name[VARIABLE];
		variable(&verb->options[i], name);
		const char *text = getenv(name);
		if (!text || !*text || on_line[i] || rival(verb, &verb->options[i], on_line)) continue;
		if (!set(&verb->options[i], text, values, name, error)) return false;
		given[i] = true;
		if (rival(verb, &verb->options[i], given)) {
			wrong(error, name, "contradicts another variable; set one of them");
			return false;
		}
	}
	return true;
}

static void unknown(int argc, char **argv, bool missing, struct cuttle_error *error) {
	char name[3] = {'-', (char)optopt, 0};
	const char *option = optopt && optopt < LONG_BASE ? name : optind > 0 && optind <= argc ? argv[optind - 1] : "option";
	wrong(error, option,
	      missing               ? "needs an argument"
	      : optopt >= LONG_BASE ? "takes no argument"
	                            : "is not an option here; see --help");
}

/* Fills the tables of getopt_long. */
static void tables(const struct verb *verb, struct option *longs, char *shorts) {
	REQUIRE(verb->option_count <= MOST_OPTIONS);
	*shorts++ = ':';
	*shorts++ = 'h';
	for (size_t i = 0; i < verb->option_count; i++) {
		const struct option_entry *entry = &verb->options[i];
		bool argument = entry->kind != OPTION_FLAG;
		longs[i] = (struct option){entry->name, argument ? required_argument : no_argument, NULL, LONG_BASE + (int)i};
		if (!entry->letter) continue;
		*shorts++ = entry->letter;
		if (argument) *shorts++ = ':';
	}
	*shorts = 0;
	longs[verb->option_count] = (struct option){"help", no_argument, NULL, 'h'};
	longs[verb->option_count + 1] = (struct option){0};
}

static size_t position(const struct verb *verb, int found) {
	if (found >= LONG_BASE) return (size_t)(found - LONG_BASE);
	size_t i = 0;
	while (verb->options[i].letter != found) i++;
	return i;
}

enum options_result options_parse(const struct verb *verb, int argc, char **argv, void *values, int *operands, struct cuttle_error *error) {
	struct option longs[MOST_OPTIONS + 2];
	char shorts[2 * MOST_OPTIONS + 4];
	bool given[MOST_OPTIONS] = {0};
	int found;
	tables(verb, longs, shorts);
	opterr = 0;
	optind = 0; // glibc and musl: start afresh
	while ((found = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (found == 'h') return OPTIONS_HELP;
		if (found == '?' || found == ':') {
			unknown(argc, argv, found == ':', error);
			return OPTIONS_WRONG;
		}
		size_t i = position(verb, found);
		const struct option_entry *entry = &verb->options[i];
		char name[VARIABLE];
		(void)snprintf(name, sizeof name, "--%s", entry->name);
		given[i] = true;
		if (rival(verb, entry, given)) {
			(void)io_fail(error, CUTTLE_USAGE, "--%s and --%s exclude each other", rival(verb, entry, given)->name,
			              entry->name);
			return OPTIONS_WRONG;
		}
		if (!set(entry, optarg, values, name, error)) return OPTIONS_WRONG;
	}
	*operands = optind;
	return from_environment(verb, values, given, error) ? OPTIONS_OK : OPTIONS_WRONG;
}

/* Words wrapped between two columns; the cursor stands at `at`. Newlines in the text are kept. */
static void wrap(FILE *file, const char *text, int at, int indent) {
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

void options_help(const struct verb *verb, FILE *file) {
	fprintf(file, "usage: cuttle %s %s\n\n%s\n\n", verb->name, verb->usage, verb->summary);
	for (size_t i = 0; i < verb->option_count; i++) {
		const struct option_entry *entry = &verb->options[i];
		char letter[8] = "    ";
		if (entry->letter) (void)snprintf(letter, sizeof letter, "-%c, ", entry->letter);
		int at =
		    fprintf(file, "  %s--%s%s%s", letter, entry->name, entry->argument ? " " : "", entry->argument ? entry->argument : "");
		if (at >= HELP_COLUMN) at = fprintf(file, "\n") - 1;
		fprintf(file, "%*s", HELP_COLUMN - at, "");
		wrap(file, entry->help, HELP_COLUMN, HELP_COLUMN);
	}
	fprintf(file, "  -h, --help\n\n");
	if (verb->about) wrap(file, verb->about, 0, 0);
	char example[VARIABLE];
	variable(&verb->options[0], example);
	fprintf(file, "Each long option can also be set in the environment, as %s and so on; the command line wins.\n", example);
}
