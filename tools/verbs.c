// SPDX-License-Identifier: Apache-2.0
// How verbs begin, open their model and report.
#include "tools/verbs.h"

#include "io/fail.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

bool verb_begin(const struct verb *verb, int argc, char **argv, void *values, int *operands, int *exit_code) {
	struct cuttle_error error;
	enum options_result result = options_parse(verb, argc, argv, values, operands, &error);
	*exit_code = CUTTLE_OK;
	if (result == OPTIONS_HELP) options_help(verb, stdout);
	if (result == OPTIONS_WRONG) *exit_code = verb_fail(verb, CUTTLE_USAGE, &error);
	return result == OPTIONS_OK;
}

int verb_refuse(const struct verb *verb, enum cuttle_status status, const char *message) {
	fprintf(stderr, "cuttle %s: %s\n", verb->name, message);
	return (int)status;
}

int verb_fail(const struct verb *verb, enum cuttle_status status, const struct cuttle_error *error) {
	return verb_refuse(verb, status, error->message);
}

int verb_print(const struct verb *verb, json_t *root, size_t flags) {
	struct sink sink;
	struct cuttle_error error;
	enum cuttle_status status = sink_open(&sink, "-", &error);
	if (!status) status = jsonout_write(&sink, root, flags, &error);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

/* Binds the process, before any thread is started. */
static enum cuttle_status bind_to(const char *mask, struct cuttle_error *error) {
	cpu_set_t set;
	CPU_ZERO(&set);
	const char *digits = mask[0] == '0' && (mask[1] == 'x' || mask[1] == 'X') ? mask + 2 : mask;
	const size_t count = strlen(digits);
	bool good = count > 0 && count <= CPU_SETSIZE / 4 && strspn(digits, "0123456789abcdefABCDEF") == count;
	for (size_t i = 0; good && i < count; i++) {
		const char digit[] = {digits[count - 1 - i], 0};
		const unsigned long bits = strtoul(digit, NULL, 16);
		for (size_t bit = 0; bit < 4; bit++)
			if (bits >> bit & 1) CPU_SET(4 * i + bit, &set);
	}
	if (!good || !CPU_COUNT(&set)) return io_fail(error, CUTTLE_USAGE, "--cpu-mask: must be a hexadecimal number above 0");
	if (sched_setaffinity(0, sizeof set, &set) != 0) return io_fail(error, CUTTLE_USAGE, "--cpu-mask: %s: %s", mask, strerror(errno));
	return CUTTLE_OK;
}

/* A model file that leaves something to be guessed is used, loudly. */
static void warn_of_guesses(const struct verb *verb, const struct cuttle_model *model) {
	struct cuttle_model_info info;
	cuttle_model_describe(model, &info);
	if (strcmp(info.tokenizer, "gpt2/default") != 0) return;
	fprintf(
	    stderr,
	    "cuttle %s: warning: the model file does not say how its tokenizer splits text (tokenizer.ggml.pre); the guess may be wrong "
	    "and the texts poor: convert the model again\n",
	    verb->name);
}

int verb_open(const struct verb *verb, const struct model_values *values, const struct cuttle_model_params *params,
              struct cuttle_model **model) {
	struct cuttle_error error;
	struct cuttle_model_params all;
	*model = NULL;
	if (!values->model) return verb_refuse(verb, CUTTLE_USAGE, "no model: give -m FILE or set CUTTLE_MODEL");
	enum cuttle_status status = values->isa ? cuttle_isa_set(values->isa, &error) : CUTTLE_OK;
	if (!status && values->cpu_mask) status = bind_to(values->cpu_mask, &error);
	cuttle_model_params_default(&all);
	if (params) all = *params;
	all.threads = (unsigned)values->threads;
	all.lock = values->mlock;
	if (!status) status = cuttle_model_open(values->model, &all, model, &error);
	if (!status) warn_of_guesses(verb, *model);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}

int verb_texts(const struct verb *verb, const struct text_values *values, const char *id_field,
               enum cuttle_status (*lines)(void *user, struct cuttle_model *model, const struct records *records, struct sink *sink,
                                           struct cuttle_error *error),
               void *user) {
	struct cuttle_model *model;
	struct records *records;
	struct sink sink;
	struct cuttle_error error;
	int code = verb_open(verb, &values->open, NULL, &model);
	if (code) return code;
	struct records_request request = {.path = values->input,
	                                  .field = values->field,
	                                  .id_field = id_field,
	                                  .format = (enum records_format)values->format,
	                                  .limit = SIZE_MAX};
	enum cuttle_status status = records_read(&request, &records, &error);
	if (!status) status = sink_open(&sink, values->output, &error);
	if (!status) {
		status = lines(user, model, records, &sink, &error);
		status = sink_close(&sink, status, &error);
	}
	records_free(&records);
	cuttle_model_free(&model);
	return status ? verb_fail(verb, status, &error) : CUTTLE_OK;
}
