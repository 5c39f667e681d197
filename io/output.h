// SPDX-License-Identifier: Apache-2.0
// The output of a run: texts into OUT.part, tokens into OUT.journal, and at the end receipt, then OUT, each put in place in one step.
//
// The texts are a pure function of the journalled tokens. So after a kill at any moment the same command rebuilds OUT.part from the journal
// and goes on; only when OUT and its receipt stand is the journal removed. Which moment it was is read off the disk:
//   OUT and a receipt of this command that has OUT's hash   complete (a journal may be left over: it is removed)
//   a journal of this command                                to be continued
//   anything else in the way                                 another command's work: refused, unless `overwrite`
#ifndef CUTTLE_IO_OUTPUT_H
#define CUTTLE_IO_OUTPUT_H

#include "io/categories.h"
#include "io/hash.h"

enum output_format { OUTPUT_JSONL, OUTPUT_CSV };
/* By the ending of the path: CSV for .csv, else JSONL. */
enum output_format output_format_of(const char *path);

struct output_request {
	const char *path;         /* "-" = standard output: lines as they come, no journal, nothing to continue */
	const char *receipt_path; /* NULL = beside the output: out.jsonl -> out.receipt.json; none for standard output */
	const char *fingerprint;  /* HASH_TEXT */
	enum output_format format;
	size_t texts;                        /* or batches, as the job counts */
	const struct categories *categories; /* NULL = none; else each line has its category's fields */
	bool private_output;                 /* false: every line is stamped NOT PRIVATE */
	bool batches;                        /* every line names its batch, and how many of its tokens were free */
	bool overwrite;
};

struct output;

/* *complete: this very command's output stands already, there is nothing to do (and *output is NULL).
 * USAGE: another command's output, receipt or journal is in the way; another process is at work; a file cannot be created.
 * INPUT: the journal is damaged. PARTIAL: the journal's first line cannot be written. NOMEM. */
enum cuttle_status output_open(const struct output_request *request, struct output **output, bool *complete, struct cuttle_error *error);
/* Texts whose tokens are in the journal, the last perhaps half-way. */
size_t output_texts_drawn(const struct output *output);

/* For struct cuttle_job. `output_token` ignores tokens that came from the journal. Nonzero: see output_problem. */
size_t output_drawn(const struct output *output, size_t text, const int32_t **tokens);
int output_token(struct output *output, size_t text, uint32_t step, int32_t token);
int output_text(struct output *output, const struct cuttle_text *text);
/* What the last nonzero return was about: PARTIAL, or INTERNAL for standard output, which cannot be continued; OK when nothing failed. */
enum cuttle_status output_problem(const struct output *output, struct cuttle_error *error);

/* After the last text: all of it is durable; its hash. PARTIAL or INTERNAL as above. */
enum cuttle_status output_seal(struct output *output, char sha256[HASH_TEXT], struct cuttle_error *error);
/* Puts the receipt (when it has a path) and the output in place and removes the journal. PARTIAL or INTERNAL as above. */
enum cuttle_status output_publish(struct output *output, const void *receipt, size_t size, struct cuttle_error *error);
/* Where the receipt goes; NULL when nowhere. */
const char *output_receipt_path(const struct output *output);

/* Closes and nulls the handle; the journal stays unless the output was published or nothing was drawn. NULL handles are fine. */
void output_close(struct output **output);

#endif
