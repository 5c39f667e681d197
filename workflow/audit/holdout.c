// SPDX-License-Identifier: Apache-2.0
// holdout.c: see holdout.h. A word becomes 64 bits by SipHash; two different ones are equal with a
// chance of 2^-64.
#include "workflow/audit/holdout.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/secrecy.h"
#include "io/records/records.h"
#include "io/text/split.h"
#include "measure/bounds.h"
#include "measure/disclosure.h"
#include "workflow/audit/halves.h"
#include <math.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAIR_SEED = 1 };
static const size_t LENGTHS[HOLDOUT_LENGTHS] = {1, 2, 4, 6};

/* Appends the words of a text, or counts them where word is NULL. */
static size_t key_words(const char *text, size_t size, uint64_t *word) {
	static const unsigned char key[crypto_shorthash_KEYBYTES];
	struct split split;
	const char *bytes;
	size_t length, count = 0;
	split_begin(&split, text, size, false);
	while (split_next(&split, &bytes, &length) != SPLIT_END) {
		unsigned char hash[crypto_shorthash_BYTES];
		(void)crypto_shorthash(hash, (const unsigned char *)bytes, length, key);
		if (word) memcpy(&word[count], hash, sizeof *word);
		count++;
	}
	split_end(&split);
	return count;
}

/* The records, those of the first unit first. The caller frees it. NULL: out of memory. */
static size_t *sort_by_unit(const size_t *unit, size_t all, size_t units) {
	size_t *order = calloc(all + 1, sizeof *order), *next = calloc(units + 2, sizeof *next);
	const bool made = order && next;
	for (size_t i = 0; made && i < all; i++) next[unit[i] + 1]++;
	for (size_t i = 0; made && i < units; i++) next[i + 1] += next[i];
	for (size_t i = 0; made && i < all; i++) order[next[unit[i]]++] = i;
	secrecy_free(next);
	if (made) return order;
	secrecy_free(order);
	return NULL;
}

/* Puts the words of each unit one after the other. Between two records of an owner stands a word
 * that no text has, so no run of words reaches from one into the other. */
static void fill_words(const struct records *records, const size_t *unit, const size_t *order,
                       struct holdout_words *words) {
	const size_t all = records_count(records);
	size_t size, last = SIZE_MAX;
	for (size_t i = 0; i < all; i++) {
		const size_t record = order[i];
		const char *text = records_text(records, record, &size);
		if (!text) continue;
		size_t at = words->first[words->count];
		if (unit[record] != last) words->count++;
		else words->word[at++] = UINT64_MAX - record;
		last = unit[record];
		words->first[words->count] = at + key_words(text, size, words->word + at);
	}
}

static bool take_words(const struct records *records, bool lock, struct holdout_words *words) {
	const size_t all = records_count(records);
	size_t size, room = 0, units;
	size_t *const unit = halves_units(records, &units);
	size_t *const order = unit ? sort_by_unit(unit, all, units) : NULL;
	for (size_t i = 0; i < all; i++) {
		const char *text = records_text(records, i, &size);
		if (text) room += 1 + key_words(text, size, NULL);
	}
	words->word = calloc(room + 1, sizeof *words->word);
	words->first = calloc(all + 1, sizeof *words->first);
	const bool made = order && words->word && words->first;
	if (made && lock) (void)mlock(words->word, room * sizeof *words->word);
	if (made) fill_words(records, unit, order, words);
	secrecy_free(unit);
	secrecy_free(order);
	return made;
}

enum cuttle_status holdout_read(const char *path, const char *field, const char *unit_key,
                                bool lock, struct holdout_words *words,
                                struct cuttle_error *error) {
	struct records *records = NULL;
	*words = (struct holdout_words){0};
	const struct records_request wanted = {.path = path,
	                                       .field = field,
	                                       .id_field = unit_key,
	                                       .id_is_owner = true,
	                                       .all_columns = true,
	                                       .limit = SIZE_MAX};
	enum cuttle_status status = records_read(&wanted, &records, error);
	if (!status)
		status =
		    records_need_field(&wanted, records, "--text-field or --output-field", error);
	if (!status && lock) records_lock(records);
	if (!status && !take_words(records, lock, words))
		status = io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status && !words->count)
		status = io_fail(error, CUTTLE_INPUT, "%s has no record that can be read",
		                 file_shown(path));
	records_free(&records);
	return status;
}

void holdout_free(struct holdout_words *words) {
	secrecy_free(words->word);
	secrecy_free(words->first);
	*words = (struct holdout_words){0};
}

/* Puts two lists of records behind each other. */
static bool join_pool(const struct holdout_words *one, const struct holdout_words *other,
                      struct holdout_words *both) {
	const size_t begin = one->first[one->count], end = other->first[other->count];
	both->count = one->count + other->count;
	both->word = calloc(begin + end + 1, sizeof *both->word);
	both->first = calloc(both->count + 1, sizeof *both->first);
	if (!both->word || !both->first) return false;
	memcpy(both->word, one->word, begin * sizeof *both->word);
	memcpy(both->word + begin, other->word, end * sizeof *both->word);
	for (size_t i = 0; i <= one->count; i++) both->first[i] = one->first[i];
	for (size_t i = 0; i <= other->count; i++)
		both->first[one->count + i] = begin + other->first[i];
	return true;
}

static struct disclosure_words words_of(const struct holdout_words *words) {
	return (struct disclosure_words){words->word, words->first, words->count};
}

/* What guesses about pairs say of a record's epsilon. With a smaller delta the bound is larger, so
 * the second one is of no smaller delta than the pairs have at an epsilon below it. */
