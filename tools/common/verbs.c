// SPDX-License-Identifier: Apache-2.0
// The functions that the verbs share: they parse, check, open the model, and print errors.
// tools/common/verbs.h says what each promises.
#include "tools/common/verbs.h"

#include "base/processors.h"
#include "io/disk/fail.h"
#include "io/disk/formats.h"
#include "io/output/output.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void abandon_on_signal(int number) {
	sink_abandon();
	(void)raise(number); // this time it ends the process, due to SA_RESETHAND
}

/* A signal that was ignored before, as under nohup, stays ignored. */
static void handle_ends(void) {
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	const struct sigaction action = {.sa_handler = abandon_on_signal,
	                                 .sa_flags = (int)(SA_RESETHAND | SA_NODEFER)};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		struct sigaction old;
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL)
			(void)sigaction(numbers[i], &action, NULL);
	}
}

/* The words of the command line behind "cuttle", the verb first, as getopt left them: options, then
 * operands from `operand` on. */
static struct command_line {
	char **words;
	int count, operand;
} command;

bool verb_begin(const struct verb *verb, int argc, char **argv, void *values, int *operands,
                int *exit_code) {
	struct cuttle_error error;
	int first;
	enum options_result result = options_parse(verb, argc, argv, values, &first, &error);
	*exit_code = CUTTLE_OK;
	if (result == OPTIONS_OK && !operands && first < argc) {
		(void)io_fail(
		    &error, CUTTLE_USAGE,
		    "unexpected argument %.80s: each value follows its option, as in -i FILE",
		    argv[first]);
		result = OPTIONS_WRONG;
	}
	if (operands) *operands = first;
	command = (struct command_line){argv, argc, result == OPTIONS_OK ? first : argc};
	if (result == OPTIONS_HELP) options_help(verb, !strcmp(argv[argc - 1], "--all"), stdout);
	if (result == OPTIONS_WRONG) *exit_code = verb_fail(verb, CUTTLE_USAGE, &error);
	handle_ends();
	return result == OPTIONS_OK;
}

/* Whether every word can stand in a line: none has a line break or another control character. */
static bool fits_line(char *const *words, int count) {
	for (int i = 0; i < count; i++)
		for (const char *c = words[i]; *c; c++)
			if ((unsigned char)*c < ' ' || *c == 127) return false;
	return true;
}

/* Prints a word as a shell reads it back: in quotes where it has more than the letters of a name.
 */
static void print_shell_word(const char *word, FILE *file) {
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	                            "_./:=,@%+-";
	if (*word && !word[strspn(word, plain)]) {
		fprintf(file, " %s", word);
		return;
	}
	fputs(" '", file);
	for (; *word; word++) {
		if (*word == '\'') fputs("'\\''", file);
		else fputc(*word, file);
	}
	fputc('\'', file);
}

void verb_unused(const char *wanted, char name[VERB_NAME]) {
	const char *dot = strrchr(wanted, '.');
	const int stem = (int)(dot ? dot - wanted : (long)strlen(wanted));
	(void)snprintf(name, VERB_NAME, "%s", wanted);
	for (int number = 2; number < 1000; number++) {
		const char *const endings[] = {"", ".journal", ".run"};
		char *receipt = output_receipt_beside(name);
		bool stands = receipt && file_same(receipt, receipt);
		free(receipt);
		for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
			char *path = file_name(name, endings[i]);
			stands |= path && file_same(path, path);
			free(path);
		}
		if (!stands) return;
		(void)snprintf(name, VERB_NAME, "%.*s-%d%s", stem, wanted, number, dot ? dot : "");
	}
}

static void print_sample(const char *sample) {
	static const char *const makes[] = {"-o ", "--sign "};
	for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) {
		char name[VERB_NAME];
		const size_t size = strlen(makes[i]);
		if (strncmp(sample, makes[i], size) != 0) continue;
		verb_unused(sample + size, name);
		fprintf(stderr, " %s%s", makes[i], name);
		return;
	}
	fprintf(stderr, " %s", sample);
}

/* Prints what was typed with what is missing in it; the verb's own example where nothing was typed,
 * or where something missing has no sample. */
