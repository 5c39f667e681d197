// SPDX-License-Identifier: Apache-2.0
// Beginnings are drawn by a job whose references are all null. Unlikely words are tokens of visible
// ASCII, each as likely as the others, so nearly always unlikely to the model.
#include "workflow/audit/canaries.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "engine/cuttle/job.h"
#include "engine/cuttle/model.h"
#include "engine/cuttle/text.h"
#include "io/disk/fail.h"
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DRAWS = 100000, WORD = 48 };

void chance_begin(struct chance *chance, const uint64_t *seed) {
	if (!seed) {
		randombytes_buf(chance->key, sizeof chance->key);
		return;
	}
	memset(chance->key, 0, sizeof chance->key);
	memcpy(chance->key, seed, sizeof *seed);
}

uint64_t chance_below(const struct chance *chance, enum chance_purpose purpose, uint64_t game,
                      uint64_t which, uint64_t limit) {
	REQUIRE(limit >= 1 && limit <= (uint64_t)1 << 32);
	const uint64_t asked[] = {(uint64_t)purpose, game, which};
	uint64_t number;
	(void)crypto_generichash((unsigned char *)&number, sizeof number,
	                         (const unsigned char *)asked, sizeof asked, chance->key,
	                         sizeof chance->key);
	// 64 bits modulo at most 2^32: no number is likelier by more than 2^-32 of its chance.
	return number % limit;
}

void chance_end(struct chance *chance) {
	sodium_memzero(chance, sizeof *chance);
}

struct invention {
	struct canaries *canaries;
	const struct cuttle_model *model;
	const struct chance *chance;
	uint32_t vocab;
	bool (*stop)(void *user);
	void *user;
	struct cuttle_error *error;
	enum cuttle_status status;
};

static void give_nothing(void *user, size_t index, const char **text, size_t *size) {
	(void)user, (void)index;
	*text = NULL;
	*size = 0;
}

/* Bytes of the beginning of text[size] that a canary takes: whole words. */
static size_t cut_beginning(const char *text, size_t size) {
	if (size <= CANARY_PREFIX) return size;
	for (size_t i = CANARY_PREFIX; i > 0; i--)
		if (text[i] == ' ') return i;
	size_t i = CANARY_PREFIX;
	while (i > 0 && ((unsigned char)text[i] & 0xc0) == 0x80) i--;
	return i;
}

/* Whether bytes are visible ASCII, perhaps behind a space. */
static bool is_visible_word(const char *bytes, size_t size) {
	size_t seen = 0;
	for (size_t i = 0; i < size; i++) {
		if (bytes[i] < ' ' || bytes[i] > '~' || (bytes[i] == ' ' && i > 0)) return false;
		seen += bytes[i] != ' ';
	}
	return seen > 0;
}

/* Appends unlikely words to a canary. */
static enum cuttle_status append_words(const struct invention *of, size_t number, FILE *file) {
	uint64_t draw = 0;
	for (size_t word = 0; word < CANARY_SUFFIX; word++) {
		char bytes[WORD];
		size_t size = 0;
		do {
			const int32_t id =
			    (int32_t)chance_below(of->chance, CHANCE_WORD, number, draw, of->vocab);
			if (++draw > MOST_DRAWS)
				return io_fail(of->error, CUTTLE_USAGE,
				               "the model has no token of visible letters to "
				               "invent a canary from: give --canary TEXT");
			const enum cuttle_status status = cuttle_detokenize(
			    of->model, &id, 1, bytes, sizeof bytes, &size, of->error);
			if (status) return status;
		} while (size > sizeof bytes || !is_visible_word(bytes, size));
		(void)fprintf(file, "%s%.*s", bytes[0] == ' ' ? "" : " ", (int)size, bytes);
	}
	return CUTTLE_OK;
}

