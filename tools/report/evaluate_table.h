// SPDX-License-Identifier: Apache-2.0
// evaluate_table.h: writes an evaluation's table as Markdown, JSON or CSV.
//
// Of private references every number is private. Each form then says so in itself: Markdown and CSV
// in words, JSON as "private":true. Example, a line of the CSV:
//     run,"ink.jsonl",true,500,0,0.984,0.004,...
#ifndef CUTTLE_TOOLS_REPORT_EVALUATE_TABLE_H
#define CUTTLE_TOOLS_REPORT_EVALUATE_TABLE_H

#include "io/disk/file.h"
#include "workflow/evaluate/evaluate.h"

enum evaluate_form { EVALUATE_MARKDOWN, EVALUATE_JSON, EVALUATE_CSV };

/* What a table says beside its numbers. */
struct evaluate_facts {
	const char *stamp;                  /* what the table says of itself; NULL = nothing */
	bool imported;                      /* vectors are not the model's */
	const char *model;                  /* name of the model */
	const char *model_sha256;           /* of its file */
	const char *against;                /* path of the references */
	const char *task;                   /* field; NULL = none */
	const struct evaluate_asked *asked; /* delta 0: the references were read */
};

enum { EVALUATE_SENTENCE = 768 };
/* What was asked of the references, and what that costs, in one line. Behind a chosen seed it
 * begins with NOT PRIVATE. */
void evaluate_sentence(const struct evaluation *evaluation, const struct evaluate_facts *facts,
                       char sentence[EVALUATE_SENTENCE]);

/* The table's bytes, which secrecy_free frees; *size is their number. NULL: out of memory. */
char *evaluate_render(enum evaluate_form form, const struct evaluation *evaluation,
                      const struct evaluate_facts *facts, size_t *size);

#endif
