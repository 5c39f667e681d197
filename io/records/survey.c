// SPDX-License-Identifier: Apache-2.0
// How survey.h counts equal records: each record is hashed by its text, owner or category. Sorting
// brings equal hashes side by side, and each such group is counted.
#include "io/records/survey.h"

#include "base/utf8.h"
#include "engine/cuttle/text.h"
#include "io/disk/arena.h"
#include "io/disk/fail.h"
#include "io/disk/secrecy.h"
#include "io/records/units.h"
#include <sodium.h>
#include <stdlib.h>

const unsigned SURVEY_PERCENT[SURVEY_QUANTILES] = {0, 10, 50, 90, 99, 100};

static int compare_sizes(const void *a, const void *b) {
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;
	return (x > y) - (x < y);
}

/* Sorts the numbers and picks those at SURVEY_PERCENT. */
static struct survey_numbers summarise_numbers(size_t *numbers, size_t count) {
	struct survey_numbers summary = {.count = count};
	if (!count) return summary;
	qsort(numbers, count, sizeof *numbers, compare_sizes);
	for (size_t i = 0; i < SURVEY_QUANTILES; i++)
		summary.at[i] = numbers[(size_t)((double)(count - 1) * SURVEY_PERCENT[i] / 100)];
	return summary;
}

