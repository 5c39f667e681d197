// SPDX-License-Identifier: Apache-2.0
// See rounds.h. Texts come in the order of their indices, from the draw or from the journal.
#include "workflow/rounds.h"

#include "base/misuse.h"
#include "base/utf8.h"
#include "engine/cuttle/text.h"
#include "io/disk/fail.h"
#include <endian.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum {
	FEWEST = 8, /* batches of a cluster that has two rounds */
	PART = 10   /* one in so many is in the first */
};

size_t rounds_first(size_t batches) {
	return batches < FEWEST ? 0 : batches / PART + (batches % PART != 0);
}

enum cuttle_status rounds_open(struct rounds *rounds, const struct cuttle_drawn *room,
                               const struct cuttle_model *model, const char *fingerprint,
                               struct cuttle_error *error) {
	*rounds = (struct rounds){.shown = {.places = room->places},
	                          .model = model,
	                          .fingerprint = fingerprint,
	                          .most = room->count};
	rounds->chosen = calloc(rounds->most + 1, sizeof *rounds->chosen);
	return rounds->chosen ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

static void forget_round(struct rounds *rounds) {
	for (size_t i = 0; i < rounds->count; i++) free(rounds->texts[i]);
	rounds->count = 0;
	rounds->shown.texts = NULL;
	rounds->shown.count = 0;
	filters_close(&rounds->past);
}

/* Lists the tokens of a text; the caller frees *ids. */
static enum cuttle_status list_round_tokens(const struct rounds *rounds, const char *text,
                                            size_t size, int32_t **ids, size_t *count,
                                            struct cuttle_error *error) {
	const size_t room = cuttle_tokens_bound(size);
	*ids = calloc(room, sizeof **ids);
	return *ids ? cuttle_tokenize(rounds->model, text, size, false, *ids, room, count, error)
	            : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

enum cuttle_status rounds_begin(struct rounds *rounds, size_t cluster, const char *heading,
                                struct cuttle_error *error) {
	static const struct filters clean = {
	    .drop = {[FILTER_DUPLICATES] = true, [FILTER_LOOPS] = true}};
	enum cuttle_status status = CUTTLE_OK;
	forget_round(rounds);
	rounds->cluster = cluster;
	rounds->heading = heading;
	rounds->heading_tokens = 0;
	if (heading) {
		int32_t *ids;
		status = list_round_tokens(rounds, heading, strlen(heading), &ids,
		                           &rounds->heading_tokens, error);
		rounds->heading_tokens++; // its line end
		free(ids);
	}
	return status ? status : filters_open(&clean, NULL, &rounds->past, error);
}

/* Cuts the text where it has more tokens than a prompt shows, and there after its last sentence. */
static enum cuttle_status cut_shown(const struct rounds *rounds, const char *text, size_t *size,
                                    struct cuttle_error *error) {
	const size_t most = rounds->heading_tokens < CUTTLE_DRAWN_TOKENS
	                        ? CUTTLE_DRAWN_TOKENS - rounds->heading_tokens
	                        : 0;
	int32_t *ids;
	size_t count = 0, left = 0;
	enum cuttle_status status = list_round_tokens(rounds, text, *size, &ids, &count, error);
	if (!status && count > most) {
		status = cuttle_detokenize(rounds->model, ids, most, NULL, 0, &left, error);
		if (left < *size) *size = left;
		while (*size && !utf8_valid(text, *size)) --*size;
		*size = filters_trim(text, *size);
	}
	free(ids);
	return status;
}

/* Appends the text below its heading. False: out of memory. */
static bool append_shown(struct rounds *rounds, uint64_t index, const char *text, size_t size) {
	if (rounds->count == rounds->room) {
		const size_t room = 2 * rounds->room + 8;
		char **texts = realloc(rounds->texts, room * sizeof *texts);
		if (texts) rounds->texts = texts;
		uint64_t *indices = realloc(rounds->indices, room * sizeof *indices);
		if (indices) rounds->indices = indices;
		uint64_t *hashes = realloc(rounds->hashes, room * sizeof *hashes);
		if (hashes) rounds->hashes = hashes;
		if (!texts || !indices || !hashes) return false;
		rounds->room = room;
	}
	const size_t above = rounds->heading ? strlen(rounds->heading) + 1 : 0;
	char *shown = malloc(above + size + 1);
	if (!shown) return false;
	if (above) {
		memcpy(shown, rounds->heading, above - 1);
		shown[above - 1] = '\n';
	}
	memcpy(shown + above, text, size);
	shown[above + size] = 0;
	rounds->texts[rounds->count] = shown;
	rounds->indices[rounds->count++] = index;
	return true;
}

enum cuttle_status rounds_keep(struct rounds *rounds, const struct cuttle_text *text,
                               struct cuttle_error *error) {
	enum filter_rule rule;
	const char *words = text->text;
	size_t size =
	    text->finish == CUTTLE_FINISH_LENGTH ? filters_trim(words, text->size) : text->size;
	REQUIRE(rounds->past);
	enum cuttle_status status =
	    filters_judge(rounds->past, words, size, text->ids, text->tokens, &rule, error);
	if (!status) status = cut_shown(rounds, words, &size, error);
	if (status || rule != FILTER_KEEP) return status;
	utf8_trim(&words, &size);
	if (!size || memchr(words, 0, size)) return CUTTLE_OK;
	return append_shown(rounds, text->index, words, size)
	           ? CUTTLE_OK
	           : io_fail(error, CUTTLE_NOMEM, "out of memory");
}

static uint64_t hash_round(const struct rounds *rounds, uint64_t batch, uint64_t index) {
	static const char word[] = "cuttle round";
	crypto_generichash_blake2b_state state;
	const uint32_t cluster = htole32((uint32_t)rounds->cluster);
	const uint64_t numbers[] = {htole64(batch), htole64(index)};
	uint64_t digest;
	(void)crypto_generichash_blake2b_init(&state, NULL, 0, sizeof digest);
	(void)crypto_generichash_blake2b_update(&state, (const unsigned char *)word,
	                                        sizeof word - 1);
	(void)crypto_generichash_blake2b_update(&state, (const unsigned char *)rounds->fingerprint,
	                                        strlen(rounds->fingerprint));
	(void)crypto_generichash_blake2b_update(&state, (const unsigned char *)&cluster,
	                                        sizeof cluster);
	(void)crypto_generichash_blake2b_update(&state, (const unsigned char *)numbers,
	                                        sizeof numbers);
	(void)crypto_generichash_blake2b_final(&state, (unsigned char *)&digest, sizeof digest);
	return le64toh(digest);
}

/* Whether fewer than `most` texts come before number `which`, by hash and, where hashes are equal,
 * by index. It stops at `most`, so that many texts take hardly more than one look each. */
static bool is_among_first(const struct rounds *rounds, size_t which) {
	const uint64_t own = rounds->hashes[which];
	size_t before = 0;
	for (size_t i = 0; i < rounds->count && before < rounds->most; i++)
		before += rounds->hashes[i] < own || (rounds->hashes[i] == own && i < which);
	return before < rounds->most;
}

const struct cuttle_drawn *rounds_show(struct rounds *rounds, uint64_t batch) {
	rounds->shown.count = 0;
	for (size_t i = 0; i < rounds->count; i++)
		rounds->hashes[i] = hash_round(rounds, batch, rounds->indices[i]);
	for (size_t i = 0; i < rounds->count; i++)
		if (is_among_first(rounds, i))
			rounds->chosen[rounds->shown.count++] = rounds->texts[i];
	rounds->shown.texts = rounds->shown.count ? rounds->chosen : NULL;
	return &rounds->shown;
}

void rounds_close(struct rounds *rounds) {
	forget_round(rounds);
	free(rounds->texts);
	free(rounds->indices);
	free(rounds->hashes);
	free(rounds->chosen);
	*rounds = (struct rounds){0};
}
