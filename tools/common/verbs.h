// SPDX-License-Identifier: Apache-2.0
// The verbs of the command, and the functions that all of them begin and report with. tools/main.c
// calls a verb's run, in tools/VERB.c. For example:
//   static int run_some_verb(const struct verb *verb, int argc, char **argv) {
//           if (!verb_begin(verb, argc, argv, &values, NULL, &code)) return code;
//           code = verb_open(verb, &values.open, &model);
// A function that returns an exit code has printed its one line on standard error when the code is
// not 0. Private data passes through verb_print alone, as the report of cuttle inspect.
#ifndef CUTTLE_TOOLS_COMMON_VERBS_H
#define CUTTLE_TOOLS_COMMON_VERBS_H

#include "io/disk/jsonout.h"
#include "io/disk/paths.h"
#include "io/records/records.h"
#include "tools/common/options.h"
#include "workflow/setup.h"

/* Calls EACH with every verb, in the order of help. VERB is in tools/VERB.c. */
// clang-format off
#define VERBS_ALL(EACH) \
	EACH(generate) EACH(learn) EACH(expand) EACH(evolve) EACH(inspect) EACH(clusters) \
	EACH(tag) EACH(sanitize) EACH(words) EACH(perturb) EACH(infer) EACH(extract) \
	EACH(evaluate) EACH(audit) EACH(budget) EACH(score) EACH(tokenize) EACH(detokenize) \
	EACH(model) EACH(bench) EACH(ledger) EACH(receipt) EACH(report) EACH(serve) EACH(shard) \
	EACH(merge)
#define VERB_DECLARED(name) extern const struct verb name##_verb;
VERBS_ALL(VERB_DECLARED)
// clang-format on

/* Parses the options. *operands is set to the first argument that belongs to no option; operands
 * NULL refuses such arguments. False: the verb ends now with *exit_code, as help or one line on
 * standard error was printed. From here on a signal that ends the process removes the scratch file
 * of an open sink. */
bool verb_begin(const struct verb *verb, int argc, char **argv, void *values, int *operands,
                int *exit_code);
/* Sets *action to the position in names[count] of the word typed behind the verb; typed NULL: there
 * was none. False: it is none of them, and one line on standard error says so. */
bool verb_action(const struct verb *verb, const char *typed, const char *const names[],
                 size_t count, size_t *action);
/* An option that a verb cannot do without. */
struct verb_need {
	bool missing; /* it was not given */
	/* as a user would type it: "-i FILE"; NULL = it is not asked for, and the line has it. */
	const char *option;
	/* One that works: "-i notes.jsonl"; NULL = there is none. The file of "-o" or "--sign" gets
	 * another name where one stands. */
	const char *sample;
};
#define VERB_MODEL "-m MODEL (or CUTTLE_MODEL in the environment; models/fetch.sh gets one)"
#define VERB_MODEL_SAMPLE "-m models/SmolLM2-135M-Instruct.Q4_1.gguf"
/* Names every missing option in one line on standard error. The line ends with a command: what was
 * typed, completed with samples, or the verb's example. Returns USAGE, or OK when none is
 * missing. */
int verb_lacks(const struct verb *verb, const struct verb_need *needs, size_t count);
enum { VERB_NAME = 64 }; /* bytes for a name of a file that a sample makes */
/* A name like `wanted`, as in "out.jsonl", under which no output and nothing of a run stands:
 * out.jsonl, out-2.jsonl ... */
void verb_unused(const char *wanted, char name[VERB_NAME]);
/* Prints "cuttle VERB: message" on standard error; returns the exit code. */
int verb_fail(const struct verb *verb, enum cuttle_status status, const struct cuttle_error *error);
/* The same with a fixed text. */
int verb_refuse(const struct verb *verb, enum cuttle_status status, const char *message);
/* Calls paths_check for all paths that the verb will open. Prints on failure. Returns the exit
 * code, 0 when all is well. */
int verb_paths(const struct verb *verb, const struct path_use *uses, size_t count);
/* Prints a JSON document on standard output. Takes over root; NULL stands for one that could not be
 * made, out of memory. Prints on failure. Returns the exit code. */
int verb_print(const struct verb *verb, json_t *root, size_t flags);

/* Prints a line with the number alone, for scripts: in the fewest digits (15 to 17) that read back
 * exactly. Example: 0.01, not 0.010000000000000000. */
void verb_print_number(double value);

