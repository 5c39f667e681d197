// SPDX-License-Identifier: Apache-2.0
// How output.h keeps its promise.
//
// Every byte goes through append_output, which also hashes it for the receipt. output_token writes
// a token to the journal before anybody sees it; output_text syncs the journal before it writes a
// line. At the start, read_standing looks at the files that stand, and refuse_standing says what is
// in the way. Standard output has no journal, binding or part; all the rest is the same.
#include "io/output/output.h"

#include "base/misuse.h"
#include "io/output/binding.h"
#include "io/disk/fail.h"
#include "io/disk/formats.h"
#include "io/disk/jsonout.h"
#include "io/receipts/receipt.h"
#include "io/output/shard.h"
#include <csv.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	SCRATCH_TAG = 16, /* hex digits of the key's hash in a scratch name */
	TAKER = 128       /* bytes for who takes a shard */
};

struct output {
	struct output_request request;                    /* its strings are the caller's */
	char scratch[sizeof FILE_PART + SCRATCH_TAG + 1]; /* ".part-TAG"; "" = standard output */
	char *part;               /* path OUT.part-TAG; NULL = standard output */
	char *receipt;            /* path; NULL = no receipt */
	char *receipt_part;       /* path RECEIPT.part-TAG; NULL = standard output */
	int file;                 /* descriptor of part or standard output; -1 = none yet */
	char *dropped;            /* path OUT.dropped.jsonl; NULL = no text is dropped */
	char *dropped_part;       /* path OUT.dropped.jsonl.part-TAG; NULL = none */
	int dropped_file;         /* its descriptor; -1 = none yet */
	struct hash dropped_hash; /* of all that was written to it */
	struct filter_past *past; /* the texts that were kept; NULL = those of the request */
	struct filter_counts counts;
	bool kept;               /* the last text */
	struct journal *journal; /* NULL for standard output */
	bool stood;              /* it is this run's from before */
	struct binding binding;
	char *lots_path;             /* OUT.lots; NULL = standard output */
	char lots_check[LOTS_CHECK]; /* of the lots that the journal must name */
	char input[HASH_TEXT];       /* digest of what the run will read */
	struct hash hash;            /* of all bytes of the output so far */
	size_t texts_done;           /* lines written */
	size_t batches_done;         /* batches up to that of the last line */
	bool taken;                  /* this journal has taken the shard */
	bool begun;                  /* and its tokens may be seen */
	enum cuttle_status status;   /* of the last failure; OK = none */
	struct cuttle_error problem; /* its message */
};

enum output_format output_format_of(const char *path) {
	return file_ends_in(path, ".csv") ? OUTPUT_CSV : OUTPUT_JSONL;
}

static bool is_streamed(const struct output_request *request) {
	return !strcmp(request->path, "-");
}

/* Keeps status and message for output_problem. `what` names the file, as an ending of OUT. Returns
 * -1. */
static int note_problem(struct output *output, const char *what, int problem) {
	if (output->part)
		output->status =
		    io_fail(&output->problem, CUTTLE_PARTIAL,
		            "cannot write %s%s: %s; the same command continues from here",
		            output->request.path, what, strerror(problem));
	else
		output->status =
		    io_fail(&output->problem, CUTTLE_INTERNAL, "cannot write standard output%s: %s",
		            what, strerror(problem));
	return -1;
}

enum cuttle_status output_problem(const struct output *output, struct cuttle_error *error) {
	if (output->status && error) *error = output->problem;
	return output->status;
}

static int append_dropped(struct output *output, const char *bytes, size_t size) {
	const int problem = file_write(output->dropped_file, bytes, size);
	if (problem) return note_problem(output, OUTPUT_DROPPED ".part", problem);
	hash_add(&output->dropped_hash, bytes, size);
	return 0;
}

static int append_output(struct output *output, const char *bytes, size_t size) {
	int problem = file_write(output->file, bytes, size);
	if (problem) return note_problem(output, output->part ? ".part" : "", problem);
	hash_add(&output->hash, bytes, size);
	return 0;
}

/* Writes a comma and a CSV cell of at most OUTPUT_CELL bytes, which are public. Quoting doubles
 * them at most and adds 2. */
static int append_cell(struct output *output, const char *words) {
	char cell[1 + 2 * OUTPUT_CELL + 2] = ",";
	const size_t size = csv_write(cell + 1, sizeof cell - 1, words, strlen(words));
	REQUIRE(size < sizeof cell);
	return append_output(output, cell, 1 + size);
}

