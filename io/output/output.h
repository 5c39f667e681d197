// SPDX-License-Identifier: Apache-2.0
// output.h: writes the texts of a run to a file that can be continued, or to standard output.
//
// Drawn tokens, texts and the receipt pass through, all of them output. Of the private input it is
// told a keyed digest alone.
//
// A run that writes OUT has these files beside it until its end:
//   OUT.journal      every drawn token (io/output/journal.h)
//   OUT.journal.key  the key that binds the run to its input (io/output/binding.h)
//   OUT.lots         with lots, the key that they follow from (io/records/lots.h)
//   OUT.part-TAG     the lines of OUT so far; TAG comes from the key, so no other file has the name
// and, where texts may be dropped, OUT.dropped.jsonl.part-TAG, which becomes OUT.dropped.jsonl.
// The texts follow from the journalled tokens alone. So after a kill at any moment the same command
// rebuilds OUT.part-TAG from the journal and goes on. What becomes of a text (io/text/filters.h) is
// decided when its line is written, so in the order of the index, whichever text was finished
// first.
#ifndef CUTTLE_IO_OUTPUT_OUTPUT_H
#define CUTTLE_IO_OUTPUT_OUTPUT_H

#include "engine/cuttle/job.h"
#include "io/records/categories.h"
#include "io/text/filters.h"
#include "io/disk/hash.h"
#include "io/output/journal.h"
#include "io/records/lots.h"
#include <jansson.h>

enum { OUTPUT_CELL = 512 };
enum output_format { OUTPUT_JSONL, OUTPUT_CSV };
/* By the ending of the path: CSV for .csv, else JSONL. */
enum output_format output_format_of(const char *path);

/* The word for it in a line: "eos", "stop" or "length". */
const char *output_finish(enum cuttle_finish finish);

struct output_request {
	/* "-" = standard output: lines go out at once, without a journal. Such a run cannot be
	 * continued. */
	const char *path;
	/* NULL = beside the output: out.jsonl -> out.receipt.json; none for standard output. */
	const char *receipt_path;
	const char *fingerprint; /* of the command; HASH_TEXT */
	enum output_format format;
	size_t texts; /* how many the run draws; with `batches`, how many batches */
	const struct categories *categories; /* NULL = none; else each line has its category's
	                                        fields */
	bool private_output;                 /* false: every line is stamped NOT PRIVATE */
	/* Makes the object of a text's line, behind which the stamp may come. NULL = a line of
	 * generate. Only for JSONL. */
	json_t *(*line)(void *user, const struct cuttle_text *text);
	/* Likewise for CSV: [cell_count] names of columns behind those of every text, and the words
	 * of a text's cell. These have at most OUTPUT_CELL bytes, and are valid until the next
	 * call. */
	const char *const *cell_names;
	size_t cell_count;
	const char *(*cell)(void *user, const struct cuttle_text *text, size_t column);
	bool objects; /* a text is the object of its line, as it is; in CSV see `columns` */
	bool batches; /* each line also has its batch, and how many of its tokens were free */
	/* Of one shard of a run: the run's batches begin, begin + stride, ... below `texts` are
	 * written, and lines also have their tokens, for cuttle merge. stride 0 = all, as usual. */
	size_t begin;
	size_t stride;
	const char *
	    taken; /* path that says who has taken the shard (io/output/shard.h); NULL = no shard */
	struct filters filters;           /* dropping needs a path that is not standard output */
	const struct filter_scale *scale; /* as filters_open takes it */
	/* Texts were judged and kept before this output: theirs, the caller's. NULL = none were. */
	struct filter_past *past;
	bool overwrite;
	/* Path of OUT.run. Where it stands, a ledger was charged for a run of this name. It is
	 * looked at while the journal is locked, and goes before the lock does. NULL = none. */
	const char *charge;
	/* Pays for the run where its journal replaces another one, before that is touched: a run
	 * that may not begin takes nothing away. `scratch` as output_scratch. NULL = nobody pays.
	 */
	enum cuttle_status (*pay)(void *payer, const char *scratch, struct cuttle_error *error);
	void *payer;
	/* Nothing is drawn: the texts stand elsewhere. So writing them again costs nothing, and is
	 * done without --overwrite where a receipt stands and its output does not. */
	bool drawn_before;
	/* The lots of the run, with a new key and the number of records. Where the run is continued
	 * the key becomes that of its file. NULL = no lots. */
	struct lots *lots;
	/* [column_count] In CSV the members of a line's object that are its cells: strings and
	 * whole numbers. A member that is missing is an empty cell. 0 = the line of a drawn text.
	 */
	const char *const *columns;
	size_t column_count;
	/* Writes into `digest`, as HASH_TEXT, the digest under `key` of all that the run will read.
	 * Not called for standard output. */
	void (*digest)(void *user, const unsigned char *key, char *digest);
	void *user; /* first argument of `line`, `cell` and `digest` */
};

struct output;