/* The options that every verb with a model has. */
struct model_values {
	const char *model;    /* path of a GGUF file */
	const char *isa;      /* name of the kernels, NULL = auto */
	const char *cpu_mask; /* processors as hex digits, NULL = all; "3" = the first two */
	uint64_t threads;     /* worker threads, 0 = the cores this process may use */
	int kv_type;          /* enum cuttle_kv_type */
	bool mlock;           /* keep weights and contexts out of swap */
	bool vocabulary_only; /* no option: the verb needs no weights */
};
/* Sets kernels and processors and opens the model. Prints on failure. Returns the exit code, 0 when
 * the model is open. */
int verb_open(const struct verb *verb, const struct model_values *values,
              struct cuttle_model **model);
/* Only sets kernels and processors, for a verb that may do without a model. Likewise. */
int verb_machine(const struct verb *verb, const struct model_values *values);
/* verb_open for a run, which needs the model's hash. */
int verb_open_hashed(const struct verb *verb, const struct model_values *values,
                     struct setup_model *opened);

/* Completes what all requests share, from these options; stops NULL = the verb has none.
 * SOURCE_DATE_EPOCH, when it is set, is the time of the run: then a run can be repeated byte for
 * byte. setup_date refuses a wrong one. */
void verb_common(const struct model_values *values, const struct option_list *stops,
                 struct common_request *common);
/* The time of a run: `now`, or SOURCE_DATE_EPOCH; UINT64_MAX where that is wrong. */
uint64_t verb_now(uint64_t now);

/* verb_paths for a verb with a model, an input and an output. Returns the exit code. */
int verb_text_paths(const struct verb *verb, const struct model_values *open, const char *input,
                    const char *output);

/* The options of a verb that reads public texts and prints a line for each. It stands first in the
 * verb's own struct, as TEXT_OPTIONS takes offsets in it. */
struct text_values {
	struct model_values open;
	const char *input;     /* path, "-" = standard input */
	const char *output;    /* path, "-" = standard output */
	const char *field;     /* field or column with the text */
	const char *delimiter; /* between the columns of CSV, NULL = as the ending says */
	int format;            /* enum records_format */
	bool hashed;           /* no option: the verb needs the model's hash */
};
/* Opens the model, reads the records, opens the output, calls `lines` to write, and closes
 * everything. The ids of the records are read when id_field is not NULL. Prints on failure. Returns
 * the exit code. */
int verb_texts(const struct verb *verb, const struct text_values *values, const char *id_field,
               enum cuttle_status (*lines)(void *user, const struct setup_model *opened,
                                           const struct records *records, struct sink *sink,
                                           struct cuttle_error *error),
               void *user);

/* Ranges of numbers, in words for messages. */
#define EPSILON_RANGE "above 0, as in 3"
#define RHO_RANGE "above 0, as in 0.2"
#define CLIP_RANGE "above 0, as in 0.5"
#define DELTA_RANGE "above 0 and below 1, as in 1e-6"
#define TEMPERATURE_RANGE "from 0.000001 to 1000, as in 0.8"

// clang-format off
#define MODEL_OPTION(structure) \
	{.name = "model", .first = true, .letter = 'm', OPTION(structure, open.model), \
	 .argument = "FILE", \
	 .help = "the model, a GGUF file"}
#define MACHINE_OPTIONS(structure) \
	{.name = "threads", .letter = 't', OPTION(structure, open.threads), .argument = "COUNT", \
	 .most = 1024, \
	 .help = "worker threads (default: the cores this process may use). Results do " \
	         "not depend on it"}, \
	{.name = "isa", OPTION(structure, open.isa), .argument = "NAME", \
	 .help = "kernels: auto, scalar, avx2, avxvnni, avx512, amx, neon, dotprod, or " \
	         "blas (OpenBLAS reads the prompts). All but blas give the same bits"}, \
	{.name = "cpu-mask", .letter = 'C', OPTION(structure, open.cpu_mask), .argument = "HEX", \
	 .help = "run on these processors only, e.g. 3 for the first two"}, \
	{.name = "mlock", OPTION(structure, open.mlock), \
	 .help = "keep the weights and what is computed from the references in memory, " \
	         "never on a swap disk. Exit 2 when ulimit -l is too small"}
/* For the help of --chat-format: all but chatml, which comes first. */
#define OTHER_CHAT_FORMATS \
	"zephyr, llama-3, llama-3.1, llama-2, mistral, mistral-v7, qwen3, granite, tulu, gemma, " \
	"phi-4-mini"