static void print_completed(const struct verb *verb, const struct verb_need *needs, size_t count) {
	bool complete = command.count > 1 && fits_line(command.words, command.count);
	for (size_t i = 0; i < count; i++)
		if (needs[i].missing && !needs[i].sample) complete = false;
	fprintf(stderr, "; for example: cuttle %s", verb->name);
	if (!complete) {
		fprintf(stderr, " %s\n", verb->example);
		return;
	}
	// shard parses from its action on.
	if (strcmp(command.words[0], verb->name) != 0) print_shell_word(command.words[0], stderr);
	for (int i = command.operand; i < command.count; i++)
		print_shell_word(command.words[i], stderr);
	for (size_t i = 0; i < count; i++)
		if (needs[i].missing) print_sample(needs[i].sample);
	for (int i = 1; i < command.operand; i++) print_shell_word(command.words[i], stderr);
	fputc('\n', stderr);
}

int verb_lacks(const struct verb *verb, const struct verb_need *needs, size_t count) {
	size_t missing = 0;
	for (size_t i = 0; i < count; i++) {
		if (!needs[i].missing || !needs[i].option) continue;
		if (!missing) fprintf(stderr, "cuttle %s: missing: ", verb->name);
		fprintf(stderr, "%s%s", missing++ ? ", " : "", needs[i].option);
	}
	if (!missing) return CUTTLE_OK;
	print_completed(verb, needs, count);
	return CUTTLE_USAGE;
}

bool verb_action(const struct verb *verb, const char *typed, const char *const names[],
                 size_t count, size_t *action) {
	for (*action = 0; typed && *action < count; ++*action)
		if (!strcmp(typed, names[*action])) return true;
	const char *meant = typed ? options_nearest(typed, names, count) : NULL;
	if (meant)
		fprintf(stderr, "cuttle %s: there is no %s here; did you mean cuttle %s %s?\n",
		        verb->name, typed, verb->name, meant);
	else
		fprintf(stderr,
		        "cuttle %s: say what to do: cuttle %s %s; for example: cuttle %s %s\n",
		        verb->name, verb->name, verb->usage, verb->name, verb->example);
	return false;
}

void verb_print_number(double value) {
	char number[48];
	int digits = 14;
	do (void)snprintf(number, sizeof number, "%.*g", ++digits, value);
	while (digits < 17 && strtod(number, NULL) != value);
	printf("%s\n", number);
}

int verb_refuse(const struct verb *verb, enum cuttle_status status, const char *message) {
	fprintf(stderr, "cuttle %s: %s\n", verb->name, message);
	return (int)status;
}

int verb_fail(const struct verb *verb, enum cuttle_status status,
              const struct cuttle_error *error) {
	return verb_refuse(verb, status, error->message);
}