/* Whether a name is another one without quotes. Programs take spaces off, as cuttle does. */
static bool needs_quotes(const char *name, size_t size) {
	return strpbrk(name, ",\"\r\n") ||
	       (size && (memchr(" \t", *name, 2) || memchr(" \t", name[size - 1], 2)));
}

/* Writes the name of a column, in quotes where it needs them. */
static int append_name(struct output *output, const char *name, bool comma) {
	const size_t size = strlen(name), most = csv_write(NULL, 0, name, size);
	char *cell = malloc(most + 2);
	size_t used = 0;
	if (!cell) return note_problem(output, "", ENOMEM);
	if (comma) cell[used++] = ',';
	if (needs_quotes(name, size)) used += csv_write(cell + used, most, name, size);
	else used += (size_t)snprintf(cell + used, most, "%s", name);
	const int status = append_output(output, cell, used);
	free(cell);
	return status;
}

/* Begins the hashes; in CSV writes the header row. */
static int begin_lines(struct output *output) {
	hash_begin(&output->hash);
	hash_begin(&output->dropped_hash);
	if (output->request.format != OUTPUT_CSV) return 0;
	const char *const end = output->request.private_output ? "\r\n"
	                        : output->request.objects      ? ",NOT PRIVATE\r\n"
	                                                       : ",private,note\r\n";
	for (size_t i = 0; i < output->request.column_count; i++)
		if (append_name(output, output->request.columns[i], i > 0)) return -1;
	if (output->request.column_count) return append_output(output, end, strlen(end));
	const struct categories *categories = output->request.categories;
	const char *begin = output->request.batches ? "index,text,tokens,finish,batch,free"
	                                            : "index,text,tokens,finish";
	int status = append_output(output, begin, strlen(begin));
	for (size_t i = 0; !status && i < output->request.cell_count; i++)
		status = append_cell(output, output->request.cell_names[i]);
	for (size_t i = 0; !status && categories && i < categories->field_count; i++)
		status = append_cell(output, categories->fields[i]);
	return status ? status : append_output(output, end, strlen(end));
}

/* ---- what stands already --------------------------------------------------------------------- */

struct standing {
	bool output;       /* OUT exists */
	bool receipt;      /* a file stands where the receipt goes */
	bool receipt_ours; /* it is a receipt of this command */
	bool complete;     /* and OUT has the hash that it names */
	bool dropped;      /* OUT.dropped.jsonl exists, and texts may be dropped */
	enum journal_state journal;
};

static struct journal_owner owner_of(const struct output *output) {
	return (struct journal_owner){output->request.fingerprint, output->input,
	                              output->request.lots ? output->lots_check : NULL,
	                              output->request.begin, output->request.stride};
}

/* Who takes the shard: this command, by this journal, whose key the scratch name is of. */
static const char *name_taker(const struct output *output, char owner[TAKER]) {
	(void)snprintf(owner, TAKER, "%s %s", output->request.fingerprint, output->scratch);
	return owner;
}

/* What was drawn of a shard stands in one journal. Without that one nobody knows whether it was
 * seen, so nothing is drawn in its place. A journal of its first line alone may go on only where
 * nothing was to be seen yet. */
static enum cuttle_status refuse_taken(struct output *output, const struct standing *standing,
                                       struct cuttle_error *error) {
	char owner[TAKER];
	if (!output->request.taken) return CUTTLE_OK;
	const enum shard_taker taker = shard_look(output->request.taken, name_taker(output, owner));
	output->begun = taker == SHARD_OURS;
	output->taken = output->begun || taker == SHARD_BEGUN;
	if (taker == SHARD_NOBODY || (output->taken && standing->journal == JOURNAL_OURS) ||
	    (taker == SHARD_BEGUN && standing->journal == JOURNAL_BEGUN))
		return CUTTLE_OK;
	return io_fail(error, CUTTLE_LEDGER,
	               "%s says that this shard was begun, and its journal is not here. Bring "
	               "that back, or cuttle shard open --redraw, which pays for it again",
	               output->request.taken);
}

static enum cuttle_status read_standing(struct output *output, struct standing *standing,
                                        struct cuttle_error *error) {
	const struct output_request *request = &output->request;
	char fingerprint[HASH_TEXT], wanted[HASH_TEXT], is[HASH_TEXT];
	if (request->lots) {
		lots_look(request->lots, output->lots_path);
		lots_check_kept(request->lots, request->fingerprint, output->lots_check);
	}
	const struct journal_owner owner = owner_of(output);
	enum cuttle_status status =
	    journal_load(output->journal, &owner, request->texts, &standing->journal, error);
	if (status) return status;
	// It has drawn nothing, but it was paid for, and goes on for its charge.
	if (request->charge && file_same(request->charge, request->charge) &&
	    journal_of_other(output->journal)) {
		standing->journal = JOURNAL_OTHER;
		journal_hold(output->journal);
	}
	standing->output = file_same(request->path, request->path);
	standing->dropped = output->dropped && file_same(output->dropped, output->dropped);
	standing->receipt = receipt_read(output->receipt, fingerprint, wanted);
	standing->receipt_ours = !strcmp(fingerprint, request->fingerprint);
	if (standing->output && standing->receipt_ours) {
		status = hash_file(request->path, is, error);
		standing->complete = !status && !strcmp(is, wanted);
	}
	return status;
}

