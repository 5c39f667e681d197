// SPDX-License-Identifier: Apache-2.0
// evolve.h: the system that draws texts from public prompts alone. Private records choose the
// nearest of them, again and again (workflow/system.h; AugPE, dp/PRIVACY.md, step 49). PRIVATE
// records pass through: their vectors, and what they vote for, go into engine/cuttle/votes.h and
// nowhere else. With N texts, L variations and G generations:
//
//   N L texts are drawn from the public prompt
//   G times: each record votes for the text that is nearest to it; the counts get noise; the N
//   texts with the highest counts stay; but for the last time, L - 1 variations of each are drawn
//   from a public prompt that shows it, and stand behind it
//
// Journal: the candidates of a generation are texts there, one after the other. Behind them stands
// one that has their noisy counts as its tokens. With N = 2, L = 3: texts 0 .. 5, counts 6;
// variations 7 .. 10, counts 11. A run that goes on replays all of it.
#ifndef CUTTLE_WORKFLOW_EVOLVE_H
#define CUTTLE_WORKFLOW_EVOLVE_H

#include "io/receipts/evolve_receipt.h"
#include "workflow/grammar_choice.h"
#include "workflow/run.h"
#include "workflow/setup.h"
#include "workflow/stop_choice.h"

/* As struct common_request: NULL is none, and all must outlive what is made from the request. */
struct evolve_request {
	struct common_request common;
	/* The words of the public prompt, temperature, top_k, tokens, context, parallel and
	 * prompt_chunk; insecure, with its seed, for the noise of the votes. */
	struct cuttle_plan_params plan;
	const char *text_field;       /* of the records */
	const char *prompt_public;    /* path of an own public prompt; the form is then CUSTOM */
	const char *prompt_variation; /* path of an own prompt that shows "{text}" */
	const char *grammar;          /* as in struct generate_request */
	const char *schema;
	double epsilon; /* of all votes together */
	double delta;
	uint64_t texts;       /* N */
	uint64_t generations; /* G */
	uint64_t variations;  /* L */
	uint64_t neighbours;  /* K, votes of a record */
	uint64_t threshold;   /* H */
	uint64_t seed;        /* of the public texts; EVOLVING_NO_SEED = one is drawn, and told */
};

/* Sets the defaults: N 100, G 10, L 7, K 1, H 0, delta 1e-6, no epsilon, the time now. */
void evolve_default(struct evolve_request *request);
/* As generate_check and generate_paths. */
enum cuttle_status evolve_check(const struct evolve_request *request, struct cuttle_error *error);
enum cuttle_status evolve_paths(const struct evolve_request *request, struct cuttle_error *error);

/* What is fixed before a record is read. */
struct evolve {
	struct cuttle_model *model;      /* the caller's */
	struct cuttle_plan *plan;        /* its law is the public row's */
	struct cuttle_plan_params words; /* of the first texts */
	struct cuttle_plan_params again; /* of variations; the text they show is their heading */
	char *prompt_public;             /* own prompts; NULL = none */
	char *prompt_variation;
	struct stop_choice stop; /* where texts end; without words nothing is chosen */
	struct grammar_choice grammar;
	struct evolve_receipt receipt;
	struct signature_key *signer;
	char fingerprint[HASH_TEXT];
};

/* Makes prompts, plan and receipt: the variance follows from epsilon. Call evolve_free in any
 * case; *evolve must not move. The model must outlive it. USAGE: epsilon is too small, the
 * context too short for a text and its variation, or a prompt lacks its place. Else as
 * setup_prompt, signature_open, setup_date and cuttle_plan_make. */
enum cuttle_status evolve_open(const struct evolve_request *request,
                               const struct setup_model *opened, struct evolve *evolve,
                               struct cuttle_error *error);
void evolve_free(struct evolve *evolve);

/* How many texts go through the model: N L + (G - 1) N (L - 1). */
size_t evolve_drawn(const struct evolve_receipt *receipt);

/* For a dry run: counts the records, and nothing else. INPUT: there is none. */
enum cuttle_status evolve_count(const struct evolve_request *request, struct evolve *evolve,
                                struct cuttle_error *error);

/* Charges, draws, asks, delivers and publishes. Sets seed, records and charge of the receipt.
 * Statuses as generate_texts. */
enum cuttle_status evolve_run(const struct evolve_request *request, struct evolve *evolve,
                              const struct run_events *events, struct cuttle_error *error);

#endif
