// SPDX-License-Identifier: Apache-2.0
// Texts to a file that can be continued, or to standard output.
#include "io/output.h"

#include "base/misuse.h"
#include "io/fail.h"
#include "io/journal.h"
#include "io/jsonout.h"
#include "io/receipt.h"
#include <csv.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct output {
	struct output_request request; /* its strings are the caller's */
	char *part, *receipt;          /* part is NULL for standard output */
	int file;
	struct journal *journal;
	struct hash hash;
	size_t texts_done, batches_done;
	enum cuttle_status status;
	struct cuttle_error problem;
};

enum output_format output_format_of(const char *path) {
	return file_ends_in(path, ".csv") ? OUTPUT_CSV : OUTPUT_JSONL;
}

static bool streams(const struct output_request *request) {
	return !strcmp(request->path, "-");
}

static int failed(struct output *output, const char *what, int problem) {
	if (output->part)
		output->status = io_fail(&output->problem, CUTTLE_PARTIAL, "cannot write %s%s: %s; the same command continues from here",
		                         output->request.path, what, strerror(problem));
	else output->status = io_fail(&output->problem, CUTTLE_INTERNAL, "cannot write standard output%s: %s", what, strerror(problem));
	return -1;
}

enum cuttle_status output_problem(const struct output *output, struct cuttle_error *error) {
	if (output->status && error) *error = output->problem;
	return output->status;
}

static int put(struct output *output, const char *bytes, size_t size) {
	int problem = file_write(output->file, bytes, size);
	if (problem) return failed(output, output->part ? ".part" : "", problem);
	hash_add(&output->hash, bytes, size);
	return 0;
}

/* A comma and a cell of at most 128 public bytes. */
static int put_cell(struct output *output, const char *words) {
	char cell[1 + 2 * 128 + 2] = ",";
	const size_t size = csv_write(cell + 1, sizeof cell - 1, words, strlen(words));
	REQUIRE(size < sizeof cell);
	return put(output, cell, 1 + size);
}

static int begin_lines(struct output *output) {
	hash_begin(&output->hash);
	if (output->request.format != OUTPUT_CSV) return 0;
	const struct categories *categories = output->request.categories;
	const char *end = output->request.private_output ? "\r\n" : ",private,note\r\n",
	           *begin = output->request.batches ? "index,text,tokens,finish,batch,free" : "index,text,tokens,finish";
	int status = put(output, begin, strlen(begin));
	for (size_t i = 0; !status && categories && i < categories->field_count; i++) status = put_cell(output, categories->fields[i]);
	return status ? status : put(output, end, strlen(end));
}

/* ---- what stands already ------------------------------------------------------------------------------------------------------------- */

struct standing {
	bool output, receipt; /* exist */
	bool receipt_ours;    /* of this command */
	bool complete;        /* the output is what our receipt says */
	enum journal_state journal;
};

static enum cuttle_status look(struct output *output, struct standing *standing, struct cuttle_error *error) {
	const struct output_request *request = &output->request;
	char fingerprint[HASH_TEXT], wanted[HASH_TEXT], is[HASH_TEXT];
	enum cuttle_status status = journal_load(output->journal, request->fingerprint, request->texts, &standing->journal, error);
	if (status) return status;
	standing->output = file_same(request->path, request->path);
	standing->receipt = receipt_read(output->receipt, fingerprint, wanted);
	standing->receipt_ours = !strcmp(fingerprint, request->fingerprint);
	if (standing->output && standing->receipt_ours) {
		status = hash_file(request->path, is, error);
		standing->complete = !status && !strcmp(is, wanted);
	}
	return status;
}

static enum cuttle_status refuse(const struct output *output, const struct standing *standing, struct cuttle_error *error) {
	const char *path = output->request.path;
	if (standing->output && standing->receipt_ours)
		return io_fail(error, CUTTLE_USAGE,
		               "%s was changed after this command finished it; --overwrite draws it anew and spends again", path);
	if (standing->output) return io_fail(error, CUTTLE_USAGE, "%s is not this command's output; --overwrite replaces it", path);
	if (standing->journal == JOURNAL_OTHER)
		return io_fail(error, CUTTLE_USAGE, "%s.journal belongs to another command: run that again to finish it, or --overwrite it",
		               path);
	if (standing->journal == JOURNAL_DAMAGED)
		return io_fail(error, CUTTLE_INPUT, "%s.journal is damaged; --overwrite draws all texts anew and spends again", path);
	if (standing->receipt && !standing->receipt_ours)
		return io_fail(error, CUTTLE_USAGE, "%s is another command's receipt; --overwrite replaces it", output->receipt);
	if (standing->receipt && standing->journal == JOURNAL_NEW)
		return io_fail(error, CUTTLE_USAGE, "%s says this command is done, but its output is gone; --overwrite spends again",
		               output->receipt);
	return CUTTLE_OK;
}