/* Looks at the files that stand and decides by them:
 *   OUT, and this command's receipt with OUT's hash    complete; its left-over journal is removed
 *   this command's journal, begun with this input      the run is continued
 *   this command's journal, begun with another input   refused, unless `overwrite`
 *   this command's journal, and its lots are gone      refused, unless `overwrite`
 *   lots of another number of records, and a journal   refused, unless `overwrite`
 *   a file OUT.journal that is no journal of cuttle    refused, always; so a file OUT.lots, with
 *                                                      lots
 *   a shard that was taken, and not this journal   refused with LEDGER, also with `overwrite`
 *   a file OUT.dropped.jsonl that this run did not put refused, unless `overwrite`, where texts may
 *                                                      be dropped
 *   anything else, such as another command's work      refused, unless `overwrite`
 * When complete, *complete is true, *output is NULL and nothing is left to do.
 * USAGE: refused, as above; the file of the key is no key, or a path is no regular file; another
 * process is at work; a file cannot be created. INPUT: the journal is damaged, or the input has
 * another number of records than the lots, without `overwrite`; the journal or OUT cannot be read.
 * PARTIAL: the lots are gone, without `overwrite`; a key, the journal's first line or the output's
 * header row cannot be written. INTERNAL: the header row cannot be written to standard output;
 * libsodium cannot begin. NOMEM. */
enum cuttle_status output_open(const struct output_request *request, struct output **output,
                               bool *complete, struct cuttle_error *error);
/* What the names of scratch files of this output end in: ".part-" and a tag. The tag comes from the
 * key beside the journal, so what a killed run left is found again. "" for standard output. */
const char *output_scratch(const struct output *output);
/* A number below 2^53 that belongs to this output until it is published: a run that is continued
 * gets the same. It comes from the key beside the journal. For standard output each call draws one.
 * It is public: the key does not follow from it. */
uint64_t output_seed(const struct output *output);
/* Whether this very run's journal stood when it was opened, if only its first line. */
bool output_stood(const struct output *output);
/* From now on the journal stays until the output is published, if only its first line: somebody
 * else, such as a ledger, is about to name it. */
void output_hold(struct output *output);
/* How many texts have tokens in the journal. The last of them may be incomplete. */
size_t output_texts_drawn(const struct output *output);

/* Adds the member "id" to the object of a line. id[size] is JSON, as records_id writes it; NULL =
 * no member. Takes the object. NULL: it was NULL, or out of memory. */
json_t *output_add_id(json_t *line, const char *id, size_t size);

/* How far the journal has come, as journal_mark; for standard output nothing, 0 bytes. */
int output_mark(void *output, uint64_t most, struct journal_mark *mark);

/* The noisy counts that the journal held when it was opened, for a run of private clusters. Returns
 * how many; 0: none, so that they are still to be drawn. *counts points at them until
 * output_close. */
size_t output_clusters(const struct output *output, const int64_t **counts);
/* Makes counts[count] durable, before anything follows from them. Standard output keeps none.
 * Errors as output_problem. */
enum cuttle_status output_keep_clusters(struct output *output, const int64_t *counts, size_t count,
                                        struct cuttle_error *error);

/* The run writes so many texts, as its counts gave it no more: at most those of the request. */
void output_shorten(struct output *output, size_t texts);

/* The next three are for struct cuttle_job. */
/* How many tokens of this text the journal held when it was opened; *tokens lists them, until
 * output_close. */
size_t output_drawn(const struct output *output, size_t text, const int32_t **tokens);
/* Writes a token into the journal, but ignores one that came from there. A shard is taken before
 * its first one is written. Nonzero: see output_problem. */
int output_token(struct output *output, size_t text, uint32_t step, int32_t token);
/* Writes the line of a finished text: trimmed, and to the output or to the dropped ones. Nonzero:
 * see output_problem; a scale that failed is among what it tells. */
int output_text(struct output *output, const struct cuttle_text *text);
/* Whether the last text that output_text took was kept. */
bool output_kept(const struct output *output);
/* Why the last call returned nonzero. PARTIAL: a file; the same command continues. INTERNAL:
 * standard output, which cannot be continued. LEDGER: another has taken the shard. OK: no call
 * did. */
enum cuttle_status output_problem(const struct output *output, struct cuttle_error *error);

/* After the last text: makes all lines durable and gives their hash. PARTIAL or INTERNAL as
 * above. */
enum cuttle_status output_seal(struct output *output, char sha256[HASH_TEXT],
                               struct cuttle_error *error);
/* What became of all texts, after the last one; with the hash of the dropped ones after
 * output_seal. */
const struct filter_counts *output_counts(const struct output *output);
/* The ending of OUT that the dropped texts' path has. */
#define OUTPUT_DROPPED ".dropped.jsonl"

/* Puts the receipt (when it has a path) in place, then the dropped texts, then the output, then
 * removes what stood beside it, the journal last. Each appears whole, in one step. PARTIAL or
 * INTERNAL as above. */
enum cuttle_status output_publish(struct output *output, const void *receipt, size_t size,
                                  struct cuttle_error *error);
/* Where the receipt of an output file goes by default, to be freed; NULL when out of memory. */
char *output_receipt_beside(const char *path);
/* Whether a command of this fingerprint has begun or finished the output at path: its journal or
 * its receipt (NULL = beside the output) says so. */
bool output_stands(const char *path, const char *receipt, const char *fingerprint);
/* Where the receipt goes; NULL when nowhere. */
const char *output_receipt_path(const struct output *output);

/* Closes and nulls the handle. The journal goes where the output was published. It goes where this
 * call made it, nothing is in it and it is not held. NULL handles are fine. */
void output_close(struct output **output);

#endif
