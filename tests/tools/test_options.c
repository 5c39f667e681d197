// SPDX-License-Identifier: Apache-2.0
// Tests tools/common/options.c: one table of options that parsing, environment and help read. It
// fails if a value is parsed wrongly, if a wrong one is accepted, or if the help leaves out an
// option.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

// The command's objects are in no library, so the file under test is compiled in.
#include "tools/common/options.c"

struct values {
	const char *name;
	double epsilon, clip;
	uint64_t count, seed;
	int mode;
	bool fast;
};

static const struct option_entry ENTRIES[] = {
    {.name = "name",
     .letter = 'm',
     OPTION(struct values, name),
     .argument = "NAME",
     .help = "a name"},
    {.name = "epsilon",
     .letter = 'e',
     .group = 1,
     OPTION(struct values, epsilon),
     .argument = "EPS",
     .help = "a number",
     .range = "above 0, as in 3"},
    {.name = "clip", .group = 1, OPTION(struct values, clip), .argument = "C", .help = "another"},
    {.name = "max-count",
     .letter = 'n',
     OPTION(struct values, count),
     .argument = "N",
     .help = "a count",
     .least = 2,
     .most = 1000},
    {.name = "seed", OPTION(struct values, seed), .argument = "N", .help = "any"},
    {.name = "mode", OPTION(struct values, mode), .argument = "auto|json|off", .help = "a choice"},
    {.name = "fast", .letter = 'q', OPTION(struct values, fast), .help = "a flag"},
};
static const struct verb VERB = {
    .name = "test", .usage = "", .summary = "", .options = ENTRIES, .option_count = 7};

static struct values values;
static struct cuttle_error error;
static int operand;

/* Splits the line at spaces and parses it. */
static enum options_result parse(const char *line) {
	static char copy[256];
	char *words[16] = {(char *)"test"};
	int count = 1;
	(void)snprintf(copy, sizeof copy, "%s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) words[count++] = word;
	values = (struct values){.epsilon = NAN, .clip = NAN, .seed = COUNT_NONE};
	error.message[0] = 0;
	return options_parse(&VERB, count, words, &values, &operand, &error);
}

static void all_kinds(void **state) {
	(void)state;
	assert_int_equal(parse("-m x --epsilon 2.5 what -n 1000 --seed 0 --mode=off -q"),
	                 OPTIONS_OK);
	assert_string_equal(values.name, "x");
	assert_true(values.epsilon == 2.5);
	assert_int_equal(values.count, 1000);
	assert_int_equal(values.seed, 0);
	assert_int_equal(values.mode, 2);
	assert_true(values.fast);
	assert_int_equal(operand, 8 + 3);
	assert_int_equal(parse(""), OPTIONS_OK);
	assert_true(isnan(values.epsilon) && values.seed == COUNT_NONE && !values.fast);
	assert_int_equal(parse("--seed 18446744073709551614"), OPTIONS_OK);
	assert_int_equal(parse("--clip -1"), OPTIONS_OK);
	assert_int_equal(parse("-e 1e-300"), OPTIONS_OK);
	// In one spelling the last value counts; in two they must agree.
	assert_int_equal(parse("-n 3 -n 4 --epsilon 1 --epsilon 2"), OPTIONS_OK);
	assert_true(values.count == 4 && values.epsilon == 2);
	assert_int_equal(parse("-n 3 --max-count 3 -q --fast"), OPTIONS_OK);
	assert_int_equal(parse("-h"), OPTIONS_HELP);
	assert_int_equal(parse("-e 1 --help"), OPTIONS_HELP);
}

static void wrong_ones(void **state) {
	(void)state;
	static const char *const lines[] = {"-e x",
	                                    "-e 1x",
	                                    "-e nan",
	                                    "-e inf",
	                                    "-e 1e999",
	                                    "-e 1e-999",
	                                    "-e",
	                                    "--epsilon",
	                                    "-n 1001",
	                                    "-n 1",
	                                    "-n -1",
	                                    "-n +1",
	                                    "-n 1.5",
	                                    "-n 0x10",
	                                    "--seed 18446744073709551615",
	                                    "--seed 99999999999999999999",
	                                    "--mode on",
	                                    "--mode aut",
	                                    "--bogus",
	                                    "-z",
	                                    "--fast=1",
	                                    "-e -1",
	                                    "-e 1 --clip 2"};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		assert_int_equal(parse(lines[i]), OPTIONS_WRONG);
		assert_true(strlen(error.message) > 0);
		assert_null(strchr(error.message, '\n'));
	}
}

/* The message says what was typed, and what may be. */
static void refused_with(const char *line, const char *message) {
	assert_int_equal(parse(line), OPTIONS_WRONG);
	assert_string_equal(error.message, message);
}