int verb_paths(const struct verb *verb, const struct path_use *uses, size_t count) {
	struct cuttle_error error;
	const enum cuttle_status status = paths_check(uses, count, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

int verb_print(const struct verb *verb, json_t *root, size_t flags) {
	struct sink sink;
	struct cuttle_error error;
	enum cuttle_status status = sink_open(&sink, "-", &error);
	if (!status) status = jsonout_write(&sink, root, flags, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

/* Binds the process to the processors of the mask. Call it before any thread is started, as threads
 * inherit it. Mask "5" is processors 0 and 2. */
static enum cuttle_status bind_processors(const char *mask, struct cuttle_error *error) {
	struct processors set = {0};
	const char *digits = mask[0] == '0' && (mask[1] == 'x' || mask[1] == 'X') ? mask + 2 : mask;
	const size_t count = strlen(digits);
	bool good = count > 0 && count <= PROCESSORS_MOST / 4 &&
	            strspn(digits, "0123456789abcdefABCDEF") == count;
	for (size_t i = 0; good && i < count; i++) {
		const char digit[] = {digits[count - 1 - i], 0};
		const unsigned long bits = strtoul(digit, NULL, 16);
		for (int bit = 0; bit < 4; bit++)
			if (bits >> bit & 1) processors_add(&set, 4 * (int)i + bit);
	}
	if (!good || !processors_count(&set))
		return io_fail(error, CUTTLE_USAGE,
		               "--cpu-mask: must be a hexadecimal number above 0");
	if (sched_setaffinity(0, sizeof set, set.sets) != 0)
		return io_fail(error, CUTTLE_USAGE, "--cpu-mask: %s: %s", mask, strerror(errno));
	return CUTTLE_OK;
}

/* Warns when the model file does not say how its tokenizer splits text. The model is used all the
 * same. */
static void warn_of_guesses(const struct verb *verb, const struct cuttle_model *model) {
	struct cuttle_model_info info;
	cuttle_model_describe(model, &info);
	if (strcmp(info.tokenizer, "gpt2/default") != 0) return;
	fprintf(stderr,
	        "cuttle %s: warning: the model file does not say how its tokenizer splits text "
	        "(tokenizer.ggml.pre). The guess may be wrong and the texts poor: convert the "
	        "model again\n",
	        verb->name);
}

/* Sets kernels and processors. */
static enum cuttle_status settle_machine(const struct model_values *values,
                                         struct cuttle_error *error) {
	const enum cuttle_status status =
	    values->isa ? cuttle_isa_set(values->isa, error) : CUTTLE_OK;
	return !status && values->cpu_mask ? bind_processors(values->cpu_mask, error) : status;
}

int verb_machine(const struct verb *verb, const struct model_values *values) {
	struct cuttle_error error;
	const enum cuttle_status status = settle_machine(values, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

/* Opens the model, and hashes it when `hash` is set. Prints on failure. Returns the exit code. */
static int open_verb_model(const struct verb *verb, const struct model_values *values, bool hash,
                           struct setup_model *opened) {
	struct cuttle_error error;
	struct cuttle_model_params params;
	*opened = (struct setup_model){0};
	const struct verb_need need = {!values->model || !*values->model, VERB_MODEL,
	                               VERB_MODEL_SAMPLE};
	if (verb_lacks(verb, &need, 1)) return CUTTLE_USAGE;
	enum cuttle_status status = settle_machine(values, &error);
	cuttle_model_params_default(&params);
	params.threads = (unsigned)values->threads;
	params.lock = values->mlock;
	params.kv_type = (enum cuttle_kv_type)values->kv_type;
	params.vocabulary_only = values->vocabulary_only;
	if (!status)
		status = hash ? setup_open(values->model, &params, opened, &error)
		              : cuttle_model_open(values->model, &params, &opened->model, &error);
	if (!status) warn_of_guesses(verb, opened->model);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

int verb_open(const struct verb *verb, const struct model_values *values,
              struct cuttle_model **model) {
	struct setup_model opened;
	const int code = open_verb_model(verb, values, false, &opened);
	*model = opened.model;
	return code;
}

int verb_open_hashed(const struct verb *verb, const struct model_values *values,
                     struct setup_model *opened) {
	return open_verb_model(verb, values, true, opened);
}

uint64_t verb_now(uint64_t now) {
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	return !epoch || options_count(epoch, UINT64_MAX, &now) ? now : UINT64_MAX;
}

void verb_common(const struct model_values *values, const struct option_list *stops,
                 struct common_request *common) {
	if (stops) common->stops = stops->texts, common->stop_count = stops->count;
	common->model = values->model;
	common->lock = values->mlock;
	common->now = verb_now(common->now);
}

int verb_text_paths(const struct verb *verb, const struct model_values *open, const char *input,
                    const char *output) {
	const struct path_use uses[] = {
	    PATH_ALONE("-m", open->model, PATH_MODEL),
	    PATH_ALONE("-i", input, PATH_STREAM),
	    PATH_ALONE("-o", output, PATH_OUTPUT),
	};
	struct cuttle_error error;
	const int code = verb_paths(verb, uses, sizeof uses / sizeof *uses);
	const enum cuttle_status status =
	    code ? CUTTLE_OK : formats_check_lines("-o", output, &error);
	return status ? verb_fail(verb, status, &error) : code;
}

int verb_texts(const struct verb *verb, const struct text_values *values, const char *id_field,
               enum cuttle_status (*lines)(void *user, const struct setup_model *opened,
                                           const struct records *records, struct sink *sink,
                                           struct cuttle_error *error),
               void *user) {
	struct setup_model opened;
	struct records *records;
	struct sink sink;
	struct cuttle_error error;
	const struct records_request request = {.path = values->input,
	                                        .field = values->field,
	                                        .id_field = id_field,
	                                        .format = (enum records_format)values->format,
	                                        .delimiter = values->delimiter,
	                                        .limit = SIZE_MAX};
	int code = verb_text_paths(verb, &values->open, values->input, values->output);
	// A foreign format is refused before the model is opened, as generate does.
	if (!code && records_check_name(&request, &error) != CUTTLE_OK)
		code = verb_fail(verb, CUTTLE_INPUT, &error);
	if (!code) code = open_verb_model(verb, &values->open, values->hashed, &opened);
	if (code) return code;
	enum cuttle_status status = records_read(&request, &records, &error);
	if (!status) status = records_need_field(&request, records, "--text-field", &error);
	if (!status) status = sink_open(&sink, values->output, &error);
	if (!status) {
		status = lines(user, &opened, records, &sink, &error);
		status = sink_close(&sink, status, &error);
	}
	records_free(&records);
	cuttle_model_free(&opened.model);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}
