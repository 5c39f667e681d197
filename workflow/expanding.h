// SPDX-License-Identifier: Apache-2.0
// expanding.h: more texts behind those that an earlier run kept, from the public prompt alone.
//
// Called by tools/expand. No private data: it reads an output, the parent, that has a guarantee,
// and its receipt. What is written is post-processing of that output (dp/PRIVACY.md, step 43): it
// costs nothing, and no ledger is asked. Nothing is printed: what happens is told to struct
// run_events.
//
// Text i is drawn behind E kept texts of one category or cluster, which its line names. Group,
// parents and tokens of text i follow from the seed and i alone. So a larger N begins with the same
// texts, and a run that is continued ends in the same bytes. For example:
//
//     expanding_default(&request);
//     request.input = "out.jsonl", request.receipt = "out.receipt.json", request.output =
//     "more.jsonl"; status = expanding_check(&request, &error); if (!status) status =
//     expanding_paths(&request, &error); if (!status) status = expanding_make(&request, &opened,
//     &expanding, &error); if (!status) status = expanding_run(&request, &expanding, &events,
//     &error); expanding_free(&expanding);
#ifndef CUTTLE_WORKFLOW_EXPANDING_H
#define CUTTLE_WORKFLOW_EXPANDING_H

#include "io/expand_receipt.h"
#include "io/kept.h"
#include "io/output.h"
#include "workflow/likelihood.h"
#include "workflow/run.h"
#include "workflow/stop_choice.h"

enum { EXPANDING_MOST_EXAMPLES = 16 }; /* parents of a text */
#define EXPANDING_NO_SEED UINT64_MAX

/* Texts and paths are NULL when there is none. They are the caller's, and must outlive all that is
 * made from the request. Messages name a member as the option of expand does. */
struct expanding_request {
	/* The words of the prompts, context, parallel and prompt_chunk; tokens 0 = the parent's.
	 * expanding_make adds the parent's law. */
	struct cuttle_plan_params plan;
	const char *model;         /* path of the model's file, for expanding_paths alone */
	const char *input;         /* path of the parent's output */
	const char *receipt;       /* path of the parent's receipt; NULL = beside the input */
	const char *prompt_public; /* path of an own prompt; with it the form is CUSTOM */
	const char *output;        /* path; "-" = standard output */
	const char *own_receipt;   /* path; NULL = beside the output */
	const char *sign;          /* path of the secret key that signs the own receipt */
	enum records_format input_format;
	enum output_format output_format;
	uint64_t texts;    /* N */
	uint64_t examples; /* E, parents of a text at most */
	uint64_t seed;     /* EXPANDING_NO_SEED = one is drawn, and told in the receipt */
	uint64_t now;      /* seconds since 1970 when the run begins */
	struct filters filters;
	const char *const *stops; /* [stop_count] words of --stop (workflow/stop_choice.h) */
	size_t stop_count;        /* 0 = auto */
	bool overwrite;
};

/* Sets the defaults: 1000 texts, 4 examples, trim, no seed, the time now. */
void expanding_default(struct expanding_request *request);
/* As run_request_check and run_request_paths. */
enum cuttle_status expanding_check(const struct expanding_request *request,
                                   struct cuttle_error *error);
enum cuttle_status expanding_paths(const struct expanding_request *request,
                                   struct cuttle_error *error);

/* What is fixed before a token is drawn. */
struct expanding {
	struct cuttle_model *model; /* the caller's */
	struct kept kept;
	char *beside;        /* path of the parent's receipt, where none was given */
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
	struct stop_choice stop;      /* where texts end */
	struct expand_receipt receipt;
	struct signature_key *signer;
	char fingerprint[HASH_TEXT];
};

/* Reads and checks the parent, and makes plan, parents and receipt. Call expanding_free in any
 * case; *expanding must not move. The model must outlive it. USAGE: not one parent fits the context
 * beside the text; for --drop unlikely there are too few. INPUT: no text of the parent can be
 * shown. Else as kept_open, setup_prompt, signature_open, setup_date and cuttle_plan_make. */
enum cuttle_status expanding_make(const struct expanding_request *request,
                                  const struct setup_model *opened, struct expanding *expanding,
                                  struct cuttle_error *error);
void expanding_free(struct expanding *expanding);

/* The parents of a text: which texts of the parent its prompt shows, ascending. */
struct expanding_parents {
	size_t group;
	size_t texts[EXPANDING_MOST_EXAMPLES]; /* [count] numbers in kept.texts */
	size_t count;
};
/* Chooses them, from the seed of expanding->receipt and the text's number alone. */
void expanding_choose(const struct expanding *expanding, uint64_t text,
                      struct expanding_parents *parents);

/* Draws, delivers and publishes all texts. Sets seed and counts of the receipt. Statuses as
 * run_texts, without those of references and ledger. */
enum cuttle_status expanding_run(const struct expanding_request *request,
                                 struct expanding *expanding, const struct run_events *events,
                                 struct cuttle_error *error);

#endif
