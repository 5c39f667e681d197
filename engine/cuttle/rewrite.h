// SPDX-License-Identifier: Apache-2.0
// rewrite.h: rewrites documents whose private parts are marked, with a proof (DP-Fusion).
// A rewriter fixes all that the guarantee depends on; a job then runs it over documents.
// Private data: contents of marks. What a job's callbacks are told may be published.
// How: the model is asked to rewrite the document, in several contexts. The public one has every
// mark blank; each private one shows the marks of one group, or of all. Blank is a placeholder that
// the caller writes, one constant per type of mark, as all texts. Each is tokenised by itself.
// Example: "Ann is 9", both words marked: public "_ is _", group 0 "Ann is _", group 1 "_ is 9".
#ifndef CUTTLE_REWRITE_H
#define CUTTLE_REWRITE_H

#include "job.h"
#include "plan.h"
#include "rewrite_budget.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUTTLE_MOST_GROUPS 16

/* All strings and arrays must be public. They are read and copied by cuttle_rewriter_make. */
struct cuttle_rewrite_params {
	size_t struct_size; /* set by the default function */

	/* Per document, of blanking one group (with CUTTLE_MIX_ALL all marks). Give epsilon or the
	 * divergence, and leave the other NaN. */
	double epsilon;
	double divergence; /* c, nats per token */
	double delta;      /* default 1e-5; recommended: at most 1 / (100 documents) */
	uint32_t alpha;    /* the order, 2..16; 0 = as suits (rewrite_budget.h) */
	enum cuttle_mix mix;
	uint32_t groups; /* G: groups 0 .. G-1, 1..16; default 1 */
	/* [groups] CUTTLE_MIX_AVERAGE only, with epsilon: each group's own. NaN = epsilon. NULL =
	 * all have epsilon. */
	const double *group_epsilons;
	uint32_t tokens;               /* T: private tokens of a document, at most; default 200 */
	uint32_t max_length;           /* U: all tokens of a document; 0 = T and the free tokens */
	struct cuttle_savings savings; /* default all off; no center, no token_bank */
	double temperature;            /* default 1.0; 1e-6..16, rounded to six decimals */
	uint32_t top_k;                /* k; default 200; 0 = the whole vocabulary */
	uint32_t context; /* prompt with document, plus U; 0 = the model's, at most 4096 */
	/* CUTTLE_INSTRUCT (default): in the model's chat format. CUTTLE_CONTINUE: plain text. */
	enum cuttle_form form;

	const char *system;      /* CUTTLE_INSTRUCT; NULL = the template's own, "" = none */
	const char *chat_format; /* CUTTLE_INSTRUCT; NULL = the model's own */
	const char *instruction; /* holds "{document}" once; NULL = cuttle's own */
	const char *prefill;     /* how each answer begins, before the text; NULL = not at all */

	bool insecure;          /* NOT PRIVATE: draws from insecure_seed */
	uint64_t insecure_seed; /* any number */
	// Results do not depend on these.
	uint32_t parallel;     /* documents in flight; 0 = as suits */
	uint32_t prompt_chunk; /* rows per pass over the prompts; 0 = as suits */
	bool no_sharing;       /* no context shares what it has in common with another */
	bool any_memory;       /* only described, never run: cuttle_rewriter_room is not asked */
	struct cuttle_stops stops; /* where texts end (stop.h); default: nowhere */
	const struct cuttle_grammar
	    *grammar; /* of each text; NULL = any. No stops, no max_length */
};

CUTTLE_API void cuttle_rewrite_params_default(struct cuttle_rewrite_params *params);

/* What a rewriter guarantees, but for the costs, which depend on the groups of a document. */
struct cuttle_rewrite_guarantee {
	double delta;
	double temperature; /* rounded to six decimals */
	enum cuttle_mix mix;
	uint32_t alpha;
	uint32_t groups;               /* G */
	uint32_t tokens;               /* T */
	uint32_t max_length;           /* U */
	struct cuttle_savings savings; /* as used */
	uint32_t top_k;
	uint32_t context;         /* longest prompt with document, plus U, in tokens */
	uint32_t document_tokens; /* a document has at most so many tokens ... */
	uint32_t document_bytes;  /* ... and bytes; a private context beyond is blank */
	uint32_t shared_prefix;   /* tokens that every prompt begins with, computed once */
	bool private_output;      /* false when the rewriter is insecure */
	uint64_t job_bytes;       /* as in struct cuttle_guarantee */
};