/* OK, or why this command may not begin or continue here without `overwrite`. */
static enum cuttle_status refuse_standing(const struct output *output,
                                          const struct standing *standing,
                                          struct cuttle_error *error) {
	const char *path = output->request.path;
	const char *anew = output->request.drawn_before
	                       ? "--overwrite writes it again, which costs nothing"
	                       : "--overwrite draws all texts anew and spends again";
	if (standing->output && standing->receipt_ours)
		return io_fail(error, CUTTLE_USAGE,
		               "%s was changed after this command finished it; %s", path, anew);
	if (standing->output)
		return io_fail(error, CUTTLE_USAGE,
		               "%s is not this command's output; --overwrite replaces it", path);
	const struct lots *lots = output->request.lots;
	if (lots && lots->standing == LOTS_STAND && lots->had != lots->records &&
	    standing->journal != JOURNAL_NEW)
		return io_fail(error, CUTTLE_INPUT,
		               "%s was begun with %llu records, and the input has %llu: bring "
		               "that input back to continue, or %s",
		               path, (unsigned long long)lots->had,
		               (unsigned long long)lots->records, anew);
	if (standing->journal == JOURNAL_LOST)
		return io_fail(error, CUTTLE_PARTIAL,
		               "the lots of this run are lost: bring %s back to continue, or %s",
		               output->lots_path, anew);
	if (standing->journal == JOURNAL_CHANGED && output->binding.stands)
		return io_fail(error, CUTTLE_USAGE,
		               "the input is not the one this output was begun with (%s.journal): "
		               "bring that input back to continue, or %s",
		               path, anew);
	if (standing->journal == JOURNAL_CHANGED)
		return io_fail(error, CUTTLE_USAGE,
		               "%s is gone, so nobody can tell whether the input is the one "
		               "%s.journal was begun with. Bring it back to continue, or %s",
		               output->binding.path, path, anew);
	if (standing->journal == JOURNAL_OTHER)
		return io_fail(
		    error, CUTTLE_USAGE,
		    "%s.journal belongs to another command, or another version of this one: run "
		    "that again to finish it, or --overwrite it",
		    path);
	if (standing->journal == JOURNAL_DAMAGED)
		return io_fail(error, CUTTLE_INPUT, "%s.journal is damaged; %s", path, anew);
	// A run that was stopped between its receipt and its output has put it there.
	if (standing->dropped && !(standing->journal == JOURNAL_OURS && standing->receipt_ours))
		return io_fail(error, CUTTLE_USAGE,
		               "%s is not this command's; --overwrite replaces it",
		               output->dropped);
	if (standing->receipt && !standing->receipt_ours)
		return io_fail(error, CUTTLE_USAGE,
		               "%s is another command's receipt; --overwrite replaces it",
		               output->receipt);
	if (standing->receipt && standing->journal <= JOURNAL_BEGUN &&
	    !output->request.drawn_before)
		return io_fail(error, CUTTLE_USAGE,
		               "%s says this command is done, but its output is gone; %s",
		               output->receipt, anew);
	return CUTTLE_OK;
}

/* Removes what a killed run left under this run's scratch names. The names come from its key, so
 * what stands there is its own. */
static void remove_parts(const struct output *output) {
	(void)unlink(output->part);
	(void)unlink(output->receipt_part);
	if (output->dropped_part) (void)unlink(output->dropped_part);
}

/* Fails now if the receipt could not be put in place later: after the charge, or the last text, it
 * is too late. A scratch file of a run that was killed while it put its receipt in place goes. */