static void messages(void **state) {
	(void)state;
	refused_with("-e ten", "--epsilon: \"ten\" is not a number above 0, as in 3");
	refused_with("-e 0", "--epsilon: \"0\" is not a number above 0, as in 3");
	refused_with("-n 3 --max-count 4",
	             "-n 3 and --max-count 4 are one option with two values: give it once");
	refused_with("--max-count=4 -q -n3",
	             "-n 3 and --max-count 4 are one option with two values: give it once");
	refused_with("--clip x", "--clip: \"x\" is not a number");
	refused_with("-n 1001", "--max-count: \"1001\" is not a whole number from 2 to 1000");
	refused_with("--seed x", "--seed: \"x\" is not a whole number, 0 or more");
	refused_with("--mode on", "--mode: \"on\" is not one of auto|json|off");
	refused_with("-e", "-e: needs a value after it");
	refused_with("--fast=1", "--fast=1: takes no value");
	refused_with("--epsilom 1", "--epsilom: is not an option here; did you mean --epsilon?");
	refused_with("--espilon=1", "--espilon=1: is not an option here; did you mean --epsilon?");
	refused_with("--max-cuont 3",
	             "--max-cuont: is not an option here; did you mean --max-count?");
	refused_with("--max_count 3",
	             "--max_count: is not an option here; did you mean --max-count?");
	refused_with(
	    "--temperature 3",
	    "--temperature: is not an option here; cuttle help test shows those there are");
	refused_with("--verson", "--verson: is not an option here; did you mean cuttle --version?");
	refused_with("--hlep", "--hlep: is not an option here; did you mean --help?");
	refused_with("--m 3", "--m: is not an option here; cuttle help test shows those there are");
	refused_with("-z", "-z: is not an option here; cuttle help test shows those there are");
	// Longer than any name.
	refused_with("--epsilonepsilonepsilonepsilonepsilonepsilon",
	             "--epsilonepsilonepsilonepsilonepsilonepsilon: is not an option here; cuttle "
	             "help test shows those there are");
}

static void nearest(void **state) {
	(void)state;
	static const char *const names[] = {"init", "verify", "release", "reserve"};
	assert_string_equal(options_nearest("verfiy", names, 4), "verify");
	assert_string_equal(options_nearest("rel", names, 4), "release");
	assert_string_equal(options_nearest("relase", names, 4), "release");
	assert_string_equal(options_nearest("inti", names, 4), "init");
	assert_null(options_nearest("re", names, 4));
	assert_null(options_nearest("int32", names, 4));
	assert_null(options_nearest("", names, 4));
	assert_null(options_nearest("nothing", names, 4));
}

static void environment(void **state) {
	(void)state;
	assert_int_equal(setenv("CUTTLE_MAX_COUNT", "12", 1) | setenv("CUTTLE_FAST", "1", 1) |
	                     setenv("CUTTLE_EPSILON", "4", 1),
	                 0);
	assert_int_equal(parse(""), OPTIONS_OK);
	assert_true(values.count == 12 && values.fast && values.epsilon == 4);
	assert_int_equal(parse("-n 3"), OPTIONS_OK);
	assert_int_equal(values.count, 3);
	// A flag silences the variable of what it excludes.
	assert_int_equal(parse("--clip 1"), OPTIONS_OK);
	assert_true(values.clip == 1 && isnan(values.epsilon));
	assert_int_equal(setenv("CUTTLE_CLIP", "2", 1), 0);
	assert_int_equal(parse(""), OPTIONS_WRONG);
	assert_int_equal(unsetenv("CUTTLE_CLIP") | setenv("CUTTLE_EPSILON", "", 1), 0);
	assert_int_equal(parse(""), OPTIONS_OK);
	assert_true(isnan(values.epsilon));
	assert_int_equal(setenv("CUTTLE_FAST", "0", 1), 0);
	assert_int_equal(parse(""), OPTIONS_OK);
	assert_false(values.fast);
	assert_int_equal(setenv("CUTTLE_FAST", "maybe", 1), 0);
	assert_int_equal(parse(""), OPTIONS_WRONG);
	assert_non_null(strstr(error.message, "CUTTLE_FAST"));
	assert_int_equal(unsetenv("CUTTLE_FAST") | setenv("CUTTLE_MAX_COUNT", "12 ", 1), 0);
	assert_int_equal(parse(""), OPTIONS_WRONG);
	assert_int_equal(unsetenv("CUTTLE_MAX_COUNT") | unsetenv("CUTTLE_EPSILON"), 0);
}

static void help_names_every_option(void **state) {
	(void)state;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	assert_non_null(file);
	options_help(&VERB, false, file);
	assert_int_equal(fclose(file), 0);
	for (size_t i = 0; i < VERB.option_count; i++)
		assert_non_null(strstr(text, ENTRIES[i].name));
	free(text);
}

int main(void) {
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_kinds),   cmocka_unit_test(wrong_ones),
	    cmocka_unit_test(environment), cmocka_unit_test(messages),
	    cmocka_unit_test(nearest),     cmocka_unit_test(help_names_every_option)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
