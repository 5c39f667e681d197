// SPDX-License-Identifier: Apache-2.0
// disclosure.c: see disclosure.h. Runs become keys of 64 bits. A hash table, at most half full,
// says of each run of the pool which record it is of, or that there are several.
#include "measure/disclosure.h"

#include "base/sort.h"
#include "measure/scratch.h"

#include <math.h>
#include <string.h>

struct pool_run {
	uint64_t key;
	size_t record; /* plus one; 0 = the slot is free */
	bool several;  /* records have it */
	bool written;  /* a text has it */
};

struct run_table {
	struct pool_run *slots; /* [mask + 1] */
	size_t mask;            /* a power of two less one */
};

/* A step of splitmix64 (Steele, Lea and Flood 2014, figure 19). */
static uint64_t mix(uint64_t z) {
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static uint64_t key_of_run(const uint64_t *word, size_t n) {
	uint64_t key = n;
	for (size_t i = 0; i < n; i++) key = mix((key ^ word[i]) + 0x9E3779B97F4A7C15u);
	return key;
}

/* The slot that has the key, or the free one where it belongs. */
static struct pool_run *find_run(const struct run_table *table, uint64_t key) {
	size_t slot = (size_t)key & table->mask;
	while (table->slots[slot].record && table->slots[slot].key != key)
		slot = (slot + 1) & table->mask;
	return &table->slots[slot];
}

static bool fill_runs(struct run_table *table, const struct disclosure_words *pool, size_t n) {
	size_t slots = 2;
	while (slots / 2 < pool->first[pool->count]) slots *= 2;
	*table = (struct run_table){scratch_make(slots, sizeof *table->slots), slots - 1};
	if (!table->slots) return false;
	for (size_t i = 0; i < pool->count; i++)
		for (size_t at = pool->first[i]; at + n <= pool->first[i + 1]; at++) {
			const uint64_t key = key_of_run(pool->word + at, n);
			struct pool_run *run = find_run(table, key);
			run->several |= run->record && run->record != i + 1;
			run->record = i + 1;
			run->key = key;
		}
	return true;
}

bool disclosure_count(const struct disclosure_words *texts, const struct disclosure_words *pool,
                      size_t n, uint32_t *found) {
	struct run_table table;
	if (!fill_runs(&table, pool, n)) return false;
	memset(found, 0, pool->count * sizeof *found);
	for (size_t i = 0; i < texts->count; i++)
		for (size_t at = texts->first[i]; at + n <= texts->first[i + 1]; at++) {
			struct pool_run *run = find_run(&table, key_of_run(texts->word + at, n));
			if (!run->record || run->several || run->written) continue;
			run->written = true;
			found[run->record - 1]++;
		}
	scratch_free(table.slots);
	return true;
}

/* ---- from counts ----------------------------------------------------------------------------- */

/* ln of n over k. */
static double log_choose(uint64_t n, uint64_t k) {
	return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

double disclosure_chance(uint64_t used, uint64_t held_out, uint64_t drawn, uint64_t seen) {
	const uint64_t least = drawn > held_out ? drawn - held_out : 0,
	               most = drawn < used ? drawn : used;
	const double all = log_choose(used + held_out, drawn);
	double chance = 0;
	if (seen <= least) return 1;
	// The smallest come first.
	for (uint64_t x = most + 1; x-- > seen;)
		chance += exp(log_choose(used, x) + log_choose(held_out, drawn - x) - all);
	return fmin(chance, 1);
}

/* ---- guesses --------------------------------------------------------------------------------- */

/* The first `count` of a random order of 0 .. among - 1 become the first of order[among]. */
static void shuffle_first(size_t *order, size_t among, size_t count, uint64_t *state) {
	for (size_t i = 0; i < among; i++) order[i] = i;
	for (size_t i = 0; i < count; i++) {
		const uint64_t number = mix(*state += 0x9E3779B97F4A7C15u);
		const size_t j = i + (size_t)(number % (among - i)), kept = order[i];
		order[i] = order[j];
		order[j] = kept;
	}
}

/* Of the `guesses` numbers that are farthest from 0, of equally far ones the first, how many are
 * above 0. size[count] is scratch. */
static size_t count_positive(const double *more, double *size, size_t count, size_t guesses) {
	size_t above = 0, right = 0;
	if (!guesses) return 0;
	for (size_t i = 0; i < count; i++) size[i] = fabs(more[i]);
	sort_doubles(size, count);
	const double least = size[count - guesses];
	for (size_t i = 0; i < count; i++) above += fabs(more[i]) > least;
	size_t ties = guesses - above;
	for (size_t i = 0; i < count; i++) {
		const bool tied = fabs(more[i]) == least;
		if (fabs(more[i]) < least || (tied && !ties)) continue;
		ties -= tied;
		right += more[i] > 0;
	}
	return right;
}

bool disclosure_guess(const double *scores, size_t used, size_t held_out, size_t guesses,
                      uint64_t seed, size_t *right) {
	const size_t pairs = used < held_out ? used : held_out;
	size_t *order = scratch_make(used + held_out + 1, sizeof *order);
	double *more = scratch_make(2 * pairs + 1, sizeof *more);
	*right = 0;
	if (order && more) {
		size_t *const others = order + used;
		shuffle_first(order, used, pairs, &seed);
		shuffle_first(others, held_out, pairs, &seed);
		for (size_t i = 0; i < pairs; i++)
			more[i] = scores[order[i]] - scores[used + others[i]];
		*right = count_positive(more, more + pairs, pairs, guesses);
	}
	const bool done = order && more;
	scratch_free(order);
	scratch_free(more);
	return done;
}