static enum cuttle_status try_receipt(const struct output *output, struct cuttle_error *error) {
	struct sink sink;
	enum cuttle_status status = CUTTLE_OK;
	if (!output->receipt_part) {
		status = sink_open(&sink, output->receipt, error);
		if (!status) (void)sink_close(&sink, CUTTLE_PARTIAL, NULL);
		return status;
	}
	(void)unlink(output->receipt_part);
	const int file = open(output->receipt_part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (file < 0)
		return io_fail(error, CUTTLE_USAGE, "cannot create a file beside %s: %s",
		               output->receipt, strerror(errno));
	(void)close(file);
	(void)unlink(output->receipt_part);
	return CUTTLE_OK;
}

/* Texts without a guarantee show what the records say, so they are their owner's alone. */
static enum cuttle_status create_part(const struct output *output, const char *path, int *file,
                                      struct cuttle_error *error) {
	const mode_t mode = output->request.private_output ? 0666 : 0600;
	*file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	return *file < 0
	           ? io_fail(error, CUTTLE_USAGE, "cannot create %s: %s", path, strerror(errno))
	           : CUTTLE_OK;
}

/* A run that goes on has the lots that it began with. Any other has new ones, and the journal
 * begins after they are durable. Whatever lots stood there are gone, also where this run has none.
 */
static int settle_lots(struct output *output, bool resumed) {
	struct lots *lots = output->request.lots, none = {.standing = LOTS_NONE};
	int problem = 0;
	if (!lots && !resumed) problem = lots_remove(&none, output->lots_path);
	if (!lots) lots_close(&none);
	if (lots && resumed) lots_continue(lots);
	else if (lots) problem = lots_keep(lots, output->lots_path, output->request.fingerprint);
	if (lots) lots_check(lots, output->lots_check);
	return problem;
}

/* The output is in place. The journal goes last: with its name goes the lock, and who has that next
 * may have a key and a charge of its own. Returns 0 or the errno. */
static int give_up_names(struct output *output) {
	if (output->request.charge) (void)unlink(output->request.charge);
	binding_remove(&output->binding);
	return journal_remove(output->journal);
}

static enum cuttle_status begin_file(struct output *output, bool *complete,
                                     struct cuttle_error *error) {
	struct standing standing = {0};
	enum cuttle_status status = read_standing(output, &standing, error);
	if (status) return status;
	if (standing.complete) {
		*complete = true;
		if (standing.journal <= JOURNAL_CHANGED) {
			remove_parts(output);
			if (output->request.lots)
				(void)lots_remove(output->request.lots, output->lots_path);
			(void)give_up_names(output);
		}
		return CUTTLE_OK;
	}
	if (standing.journal == JOURNAL_FOREIGN)
		return io_fail(error, CUTTLE_USAGE,
		               "%s.journal is in the way: it is not a journal of cuttle; move it, "
		               "or choose another output name",
		               output->request.path);
	if (output->request.lots && output->request.lots->standing == LOTS_FOREIGN)
		return io_fail(error, CUTTLE_USAGE,
		               "%s is in the way: it holds no lots of cuttle; move it, or choose "
		               "another output name",
		               output->lots_path);
	status = refuse_taken(output, &standing, error);
	if (!status && !output->request.overwrite)
		status = refuse_standing(output, &standing, error);
	const bool replaces = standing.journal > JOURNAL_OURS;
	output->stood = standing.journal == JOURNAL_BEGUN || standing.journal == JOURNAL_OURS;
	if (!status && replaces) status = try_receipt(output, error);
	if (!status && replaces && output->request.pay)
		status = output->request.pay(output->request.payer, output->scratch, error);
	if (status) return status;
	// The key is kept before a scratch file is made: its name could not be found again without.
	int problem = binding_keep(&output->binding);
	if (!problem) problem = settle_lots(output, output->stood);
	const struct journal_owner owner = owner_of(output);
	if (!problem) {
		remove_parts(output);
		if ((status = try_receipt(output, error))) return status;
	}
	if (!problem && !output->stood) problem = journal_restart(output->journal, &owner);
	if (problem) {
		(void)note_problem(output, ".journal", problem);
		return output_problem(output, error);
	}
	status = create_part(output, output->part, &output->file, error);
	if (!status && output->dropped)
		status = create_part(output, output->dropped_part, &output->dropped_file, error);
	if (status) return status;
	return begin_lines(output) ? output_problem(output, error) : CUTTLE_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

char *output_receipt_beside(const char *path) {
	static const char *const endings[] = {".jsonl", ".csv", ".json"};
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		if (!file_ends_in(path, endings[i])) continue;
		char *stem = strndup(path, strlen(path) - strlen(endings[i]));
		char *name = stem ? file_name(stem, ".receipt.json") : NULL;
		free(stem);
		return name;
	}
	return file_name(path, ".receipt.json");
}

bool output_stands(const char *path, const char *receipt, const char *fingerprint) {
	char *journal = file_name(path, ".journal"),
	     *beside = receipt ? NULL : output_receipt_beside(path), command[HASH_TEXT] = "",
	     sha256[HASH_TEXT];
	const char *finished = receipt ? receipt : beside;
	bool stands = journal && journal_stands(journal, fingerprint);
	if (!stands && finished && file_same(finished, finished))
		stands = receipt_read(finished, command, sha256) && !strcmp(command, fingerprint);
	free(journal);
	free(beside);
	return stands;
}

/* Opens the key beside the journal and derives from it the digest of the input and the names of
 * both parts. The caller holds the journal's lock. */
static enum cuttle_status bind_to_input(struct output *output, const char *journal,
                                        struct cuttle_error *error) {
	const struct output_request *request = &output->request;
	char tag[HASH_TEXT], *path = file_name(journal, ".key");
	if (!path) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = binding_open(path, &output->binding, error);
	free(path);
	if (status) return status;
	request->digest(request->user, output->binding.key, output->input);
	hash_of(output->binding.key, BINDING_KEY, tag);
	(void)snprintf(output->scratch, sizeof output->scratch, FILE_PART "-%.*s", SCRATCH_TAG,
	               tag);
	output->part = file_name(request->path, output->scratch);
	output->receipt_part = file_name(output->receipt, output->scratch);
	if (output->dropped) output->dropped_part = file_name(output->dropped, output->scratch);
	if (output->part && output->receipt_part && !output->dropped == !output->dropped_part)
		return CUTTLE_OK;
	return io_fail(error, CUTTLE_NOMEM, "out of memory");
}

static enum cuttle_status open_output_file(struct output *output, bool *complete,
                                           struct cuttle_error *error) {
	const char *path = output->request.path;
	enum cuttle_status status = file_regular(path, error);
	if (status) return status;
	char *journal = file_name(path, ".journal");
	output->receipt = output->request.receipt_path ? strdup(output->request.receipt_path)
	                                               : output_receipt_beside(path);
	const bool drops = filters_drop_any(&output->request.filters);
	if (drops) output->dropped = file_name(path, OUTPUT_DROPPED);
	output->lots_path = file_name(path, LOTS_BESIDE);
	if (!journal || !output->receipt || !output->lots_path || (drops && !output->dropped))
		status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = file_regular(output->receipt, error);
	if (!status && drops) status = file_regular(output->dropped, error);
	if (!status) status = journal_open(journal, &output->journal, error);
	if (!status) status = bind_to_input(output, journal, error);
	if (!status) status = begin_file(output, complete, error);
	free(journal);
	return status;
}

enum cuttle_status output_open(const struct output_request *request, struct output **output,
                               bool *complete, struct cuttle_error *error) {
	*output = NULL;
	*complete = false;
	struct output *made = calloc(1, sizeof *made);
	if (!made) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	made->request = *request;
	made->file = made->dropped_file = -1;
	enum cuttle_status status =
	    request->past ? CUTTLE_OK
	                  : filters_open(&request->filters, request->scale, &made->past, error);
	if (!status && is_streamed(request)) {
		REQUIRE(!filters_drop_any(&request->filters));
		made->file = STDOUT_FILENO;
		if (request->receipt_path && !(made->receipt = strdup(request->receipt_path)))
			status = io_fail(error, CUTTLE_NOMEM, "out of memory");
		if (!status && made->receipt) status = try_receipt(made, error);
		if (!status && begin_lines(made)) status = output_problem(made, error);
	} else if (!status) {
		status = open_output_file(made, complete, error);
	}
	if (status || *complete) output_close(&made);
	*output = made;
	return status;
}

void output_close(struct output **output) {
	struct output *old = *output;
	if (!old) return;
	const bool worthless = old->journal && journal_worthless(old->journal);
	if (old->part && old->file >= 0) {
		(void)close(old->file);
		if (worthless) (void)unlink(old->part);
	}
	if (old->dropped_file >= 0) {
		(void)close(old->dropped_file);
		if (worthless) (void)unlink(old->dropped_part);
	}
	filters_close(&old->past);
	free(old->dropped);
	free(old->dropped_part);
	if (worthless) binding_remove(&old->binding);
	if (worthless && old->request.lots) (void)lots_remove(old->request.lots, old->lots_path);
	free(old->lots_path);
	journal_close(&old->journal);
	binding_close(&old->binding);
	free(old->part);
	free(old->receipt_part);
	free(old->receipt);
	free(old);
	*output = NULL;
}

/* ---- the run --------------------------------------------------------------------------------- */

const char *output_scratch(const struct output *output) {
	return output->scratch;
}

uint64_t output_seed(const struct output *output) {
	static const unsigned char words[] = "cuttle output seed";
	unsigned char seed[crypto_generichash_BYTES_MIN];
	uint64_t number;
	if (output->journal)
		(void)crypto_generichash(seed, sizeof seed, words, sizeof words - 1,
		                         output->binding.key, BINDING_KEY);
	else randombytes_buf(seed, sizeof seed);
	memcpy(&number, seed, sizeof number);
	// A double holds it, too: so do the readers of JSON that know no other numbers.
	return number >> 11;
}

bool output_stood(const struct output *output) {
	return output->stood;
}

void output_hold(struct output *output) {
	if (output->journal) journal_hold(output->journal);
}

size_t output_texts_drawn(const struct output *output) {
	const int32_t *tokens;
	size_t texts = 0;
	size_t number = output->request.begin;
	for (; output->journal && journal_drawn(output->journal, number, &tokens); texts++)
		number += output->request.stride ? output->request.stride : 1;
	return texts;
}

int output_mark(void *user, uint64_t most, struct journal_mark *mark) {
	const struct output *output = user;
	*mark = (struct journal_mark){0};
	return output->journal ? journal_mark(output->journal, most, mark) : 0;
}

size_t output_clusters(const struct output *output, const int64_t **counts) {
	*counts = NULL;
	return output->journal ? journal_counts(output->journal, counts) : 0;
}

enum cuttle_status output_keep_clusters(struct output *output, const int64_t *counts, size_t count,
                                        struct cuttle_error *error) {
	const int problem =
	    output->journal ? journal_keep_counts(output->journal, counts, count) : 0;
	if (!problem) return CUTTLE_OK;
	(void)note_problem(output, ".journal", problem);
	return output_problem(output, error);
}

void output_shorten(struct output *output, size_t texts) {
	REQUIRE(texts <= output->request.texts);
	output->request.texts = texts;
}

size_t output_drawn(const struct output *output, size_t text, const int32_t **tokens) {
	*tokens = NULL;
	return output->journal ? journal_drawn(output->journal, text, tokens) : 0;
}

static int explain_taking(struct output *output, int problem) {
	if (!problem) return 0;
	output->status = problem == EEXIST
	                     ? io_fail(&output->problem, CUTTLE_LEDGER,
	                               "%s: another process has begun this shard meanwhile",
	                               output->request.taken)
	                     : io_fail(&output->problem, CUTTLE_PARTIAL,
	                               "cannot write %s: %s; the same command continues from here",
	                               output->request.taken, strerror(problem));
	return -1;
}

/* Before the first token: what is kept of a shard is kept by one journal alone. */
static int take_shard(struct output *output) {
	char owner[TAKER];
	if (!output->request.taken || output->taken) return 0;
	const int problem = shard_take(output->request.taken, name_taker(output, owner));
	output->taken = !problem;
	return explain_taking(output, problem);
}

/* Behind the first token, before it may be seen. */
static int begin_shard(struct output *output) {
	char owner[TAKER];
	if (!output->request.taken || output->begun) return 0;
	int problem = journal_sync(output->journal);
	if (!problem) problem = shard_begin(output->request.taken, name_taker(output, owner));
	output->begun = !problem;
	return explain_taking(output, problem);
}

int output_token(struct output *output, size_t text, uint32_t step, int32_t token) {
	const int32_t *tokens;
	if (!output->journal || step < output_drawn(output, text, &tokens)) return 0;
	if (take_shard(output)) return -1;
	int problem = journal_append(output->journal, text, step, token);
	return problem ? note_problem(output, ".journal", problem) : begin_shard(output);
}

const char *output_finish(enum cuttle_finish finish) {
	return finish == CUTTLE_FINISH_EOS      ? "eos"
	       : finish == CUTTLE_FINISH_STOP   ? "stop"
	       : finish == CUTTLE_FINISH_CLOSED ? "closed"
	                                        : "length";
}

static void add_word(json_t **line, const char *key, const char *word) {
	*line = jsonout_extend(*line, &(struct jsonout_member){key, json_string(word)}, 1);
}

json_t *output_add_id(json_t *line, const char *id, size_t size) {
	if (!id) return line;
	const struct jsonout_member member = {"id", json_loadb(id, size, JSON_DECODE_ANY, NULL)};
	return jsonout_extend(line, &member, 1);
}

/* The object of a text, as generate writes it. */
static json_t *make_text_line(const struct output *output, const struct cuttle_text *text) {
	const struct categories *categories = output->request.categories;
	json_t *line = json_pack("{s:I, s:s%, s:I, s:s}", "index", (json_int_t)text->index, "text",
	                         text->text, text->size, "tokens", (json_int_t)text->tokens,
	                         "finish", output_finish(text->finish));
	if (output->request.batches) {
		const struct jsonout_member members[] = {
		    {"batch", json_integer((json_int_t)text->batch)},
		    {"free", json_integer((json_int_t)text->free_tokens)}};
		line = jsonout_extend(line, members, 2);
	}
	if (output->request.stride) {
		const struct jsonout_member ids = {"ids",
		                                   jsonout_integers(text->ids, text->tokens)};
		line = jsonout_extend(line, &ids, 1);
	}
	for (size_t i = 0; line && categories && i < categories->field_count; i++)
		add_word(&line, categories->fields[i],
		         categories_of(categories, text->batch)->values[i]);
	return line;
}

/* Writes a text that is an object as its line: numbers stay as they were drawn. Where more is to be
 * said it is a member of the line, as the object may have members of any name. */
static int append_text_object(struct output *output, const struct cuttle_text *text,
                              enum filter_rule rule) {
	const bool stamped = !output->request.private_output, dropped = rule != FILTER_KEEP,
	           more = stamped || dropped;
	char *line;
	if (text->size > INT32_MAX) return note_problem(output, "", ENOMEM);
	const int size =
	    asprintf(&line, "%s%.*s%s%s%s%s%s\n", more ? "{\"record\": " : "", (int)text->size,
	             text->text, stamped ? ", \"private\": false, \"note\": \"NOT PRIVATE\"" : "",
	             dropped ? ", \"dropped\": \"" : "", dropped ? filters_name(rule) : "",
	             dropped ? "\"" : "", more ? "}" : "");
	if (size < 0) return note_problem(output, "", ENOMEM);
	const int status = dropped ? append_dropped(output, line, (size_t)size)
	                           : append_output(output, line, (size_t)size);
	free(line);
	return status;
}

/* Writes the line of a text, or of a dropped one with the rule that dropped it. */
static int append_json_line(struct output *output, const struct cuttle_text *text,
                            enum filter_rule rule) {
	if (output->request.objects) return append_text_object(output, text, rule);
	json_t *line = output->request.line ? output->request.line(output->request.user, text)
	                                    : make_text_line(output, text);
	if (line && !output->request.private_output) {
		line = jsonout_extend(line, &(struct jsonout_member){"private", json_false()}, 1);
		add_word(&line, "note", "NOT PRIVATE");
	}
	if (rule != FILTER_KEEP) add_word(&line, "dropped", filters_name(rule));
	size_t size;
	char *bytes = jsonout_dump(line, JSON_COMPACT, &size);
	int status = !bytes                ? note_problem(output, "", ENOMEM)
	             : rule == FILTER_KEEP ? append_output(output, bytes, size)
	                                   : append_dropped(output, bytes, size);
	free(bytes);
	return status;
}

/* A cell with words; *formula becomes true where a spreadsheet would run them. */
static int append_told_cell(struct output *output, const char *words, bool *formula) {
	*formula |= formats_formula(words, strlen(words));
	return append_cell(output, words);
}

static int append_csv_line(struct output *output, const struct cuttle_text *text) {
	if (text->size > SIZE_MAX / 4) return note_problem(output, "", ENOMEM);
	size_t size = csv_write(NULL, 0, text->text, text->size), room = size + 128;
	char *row = malloc(room);
	if (!row) return note_problem(output, "", ENOMEM);
	size_t used = (size_t)snprintf(row, room, "%zu,", text->index);
	used += csv_write(row + used, size, text->text, text->size);
	used += (size_t)snprintf(row + used, room - used, ",%u,%s", text->tokens,
	                         output_finish(text->finish));
	if (output->request.batches)
		used += (size_t)snprintf(row + used, room - used, ",%zu,%u", text->batch,
		                         text->free_tokens);
	int status = append_output(output, row, used);
	free(row);
	bool formula = formats_formula(text->text, text->size);
	const struct categories *categories = output->request.categories;
	const char *end = output->request.private_output ? "\r\n" : ",false,NOT PRIVATE\r\n";
	for (size_t i = 0; !status && i < output->request.cell_count; i++)
		status = append_told_cell(
		    output, output->request.cell(output->request.user, text, i), &formula);
	for (size_t i = 0; !status && categories && i < categories->field_count; i++)
		status = append_told_cell(output, categories_of(categories, text->batch)->values[i],
		                          &formula);
	output->counts.formulas += formula;
	return status ? status : append_output(output, end, strlen(end));
}

/* Writes a line's object as cells, in the order of the columns. */
static int append_object(struct output *output, const struct cuttle_text *text) {
	json_t *line = output->request.line(output->request.user, text);
	int status = line ? 0 : note_problem(output, "", ENOMEM);
	bool formula = false;
	for (size_t i = 0; !status && i < output->request.column_count; i++) {
		const json_t *member = json_object_get(line, output->request.columns[i]);
		const char *bytes = json_string_value(member);
		const size_t size = bytes ? json_string_length(member) : 0,
		             most = bytes ? csv_write(NULL, 0, bytes, size) : 32;
		char *cell = malloc(most + 1);
		size_t used = 0;
		if (!cell) {
			status = note_problem(output, "", ENOMEM);
			break;
		}
		if (i) cell[used++] = ',';
		formula |= bytes && formats_formula(bytes, size);
		if (bytes) used += csv_write(cell + used, most, bytes, size);
		else if (json_is_integer(member))
			used += (size_t)snprintf(cell + used, most, "%" JSON_INTEGER_FORMAT,
			                         json_integer_value(member));
		status = append_output(output, cell, used);
		free(cell);
	}
	json_decref(line);
	output->counts.formulas += formula;
	// An object may have members private and note.
	const char *end = output->request.private_output ? "\r\n"
	                  : output->request.objects      ? ",NOT PRIVATE\r\n"
	                                                 : ",false,NOT PRIVATE\r\n";
	return status ? status : append_output(output, end, strlen(end));
}

int output_text(struct output *output, const struct cuttle_text *text) {
	REQUIRE(text->index == output->texts_done && text->batch < output->request.texts);
	// First make its tokens durable: a text that others can see must never be drawn again.
	int problem = output->journal ? journal_sync(output->journal) : 0;
	if (problem) return note_problem(output, ".journal", problem);
	// A text that a killed process completed had no chance to say so.
	if (take_shard(output) || begin_shard(output)) return -1;
	output->texts_done++;
	output->batches_done = text->batch + 1;
	struct cuttle_text shown = *text;
	enum filter_rule rule;
	if (output->request.filters.trim && text->finish == CUTTLE_FINISH_LENGTH)
		shown.size = filters_trim(text->text, text->size);
	struct filter_past *past = output->past ? output->past : output->request.past;
	output->status = filters_judge(past, shown.text, shown.size, text->ids, text->tokens, &rule,
	                               &output->problem);
	if (output->status) return -1;
	output->counts.drawn++;
	output->counts.tokens += text->tokens;
	output->counts.free_tokens += text->free_tokens;
	output->counts.closed += text->finish == CUTTLE_FINISH_CLOSED;
	output->kept = rule == FILTER_KEEP;
	if (rule != FILTER_KEEP) {
		output->counts.dropped[rule]++;
		return append_json_line(output, &shown, rule);
	}
	if (output->request.format != OUTPUT_CSV) return append_json_line(output, &shown, rule);
	return output->request.column_count ? append_object(output, &shown)
	                                    : append_csv_line(output, &shown);
}

bool output_kept(const struct output *output) {
	return output->kept;
}

const struct filter_counts *output_counts(const struct output *output) {
	return &output->counts;
}

/* ---- the end --------------------------------------------------------------------------------- */

enum cuttle_status output_seal(struct output *output, char sha256[HASH_TEXT],
                               struct cuttle_error *error) {
	const size_t stride = output->request.stride ? output->request.stride : 1;
	REQUIRE(output->batches_done + stride > output->request.texts);
	if (output->part && fsync(output->file) != 0) (void)note_problem(output, ".part", errno);
	if (output->dropped && fsync(output->dropped_file) != 0)
		(void)note_problem(output, OUTPUT_DROPPED ".part", errno);
	hash_end(&output->hash, sha256);
	if (output->dropped) hash_end(&output->dropped_hash, output->counts.dropped_sha256);
	return output_problem(output, error);
}

enum cuttle_status output_publish(struct output *output, const void *receipt, size_t size,
                                  struct cuttle_error *error) {
	int problem = 0;
	if (output->receipt_part)
		problem = file_replace_by(output->receipt_part, output->receipt, receipt, size);
	else if (output->receipt) problem = file_replace(output->receipt, receipt, size);
	if (problem) {
		(void)note_problem(output, "'s receipt", problem);
		return output_problem(output, error);
	}
	if (!output->part) return CUTTLE_OK;
	// The receipt went first: read_standing takes an output without one for another command's.
	if (output->dropped && rename(output->dropped_part, output->dropped) != 0) problem = errno;
	if (!problem && rename(output->part, output->request.path) != 0) problem = errno;
	if (!problem) problem = file_sync_folder(output->request.path);
	if (!problem && output->request.lots)
		problem = lots_remove(output->request.lots, output->lots_path);
	if (!problem) problem = give_up_names(output);
	if (problem) (void)note_problem(output, "", problem);
	return output_problem(output, error);
}

const char *output_receipt_path(const struct output *output) {
	return output->receipt;
}
