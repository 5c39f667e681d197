// SPDX-License-Identifier: Apache-2.0
// ranking.h: the loops over all words that the word mechanism `rank` makes for each place.
// Cosines, keys and thresholds are private: the work and the addresses are the same whatever they
// hold. All is in integers, or rounded once, so all tiers give the same results. Example: the keys
// 5, 7, 7, 9 and the thresholds 4, 6, 7 give the counts 4, 3, 1. The loops stand in ranking_body.h;
// each tier is this file with the instructions of its own. ASIMD is part of every aarch64, so its
// tier is the scalar one.
#ifndef CUTTLE_KERNELS_RANKING_H
#define CUTTLE_KERNELS_RANKING_H

#include <stddef.h>
#include <stdint.h>

/* counts[t] = how many of keys[n] are above thresholds[t]. n < 2^32. Three take one pass, in about
 * the time of one: a search finds two bits of a key in a pass. */
enum { COUNT_ABOVE = 3 };
typedef void count_above_fn(const int32_t *keys, size_t n, const int32_t thresholds[COUNT_ABOVE],
                            uint32_t counts[COUNT_ABOVE]);

/* The index of the entry of keys[n] that equals `key` and has `skip` such entries before it. There
 * is one. n < 2^32. */
typedef uint32_t find_equal_fn(const int32_t *keys, size_t n, int32_t key, uint32_t skip);

/* keys[i] = cosine_key(cosines[i]), i < n. No aliasing. */
typedef void cosine_keys_fn(const float *cosines, size_t n, int32_t *keys);

/* The key of a cosine: round(2^20 cosine), halves to even. Beyond -2 and 2 it is that of -2 and 2;
 * for NaN it is INT32_MIN. */
static inline int32_t cosine_key(float cosine) {
	/* No call into libm, so that the loop over all words runs in vectors. Adding 1.5 2^23
	 * leaves no room for a fraction: the sum is rounded to even, and taking it off is exact. */
	const float most = 0x1p21f, round = 0x1.8p23f;
	float scaled = cosine * 0x1p20f;
	scaled = scaled >= -most ? scaled : -most; /* NaN, too */
	scaled = scaled > most ? most : scaled;
	const int32_t key = (int32_t)(scaled + round - round);
	return cosine == cosine ? key : INT32_MIN;
}

count_above_fn count_above_scalar;
count_above_fn count_above_avx2;
count_above_fn count_above_avx512;
find_equal_fn find_equal_scalar;
find_equal_fn find_equal_avx2;
find_equal_fn find_equal_avx512;
cosine_keys_fn cosine_keys_scalar;
cosine_keys_fn cosine_keys_avx2;
cosine_keys_fn cosine_keys_avx512;

#endif
