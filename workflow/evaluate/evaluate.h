// SPDX-License-Identifier: Apache-2.0
// evaluate.h: how good synthetic texts are, measured against real ones: a request and its run.
//
// References may be PRIVATE; whoever asks says which it is, and nothing here guesses. Nothing
// protects the numbers: of private references they are private, and the table is stamped. With an
// epsilon private references answer through noise alone, which a ledger is charged for
// (dp/PRIVACY.md, step 50). Then the table is public. Vectors are kept beside the output while a
// run lasts, readable by its owner alone.
// Messages name a member as the option of evaluate does. For example:
//
//     evaluate_default(&request);
//     request.runs = &path, request.run_count = 1, request.against = "real.jsonl";
//     request.privacy = EVALUATE_PRIVATE, request.output = "table.md";
//     status = evaluate_check(&request, &error);
//     if (!status) status = evaluate_paths(&request, &error);
//     if (!status)
//             status = evaluate_run(&request, &opened, &events, &asked, &evaluation, &error);
//     ... print ... evaluate_seal(&asked, sha256, &error); ... put in place ...
//     evaluate_done(&request, &asked); evaluate_close(&asked); evaluation_free(&evaluation);
#ifndef CUTTLE_WORKFLOW_EVALUATE_EVALUATE_H
#define CUTTLE_WORKFLOW_EVALUATE_EVALUATE_H

#include "engine/cuttle/votes.h"
#include "workflow/ballot.h"
#include "workflow/evaluate/evaluation.h"
#include "workflow/setup.h"

enum { EVALUATE_RUNS = 16 }; /* synthetic files at once, at most */

enum evaluate_privacy { EVALUATE_UNSAID, EVALUATE_PUBLIC, EVALUATE_PRIVATE };

/* Texts and paths are NULL when there is none. They are the caller's, and must outlive all that is
 * made from the request. */
struct evaluate_request {
	const char *model;       /* path of the model's file, for evaluate_paths alone */
	const char *const *runs; /* [run_count] paths of synthetic texts */
	size_t run_count;
	const char *against;       /* path of the references */
	const char *baseline;      /* path of texts of the public prompt alone */
	const char *text_field;    /* of synthetic texts, and of the baseline */
	const char *against_field; /* of references and test texts */
	const char *task;          /* field with the label that is learnt */
	const char *test;          /* path of real, public texts with labels */
	const char *lexicon;       /* path of terms, one a line */
	const char *features_a;    /* path of the references' vectors, NumPy's format */
	const char *const
	    *features_b; /* [features_b_count] those of the runs, then of the baseline */
	size_t features_b_count;
	/* Path of the JSON Schema whose records are compared field by field, by evaluate_fields;
	 * NULL = texts are, by evaluate_run. */
	const char *schema;
	const char *output; /* path; "-" = standard output */
	enum evaluate_privacy privacy;
	double epsilon;       /* of all answers of the references together; NaN = they are read */
	double delta;         /* with epsilon */
	const char *ledger;   /* path; with epsilon */
	const char *dataset;  /* name of the references in the ledger */
	const char *unit_key; /* field that says whose a reference is; NULL = none */
	/* With epsilon: the noise follows from this seed. NOT PRIVATE; no ledger is charged. NULL =
	 * random bits of the system. */
	const uint64_t *seed;
	bool overwrite;   /* a journal of another command may go */
	bool equal_texts; /* texts of a run may stand in the references */
	bool next_token;  /* next tokens of the references are guessed */
	bool lock;        /* keep texts out of swap */
};

/* Sets the fields "text", no epsilon, delta 1e-6, and all else to 0. */
void evaluate_default(struct evaluate_request *request);

/* USAGE: privacy is unsaid, one of --task and --test stands alone, or vectors are not given for
 * each file; an epsilon with public references, without a ledger, with vectors or next tokens; a
 * ledger without an epsilon; beside a schema what is of texts, of a model or of noise, or a file
 * that is no JSONL.
 */
enum cuttle_status evaluate_check(const struct evaluate_request *request,
                                  struct cuttle_error *error);
/* As generate_paths. INPUT: the references are one of the other files, under whatever name. */
enum cuttle_status evaluate_paths(const struct evaluate_request *request,
                                  struct cuttle_error *error);

/* What a run tells its caller. No member but `user` may be NULL. */
struct evaluate_events {
	void *user; /* first argument of all others */
	/* Files are read, and so many texts will go through the model. */
	void (*begin)(void *user, size_t texts);
	/* One more text went through it, or through an earlier run's. */
	void (*text)(void *user);
	/* Asked now and then. true: the run stops with PARTIAL; the same request continues. */
	bool (*stop)(void *user);
};

enum { EVALUATE_VOTES, EVALUATE_SUMS, EVALUATE_QUERIES };

/* References that answer through noise: what that costs, and what is open until the table is in
 * place. All of it is public. Zero: they are read. */
struct evaluate_asked {
	struct cuttle_query queries[EVALUATE_QUERIES];
	double rho;
	double epsilon;               /* of rho; at most the request's */
	double delta;                 /* 0 = references are read */
	struct receipt_ledger ledger; /* the charge */
	bool seeded;                  /* NOT PRIVATE */
	bool unprotected;             /* a run or the baseline says NOT PRIVATE: so is the table */
	char fingerprint[HASH_TEXT];
	struct ballot *ballot;
	struct spending spending;
};

/* Reads all files, runs their texts through the model, and makes the table; evaluation_free frees
 * it after success. What the model makes of texts is kept in a file beside the output, with
 * FEATURE_FILE behind its name. It is taken from there when it stands there already. With an
 * epsilon the ledger is charged before a text goes through the model. Call evaluate_close in any
 * case.
 * asked->unprotected is set however the references are: what such texts hold is in the table.
 * INPUT: as text_set_read and evaluation_make; a text of a run stands in the references or in the
 * test texts, or one of the references in the test texts, unless references answer through noise.
 * PARTIAL. Else as text_set_measure, ballot_open and ballot_take. */
enum cuttle_status evaluate_run(const struct evaluate_request *request,
                                const struct setup_model *opened,
                                const struct evaluate_events *events, struct evaluate_asked *asked,
                                struct evaluation *evaluation, struct cuttle_error *error);
/* The table is written, with this hash, and not yet in place. Errors as ballot_finish. */
enum cuttle_status evaluate_seal(struct evaluate_asked *asked, const char sha256[HASH_TEXT],
                                 struct cuttle_error *error);
/* The table is in place: removes the file with what the model made of the texts, and the journal.
 */
void evaluate_done(const struct evaluate_request *request, struct evaluate_asked *asked);
void evaluate_close(struct evaluate_asked *asked);

#endif
