// SPDX-License-Identifier: Apache-2.0
// Runs of items are found again by a hash table of where they stand, at most half full. A run is
// compared item by item, so that equal hashes never make two runs one.
#include "measure/ngrams.h"

#include "base/misuse.h"
#include "measure/scratch.h"

#include <string.h>

struct run {
	const uint32_t *at; /* NULL: the slot is free */
	size_t count;
};

struct run_set {
	struct run *slots; /* [mask + 1] */
	size_t mask;       /* a power of two less one */
	size_t size;       /* runs in the set */
};

/* Room for `most` different runs. */
static bool make_set(size_t most, struct run_set *set) {
	*set = (struct run_set){.mask = 1};
	while (set->mask < 2 * most) set->mask = 2 * set->mask + 1;
	set->slots = scratch_make(set->mask + 1, sizeof *set->slots);
	return set->slots != NULL;
}

/* Where the run stands, or the free slot where it belongs. */
static struct run *find_slot(const struct run_set *set, const uint32_t *at, size_t count) {
	uint64_t hash = count;
	for (size_t i = 0; i < count; i++) {
		hash = (hash ^ at[i]) * 0x9E3779B97F4A7C15u;
		hash ^= hash >> 29;
	}
	size_t slot = (size_t)hash & set->mask;
	for (; set->slots[slot].at; slot = (slot + 1) & set->mask)
		if (set->slots[slot].count == count &&
		    memcmp(set->slots[slot].at, at, count * sizeof *at) == 0)
			break;
	return &set->slots[slot];
}

/* Returns whether the run is new. */
static bool insert_run(struct run_set *set, const uint32_t *at, size_t count) {
	struct run *slot = find_slot(set, at, count);
	if (slot->at) return false;
	*slot = (struct run){at, count};
	set->size++;
	return true;
}

static size_t count_grams(size_t items, size_t n) {
	return items < n ? 0 : items - n + 1;
}

static size_t size_of(const struct ngrams_texts *texts, size_t i) {
	return texts->first[i + 1] - texts->first[i];
}

static size_t size_of_head(const struct ngrams_texts *texts, size_t i, size_t head) {
	return size_of(texts, i) < head ? size_of(texts, i) : head;
}

bool ngrams_distinct(const struct ngrams_texts *texts, size_t n, size_t head, double *share) {
	REQUIRE(n >= 1);
	size_t all = 0;
	for (size_t i = 0; i < texts->count; i++)
		all += count_grams(size_of_head(texts, i, head), n);
	struct run_set set;
	if (!make_set(all, &set)) return false;
	for (size_t i = 0; i < texts->count; i++) {
		const size_t grams = count_grams(size_of_head(texts, i, head), n);
		for (size_t k = 0; k < grams; k++)
			insert_run(&set, texts->item + texts->first[i] + k, n);
	}
	*share = all ? (double)set.size / (double)all : 0.0;
	scratch_free(set.slots);
	return true;
}

bool ngrams_repeats(const struct ngrams_texts *texts, size_t n, double *share) {
	REQUIRE(n >= 1 && texts->count >= 1);
	double sum = 0.0;
	for (size_t i = 0; i < texts->count; i++) {
		const size_t grams = count_grams(size_of(texts, i), n);
		if (!grams) continue;
		struct run_set set;
		if (!make_set(grams, &set)) return false;
		for (size_t k = 0; k < grams; k++)
			insert_run(&set, texts->item + texts->first[i] + k, n);
		sum += (double)(grams - set.size) / (double)grams;
		scratch_free(set.slots);
	}
	*share = sum / (double)texts->count;
	return true;
}

bool ngrams_copies(const struct ngrams_texts *texts, size_t *copies) {
	struct run_set set;
	if (!make_set(texts->count, &set)) return false;
	// The address serves empty texts, too: a slot with one is not free.
	static const uint32_t nothing;
	for (size_t i = 0; i < texts->count; i++) {
		const size_t size = size_of(texts, i);
		insert_run(&set, size ? texts->item + texts->first[i] : &nothing, size);
	}
	*copies = texts->count - set.size;
	scratch_free(set.slots);
	return true;
}

bool ngrams_common_run(const uint32_t *one, size_t m, const uint32_t *other, size_t n,
                       size_t *run) {
	// ending[j + 1]: items up to other[j] that equal those up to the current item of `one`.
	size_t *ending = scratch_make(n + 1, sizeof *ending);
	if (!ending) return false;
	*run = 0;
	for (size_t i = 0; i < m; i++)
		// From the right, so that ending[j] is still that of the item before.
		for (size_t j = n; j-- > 0;) {
			ending[j + 1] = one[i] == other[j] ? ending[j] + 1 : 0;
			if (ending[j + 1] > *run) *run = ending[j + 1];
		}
	scratch_free(ending);
	return true;
}

bool ngrams_shared(const uint32_t *text, size_t count, const struct ngrams_texts *source, size_t n,
                   double *share) {
	REQUIRE(n >= 1);
	size_t most = 0;
	for (size_t i = 0; i < source->count; i++) most += count_grams(size_of(source, i), n);
	struct run_set set;
	if (!make_set(most, &set)) return false;
	for (size_t i = 0; i < source->count; i++) {
		const size_t grams = count_grams(size_of(source, i), n);
		for (size_t k = 0; k < grams; k++)
			insert_run(&set, source->item + source->first[i] + k, n);
	}
	const size_t grams = count_grams(count, n);
	size_t found = 0;
	for (size_t k = 0; k < grams; k++) found += find_slot(&set, text + k, n)->at != NULL;
	*share = grams ? (double)found / (double)grams : 0.0;
	scratch_free(set.slots);
	return true;
}
