// SPDX-License-Identifier: Apache-2.0
// setup.h: makes everything of a run that is fixed before a private byte is read.
//
// From a request it makes prompts, plan and receipt. No private data stays: the references are read
// later (workflow/references.h), and here at most counted (workflow/lot_choice.h). All texts read
// here, prompts and examples, are public. For example:
//
//     status = setup_open(path, NULL, &opened, &error);
//     if (!status) status = generate_open(&request, &opened, &setup, &error);
//     ... generate_free(&setup); cuttle_model_free(&opened.model);
#ifndef CUTTLE_WORKFLOW_SETUP_H
#define CUTTLE_WORKFLOW_SETUP_H

#include "engine/cuttle/histogram.h"
#include "topics/clusters.h"
#include "io/receipts/bias.h"
#include "io/receipts/receipt.h"
#include "io/schema/table.h"
#include "workflow/grammar_choice.h"
#include "workflow/lot_choice.h"
#include "workflow/request.h"
#include "workflow/stop_choice.h"

/* A model, and the hash of what was read of its file. Any number of setups may use it. */
struct setup_model {
	struct cuttle_model *model;
	char sha256[HASH_TEXT];
	double opening_s; /* seconds that opening it took */
};

/* Opens the model at path and hashes the bytes that are read. params may be NULL; its on_bytes and
 * user are not used. The caller frees opened->model. Errors as cuttle_model_open. */
enum cuttle_status setup_open(const char *path, const struct cuttle_model_params *params,
                              struct setup_model *opened, struct cuttle_error *error);

/* Reads a prompt from a file, to be freed. INPUT: it cannot be read, is longer than 1 MiB, or is
 * not UTF-8 without NUL. NOMEM. */
enum cuttle_status setup_prompt(const char *path, char **prompt, struct cuttle_error *error);
/* Writes the day, in UTC, of a time in seconds since 1970. USAGE: it is beyond the year 9999. */
enum cuttle_status setup_date(uint64_t now, char date[RECEIPT_DATE], struct cuttle_error *error);

/* Makes the law of a plan that is asked for its public row alone: no reference has a say in it. Of
 * the clip remains that it widens the candidates a little. */
void setup_public_law(struct cuttle_plan_params *plan);

/* Reads a bias and the receipt beside it, for a model and its hash. Call bias_close in any case. As
 * bias_open and bias_fits. */
enum cuttle_status setup_bias_read(const char *path, const struct cuttle_model *model,
                                   const char *model_sha256, struct bias *bias,
                                   struct cuttle_error *error);
/* Whom a run promises something, and what. */
struct setup_promise {
	const char *unit_key; /* NULL = to each record */
	/* [field_count] of the categories that count as public; 0 = none do */
	const char *const *fields;
	size_t field_count;
	bool insecure; /* none */
};
/* The same for a run with this promise. USAGE: it was learnt for other units; it tells how many
 * records a category has, and the run hides that; it is NOT PRIVATE, and the run is private. */
enum cuttle_status setup_bias(const char *path, const struct cuttle_model *model,
                              const char *model_sha256, const struct setup_promise *promise,
                              struct bias *bias, struct cuttle_error *error);

struct setup {
	struct cuttle_model *model; /* the caller's */
	double opening_s;           /* seconds that opening it took */
	struct cuttle_plan *plan;
	struct receipt receipt;            /* without the ledger's charge, which comes later */
	struct signature_key *signer;      /* NULL = the receipt is not signed */
	char fingerprint[HASH_TEXT];       /* hash of all parameters, without the input's content */
	struct lot_choice lots;            /* its count is 0 = records come to texts by index */
	struct cuttle_histogram histogram; /* of private categories; its clusters are 0 = none */
	int64_t *counts;                   /* [clusters] noisy counts, once they are drawn; owned */
	struct cuttle_lots *seats;         /* [clusters] batches and texts by these counts; owned */
	enum cuttle_accountant accountant; /* that the plan was made with */
	bool charges_epsilon;              /* a ledger is charged epsilon and delta, not rho */
	double rho; /* as planned: of a whole unit where it is limited, else of one record */
	struct categories categories;    /* its count is 0 = one job writes all texts */
	struct clusters clusters;        /* what the categories are; its count is 0 = fields */
	char clusters_sha256[HASH_TEXT]; /* of their file */
	struct bias bias;                /* its vector is NULL = there is none */
	char *prompt_public;             /* own prompt, for the plan's parameters; NULL = none */
	char *prompt_private;            /* own prompt, NULL = none */
	char **examples;                 /* [example_count] public examples */
	size_t example_count;
	const char **plain; /* [example_count] where each one's text begins, behind its heading */
	/* [shown_count] which of them prompts show: a list for each category, or one without any.
	 * NULL stands behind each list. */
	const char ***shown;
	size_t shown_count;
	size_t examples_per_text; /* E; 0 = all */
	struct stop_choice stop;  /* where texts end */
	struct grammar_choice grammar;
	struct schema_table *table; /* of its schema, where the output is CSV; else NULL */
	/* Of two rounds the room for texts of the first; its count is 0 = one round. */
	struct cuttle_drawn drawn;
};

/* The first step of generate_open, for whoever needs the public prompt alone: reads prompts, public
 * examples and categories. setup->model is set. Then setup_prompts may be asked; call generate_free
 * in any case. Errors as of generate_open. */
enum cuttle_status setup_read(const struct generate_request *request, struct setup *setup,
                              struct cuttle_error *error);
/* Reads prompts, public examples and categories, and makes plan and receipt. Call generate_free in
 * any case. Receipt and categories point into the request; it and the model must outlive setup,
 * which must not move. USAGE: there are too many texts, or too few examples for a filter; `now` is
 * beyond the year 9999; the request is not what its shard's run was opened with. LEDGER: run.json
 * contradicts itself. INPUT: a prompt is not UTF-8 without NUL; a public example has no text, or
 * there are more than 1024. The clusters are of another model. Else as file_read, records_read,
 * categories_read, clusters_file_read, clusters_find, grammar_choice_read, signature_open,
 * lot_choice_make and cuttle_plan_make. NOMEM.
 */
enum cuttle_status generate_open(const struct generate_request *request,
                                 const struct setup_model *opened, struct setup *setup,
                                 struct cuttle_error *error);
void generate_free(struct setup *setup);
/* The parameters of the prompts under a category (0 where there is none), without its heading. They
 * are what the request says, and the prompts and examples that were read. What they point to
 * belongs to both. */
struct cuttle_plan_params setup_prompts(const struct generate_request *request,
                                        const struct setup *setup, size_t category);
/* Where records are written as a table: has a text's line be a row of its members. */
void setup_rows(const struct setup *setup, struct output_request *output);
/* From here on the plan's texts are drawn with the bias of a category, which is one of the setup's.
 * Where there is no bias, or it has no categories, nothing changes. As cuttle_bias_use. */
enum cuttle_status setup_category_bias(const struct setup *setup, size_t category,
                                       struct cuttle_error *error);

#endif
