// SPDX-License-Identifier: Apache-2.0
// fuzz.h: the two functions of a fuzz target. libFuzzer calls LLVMFuzzerTestOneInput; replay.c
// stands in for it where there is no libFuzzer. To add a target, write a new tests/fuzz/fuzz_*.c
// with these two functions: the Makefile finds it by name.
#ifndef CUTTLE_TESTS_FUZZ_H
#define CUTTLE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Feeds bytes[size] to the code under test; ends the process when something is wrong. Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Seed number `index` of the corpus, to be freed; NULL behind the last one. */
uint8_t *fuzz_seed(size_t index, size_t *size);

/* What a target whose seeds are literals returns: a copy of seeds[index] of so many. */
struct fuzz_literal {
	const char *bytes;
	size_t size;
};
#define FUZZ_LITERAL(bytes)                                                                        \
	{ bytes, sizeof bytes - 1 }

static inline uint8_t *fuzz_copy(const struct fuzz_literal *seeds, size_t count, size_t index,
                                 size_t *size) {
	*size = index < count ? seeds[index].size : 0;
	uint8_t *seed = index < count ? malloc(*size) : NULL;
	if (seed) memcpy(seed, seeds[index].bytes, *size);
	return seed;
}

#endif
