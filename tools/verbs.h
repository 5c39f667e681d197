// SPDX-License-Identifier: Apache-2.0
// The verbs of the command, and what all of them need to begin and to report.
#ifndef CUTTLE_TOOLS_VERBS_H
#define CUTTLE_TOOLS_VERBS_H

#include "io/jsonout.h"
#include "io/records.h"
#include "tools/options.h"

extern const struct verb generate_verb, budget_verb, score_verb, tokenize_verb, detokenize_verb, model_verb, bench_verb, ledger_verb,
    receipt_verb;

/* Parses the options. False: the verb ends now with *exit_code (help was printed, or one line on standard error). */
bool verb_begin(const struct verb *verb, int argc, char **argv, void *values, int *operands, int *exit_code);
/* Prints "cuttle VERB: message" on standard error; returns the exit code. */
int verb_fail(const struct verb *verb, enum cuttle_status status, const struct cuttle_error *error);
/* The same with a fixed text. */
int verb_refuse(const struct verb *verb, enum cuttle_status status, const char *message);
/* Prints a document on standard output; takes root, which may be NULL when out of memory. Prints on failure and returns the exit code. */
int verb_print(const struct verb *verb, json_t *root, size_t flags);

/* What every verb with a model takes. */
struct model_values {
	const char *model, *isa, *cpu_mask;
	uint64_t threads;
	bool mlock;
};
/* Sets the kernels and opens the model; params may be NULL. Prints on failure and returns the exit code, else 0. */
int verb_open(const struct verb *verb, const struct model_values *values, const struct cuttle_model_params *params,
              struct cuttle_model **model);

/* What a verb takes that reads public texts and prints a line for each. It stands first in the verb's own struct. */
struct text_values {
	struct model_values open;
	const char *input, *output, *field;
	int format;
};
/* Opens the model, reads the records (with their ids, when id_field is not NULL), opens the output, lets `lines` write, closes everything.
 * Prints on failure and returns the exit code. */
int verb_texts(const struct verb *verb, const struct text_values *values, const char *id_field,
               enum cuttle_status (*lines)(void *user, struct cuttle_model *model, const struct records *records, struct sink *sink,
                                           struct cuttle_error *error),
               void *user);

// clang-format off
#define MODEL_OPTIONS(structure) \
	{.name = "model", .letter = 'm', OPTION(structure, open.model), .argument = "FILE", \
	 .help = "the model, a GGUF file"}, \
	{.name = "threads", .letter = 't', OPTION(structure, open.threads), .argument = "COUNT", .most = 1024, \
	 .help = "worker threads (default: the cores this process may use); results do not depend on it"}, \
	{.name = "isa", OPTION(structure, open.isa), .argument = "NAME", \
	 .help = "kernels: auto, scalar, avx2, avxvnni, avx512, amx, neon, dotprod, or blas (OpenBLAS " \
	         "reads the prompts); all but blas give the same bits"}, \
	{.name = "cpu-mask", .letter = 'C', OPTION(structure, open.cpu_mask), .argument = "HEX", \
	 .help = "run on these processors only, e.g. 3 for the first two"}, \
	{.name = "mlock", OPTION(structure, open.mlock), \
	 .help = "keep the weights and what is computed from the references in memory, never on a swap disk; exit 2 when ulimit -l is too small"}
#define OUTPUT_OPTION(structure, member) \
	{.name = "output", .letter = 'o', OPTION(structure, member), .argument = "FILE", \
	 .help = "default -, standard output"}
#define TEXT_DEFAULTS {.input = "-", .output = "-", .field = "text"}
#define TEXT_OPTIONS \
	MODEL_OPTIONS(struct text_values), \
	{.name = "input", .letter = 'i', OPTION(struct text_values, input), .argument = "FILE", \
	 .help = "texts, JSONL or CSV (default -, standard input)"}, \
	OUTPUT_OPTION(struct text_values, output), \
	{.name = "text-field", OPTION(struct text_values, field), .argument = "NAME", \
	 .help = "field or column with the text (default text)"}, \
	{.name = "input-format", OPTION(struct text_values, format), .argument = "auto|jsonl|csv", \
	 .help = "auto: by the ending .csv"}
// clang-format on

#endif