/* For the verbs whose runs keep many contexts. */
#define KV_OPTION(structure) \
	{.name = "kv-type", OPTION_ENUM(structure, open.kv_type), .argument = "f16|q8", \
	 .help = "what the keys and values of contexts are kept as. q8: in 8 bits, about half " \
	         "the memory of f16; texts differ a little (default f16)"}
#define MODEL_OPTIONS(structure) MODEL_OPTION(structure), MACHINE_OPTIONS(structure)
#define OUTPUT_OPTION(structure, member) \
	{.name = "output", .first = true, .letter = 'o', OPTION(structure, member), \
	 .argument = "FILE", \
	 .help = "default -, standard output; a file of this name is replaced when all is " \
	         "written, but never an input"}
#define FORMAT_OPTIONS(structure, format, delimiter) \
	{.name = "input-format", OPTION_ENUM(structure, format), .argument = "auto|jsonl|csv", \
	 .help = "auto: by the ending, .csv, .tsv, or any other for JSONL. Other formats " \
	         "are refused with the command that converts them. Between tabs, a quote " \
	         "is a character: csv reads it as CSV does"}, \
	{.name = "delimiter", OPTION(structure, delimiter), .argument = "CHAR", \
	 .help = "read CSV with this between its columns, e.g. ';' or '\\t' (default: a comma, " \
	         "in .tsv a tab)"}
#define TEXT_DEFAULTS {.input = "-", .output = "-", .field = "text"}
/* For the verbs that write private texts, whose struct has a request. */
#define RECEIPT_OPTIONS(structure) \
	{.name = "receipt", OPTION(structure, request.common.receipt), .argument = "FILE", \
	 .help = "where the receipt goes (default: out.jsonl -> out.receipt.json)"}, \
	{.name = "sign", OPTION(structure, request.common.sign), .argument = "FILE", \
	 .help = "sign the receipt with this secret key (made by cuttle ledger key)"}, \
	{.name = "overwrite", OPTION(structure, request.common.overwrite), \
	 .help = "replace the output, receipt and journal of another command. What it " \
	         "drew stays spent, and this one spends again"}
#define PROGRESS_OPTIONS(structure) \
	{.name = "progress", OPTION(structure, progress), .argument = "auto|json|off", \
	 .help = "on standard error (default auto)"}, \
	{.name = "quiet", .letter = 'q', OPTION(structure, quiet), \
	 .help = "no progress and no sentences, errors only"}
/* For the verbs that know a public prompt alone, whose struct has a request with a plan. */
#define CHAT_OPTIONS(structure) \
	{.name = "template", OPTION(structure, form), .argument = "continue|instruct", \
	 .help = "continue (default): plain text; instruct: a request in the model's chat " \
	         "format"}, \
	{.name = "chat-format", OPTION(structure, request.plan.chat_format), .argument = "NAME", \
	 .help = "that format, instead of the one the model's template is known as"}, \
	{.name = "system", OPTION(structure, request.plan.system), .argument = "TEXT", \
	 .help = "system message of --template instruct"}
#define FLIGHT_OPTIONS(structure) \
	{.name = "parallel", OPTION(structure, request.plan.parallel), .argument = "TEXTS", \
	 .most = 256, \
	 .help = "texts in flight at once (default: as suits memory); results do not depend " \
	         "on it"}, \
	{.name = "prompt-chunk", OPTION(structure, request.plan.prompt_chunk), .argument = "ROWS", \
	 .most = 1 << 14, \
	 .help = "rows per prompt pass; results do not depend on it"}
#define SEED_OPTION(structure) \
	{.name = "insecure-seed", OPTION(structure, insecure_seed), .argument = "SEED", \
	 .help = "draw from this seed, for tests: the output is NOT PRIVATE and says so"}
#define TEXT_OPTIONS \
	MODEL_OPTIONS(struct text_values), \
	{.name = "input", .letter = 'i', OPTION(struct text_values, input), .argument = "FILE", \
	 .help = "texts, JSONL, CSV or TSV, a file or a pipe (default -, standard input)"}, \
	OUTPUT_OPTION(struct text_values, output), \
	{.name = "text-field", OPTION(struct text_values, field), .argument = "NAME", \
	 .help = "field or column with the text (default text)"}, \
	FORMAT_OPTIONS(struct text_values, format, delimiter)
// clang-format on

#endif