/* Whether the receipt can be put in place: after the last text it would be late to learn that. */
static enum cuttle_status try_receipt(const struct output *output, struct cuttle_error *error) {
	struct sink sink;
	enum cuttle_status status = sink_open(&sink, output->receipt, error);
	if (!status) (void)sink_close(&sink, CUTTLE_PARTIAL, NULL);
	return status;
}

static enum cuttle_status begin_file(struct output *output, bool *complete, struct cuttle_error *error) {
	struct standing standing = {0};
	enum cuttle_status status = look(output, &standing, error);
	if (status) return status;
	if (standing.complete) {
		*complete = true;
		if (standing.journal <= JOURNAL_OURS) {
			(void)unlink(output->part);
			(void)journal_remove(output->journal);
		}
		return CUTTLE_OK;
	}
	if (!output->request.overwrite) status = refuse(output, &standing, error);
	if (!status) status = try_receipt(output, error);
	if (status) return status;
	int problem = standing.journal == JOURNAL_OURS ? 0 : journal_restart(output->journal, output->request.fingerprint);
	if (problem) {
		(void)failed(output, ".journal", problem);
		return output_problem(output, error);
	}
	output->file = open(output->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (output->file < 0) return io_fail(error, CUTTLE_USAGE, "cannot create %s: %s", output->part, strerror(errno));
	return begin_lines(output) ? output_problem(output, error) : CUTTLE_OK;
}

/* ---- opening ------------------------------------------------------------------------------------------------------------------------- */

static char *receipt_beside(const char *path) {
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

static enum cuttle_status open_file(struct output *output, bool *complete, struct cuttle_error *error) {
	const char *path = output->request.path;
	enum cuttle_status status = file_regular(path, error);
	if (status) return status;
	char *journal = file_name(path, ".journal");
	output->part = file_name(path, ".part");
	output->receipt = output->request.receipt_path ? strdup(output->request.receipt_path) : receipt_beside(path);
	if (!journal || !output->part || !output->receipt) status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) status = file_regular(output->receipt, error);
	if (!status) status = journal_open(journal, &output->journal, error);
	if (!status) status = begin_file(output, complete, error);
	free(journal);
	return status;
}

enum cuttle_status output_open(const struct output_request *request, struct output **output, bool *complete, struct cuttle_error *error) {
	*output = NULL;
	*complete = false;
	struct output *made = calloc(1, sizeof *made);
	if (!made) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	made->request = *request;
	made->file = -1;
	enum cuttle_status status = CUTTLE_OK;
	if (streams(request)) {
		made->file = STDOUT_FILENO;
		if (request->receipt_path && !(made->receipt = strdup(request->receipt_path)))
			status = io_fail(error, CUTTLE_NOMEM, "out of memory");
		if (!status && made->receipt) status = try_receipt(made, error);
		if (!status && begin_lines(made)) status = output_problem(made, error);
	} else {
		status = open_file(made, complete, error);
	}
	if (status || *complete) output_close(&made);
	*output = made;
	return status;
}

void output_close(struct output **output) {
	struct output *old = *output;
	if (!old) return;
	if (old->part && old->file >= 0) {
		(void)close(old->file);
		if (journal_worthless(old->journal)) (void)unlink(old->part);
	}
	journal_close(&old->journal);
	free(old->part);
	free(old->receipt);
	free(old);
	*output = NULL;
}

/* ---- the run ------------------------------------------------------------------------------------------------------------------------- */

size_t output_texts_drawn(const struct output *output) {
	const int32_t *tokens;
	size_t texts = 0;
	while (output->journal && journal_drawn(output->journal, texts, &tokens)) texts++;
	return texts;
}

size_t output_drawn(const struct output *output, size_t text, const int32_t **tokens) {
	*tokens = NULL;
	return output->journal ? journal_drawn(output->journal, text, tokens) : 0;
}

int output_token(struct output *output, size_t text, uint32_t step, int32_t token) {
	const int32_t *tokens;
	if (!output->journal || step < output_drawn(output, text, &tokens)) return 0;
	int problem = journal_append(output->journal, text, step, token);
	return problem ? failed(output, ".journal", problem) : 0;
}

static const char *finish_name(enum cuttle_finish finish) {
	return finish == CUTTLE_FINISH_EOS ? "eos" : finish == CUTTLE_FINISH_STOP ? "stop" : "length";
}

static void add_word(json_t **line, const char *key, const char *word) {
	*line = jsonout_extend(*line, &(struct jsonout_member){key, json_string(word)}, 1);
}

static int json_line(struct output *output, const struct cuttle_text *text) {
	const struct categories *categories = output->request.categories;
	json_t *line = json_pack("{s:I, s:s%, s:I, s:s}", "index", (json_int_t)text->index, "text", text->text, text->size, "tokens",
	                         (json_int_t)text->tokens, "finish", finish_name(text->finish));
	if (output->request.batches) {
		const struct jsonout_member members[] = {{"batch", json_integer((json_int_t)text->batch)},
		                                         {"free", json_integer((json_int_t)text->free_tokens)}};
		line = jsonout_extend(line, members, 2);
	}
	for (size_t i = 0; line && categories && i < categories->field_count; i++)
		add_word(&line, categories->fields[i], categories_of(categories, text->batch)->values[i]);
	if (line && !output->request.private_output) {
		line = jsonout_extend(line, &(struct jsonout_member){"private", json_false()}, 1);
		add_word(&line, "note", "NOT PRIVATE");
	}
	size_t size;
	char *bytes = jsonout_dump(line, JSON_COMPACT, &size);
	int status = bytes ? put(output, bytes, size) : failed(output, "", ENOMEM);
	free(bytes);
	return status;
}

static int csv_line(struct output *output, const struct cuttle_text *text) {
	if (text->size > SIZE_MAX / 4) return failed(output, "", ENOMEM);
	size_t size = csv_write(NULL, 0, text->text, text->size), room = size + 128;
	char *row = malloc(room);
	if (!row) return failed(output, "", ENOMEM);
	size_t used = (size_t)snprintf(row, room, "%zu,", text->index);
	used += csv_write(row + used, size, text->text, text->size);
	used += (size_t)snprintf(row + used, room - used, ",%u,%s", text->tokens, finish_name(text->finish));
	if (output->request.batches) used += (size_t)snprintf(row + used, room - used, ",%zu,%u", text->batch, text->free_tokens);
	int status = put(output, row, used);
	free(row);
	const struct categories *categories = output->request.categories;
	const char *end = output->request.private_output ? "\r\n" : ",false,NOT PRIVATE\r\n";
	for (size_t i = 0; !status && categories && i < categories->field_count; i++)
		status = put_cell(output, categories_of(categories, text->batch)->values[i]);
	return status ? status : put(output, end, strlen(end));
}

int output_text(struct output *output, const struct cuttle_text *text) {
	REQUIRE(text->index == output->texts_done && text->batch < output->request.texts);
	// Durable tokens first: a text that can be seen must never be drawn a second time.
	int problem = output->journal ? journal_sync(output->journal) : 0;
	if (problem) return failed(output, ".journal", problem);
	output->texts_done++;
	output->batches_done = text->batch + 1;
	return output->request.format == OUTPUT_CSV ? csv_line(output, text) : json_line(output, text);
}

/* ---- the end ------------------------------------------------------------------------------------------------------------------------- */

enum cuttle_status output_seal(struct output *output, char sha256[HASH_TEXT], struct cuttle_error *error) {
	REQUIRE(output->batches_done == output->request.texts);
	if (output->part && fsync(output->file) != 0) (void)failed(output, ".part", errno);
	hash_end(&output->hash, sha256);
	return output_problem(output, error);
}

enum cuttle_status output_publish(struct output *output, const void *receipt, size_t size, struct cuttle_error *error) {
	int problem = output->receipt ? file_replace(output->receipt, receipt, size) : 0;
	if (problem) {
		(void)failed(output, "'s receipt", problem);
		return output_problem(output, error);
	}
	if (!output->part) return CUTTLE_OK;
	// The receipt stands first: an output without one would look like a stranger's file.
	if (rename(output->part, output->request.path) != 0) problem = errno;
	if (!problem) problem = file_sync_folder(output->request.path);
	if (!problem) problem = journal_remove(output->journal);
	if (problem) (void)failed(output, "", problem);
	return output_problem(output, error);
}

const char *output_receipt_path(const struct output *output) {
	return output->receipt;
}
