// SPDX-License-Identifier: Apache-2.0
// evaluate_table.h: writes an evaluation's table as Markdown, JSON or CSV.
//
// Called by tools/evaluate.c. Of private references every number is private: each form then says so
// in itself, Markdown and CSV in words, JSON as "private":true. Example, a line of the CSV:
//     run,"ink.jsonl",true,500,0,0.984,0.004,...
#ifndef CUTTLE_TOOLS_EVALUATE_TABLE_H
#define CUTTLE_TOOLS_EVALUATE_TABLE_H

#include "io/file.h"
#include "workflow/evaluating.h"

#define EVALUATE_STAMP                                                                             \
	"PRIVATE: computed from the references without protection. Keep it where the references "  \
	"are; do not publish it."

enum evaluate_form { EVALUATE_MARKDOWN, EVALUATE_JSON, EVALUATE_CSV };

/* What a table says beside its numbers. */
struct evaluate_facts {
	bool is_private;          /* the table is stamped */
	bool imported;            /* vectors are not the model's */
	const char *model;        /* name of the model */
	const char *model_sha256; /* of its file */
	const char *against;      /* path of the references */
	const char *task;         /* field; NULL = none */
};

/* Writes it to an open sink. INTERNAL: as sink_write. NOMEM. */
enum cuttle_status evaluate_write(struct sink *sink, enum evaluate_form form,
                                  const struct evaluation *evaluation,
                                  const struct evaluate_facts *facts, struct cuttle_error *error);

#endif
