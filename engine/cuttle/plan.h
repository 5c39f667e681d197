// SPDX-License-Identifier: Apache-2.0
// plan.h: a plan fixes all that the guarantee depends on, before any private text is read.
// It is made between opening a model and running jobs.
// No private data: all parameters are public.
// Example: params.epsilon = 10, cuttle_plan_make; cuttle_plan_describe then tells the clip.
#ifndef CUTTLE_PLAN_H
#define CUTTLE_PLAN_H

#include "drawn.h"
#include "grammar.h"
#include "guarantee.h"
#include "status.h"
#include "stop.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuttle_model; /* model.h */

/* How the prompts are written. */
enum cuttle_form {
	/* Plain text: a collection of KINDs, each under "### KIND". */
	CUTTLE_CONTINUE,

	/* The model's own chat format asks for one new KIND. */
	CUTTLE_INSTRUCT,

	/* prompt_public and prompt_private as given. The private one holds "{reference}" once. */
	CUTTLE_CUSTOM
};

/* Rows of one step (B + 1 for each text in flight) that a plan aims at when it may choose
 * `parallel`. They keep the machine busy: twice the rows then take twice the time. Example: B = 7
 * is 8 rows a text, so 4 texts; B = 40 is 41, so 1. */
enum { CUTTLE_STEP_ROWS = 32 };

/* All strings and arrays must be public. cuttle_plan_make reads and copies them: nobody reads them
 * afterwards. */
struct cuttle_plan_params {
	size_t struct_size; /* set by the default function */
	/* Epsilon of the accountant below. Give epsilon or the clip, and leave the other NaN. */
	double epsilon;
	double clip;        /* in nats; rounded down to a multiple of 2^-fraction_bits */
	double delta;       /* default 1e-6 */
	double temperature; /* default 1.0; rounded to six decimals */
	uint32_t batch;     /* B: private rows per text; default 7. Each has R references: shots */
	uint32_t tokens;    /* T: hard cap of private tokens per batch; default 200 */
	/* G: one person's references stand in at most so many texts, at most one in each. The
	 * guarantee is for all of them together. Default 1. */
	uint32_t spread;
	uint32_t top_k; /* k; default 100; 0 = the whole vocabulary */
	/* Longest prompt plus text, in tokens. 0 = the model's context, at most 4096. */
	uint32_t context;
	enum cuttle_accountant accountant; /* default CUTTLE_EXACT */
	struct cuttle_savings savings;     /* default: center */
	enum cuttle_form form;             /* default CUTTLE_CONTINUE */
	const char *kind; /* what a text is, for the prompts: "clinical note"; default "text" */
	/* CUTTLE_INSTRUCT: system message. NULL = the template's own, "" = none. */
	const char *system;
	/* CUTTLE_INSTRUCT: name of a format, as in cuttle_model_info. NULL = the model's own. */
	const char *chat_format;

	const char *prompt_public, *prompt_private; /* CUTTLE_CUSTOM only */
	/* [example_count] public example texts. In every prompt they stand before the heading and
	 * the reference; in CUTTLE_CUSTOM they stand before everything. */
	const char *const *examples;

	/* [heading_count] public lines such as "genre: sea". A job's prompts have one of them. In
	 * CUTTLE_CUSTOM it stands at "{category}". */
	const char *const *headings;

	size_t example_count; /* above 0: examples, and each of them, may not be NULL */
	size_t heading_count; /* above 0: headings, and each of them, may not be NULL */

	/* NOT PRIVATE: draws from insecure_seed, so the output is a function of the data. */
	bool insecure;
	uint64_t insecure_seed; /* any number */
	// Results do not depend on these.
	uint32_t parallel;     /* texts in flight; 0 = as suits, see CUTTLE_STEP_ROWS */
	uint32_t prompt_chunk; /* rows per pass over the prompts; 0 = as suits */
	bool no_sharing;       /* gives each context its own copy of the shared prefix */
	bool any_memory;       /* only described, never run: cuttle_plan_fits is not asked */

	/* How much what the references say counts, 1 to 3, rounded to hundredths. A larger gain
	 * clips each of them to less, so that the guarantee is the same. Default 0: 2 where the
	 * clip at gain 1 is at least 3/4 of the temperature and B is at least 7, else 1. With a
	 * clip given instead of epsilon, that clip holds at this gain, and 0 is 1. */
	double gain;

	/* [lot_count] the lots by which references come into batches (lots.h). Epsilon and delta
	 * are then the run's. NULL = by index. */
	const struct cuttle_lots *lots;
	size_t lot_count; /* clusters; 0 = no lots */
	/* Private clusters, beside its one entry of lots; else NULL. */
	const struct cuttle_histogram *histogram;
	/* [heading_count] of each heading's prompts, ended by NULL. NULL = all have `examples`. */
	const char *const *const *heading_examples;
	/* Room for texts drawn before, in prompts of jobs' own (job.h). NULL = none. */
	const struct cuttle_drawn *drawn;
	enum cuttle_method method;                 /* default CUTTLE_INVISIBLEINK */
	struct cuttle_method_params method_params; /* default: none given */
	struct cuttle_stops stops; /* where texts end (stop.h); default: none given */
	/* R: references of each row, 1 to 64; default 1. A null one takes its row with it
	 * (dp/PRIVACY.md, step 54). Not with a histogram. */
	uint32_t shots;
	/* [grammar_count] texts are of these (grammar.h), which outlive the plan: one for all
	 * headings, or one for each. 0 = any text. Only InvisibleInk; no bank, no stops. */
	const struct cuttle_grammar *const *grammars;
	size_t grammar_count;
};

/* Sets all members to their defaults. Epsilon and the clip are NaN: set one of them. */
CUTTLE_API void cuttle_plan_params_default(struct cuttle_plan_params *params);

struct cuttle_plan;
/* Makes a plan, to be freed. It keeps nothing of params. The model must outlive the plan.
 * USAGE: a parameter is out of range, prompts plus tokens do not fit the context, or the model has
 * no weights.
 * INTERNAL: the exhaustive check of the weight table failed.
 * NOMEM: also when a job would need more memory than the system says is available. That is counted
 * for the longest contexts that the plan allows. Jobs map that much, but touch only what their
 * texts need. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status
cuttle_plan_make(struct cuttle_model *model, const struct cuttle_plan_params *params,
                 struct cuttle_plan **plan, struct cuttle_error *error);

/* Frees the plan and sets the handle to NULL. A NULL handle is fine. */
CUTTLE_API void cuttle_plan_free(struct cuttle_plan **plan);

/* Checks that a job of the plan, with its job_bytes, fits the memory that the system has available
 * now. cuttle_plan_make asks this, unless the plan may have any_memory. Ask before private texts
 * take memory: how much is left later must not decide how a job ends. NOMEM: it may not fit; the
 * message says how much is needed and how much there is. */
CUTTLE_API CUTTLE_CHECKED enum cuttle_status cuttle_plan_fits(const struct cuttle_plan *plan,
                                                              struct cuttle_error *error);

/* Fills *guarantee (guarantee.h). */
CUTTLE_API void cuttle_plan_describe(const struct cuttle_plan *plan,
                                     struct cuttle_guarantee *guarantee);
/* The prompts under heading number `heading`, in one canonical string for hashing. Without headings
 * the number is 0. NULL when there is no such heading. The string is public, since it holds
 * "{reference}" in the place of the reference. It belongs to the plan. */
CUTTLE_API const char *cuttle_plan_template(const struct cuttle_plan *plan, size_t heading);

#ifdef __cplusplus
}
#endif

#endif