static int take_beginning(void *user, const struct cuttle_text *text) {
	struct invention *of = user;
	char *made = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&made, &size);
	if (file) {
		const size_t begins = cut_beginning(text->text, text->size);
		(void)fwrite(text->text, 1, begins, file);
		of->status = append_words(of, text->index, file);
		const bool failed = ferror(file) != 0;
		if ((fclose(file) || failed) && !of->status)
			of->status = io_fail(of->error, CUTTLE_NOMEM, "out of memory");
	} else {
		of->status = io_fail(of->error, CUTTLE_NOMEM, "out of memory");
	}
	if (of->status) {
		free(made);
		return 1;
	}
	of->canaries->all[of->canaries->count++] = made;
	return 0;
}

static int ask_invention_stop(void *user, const struct cuttle_progress *progress) {
	const struct invention *of = user;
	(void)progress;
	return of->stop(of->user);
}

enum cuttle_status canaries_invent(struct canaries *canaries, struct cuttle_plan *plan,
                                   const struct cuttle_model *model, size_t count,
                                   const struct chance *chance, bool (*stop)(void *user),
                                   void *user, struct cuttle_error *error) {
	REQUIRE(count >= 1 && count <= CANARIES_MOST);
	struct cuttle_model_info info;
	struct cuttle_job job;
	struct invention of = {.canaries = canaries,
	                       .model = model,
	                       .chance = chance,
	                       .stop = stop,
	                       .user = user,
	                       .error = error};
	*canaries = (struct canaries){0};
	cuttle_model_describe(model, &info);
	of.vocab = info.vocab;
	cuttle_job_default(&job);
	job.texts = count;
	job.user = &of;
	job.reference = give_nothing;
	job.text = take_beginning;
	job.progress = ask_invention_stop;
	const enum cuttle_status status = cuttle_job_run(plan, &job, error);
	if (!of.status) return status;
	// The callback's own fault, whose message cuttle_job_run has replaced by "stopped".
	return io_fail(error, of.status,
	               of.status == CUTTLE_NOMEM
	                   ? "out of memory"
	                   : "the model has no token of visible letters to invent a canary "
	                     "from: give --canary TEXT");
}

enum cuttle_status canaries_take(struct canaries *canaries, const char *text,
                                 struct cuttle_error *error) {
	*canaries = (struct canaries){.given = true};
	if (strlen(text) > CANARY_MOST)
		return io_fail(error, CUTTLE_USAGE, "--canary has more than %d bytes", CANARY_MOST);
	canaries->all[0] = strdup(text);
	if (!canaries->all[0]) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	canaries->count = 1;
	return CUTTLE_OK;
}

void canaries_free(struct canaries *canaries) {
	for (size_t i = 0; i < canaries->count; i++) free(canaries->all[i]);
	*canaries = (struct canaries){0};
}

/* Digits of secrets - 1. */
static int count_secret_digits(uint64_t secrets) {
	int digits = 1;
	for (uint64_t most = secrets - 1; most > 9; most /= 10) digits++;
	return digits;
}

/* Writes a canary, and what stands behind it where that is not NULL. */
static size_t write_sentences(const struct canaries *canaries, size_t game, const char *number,
                              char text[CANARIES_SHOWN]) {
	static const char between[] = ". The number is ";
	const int length =
	    snprintf(text, CANARIES_SHOWN, "%s%s%s%s", canaries->all[game % canaries->count],
	             number ? between : "", number ? number : "", number ? "." : "");
	REQUIRE(length >= 0 && length < CANARIES_SHOWN);
	return (size_t)length;
}

size_t canaries_write(const struct canaries *canaries, size_t game, uint64_t secret,
                      uint64_t secrets, char text[CANARIES_SHOWN]) {
	REQUIRE(canaries->count && (!secrets || secret < secrets));
	char digits[32] = "";
	if (secrets)
		(void)snprintf(digits, sizeof digits, "%0*" PRIu64, count_secret_digits(secrets),
		               secret);
	return write_sentences(canaries, game, secrets ? digits : NULL, text);
}

size_t canaries_write_blank(const struct canaries *canaries, size_t game, const char *blank,
                            char text[CANARIES_SHOWN]) {
	REQUIRE(canaries->count);
	return write_sentences(canaries, game, blank, text);
}
