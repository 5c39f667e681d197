// SPDX-License-Identifier: Apache-2.0
// request.h: all that a run needs, as values: paths, fields, numbers.
//
// Whoever wants a run fills it. The other files of workflow/ read it and change nothing in it. No
// private data is in it, and no option parser either. For example:
//
//     struct generate_request request;
//     generate_default(&request);
//     request.input = "notes.jsonl", request.output = "out.jsonl", request.plan.epsilon = 3;
//     status = generate_check(&request, &error);
//     if (!status) status = generate_paths(&request, &error);
//
// Messages name a member as the option of generate does: --unit-key, -o.
#ifndef CUTTLE_WORKFLOW_REQUEST_H
#define CUTTLE_WORKFLOW_REQUEST_H

#include "engine/cuttle/plan.h"
#include "io/output/output.h"
#include "io/records/records.h"
#include "io/shards/shard_run.h"
#include "workflow/common.h"

/* Whether lots decide which records a text is written from (io/records/lots.h). */
enum run_lots {
	RUN_LOTS_AUTO, /* where they buy a larger clip (engine/cuttle/lots.h) */
	RUN_LOTS_ON,
	RUN_LOTS_OFF
};
/* What a ledger is charged: a run's rho, or its epsilon and delta (io/ledger/ledger.h). */
enum run_charge {
	/* As the data set was charged before; its first run with lots epsilon, else rho. */
	RUN_CHARGE_AUTO,
	RUN_CHARGE_EPSILON,
	RUN_CHARGE_RHO
};

/* All records of a unit are read, and who has how many is declared public. */
#define RUN_RECORDS_ALL UINT64_MAX

/* One shard of a run that was opened (workflow/shards.h). The request then writes it alone, reads
 * its references from the run's folder, and opens neither input nor ledger. */
struct run_shard {
	struct shard_run run;
	struct shard_number number;
	char command[HASH_TEXT]; /* fingerprint of the shard's own command */
	char *texts;             /* paths of its references, of its taker, of its lines */
	char *taken;
	char *lines;
};

/* As struct common_request: NULL is none, and all must outlive what is made from the request. */
struct generate_request {
	struct common_request common;
	/* What the plan takes. generate_open adds what it reads from the files named below (own
	 * prompts, examples, headings) and the spread, which follows from records_per_unit. */
	struct cuttle_plan_params plan;
	const char *delimiter;       /* between the columns of CSV */
	const char *text_field;      /* field or column with the document */
	const char *public_examples; /* path */
	const char *examples_field;  /* field of the public examples; NULL = text_field */
	const char *prompt_public;   /* path of an own prompt; with it the plan's form is CUSTOM */
	const char *prompt_private;  /* path of an own prompt */
	const char *categories;      /* "A,B,C" or a path (io/records/categories.h) */
	const char *bias;            /* path of a learnt bias, its receipt beside it */
	const char *grammar;         /* path of the texts' grammar, GBNF; NULL = any text */
	const char *schema;          /* path of a JSON Schema that each record is one of; NULL */
	const char *trace;           /* path of the PRIVATE diagnostics */
	const char *const *category_fields; /* [category_field_count] fields of the category */
	size_t category_field_count;        /* at most CATEGORY_FIELDS */
	uint64_t texts;                     /* N, or batches with a token bank */
	uint64_t examples_per_text;         /* E, public examples that a prompt shows; 0 = all */
	uint64_t rounds;           /* 1, or 2: later texts show earlier ones (workflow/rounds.h) */
	uint64_t texts_per_share;  /* texts of a category for each share of 1; 0 = deal out N */
	uint64_t records_per_unit; /* G, most records of one unit that are read, one per text;
	                              RUN_RECORDS_ALL; 0 = not said */
	enum records_format input_format;
	enum output_format output_format;
	struct filters filters; /* what is done with a text once it is drawn; default: trim */
	enum run_lots lots;
	enum run_charge charge;
	/* The accountant was asked for. Else, with a ledger, it is the one of what is charged. */
	bool accountant_chosen;
	bool category_public; /* the category of each record is declared public */
	const char *clusters; /* clusters file: records are private in its clusters; NULL = none */
	const struct run_shard *shard; /* NULL = the whole run */
};

/* Sets the defaults: those of the library, 100 texts, the field "text", the time now. */
void generate_default(struct generate_request *request);

/* Whether records have categories that stay private, or clusters, which do. */
static inline bool generate_private(const struct generate_request *request) {
	return (request->categories && !request->category_public) || request->clusters;
}

/* Whether each text is one of a grammar. */
static inline bool generate_guided(const struct generate_request *request) {
	return request->grammar || request->schema;
}

/* Whether owners have lots: how many there are is private. */
static inline bool generate_owners(const struct generate_request *request) {
	return request->common.unit_key && request->lots == RUN_LOTS_ON;
}

/* Whether how many records or owners a cluster has is told with noise alone, or the whole file. */
static inline bool generate_counts(const struct generate_request *request) {
	return generate_private(request) || generate_owners(request);
}

/* Checks what contradicts itself, before any file is opened. USAGE: the message says what. */
enum cuttle_status generate_check(const struct generate_request *request,
                                  struct cuttle_error *error);

/* Checks every path that the run may open: none that it reads may be one that it writes. Then, that
 * the records are in no foreign format, by their names: a model takes long to open for nothing.
 * What is NULL is left out, as a dry run may lack it. Opens nothing. Errors as paths_check, then as
 * records_check_name. */
enum cuttle_status generate_paths(const struct generate_request *request,
                                  struct cuttle_error *error);

#endif
