// SPDX-License-Identifier: Apache-2.0
// The cuttle command. It finds the verb that argv[1] names and calls its run function with the rest
// of the command line. At the end it checks that standard output took everything, and says its exit
// code to a caller that asked for it.
#include "tools/catalog.h"
#include "tools/manual.h"
#include "tools/common/last_word.h"
#include "tools/common/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define VERB_LISTED(name) &name##_verb,
static const struct verb *const VERBS[] = {VERBS_ALL(VERB_LISTED)};
enum { VERB_COUNT = sizeof VERBS / sizeof *VERBS };

static const struct verb *match_verb(const char *name) {
	for (size_t i = 0; i < VERB_COUNT; i++)
		if (!strcmp(VERBS[i]->name, name)) return VERBS[i];
	return NULL;
}

static const struct exit_code EXIT_CODES[] = {
    {0, "done"},
    {1, "internal error: the machine failed (no entropy, standard output cannot be written, self "
        "check)"},
    {2, "usage: a wrong option, or an output of another command in the way"},
    {3, "budget refused"},
    {4, "input invalid: the file as a whole cannot be used, or holds too few records"},
    {5, "model invalid"},
    {6, "partial: stopped before the end; the same command continues"},
    {7, "the ledger is missing, busy, damaged or was edited. A receipt does not hold, or an "
        "audit contradicts it. A shard or the folder of a run contradicts the rest"},
    {8, "out of memory"},
    {9, "the remote model will not answer: TLS, a redirect, a refusal, its quota, or a malformed "
        "reply"},
};

static const struct manual MANUAL = {
    .verbs = VERBS,
    .verb_count = VERB_COUNT,
    .exit_codes = EXIT_CODES,
    .exit_code_count = sizeof EXIT_CODES / sizeof *EXIT_CODES,
    .about = "Writes text from sensitive documents under differential privacy, on ordinary CPUs.",
};

static void print_overview(FILE *file) {
	fprintf(file, "usage: cuttle VERB [OPTION]...\n\n%s\n\n", MANUAL.about);
	for (size_t i = 0; i < VERB_COUNT; i++)
		fprintf(file, "  %-12s %s\n", VERBS[i]->name, VERBS[i]->summary);
	fprintf(file,
	        "\n`cuttle help VERB` or `cuttle VERB --help` shows what a first run "
	        "needs. `cuttle help VERB --all` shows\nevery option. `cuttle --version` shows "
	        "the version.\n\nExit codes:\n");
	for (size_t i = 0; i < MANUAL.exit_code_count; i++)
		fprintf(file, "  %d  %s\n", EXIT_CODES[i].code, EXIT_CODES[i].meaning);
}

static int refuse_verb(const char *name) {
	const char *names[VERB_COUNT + 3] = {"--version", "--help", "help"};
	for (size_t i = 0; i < VERB_COUNT; i++) names[i + 3] = VERBS[i]->name;
	const char *meant = options_nearest(name, names, VERB_COUNT + 3);
	if (meant)
		fprintf(stderr, "cuttle: there is no verb %s; did you mean cuttle %s?\n", name,
		        meant);
	else
		fprintf(stderr,
		        "cuttle: there is no verb %s; cuttle --help shows those there are\n", name);
	return CUTTLE_USAGE;
}

static int print_catalog(void) {
	static const struct verb help = {.name = "help"};
	return verb_print(&help, catalog_json(&MANUAL), JSON_INDENT(1));
}

/* For packages: cuttle help --verbs, --json, --mdoc [VERB], --completion SHELL. */
static int print_manual(int argc, char **argv) {
	const char *what = argc > 3 ? argv[3] : NULL;
	if (!strcmp(argv[2], "--completion")) {
		if (what && manual_completion(&MANUAL, what, stdout)) return CUTTLE_OK;
		fprintf(stderr, "cuttle help: --completion takes bash, zsh or fish\n");
		return CUTTLE_USAGE;
	}
	if (!strcmp(argv[2], "--verbs")) {
		for (size_t i = 0; i < VERB_COUNT; i++) printf("%s\n", VERBS[i]->name);
		return CUTTLE_OK;
	}
	if (!strcmp(argv[2], "--json")) return print_catalog();
	if (strcmp(argv[2], "--mdoc") != 0) return refuse_verb(argv[2]);
	if (what && !match_verb(what)) return refuse_verb(what);
	manual_page(&MANUAL, what ? match_verb(what) : NULL, stdout);
	return CUTTLE_OK;
}

static int dispatch_verb(int argc, char **argv) {
	if (argc < 2) {
		print_overview(stderr);
		return CUTTLE_USAGE;
	}
	const char *name = argv[1];
	if (!strcmp(name, "--version")) {
		printf("cuttle %s\n", cuttle_version());
		return CUTTLE_OK;
	}
	bool help = !strcmp(name, "help");
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || (help && argc < 3)) {
		print_overview(stdout);
		return CUTTLE_OK;
	}
	if (help && argv[2][0] == '-') return print_manual(argc, argv);
	if (help) name = argv[2];
	const struct verb *verb = match_verb(name);
	if (!verb) return refuse_verb(name);
	struct cuttle_error error;
	const enum cuttle_status status =
	    help ? CUTTLE_OK : options_check_environment(VERBS, VERB_COUNT, &error);
	if (status) return verb_fail(verb, status, &error);
	if (!help) return verb->run(verb, argc - 1, argv + 1);
	const bool all = argc > 3 && !strcmp(argv[3], "--all");
	if (argc > 3 && !all) {
		fprintf(stderr,
		        "cuttle help: behind a verb stands --all or nothing: "
		        "cuttle help %s --all\n",
		        name);
		return CUTTLE_USAGE;
	}
	options_help(verb, all, stdout);
	return CUTTLE_OK;
}

/* Opens /dev/null in place of each standard stream that is closed. Else the next file we open would
 * get its number, and messages would be written into that file. The modes are the wrong way round,
 * so that reading standard input or writing standard output fails, as it should. */
static void occupy_streams(void) {
	for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++)
		if (fcntl(file, F_GETFD) < 0)
			(void)open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Prints what is still held back; returns the exit code. */
static int finish_output(int code) {
	if (fflush(stdout) == 0 && !ferror(stdout)) return code;
	fprintf(stderr, "cuttle: cannot write standard output: %s\n", strerror(errno));
	return code ? code : CUTTLE_INTERNAL;
}

int main(int argc, char **argv) {
	int last_word;
	occupy_streams();
	// So a closed pipe or a file size limit makes write fail, and is reported like a full disk.
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	// A parent that ignores it hands that on, and the exit codes of a tagger or of a server's
	// jobs would be lost: each failure there would look like success.
	(void)signal(SIGCHLD, SIG_DFL);
	if (!last_word_open(&last_word)) return CUTTLE_USAGE;
	const int code = finish_output(dispatch_verb(argc, argv));
	last_word_say(last_word, code);
	return code;
}
