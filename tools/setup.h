// SPDX-License-Identifier: Apache-2.0
// Makes everything of a generate run that is fixed before a private byte is read: model, prompts,
// plan and receipt, from the options. tools/generate.c calls it; inspect uses its plan. For
// example:
//   struct generate_values values = setup_defaults();
//   ... options_parse ... code = setup_make(verb, &values, &setup); ... setup_free(&setup);
// No private data passes through: the references are read later (tools/references.h). All texts
// read here, prompts and examples, are public.
#ifndef CUTTLE_TOOLS_SETUP_H
#define CUTTLE_TOOLS_SETUP_H

#include "io/output.h"
#include "io/receipt.h"
#include "tools/verbs.h"
#include <stdio.h>

/* The options of generate. Texts and paths are NULL when they are not given. */
struct generate_values {
	struct model_values open;
	const char *input;           /* path of the references, "-" = standard input */
	const char *delimiter;       /* between the columns of CSV */
	const char *output;          /* path, "-" = standard output */
	const char *receipt;         /* path; NULL = beside the output */
	const char *text_field;      /* field or column with the document */
	const char *public_examples; /* path */
	const char *examples_field;  /* field of the public examples; NULL = text_field */
	const char *prompt_public;   /* path of an own prompt */
	const char *prompt_private;  /* path of an own prompt */
	const char *kind;            /* what a document is, as "clinical note" */
	const char *system;          /* system message of --template instruct */
	const char *chat_format;     /* name of a chat format; NULL = the model's */
	const char *ledger;          /* path */
	const char *dataset;         /* name of the references, in receipt and ledger */
	const char *sign;            /* path of the secret key that signs the receipt */
	const char *trace;           /* path of the PRIVATE diagnostics */
	const char *unit_key;        /* field that says whose a record is; NULL = none */
	const char *categories;      /* "A,B,C" or a path */
	const char *bench;           /* --dry-run: path of a file from cuttle bench -o json */
	struct option_list category_fields; /* fields of the category */
	double epsilon;                     /* privacy loss per record; NaN = the clip is given */
	double clip;                        /* bound of logit differences; NaN = epsilon is given */
	double delta;
	double temperature;     /* tau */
	double public_when;     /* probability from which a token is free; 0 = never */
	uint64_t batch;         /* B, references per text */
	uint64_t texts;         /* N, or batches with a token bank */
	uint64_t tokens;        /* T, at most so many per text */
	uint64_t top_k;         /* k, 0 = all */
	uint64_t context;       /* longest prompt plus text in tokens, 0 = as the model allows */
	uint64_t insecure_seed; /* COUNT_NONE = the output is private */
	uint64_t prompt_chunk;  /* rows per prompt pass, 0 = as suits */
	uint64_t parallel;      /* texts in flight, 0 = as suits */
	uint64_t texts_per_category; /* for each share of 1; COUNT_NONE = deal out `texts` */
	uint64_t records_per_unit;   /* G; COUNT_NONE = no limit */
	uint64_t free_tokens;        /* U, most free tokens per batch; 0 = T, if any are free */
	int form;                    /* --template: 0 continue, 1 instruct, CHOICE_NONE */
	int progress;                /* enum progress_mode */
	int input_format;            /* enum records_format */
	int output_format;           /* 0 auto, else 1 + enum output_format */
	int accountant;  /* enum cuttle_accountant; CHOICE_NONE = zcdp with a ledger, else exact */
	int center;      /* 0 median, 1 none, CHOICE_NONE = none */
	bool dry_run;    /* print what the run would be, and draw nothing */
	bool overwrite;  /* replace another command's output */
	bool no_sharing; /* compute the shared prefix in each context */
	bool quiet;      /* errors only */
	bool one_per_unit; /* read one record of each unit */
	bool token_bank;   /* tokens left of T write further texts of the batch */
	bool complete;     /* the public prompt finishes a text after T tokens */
};

// clang-format off
/* Options of the prompts, for every verb that makes a run's plan. */
#define PROMPT_OPTIONS \
	{.name = "kind", OPTION(struct generate_values, kind), .argument = "NOUN", \
	 .help = "what a document is, e.g. \"clinical note\" (default text)"}, \
	{.name = "public-examples", OPTION(struct generate_values, public_examples), \
	 .argument = "FILE", \
	 .help = "texts that are public, put before everything in every prompt; with small " \
	         "models they matter most"}, \
	{.name = "examples-field", OPTION(struct generate_values, examples_field), \
	 .argument = "NAME", \
	 .help = "field of the public examples (default: that of the references)"}, \
	{.name = "template", OPTION(struct generate_values, form), \
	 .argument = "continue|instruct", \
	 .help = "continue (default): plain text, the reference as one more example of its kind; " \
	         "instruct: a request in the model's chat format"}, \
	{.name = "chat-format", OPTION(struct generate_values, chat_format), .argument = "NAME", \
	 .help = "that format, instead of the one the model's template is known as: chatml " \
	         "(Qwen2 too), zephyr, llama-3, llama-2, mistral, mistral-v7, qwen3"}, \
	{.name = "system", OPTION(struct generate_values, system), .argument = "TEXT", \
	 .help = "system message of --template instruct; without it that of the model's own " \
	         "template, if any; '' is none"}, \
	{.name = "prompt-public", OPTION(struct generate_values, prompt_public), \
	 .argument = "FILE", \
	 .help = "own public prompt, used byte for byte; with --prompt-private"}, \
	{.name = "prompt-private", OPTION(struct generate_values, prompt_private), \
	 .argument = "FILE", \
	 .help = "own private prompt, with {reference} in it once"}
// clang-format on

struct setup {
	struct cuttle_model *model;
	struct cuttle_plan *plan;
	struct receipt receipt;       /* without the ledger's charge, which comes later */
	struct signature_key *signer; /* NULL = the receipt is not signed */
	enum output_format format;
	char fingerprint[HASH_TEXT];  /* hash of all parameters, without the input's content */
	struct categories categories; /* its count is 0 = one job writes all texts */
	char *prompt_public;          /* own prompt, for the plan's parameters; NULL = none */
	char *prompt_private;         /* own prompt, NULL = none */
	char **examples;              /* [example_count] public examples */
	size_t example_count;
};

/* The values when no option is given. Defaults of the plan come from the library. */
struct generate_values setup_defaults(void);

/* Opens the model and hashes what it reads, reads prompts, public examples and categories, and
 * makes plan and receipt. On failure prints one line and returns the exit code, else returns 0.
 * Call setup_free in any case. The receipt and the categories point into values, which must
 * outlive setup. */
int setup_make(const struct verb *verb, const struct generate_values *values, struct setup *setup);
void setup_free(struct setup *setup);

/* How many records of one unit are read: G of --records-per-unit, 1 for --one-per-unit, 0 = all. */
uint64_t setup_unit_limit(const struct generate_values *values);

/* Prints one line when the weights cannot hold the clip for the epsilon that was asked for. Clip
 * and epsilon are then smaller. Else prints nothing. */
void setup_say_cap(const struct generate_values *values, const struct setup *setup, FILE *file);

/* Prints the effective configuration and the guarantee on standard output. */
void setup_print(const struct generate_values *values, const struct setup *setup);
/* Prints on standard output how much time and memory the run would take. It measures for some
 * seconds, or reads the file that --bench names. It knows nothing of the references. On failure
 * prints one line on standard error and returns the exit code, else returns 0. */
int setup_print_cost(const struct verb *verb, const struct generate_values *values,
                     const struct setup *setup);

#endif
