// SPDX-License-Identifier: Apache-2.0
// What a generate run stands on before it reads a private byte: options, model, prompts, plan, and the receipt that follows from them.
#ifndef CUTTLE_TOOLS_SETUP_H
#define CUTTLE_TOOLS_SETUP_H

#include "io/output.h"
#include "io/receipt.h"
#include "tools/verbs.h"

struct generate_values {
	struct model_values open;
	const char *input, *output, *receipt, *text_field, *public_examples, *examples_field;
	const char *prompt_public, *prompt_private, *kind, *system, *chat_format;
	const char *ledger, *dataset, *sign, *trace, *unit_key, *categories;
	struct option_list category_fields;
	double epsilon, clip, delta, temperature, public_when;
	uint64_t batch, texts, tokens, top_k, context, insecure_seed, prompt_chunk, parallel, texts_per_category, records_per_unit,
	    free_tokens;
	int form, progress, input_format, output_format, accountant, center;
	bool dry_run, overwrite, no_sharing, quiet, one_per_unit, token_bank, complete;
};

struct setup {
	struct cuttle_model *model;
	struct cuttle_plan *plan;
	struct receipt receipt;
	struct signature_key *signer; /* NULL = the receipt is not signed */
	enum output_format format;
	char fingerprint[HASH_TEXT];
	struct categories categories; /* of none: one run of all texts */
	/* Copies the plan's parameters point into. */
	char *prompt_public, *prompt_private, **examples;
	size_t example_count;
};

/* Values as they are when nothing is given; the plan's come from the library. */
struct generate_values setup_defaults(void);

/* Opens the model (hashing what is read), reads prompts and public examples, makes the plan. Prints on failure and returns the exit code,
 * else 0. setup_free in any case. */
int setup_make(const struct verb *verb, const struct generate_values *values, struct setup *setup);
void setup_free(struct setup *setup);

/* G of --records-per-unit or --one-per-unit; 0 = neither. */
uint64_t setup_unit_limit(const struct generate_values *values);

/* The effective configuration and the guarantee, on standard output. */
void setup_print(const struct generate_values *values, const struct setup *setup);

#endif