/* The readable text of a record without the white space around it, or NULL. */
static const char *trimmed_text_of(const struct records *records, size_t index, size_t *size) {
	const char *text = records_text(records, index, size);
	if (text) utf8_trim(&text, size);
	return *size ? text : NULL;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The property by which records are grouped. */
enum key { BY_TEXT, BY_OWNER, BY_CATEGORY };

/* Hashes that property of a record. False: the record lacks it. */
static bool hash_key(const struct survey_request *request, enum key key, size_t index,
                     unsigned char hash[UNIT_NAME]) {
	size_t size;
	crypto_generichash_state state;
	(void)crypto_generichash_init(&state, NULL, 0, UNIT_NAME);
	const size_t parts = key == BY_CATEGORY ? request->label_count : 1;
	bool has = true;
	for (size_t i = 0; has && i < parts; i++) {
		const char *part = key == BY_TEXT ? trimmed_text_of(request->records, index, &size)
		                   : key == BY_OWNER
		                       ? records_id(request->records, index, &size)
		                       : records_label(request->records, index, i, &size);
		has = part != NULL;
		// The size goes first: the labels "ab", "c" must differ from "a", "bc".
		(void)crypto_generichash_update(&state, (const unsigned char *)&size, sizeof size);
		if (has) (void)crypto_generichash_update(&state, (const unsigned char *)part, size);
	}
	(void)crypto_generichash_final(&state, hash, UNIT_NAME);
	sodium_memzero(&state, sizeof state);
	return has;
}

struct groups {
	/* The records that have the property; those of a group are side by side. `unit` is the
	 * hash, `batch` the record's number. */
	struct unit_record *members;
	size_t *sizes;       /* records of each group, in the same order */
	size_t member_count; /* entries in `members` */
	size_t count;        /* groups, and entries in `sizes` */
};

static bool make_groups(const struct survey_request *request, enum key key, struct groups *groups) {
	const size_t records = records_count(request->records);
	*groups = (struct groups){.members = calloc(records + 1, sizeof *groups->members),
	                          .sizes = calloc(records + 1, sizeof(size_t))};
	if (!groups->members || !groups->sizes) return false;
	for (size_t i = 0; i < records; i++) {
		struct unit_record *member = &groups->members[groups->member_count];
		member->batch = i;
		if (hash_key(request, key, i, member->unit)) groups->member_count++;
	}
	units_sort(groups->members, groups->member_count);
	for (size_t i = 0; i < groups->member_count; i++) {
		if (!i || !units_same(&groups->members[i - 1], &groups->members[i]))
			groups->count++;
		groups->sizes[groups->count - 1]++;
	}
	return true;
}

static void free_groups(struct groups *groups) {
	secrecy_free(groups->members);
	secrecy_free(groups->sizes);
}

static bool count_repeated(const struct survey_request *request, struct survey *survey) {
	struct groups groups;
	const bool made = make_groups(request, BY_TEXT, &groups);
	survey->repeated = groups.member_count - groups.count;
	free_groups(&groups);
	return made;
}

static bool count_owners(const struct survey_request *request, struct survey *survey) {
	struct groups groups;
	const bool made = make_groups(request, BY_OWNER, &groups);
	survey->unowned = records_count(request->records) - groups.member_count;
	if (made) survey->owners = summarise_numbers(groups.sizes, groups.count);
	free_groups(&groups);
	return made;
}

static int compare_categories(const void *a, const void *b) {
	const struct survey_category *x = a, *y = b;
	if (x->count != y->count) return x->count < y->count ? 1 : -1;
	return (x->record > y->record) - (x->record < y->record);
}

static bool count_categories(const struct survey_request *request, struct survey *survey) {
	struct groups groups;
	bool made = make_groups(request, BY_CATEGORY, &groups);
	survey->uncategorised = records_count(request->records) - groups.member_count;
	if (made) survey->categories = calloc(groups.count + 1, sizeof *survey->categories);
	made = made && survey->categories;
	for (size_t i = 0, first = 0; made && i < groups.count; first += groups.sizes[i++])
		survey->categories[i] =
		    (struct survey_category){groups.members[first].batch, groups.sizes[i]};
	if (made) survey->category_count = groups.count;
	if (made)
		qsort(survey->categories, groups.count, sizeof *survey->categories,
		      compare_categories);
	free_groups(&groups);
	return made;
}

/* ---- lengths --------------------------------------------------------------------------------- */

/* Counts the tokens of the text. `ids` is scratch memory that grows as needed. NOMEM. */
static enum cuttle_status count_tokens(const struct survey_request *request, struct arena *ids,
                                       const char *text, size_t size, size_t *count,
                                       struct cuttle_error *error) {
	const size_t capacity = cuttle_tokens_bound(size);
	ids->used = 0;
	if (!arena_reserve(ids, capacity * sizeof(int32_t)))
		return io_fail(error, CUTTLE_NOMEM, "out of memory for the tokens of a text");
	int32_t *all = (int32_t *)(void *)ids->bytes;
	const enum cuttle_status status =
	    cuttle_tokenize(request->model, text, size, false, all, capacity, count, error);
	if (!status) arena_grew(ids, *count * sizeof(int32_t));
	return status;
}

static enum cuttle_status measure_texts(const struct survey_request *request, struct survey *survey,
                                        size_t *bytes, size_t *tokens, struct cuttle_error *error) {
	struct arena ids = {0};
	enum cuttle_status status = CUTTLE_OK;
	size_t count = 0;
	for (size_t i = 0; !status && i < records_count(request->records); i++) {
		survey->states[records_state(request->records, i)]++;
		const char *text = trimmed_text_of(request->records, i, &bytes[count]);
		if (!text) continue;
		if (request->model) {
			status =
			    count_tokens(request, &ids, text, bytes[count], &tokens[count], error);
			survey->cut += bytes[count] > request->reference_bytes ||
			               tokens[count] > request->reference_tokens;
		}
		count++;
	}
	if (!status) survey->bytes = summarise_numbers(bytes, count);
	if (!status && request->model) survey->tokens = summarise_numbers(tokens, count);
	arena_free(&ids);
	return status;
}

enum cuttle_status survey_make(const struct survey_request *request, struct survey *survey,
                               struct cuttle_error *error) {
	const size_t records = records_count(request->records);
	size_t *bytes = calloc(records + 1, sizeof *bytes),
	       *tokens = calloc(records + 1, sizeof *tokens);
	*survey = (struct survey){0};
	bool room = bytes && tokens && count_repeated(request, survey);
	if (room && request->owners) room = count_owners(request, survey);
	if (room && request->label_count) room = count_categories(request, survey);
	const enum cuttle_status status = room
	                                      ? measure_texts(request, survey, bytes, tokens, error)
	                                      : io_fail(error, CUTTLE_NOMEM, "out of memory");
	secrecy_free(bytes);
	secrecy_free(tokens);
	return status;
}

void survey_free(struct survey *survey) {
	secrecy_free(survey->categories);
	sodium_memzero(survey, sizeof *survey);
}
