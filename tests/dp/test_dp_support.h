// SPDX-License-Identifier: Apache-2.0
// test_dp_support.h: what the tests of dp/ share. It has a generator with a fixed seed, a random
// source made of it, and a trap for caller bugs.
#ifndef CUTTLE_TESTS_TEST_DP_SUPPORT_H
#define CUTTLE_TESTS_TEST_DP_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/misuse.h"
#include "dp/entropy.h"
#include "tests/support/statistics.h"

/* How many of `whole` cases to test: all, or a fifth with CUTTLE_TEST_SHORT=1, for emulated
 * processors and coverage. */
static inline int test_cases(int whole) {
	return briefly() ? (whole + 4) / 5 : whole;
}

/* 64 random bits: a Weyl sequence through a 64-bit mixer. */
static inline uint64_t test_random(uint64_t *state) {
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

static inline uint64_t test_below(uint64_t *state, uint64_t n) {
	return test_random(state) % n;
}

static inline float test_between(uint64_t *state, float low, float high) {
	return low + (high - low) * (float)((double)(test_random(state) >> 11) * 0x1p-53);
}

static inline enum dp_status test_fill(void *user, void *bytes, size_t size) {
	unsigned char *out = bytes;
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = test_random(user);
		memcpy(out + i, &word, size - i < 8 ? size - i : 8);
	}
	return DP_OK;
}

static jmp_buf test_trap;
static inline void test_spring(const char *what) {
	(void)what;
	longjmp(test_trap, 1);
}

/* Passes when the statement is stopped by a REQUIRE. */
#define assert_misuse(statement)                                                                   \
	do {                                                                                       \
		cuttle_misuse_hook(test_spring);                                                   \
		if (setjmp(test_trap) == 0) {                                                      \
			statement;                                                                 \
			cuttle_misuse_hook(NULL);                                                  \
			fail_msg("no REQUIRE stopped: %s", #statement);                            \
		}                                                                                  \
		cuttle_misuse_hook(NULL);                                                          \
	} while (0)

#endif