struct cuttle_rewriter;

/* Makes a rewriter. The model must outlive it. cuttle_rewriter_free frees it.
 * USAGE: a parameter is out of range, or the model has no weights. NOMEM: as cuttle_plan_make. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_rewriter_make(struct cuttle_model *model, const struct cuttle_rewrite_params *params,
                     struct cuttle_rewriter **rewriter, struct cuttle_error *error);
/* Frees it and sets the handle to NULL. A NULL handle is fine. */
CUTTLE_API void cuttle_rewriter_free(struct cuttle_rewriter **rewriter);
CUTTLE_API void cuttle_rewriter_describe(const struct cuttle_rewriter *rewriter,
                                         struct cuttle_rewrite_guarantee *guarantee);
/* The prompt in one canonical string, for hashing, with "{document}". It is the rewriter's. */
CUTTLE_API const char *cuttle_rewriter_template(const struct cuttle_rewriter *rewriter);
/* As cuttle_plan_fits. NOMEM: a job may not fit the memory that is available now. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_rewriter_room(const struct cuttle_rewriter *rewriter, struct cuttle_error *error);

/* Costs of a document. Bit g of `present`: group g has a mark in it. `group` has one, or is
 * CUTTLE_EVERY_GROUP; anything else is a caller bug. */
CUTTLE_API void cuttle_rewriter_cost(const struct cuttle_rewriter *rewriter, uint32_t present,
                                     uint32_t group, struct cuttle_rewrite_cost *cost);
/* What a ledger is charged, before the first token: T times the loss of all groups, at alpha. */
CUTTLE_API double cuttle_rewriter_loss(const struct cuttle_rewriter *rewriter, uint32_t present);

/* Checks the public text of a document, all marks blank; ask for each before any draw. USAGE: it is
 * not UTF-8, or has more than document_tokens or document_bytes. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_rewriter_fits(const struct cuttle_rewriter *rewriter, const char *text, size_t size,
                     struct cuttle_error *error);

struct cuttle_rewrite_job {
	size_t struct_size; /* set by the default function */
	size_t documents;   /* N: documents 0 .. N-1 */
	void *user;         /* first argument of the callbacks */

	/* PUBLIC: the groups that have a mark in the document, as bits. Always the same. */
	uint32_t (*groups)(void *user, size_t document);

	/* Sets *text and *size to the document with the contents of one group: CUTTLE_NO_GROUP
	 * shows none, CUTTLE_EVERY_GROUP all. It is valid until the next call. It may not fail:
	 * NULL is blank; so is a private text not UTF-8, too long, or not finite in the model. */
	void (*context)(void *user, size_t document, uint32_t group, const char **text,
	                size_t *size);

	/* As in struct cuttle_job; `text` of drawn and token is the document's number. */
	size_t (*drawn)(void *user, size_t text, const int32_t **tokens);
	int (*token)(void *user, size_t text, uint32_t step, int32_t token);
	int (*text)(void *user, const struct cuttle_text *text);
	int (*progress)(void *user, const struct cuttle_progress *progress);
};
CUTTLE_API void cuttle_rewrite_job_default(struct cuttle_rewrite_job *job);
/* Checks the groups of all documents; ask before any charge. Calls `groups` alone. USAGE: there are
 * more than 64 sets of groups with unlike epsilons. NOMEM. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_rewriter_takes(const struct cuttle_rewriter *rewriter, const struct cuttle_rewrite_job *job,
                      struct cuttle_error *error);
/* Rewrites all documents. Without a mark, or with T tokens spent, a text is drawn from the public
 * context alone. Statuses as cuttle_job_run, USAGE also as cuttle_rewriter_fits and _takes. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_rewriter_run(struct cuttle_rewriter *rewriter, const struct cuttle_rewrite_job *job,
                    struct cuttle_error *error);

#ifdef __cplusplus
}
#endif

#endif
