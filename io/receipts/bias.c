// SPDX-License-Identifier: Apache-2.0
// How bias.h writes and reads a bias.
#include "io/receipts/bias.h"

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

json_t *bias_line(const struct bias_numbers *numbers, size_t width) {
	json_t *answer = json_array(), *vector = json_array();
	bool made = answer && vector;
	for (size_t i = 0; i < width && made; i++)
		made = !json_array_append_new(answer, json_integer(numbers->answer[i])) &&
		       !json_array_append_new(vector, json_real(numbers->vector[i]));
	const struct jsonout_member members[] = {
	    {"cuttle_bias", json_integer(FORMAT)},
	    {"records", json_integer((json_int_t)numbers->records)},
	    {"share", json_real(numbers->share)},
	    {"tokens", json_real(numbers->tokens)},
	    {"clip", json_real(numbers->clip)},
	    {"answer", answer},
	    {"bias", vector}};
	json_t *line = jsonout_extend(json_object(), members, sizeof members / sizeof *members);
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

/* Takes the numbers of the line. False: it is no bias of this width. */
static bool take_bias(struct bias *bias, const json_t *root) {
	const json_t *vector = json_object_get(root, "bias"),
	             *share = json_object_get(root, "share");
	const size_t width = (size_t)bias->receipt->width;
	if (json_integer_value(json_object_get(root, "cuttle_bias")) != FORMAT ||
	    !json_is_real(share) || json_array_size(vector) != width)
		return false;
	bias->share = json_real_value(share);
	if (!(bias->share >= 0 && bias->share <= 1)) return false;
	for (size_t i = 0; i < width; i++) {
		const json_t *number = json_array_get(vector, i);
		bias->vector[i] = json_real_value(number);
		if (!json_is_real(number) || !isfinite(bias->vector[i])) return false;
	}
	return true;
}

static enum cuttle_status read_bias_line(struct bias *bias, const char *path,
                                         struct cuttle_error *error) {
	const size_t width = (size_t)bias->receipt->width;
	char *bytes = NULL;
	size_t size = 0;
	json_t *root = NULL;
	enum cuttle_status status =
	    file_read(path, width * NUMBER_ROOM + LINE_ROOM, &bytes, &size, error);
	if (!status) {
		hash_of(bytes, size, bias->sha256);
		if (strcmp(bias->sha256, bias->evidence.attested.output_sha256) != 0)
			status = io_fail(error, CUTTLE_LEDGER,
			                 "%s is not the bias that %s is the receipt of, or was "
			                 "changed",
			                 path, bias->evidence.attested.path);
	}
	if (!status && !(bias->vector = calloc(width, sizeof *bias->vector)))
		status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) {
		root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
		if (!take_bias(bias, root))
			status =
			    io_fail(error, CUTTLE_INPUT, "%s: it is no bias of cuttle learn", path);
	}
	json_decref(root);
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
	return status ? status : read_bias_line(bias, path, error);
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
	free(bias->vector);
	evidence_free(&bias->evidence);
	*bias = (struct bias){0};
}
