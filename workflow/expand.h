// SPDX-License-Identifier: Apache-2.0
// expand.h: the system that writes more texts behind those that an earlier run kept, from the
// public prompt alone (workflow/system.h). No private data: it reads an output, the parent, that
// has a guarantee, and its receipt. What is written is post-processing of that output
// (dp/PRIVACY.md, step 43): it costs nothing, and no ledger is asked.
//
// Text i is drawn behind E kept texts of one category or cluster, which its line names. Group,
// parents and tokens of text i follow from the seed and i alone. So a larger N begins with the same
// texts, and a run that is continued ends in the same bytes.
#ifndef CUTTLE_WORKFLOW_EXPAND_H
#define CUTTLE_WORKFLOW_EXPAND_H

#include "io/receipts/expand_receipt.h"
#include "io/receipts/kept.h"
#include "io/output/output.h"
#include "workflow/grammar_choice.h"
#include "workflow/likelihood.h"
#include "workflow/run.h"
#include "workflow/setup.h"
#include "workflow/stop_choice.h"

enum { EXPAND_MOST_EXAMPLES = 16 }; /* parents of a text */

/* As struct common_request: NULL is none, and all must outlive what is made from the request. */
struct expand_request {
	struct common_request common;
	/* The words of the prompts, context, parallel and prompt_chunk; tokens 0 and temperature
	 * NaN = the parent's. expand_open adds the parent's law. */
	struct cuttle_plan_params plan;
	const char *parent;        /* path of the parent's receipt; NULL = beside the input */
	const char *bias;          /* path of a learnt bias, its receipt beside it */
	const char *prompt_public; /* path of an own prompt; with it the form is CUSTOM */
	const char *grammar;       /* as in struct generate_request */
	const char *schema;
	enum records_format input_format;
	enum output_format output_format;
	uint64_t texts;    /* N */
	uint64_t examples; /* E, parents of a text at most */
	uint64_t seed;     /* EXPANDING_NO_SEED = one is drawn, and told in the receipt */
	struct filters filters;
};

/* Sets the defaults: 1000 texts, 4 examples, trim, no seed, the time now. */
void expand_default(struct expand_request *request);
/* As generate_check and generate_paths. */
enum cuttle_status expand_check(const struct expand_request *request, struct cuttle_error *error);
enum cuttle_status expand_paths(const struct expand_request *request, struct cuttle_error *error);

/* What is fixed before a token is drawn. */
struct expand {
	struct cuttle_model *model; /* the caller's */
	struct kept kept;
	char *beside;        /* path of the parent's receipt, where none was given */
	struct bias bias;    /* its vector is NULL = there is none */
	char *prompt_public; /* own prompt; NULL = none */
	char **examples;     /* [kept.count] as prompts show them; NULL = not shown */
	size_t *members;     /* [usable] numbers of texts that are shown, group by group */
	size_t *firsts;      /* [group_count + 1] where a group's members begin */
	size_t usable;       /* texts that are shown */
	uint64_t weight;     /* of all groups that have a member */
	struct cuttle_plan_params words; /* of every prompt, without examples */
	struct cuttle_plan *plan;
	struct filter_past *past;     /* the parents that are shown count as earlier texts */
	struct likelihood likelihood; /* its scorer is NULL where no text is unlikely */
	struct stop_choice stop;      /* where texts end; of texts of a grammar nothing is chosen */
	struct grammar_choice grammar;
	struct expand_receipt receipt;
	struct signature_key *signer;
	char fingerprint[HASH_TEXT];
};

/* Reads and checks the parent, and makes plan, parents and receipt. Call expand_free in any
 * case; *expand must not move. The model must outlive it. USAGE: not one parent fits the context
 * beside the text; for --drop unlikely there are too few. INPUT: no text of the parent can be
 * shown. Else as kept_open, setup_bias, setup_prompt, signature_open, setup_date and
 * cuttle_plan_make. */
enum cuttle_status expand_open(const struct expand_request *request,
                               const struct setup_model *opened, struct expand *expand,
                               struct cuttle_error *error);
void expand_free(struct expand *expand);

/* The parents of a text: which texts of the parent its prompt shows, ascending. */
struct expand_parents {
	size_t group;
	size_t texts[EXPAND_MOST_EXAMPLES]; /* [count] numbers in kept.texts */
	size_t count;
};
/* Chooses them, from the seed of expanding->receipt and the text's number alone. */
void expand_choose(const struct expand *expand, uint64_t text, struct expand_parents *parents);

/* Draws, delivers and publishes all texts. Sets seed and counts of the receipt. Statuses as
 * generate_texts, without those of references and ledger. */
enum cuttle_status expand_run(const struct expand_request *request, struct expand *expand,
                              const struct run_events *events, struct cuttle_error *error);

#endif