static double bound_of_pairs(size_t pairs, size_t guesses, size_t right, double delta,
                             double alpha) {
	const double first = bounds_one_run(pairs, guesses, right, delta, alpha),
	             wide = delta * (1 + exp(first / 2));
	return wide < 1 ? bounds_one_run(pairs, guesses, right, wide, alpha) / 2 : 0;
}

/* The numbers of one length, and what the scores of records become by it. Returns its p. */
static double add_length(size_t length, const uint32_t *found, size_t used, size_t held_out,
                         double *scores, struct audit_game *game) {
	static const char *const keys[HOLDOUT_LENGTHS][3] = {{"used_1", "held_out_1", "p_1"},
	                                                     {"used_2", "held_out_2", "p_2"},
	                                                     {"used_4", "held_out_4", "p_4"},
	                                                     {"used_6", "held_out_6", "p_6"}};
	static const char *const words[HOLDOUT_LENGTHS] = {
	    "used records of which a text has a word that no other record has",
	    "the same of 2 words in a row", "the same of 4 words in a row",
	    "the same of 6 words in a row"};
	// A long run says more than many short ones.
	const double weight = pow((double)LENGTHS[length], 3);
	uint64_t disclosed[2] = {0, 0};
	for (size_t i = 0; i < used + held_out; i++) {
		disclosed[i >= used] += found[i] > 0;
		scores[i] += weight * found[i];
	}
	const double p =
	    disclosure_chance(used, held_out, disclosed[0] + disclosed[1], disclosed[0]);
	finding_add(game, keys[length][0], words[length], (double)disclosed[0], 0);
	finding_add(game, keys[length][1], "held-out records likewise, so by chance",
	            (double)disclosed[1], 0);
	finding_add(game, keys[length][2], "p of nothing learnt", p, 6);
	return p;
}

static size_t count_pairs(size_t used, size_t held_out) {
	return used < held_out ? used : held_out;
}

/* A fifth of the pairs, where nothing else is asked for. */
static size_t count_guesses(size_t pairs, uint64_t guesses) {
	return guesses ? (size_t)guesses : pairs < 5 ? 1 : pairs / 5;
}

double holdout_could_refute(const struct holdout_words *used, const struct holdout_words *held_out,
                            uint64_t guesses, double delta) {
	const size_t pairs = count_pairs(used->count, held_out->count),
	             r = count_guesses(pairs, guesses);
	return r <= pairs ? bound_of_pairs(pairs, r, r, delta, FINDING_SURE) : 0;
}

static enum cuttle_status add_guesses(const double *scores, size_t used, size_t held_out,
                                      uint64_t guesses, double delta, struct audit_game *game,
                                      struct cuttle_error *error) {
	const size_t pairs = count_pairs(used, held_out), r = count_guesses(pairs, guesses);
	size_t right;
	if (guesses > pairs)
		return io_fail(error, CUTTLE_USAGE,
		               "--guesses: there are %zu pairs of a used and a held-out record",
		               pairs);
	if (!disclosure_guess(scores, used, held_out, r, PAIR_SEED, &right))
		return io_fail(error, CUTTLE_NOMEM, "out of memory");
	finding_add(game, "pairs", "pairs of a used and a held-out record", (double)pairs, 0);
	finding_add(game, "guesses", "guesses which of a pair was used", (double)r, 0);
	finding_add(game, "right", "right guesses", (double)right, 0);
	finding_bound(game, bound_of_pairs(pairs, r, right, delta, FINDING_LIKELY),
	              bound_of_pairs(pairs, r, right, delta, FINDING_SURE),
	              bound_of_pairs(pairs, r, r, delta, FINDING_LIKELY),
	              bound_of_pairs(pairs, r, r, delta, FINDING_SURE));
	return CUTTLE_OK;
}

enum cuttle_status holdout_compare(const struct holdout_words *texts,
                                   const struct holdout_words *used,
                                   const struct holdout_words *held_out, uint64_t guesses,
                                   double delta, bool (*stop)(void *user), void *user,
                                   struct audit_game *game, struct cuttle_error *error) {
	struct holdout_words both = {0};
	const bool joined = join_pool(used, held_out, &both);
	double *scores = calloc(both.count + 1, sizeof *scores), least = 1;
	uint32_t *found = calloc(both.count + 1, sizeof *found);
	const struct disclosure_words written = words_of(texts), pool = words_of(&both);
	enum cuttle_status status =
	    joined && scores && found ? CUTTLE_OK : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) {
		finding_add(game, "texts", "texts", (double)texts->count, 0);
		finding_add(game, "used", "used records", (double)used->count, 0);
		finding_add(game, "held_out", "held-out records", (double)held_out->count, 0);
	}
	for (size_t i = 0; i < HOLDOUT_LENGTHS && !status; i++) {
		if (stop(user)) status = io_fail(error, CUTTLE_PARTIAL, "stopped");
		else if (!disclosure_count(&written, &pool, LENGTHS[i], found))
			status = io_fail(error, CUTTLE_NOMEM, "out of memory");
		else
			least = fmin(least, add_length(i, found, used->count, held_out->count,
			                               scores, game));
	}
	if (!status) {
		finding_add(game, "p", "p of nothing learnt, of all four", fmin(1, 4 * least), 6);
		status =
		    add_guesses(scores, used->count, held_out->count, guesses, delta, game, error);
	}
	holdout_free(&both);
	secrecy_free(scores);
	secrecy_free(found);
	return status;
}
