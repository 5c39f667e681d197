// SPDX-License-Identifier: Apache-2.0
// learn.h: the system that asks all records once what they say together about the model's texts,
// and writes the answer, a bias, to a file (workflow/system.h; dp/PRIVACY.md, step 55). PRIVATE
// records pass through, into engine/cuttle/learn.h and nowhere else. With a bias any number of
// texts can be written, for nothing more.
//
//   the model writes public texts behind the public prompt, to compare with
//   each record is read once; what all say is added up, with noise
//   the noisy sum is in the journal before anything follows from it
//   the bias follows from it, and is the one line of the output (io/receipts/bias.h)
//
// Where categories are declared public there is a sum of each, over its own records alone. A record
// is in one of them, so all sums cost what one does. Each category's bias is then the whole's, and
// what its own records say beside that, the more of it the more they are.
//
// A run that goes on takes the sum of its journal, and ends in the same bytes. Without one there it
// reads all records again: nobody has seen anything of them. Of records that are declared public
// there is no noise, no charge and no promise.
#ifndef CUTTLE_WORKFLOW_LEARN_H
#define CUTTLE_WORKFLOW_LEARN_H

#include "io/receipts/learn_receipt.h"
#include "workflow/run.h"
#include "workflow/setup.h"

/* As struct common_request: NULL is none, and all must outlive what is made from the request. */
struct learn_request {
	struct common_request common;
	/* The words of the public prompt, and context; insecure, with its seed, for the noise. */
	struct cuttle_plan_params plan;
	const char *text_field;      /* of the records */
	const char *schema;          /* path: records and examples are its objects; NULL = texts */
	const char *public_examples; /* path */
	const char *examples_field;  /* field of the public examples; NULL = text_field */
	const char *categories;      /* "A,B,C" or a path (io/records/categories.h); NULL = none */
	const char *const *category_fields; /* [category_field_count] fields of the category */
	size_t category_field_count;        /* at most CATEGORY_FIELDS */
	bool category_public;               /* the category of each record is declared public */
	const char *prompt_public;  /* paths of own prompts, as generate has them; the second */
	const char *prompt_private; /* is shown to nobody here */
	double epsilon;             /* of the bias; NaN = not given */
	double delta;
	uint64_t texts;   /* public ones */
	uint64_t tokens;  /* of a record, and of a public text */
	bool from_public; /* the records are public: no epsilon */
};

/* Sets the defaults: 160 texts of 40 tokens, delta 1e-6, no epsilon, the time now. */
void learn_default(struct learn_request *request);
/* As generate_check and generate_paths. */
enum cuttle_status learn_check(const struct learn_request *request, struct cuttle_error *error);
enum cuttle_status learn_paths(const struct learn_request *request, struct cuttle_error *error);

/* What is fixed before a record is read. */
struct learn {
	struct generate_request asked; /* by which generate_open makes the public prompt */
	struct setup setup;            /* its plan is for the public prompt alone */
	struct categories categories;  /* its count is 0 = none */
	struct learn_receipt receipt;
	bool in_epsilon; /* a ledger is charged epsilon and delta */
	size_t reading;  /* records that are read; set with receipt.records */
	double share;    /* of the answer that is no noise; set once the bias is made */
	struct signature_key *signer;
	char fingerprint[HASH_TEXT];
};

/* Makes prompt, noise and receipt. Call learn_free in any case; *learn must not move. The model
 * must outlive it. USAGE: epsilon is too small; prompt and tokens exceed the context. Else as
 * generate_open. */
enum cuttle_status learn_open(const struct learn_request *request, const struct setup_model *opened,
                              struct learn *learn, struct cuttle_error *error);
void learn_free(struct learn *learn);

/* What a record, or an owner, is charged, by what the ledger counts; its count is not set. */
struct ledger_request learn_price(const struct learn *learn);

/* For a dry run: counts the records, and nothing else. INPUT: there is none. */
enum cuttle_status learn_count(const struct learn_request *request, struct learn *learn,
                               struct cuttle_error *error);
/* About which share of the answer will be no noise: of records that say as much as public texts
 * do, by their number, the variance of the noise, 0 = none, and the width alone. */
double learn_expected_share(uint64_t width, uint64_t records, double variance);

/* Charges, asks, delivers and publishes. Sets records and charge of the receipt. Statuses as
 * run_system and cuttle_learner_read. */
enum cuttle_status learn_run(const struct learn_request *request, struct learn *learn,
                             const struct run_events *events, struct cuttle_error *error);

#endif
