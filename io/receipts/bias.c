// SPDX-License-Identifier: Apache-2.0
// How bias.h writes and reads a bias.
#include "io/receipts/bias.h"

#include "engine/cuttle/learn.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FORMAT = 1,
	NUMBER_ROOM = 60, /* bytes of a number of the answer and one of the bias, at most */
	LINE_ROOM = 1024  /* of all else */
};
#define FILE_MOST ((size_t)1 << 32) /* bytes, where the receipt's own width is in question */

json_t *bias_line(const struct bias_numbers *numbers, size_t width) {
	json_t *answer = json_array(), *vector = json_array();
	bool made = answer && vector;
	for (size_t i = 0; i < width && made; i++)
		made = !json_array_append_new(answer, json_integer(numbers->answer[i])) &&
		       !json_array_append_new(vector, json_real(numbers->vector[i]));
	const char *heading = numbers->heading;
	json_t *first = json_object();
	if (heading)
		first = jsonout_extend(
		    first,
		    &(struct jsonout_member){"heading", jsonout_text(heading, strlen(heading))}, 1);
	const struct jsonout_member members[] = {
	    {"cuttle_bias", json_integer(FORMAT)},
	    {"records", json_integer((json_int_t)numbers->records)},
	    {"share", json_real(numbers->share)},
	    {"tokens", json_real(numbers->tokens)},
	    {"clip", json_real(numbers->clip)},
	    {"answer", answer},
	    {"bias", vector}};
	json_t *line = jsonout_extend(first, members, sizeof members / sizeof *members);
	if (made) return line;
	json_decref(line);
	return NULL;
}

static enum cuttle_status read_bias_receipt(struct bias *bias, const char *path,
                                            struct cuttle_error *error) {
	struct attested attested;
	enum cuttle_status status = attest_open(path, &attested, error);
	if (!status && !attest_mechanism(&attested, LEARN_KIND.mechanism))
		status = io_fail(error, CUTTLE_INPUT, "%s: it is not a receipt of cuttle learn",
		                 file_shown(path));
	if (!status) {
		hash_of(attested.bytes, attested.size, bias->receipt_sha256);
		status = evidence_read(&LEARN_KIND, &attested, &bias->evidence, error);
	}
	attest_close(&attested);
	if (!status) status = evidence_check(&bias->evidence, NULL, error);
	bias->receipt = bias->evidence.receipt;
	return status;
}

/* Takes the numbers of line `part`, 0 of all records. False: it is no bias of this width. */
static bool take_bias(struct bias *bias, size_t part, const json_t *root) {
	const json_t *vector = json_object_get(root, "bias"),
	             *share = json_object_get(root, "share"),
	             *heading = json_object_get(root, "heading");
	const size_t width = (size_t)bias->receipt->width;
	double *const to = bias->vector + part * width;
	if (json_integer_value(json_object_get(root, "cuttle_bias")) != FORMAT ||
	    !json_is_real(share) || json_array_size(vector) != width ||
	    json_is_string(heading) != (part > 0))
		return false;
	const double value = json_real_value(share);
	if (!(value >= 0 && value <= 1)) return false;
	if (!part) bias->share = value;
	else if (!(bias->headings[part - 1] = strdup(json_string_value(heading)))) return false;
	for (size_t i = 0; i < width; i++) {
		const json_t *number = json_array_get(vector, i);
		to[i] = json_real_value(number);
		if (!json_is_real(number) || !isfinite(to[i])) return false;
	}
	return true;
}

/* Takes all lines. False: there are others than the receipt says, or one is no bias. */
static bool take_bias_lines(struct bias *bias, const char *bytes, size_t size) {
	const char *const end = bytes + size;
	for (size_t part = 0; part <= bias->receipt->categories; part++) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		if (!newline) return false;
		json_t *root =
		    json_loadb(bytes, (size_t)(newline - bytes), JSON_REJECT_DUPLICATES, NULL);
		const bool taken = take_bias(bias, part, root);
		json_decref(root);
		if (!taken) return false;
		bytes = newline + 1;
	}
	return bytes == end;
}

static enum cuttle_status read_bias_lines(struct bias *bias, const char *path,
                                          struct cuttle_error *error) {
	const size_t width = (size_t)bias->receipt->width,
	             lines = 1 + (size_t)bias->receipt->categories;
	char *bytes = NULL;
	size_t size = 0;
	enum cuttle_status status =
	    file_read(path, lines * (width * NUMBER_ROOM + LINE_ROOM), &bytes, &size, error);
	if (!status) {
		hash_of(bytes, size, bias->sha256);
		if (strcmp(bias->sha256, bias->evidence.attested.output_sha256) != 0)
			status = io_fail(error, CUTTLE_LEDGER,
			                 "%s is not the bias that %s is the receipt of, or was "
			                 "changed",
			                 path, bias->evidence.attested.path);
	}
	if (!status) {
		bias->vector = calloc(lines * width, sizeof *bias->vector);
		bias->headings = calloc(lines, sizeof *bias->headings);
		if (!bias->vector || !bias->headings)
			status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	}
	if (!status && !take_bias_lines(bias, bytes, size))
		status = io_fail(error, CUTTLE_INPUT, "%s: it is no bias of cuttle learn", path);
	free(bytes);
	return status;
}

enum cuttle_status bias_open(struct bias *bias, const char *path, const char *receipt,
                             struct cuttle_error *error) {
	*bias = (struct bias){0};
	if (!receipt)
		return io_fail(error, CUTTLE_USAGE,
		               "--bias %s: name a file that has its receipt beside it", path);
	const enum cuttle_status status = read_bias_receipt(bias, receipt, error);
	return status ? status : read_bias_lines(bias, path, error);
}

