// SPDX-License-Identifier: Apache-2.0
// The cuttle command. It finds the verb that argv[1] names and calls its run function with the rest
// of the command line. At the end it checks that standard output took everything.
#include "tools/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const struct verb *const VERBS[] = {
    &generate_verb, &expand_verb, &inspect_verb, &clusters_verb, &tag_verb,
    &sanitize_verb, &words_verb,  &perturb_verb, &infer_verb,    &extract_verb,
    &evaluate_verb, &budget_verb, &score_verb,   &tokenize_verb, &detokenize_verb,
    &model_verb,    &bench_verb,  &ledger_verb,  &receipt_verb};
enum { VERB_COUNT = sizeof VERBS / sizeof *VERBS };

static const struct verb *match_verb(const char *name) {
	for (size_t i = 0; i < VERB_COUNT; i++)
		if (!strcmp(VERBS[i]->name, name)) return VERBS[i];
	return NULL;
}

static void print_overview(FILE *file) {
	fprintf(file, "usage: cuttle VERB [OPTION]...\n\nWrites text from sensitive documents "
	              "under differential privacy, on ordinary CPUs.\n\n");
	for (size_t i = 0; i < VERB_COUNT; i++)
		fprintf(file, "  %-12s %s\n", VERBS[i]->name, VERBS[i]->summary);
	fprintf(file,
	        "\n`cuttle help VERB` or `cuttle VERB --help` shows its options; `cuttle "
	        "--version` the version.\n\n"
	        "Exit codes:\n"
	        "  0  done\n"
	        "  1  internal error: the machine failed (no entropy, standard output cannot be "
	        "written, self check)\n"
	        "  2  usage: a wrong option, or an output of another command in the way\n"
	        "  3  budget refused\n"
	        "  4  input invalid: the file as a whole cannot be used, or holds too few records\n"
	        "  5  model invalid\n"
	        "  6  partial: stopped before the end; the same command continues\n"
	        "  7  the ledger is missing, busy, damaged or was edited; a receipt does not hold\n"
	        "  8  out of memory\n"
	        "  9  the remote model will not answer: TLS, a redirect, a refusal, its quota, or "
	        "a malformed reply\n");
}

static int refuse_verb(const char *name) {
	const char *names[VERB_COUNT];
	for (size_t i = 0; i < VERB_COUNT; i++) names[i] = VERBS[i]->name;
	const char *meant = options_nearest(name, names, VERB_COUNT);
	if (meant)
		fprintf(stderr, "cuttle: there is no verb %s; did you mean cuttle %s?\n", name,
		        meant);
	else
		fprintf(stderr,
		        "cuttle: there is no verb %s; cuttle --help shows those there are\n", name);
	return CUTTLE_USAGE;
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
	if (help) name = argv[2];
	const struct verb *verb = match_verb(name);
	if (!verb) return refuse_verb(name);
	if (!help) return verb->run(verb, argc - 1, argv + 1);
	options_help(verb, stdout);
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

int main(int argc, char **argv) {
	occupy_streams();
	// So a closed pipe or a file size limit makes write fail, and is reported like a full disk.
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	int code = dispatch_verb(argc, argv);
	if (fflush(stdout) == 0 && !ferror(stdout)) return code;
	fprintf(stderr, "cuttle: cannot write standard output: %s\n", strerror(errno));
	return code ? code : CUTTLE_INTERNAL;
}
