// SPDX-License-Identifier: Apache-2.0
// audit.h: tests what a run promises, or what its texts give away: a request, and its verdict.
//
// Attacks illustrate, exact checks verify: a bound that stays below epsilon proves nothing, one
// above it refutes the promise. So games are also played with a control that protects nothing, and
// an audit that does not catch the control says nothing at all.
// References may be PRIVATE; whoever asks says which it is. Nothing protects the numbers: of
// private references they are private, and the report is stamped. Messages name a member as the
// option of audit does. For example:
//
//     audit_default(&request, AUDIT_CANARY);
//     request.run.plan.epsilon = 1, request.privacy = AUDIT_PUBLIC;
//     status = audit_check(&request, &error);
//     if (!status) status = audit_paths(&request, &error);
//     if (!status) status = audit_run(&request, &opened, &events, &audit, &error);
//     ... print ... audit_done(&request);
#ifndef CUTTLE_WORKFLOW_AUDIT_AUDIT_H
#define CUTTLE_WORKFLOW_AUDIT_AUDIT_H

#include "io/disk/hash.h"
#include "workflow/audit/finding.h"
#include "workflow/audit/games.h"
#include "workflow/audit/rewritten.h"
#include "workflow/setup.h"

enum audit_action {
	AUDIT_INVARIANT, /* every token, every place: the range of ln(P/P') against eta */
	AUDIT_CANARY,    /* two worlds, with and without a canary */
	AUDIT_ONE_RUN,   /* canaries by lot, one a batch, and guesses about them */
	AUDIT_RECOVER,   /* which of R secrets a text was written from */
	AUDIT_EXPOSURE,  /* how early the secret comes among R guesses */
	AUDIT_OVERLAP,   /* what texts have in common with used and with held-out references */
	AUDIT_HOLDOUT,   /* likewise, by words that stand in one record alone, without a model */
	AUDIT_LOT,       /* whether a record was used, by what texts have in common with it */
	AUDIT_INVERT,    /* which words were perturbed to these, by the nearest words */
	AUDIT_ACTIONS
};

enum audit_privacy { AUDIT_UNSAID, AUDIT_PUBLIC, AUDIT_PRIVATE };

/* Texts and paths are NULL when there is none. They are the caller's, and must outlive the run. */
struct audit_request {
	enum audit_action action;
	struct generate_request run;       /* plan, prompts, model and input, as those of a run */
	const char *receipt;               /* its numbers are taken in place of the plan's */
	struct rewritten_prompt rewritten; /* in place of run's where the receipt is of cuttle
	                                      sanitize */
	const char *texts;                 /* path of a run's output */
	const char *output_field;          /* of these texts */
	const char *held_out;              /* path of references that the run did not read */
	const char *members;               /* path of what `draw` wrote */
	const char *split;    /* name of the files of a split (halves.h): splits, judges nothing */
	const char *unit_key; /* AUDIT_HOLDOUT: the field that says whose a record is */
	const char *draw;     /* path: writes the records that are in, and judges nothing */
	const char *words;    /* path of the words file of perturbed texts */
	const char *canary;   /* in place of invented ones */
	const char *output;   /* path; "-" = standard output */
	double claim;         /* epsilon that somebody claims; NaN = the plan's or receipt's */
	uint64_t games;       /* of each world; 0 = the action's own number */
	uint64_t secrets;     /* R; 0 = the action's own */
	uint64_t guesses;     /* 0 = a fifth of the canaries */
	enum game_score score;
	bool nearest; /* AUDIT_LOT: by the model's vectors, not by tokens in common */
	enum audit_privacy privacy;
	bool no_control;
};

/* The defaults of an action. */
void audit_default(struct audit_request *request, enum audit_action action);

/* USAGE: privacy is unsaid where references are read; what contradicts itself, or is missing. */
enum cuttle_status audit_check(const struct audit_request *request, struct cuttle_error *error);
/* As generate_paths. */
enum cuttle_status audit_paths(const struct audit_request *request, struct cuttle_error *error);
/* What an action needs of a model. */
enum audit_model { AUDIT_NO_MODEL, AUDIT_VOCABULARY, AUDIT_WEIGHTS };
enum audit_model audit_needs(const struct audit_request *request);

enum audit_verdict {
	AUDIT_HOLDS,        /* nothing contradicts the claim */
	AUDIT_WEAK,         /* nor could it: so many games cannot show an epsilon as large */
	AUDIT_POWERLESS,    /* likewise of guesses about one run, whose delta alone may see to it */
	AUDIT_CONTRADICTED, /* the claim is wrong: exit code LEDGER */
	AUDIT_VOID,         /* the control was not caught either */
	AUDIT_REPORTED      /* numbers alone: this action bounds nothing, or nothing is claimed */
};

struct audit {
	enum audit_action action;
	bool is_private;
	struct audit_game game, control;
	bool has_control;
	bool rewritten;        /* of cuttle sanitize: the claim is for the marks of a document */
	double epsilon, delta; /* what is claimed for a record in a known batch; NaN = nothing */
	enum audit_verdict verdict;
	bool by_lot;                    /* AUDIT_HOLDOUT: a split wrote both files */
	char receipt_sha256[HASH_TEXT]; /* "" = no receipt was given */
	const char *canary;             /* the first one; "" = none. Valid until audit_free. */
	struct canaries canaries;
};

/* What a run tells its caller. No member but `user` and `warn` may be NULL. */
struct audit_events {
	void *user;
	void (*begin)(void *user, size_t games); /* so many games will be told as done */
	void (*game)(void *user);
	bool (*stop)(void *user);
	void (*warn)(void *user, const char *words); /* before the work; NULL = nobody is told */
};

/* Runs the audit; audit_free frees it after success. Games are kept beside the output, with
 * TRIALS_FILE and AUDIT_CONTROL behind its name, until audit_done. OK also where a claim is
 * contradicted: see audit->verdict.
 * INPUT: a file cannot be read or is not the receipt's. LEDGER: the receipt does not hold, or texts
 * are not its output. USAGE: more guesses than records. PARTIAL: stopped; the same command goes
 * on. Else as generate_open and games_play. */
enum cuttle_status audit_run(const struct audit_request *request, const struct setup_model *opened,
                             const struct audit_events *events, struct audit *audit,
                             struct cuttle_error *error);
void audit_free(struct audit *audit);
/* The report is written: removes the files of games. */
void audit_done(const struct audit_request *request);

#define AUDIT_CONTROL ".control" TRIALS_FILE

#endif