/* ---- what a receipt says of its bias --------------------------------------------------------- */

/* What the lines of a file say. */
struct told {
	const struct learn_receipt *receipt;
	int64_t *answer;           /* [width] of all records, less those of categories */
	uint64_t records, in_them; /* of the first line, and of the others together */
	size_t lines;
	const char *other; /* what the receipt says otherwise; NULL = nothing yet */
};

/* Takes a line. False: it is none of a bias. */
static bool compare_line(struct told *told, const json_t *root) {
	const json_t *answer = json_object_get(root, "answer");
	const size_t width = json_array_size(answer);
	uint64_t records;
	if (json_integer_value(json_object_get(root, "cuttle_bias")) != FORMAT ||
	    !attest_count(root, "records", CUTTLE_LEARN_RECORDS, &records) || !width ||
	    json_array_size(json_object_get(root, "bias")) != width)
		return false;
	if (width != told->receipt->width) told->other = "width";
	else if (told->lines > told->receipt->categories) told->other = "categories";
	for (size_t i = 0; i < width && !told->other; i++) {
		const int64_t value = json_integer_value(json_array_get(answer, i));
		if (told->lines ? __builtin_sub_overflow(told->answer[i], value, &told->answer[i])
		                : __builtin_add_overflow(told->answer[i], value, &told->answer[i]))
			return false;
	}
	*(told->lines ? &told->in_them : &told->records) += records;
	told->lines++;
	return true;
}

/* What follows from all lines. Records of no declared category are lines of the input, and in no
 * line of the file. */
static void compare_whole(struct told *told) {
	const struct learn_receipt *receipt = told->receipt;
	const bool declared = receipt->categories;
	if (told->other) return;
	if (told->lines != 1 + (size_t)receipt->categories) told->other = "categories";
	else if (declared ? told->records > receipt->records || told->in_them != told->records
	                  : told->records != receipt->records)
		told->other = "records";
	for (size_t i = 0; declared && i < receipt->width && !told->other; i++)
		if (told->answer[i]) told->other = "answers of categories";
}

/* Compares the lines of a file that has the receipt's hash. False: it is no bias. */
static bool compare_file(struct told *told, const char *bytes, size_t size) {
	const char *const end = bytes + size;
	while (bytes < end && !told->other) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		json_t *root = newline ? json_loadb(bytes, (size_t)(newline - bytes),
		                                    JSON_REJECT_DUPLICATES, NULL)
		                       : NULL;
		const bool taken = compare_line(told, root);
		json_decref(root);
		if (!taken) return false;
		bytes = newline + 1;
	}
	compare_whole(told);
	return true;
}

enum cuttle_status bias_compare(const char *path, const struct evidence *evidence,
                                struct cuttle_error *error) {
	const struct learn_receipt *receipt = evidence->receipt;
	struct told told = {.receipt = receipt,
	                    .answer = calloc((size_t)receipt->width, sizeof *told.answer)};
	char *bytes = NULL;
	size_t size = 0;
	enum cuttle_status status = told.answer ? file_read(path, FILE_MOST, &bytes, &size, error)
	                                        : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status && !compare_file(&told, bytes, size))
		status = io_fail(error, CUTTLE_INPUT, "%s: it is no bias of cuttle learn", path);
	if (!status && told.other)
		status = io_fail(error, CUTTLE_LEDGER, "%s has other %s than its receipt says",
		                 path, told.other);
	free(told.answer);
	free(bytes);
	return status;
}

const double *bias_of(const struct bias *bias, const char *heading) {
	for (size_t part = 0; heading && part < bias->receipt->categories; part++)
		if (!strcmp(bias->headings[part], heading))
			return bias->vector + (1 + part) * (size_t)bias->receipt->width;
	return bias->vector;
}

enum cuttle_status bias_fits(const struct bias *bias, const char *model_sha256, size_t width,
                             struct cuttle_error *error) {
	return !strcmp(bias->receipt->model_sha256, model_sha256) && bias->receipt->width == width
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_INPUT,
	                     "the bias was learnt with another model (its hash is %.16s...): "
	                     "give -m that one, or learn anew with this one",
	                     bias->receipt->model_sha256);
}

void bias_prompt(const char *template, char sha256[HASH_TEXT]) {
	const char *private = strstr(template, "\nprivate:\n");
	hash_of(template, private ? (size_t)(private - template) : strlen(template), sha256);
}

bool bias_behind(const struct bias *bias, const char *template) {
	char sha256[HASH_TEXT];
	bias_prompt(template, sha256);
	return !strcmp(bias->receipt->template_sha256, sha256);
}

struct receipt_bias bias_told(const struct bias *bias) {
	struct receipt_bias told = {.from_public = bias->receipt->from_public,
	                            .epsilon = bias->receipt->epsilon,
	                            .delta = bias->receipt->delta,
	                            .rho = bias->receipt->rho};
	memcpy(told.sha256, bias->sha256, HASH_TEXT);
	memcpy(told.receipt_sha256, bias->receipt_sha256, HASH_TEXT);
	return told;
}

void bias_close(struct bias *bias) {
	for (size_t part = 0; bias->headings && part < bias->receipt->categories; part++)
		free(bias->headings[part]);
	free(bias->headings);
	free(bias->vector);
	evidence_free(&bias->evidence);
	*bias = (struct bias){0};
}
