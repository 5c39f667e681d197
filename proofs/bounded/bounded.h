// SPDX-License-Identifier: Apache-2.0
// bounded.h: what the claims in this folder say to the bounded model checker, which takes each of
// them with every value there is.
//
// A claim includes the shipped C file itself and calls its functions, static ones too. `unknown_`
// gives any value of a type; ASSUME keeps those that the caller promises; CLAIM must hold for all
// that are left. So must the checker's own claims: no signed overflow, no shift beyond a type's
// width, no access outside an array, and no REQUIRE that fails.
#ifndef CUTTLE_PROOFS_BOUNDED_H
#define CUTTLE_PROOFS_BOUNDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASSUME(condition) __ESBMC_assume(condition)
#define CLAIM(condition) __ESBMC_assert(condition, #condition)

float nondet_float(void);
uint8_t nondet_uchar(void);
uint32_t nondet_uint(void);
uint64_t nondet_ulong(void);

#define unknown_float nondet_float
#define unknown_u8 nondet_uchar
#define unknown_u32 nondet_uint
#define unknown_u64 nondet_ulong

static inline unsigned __int128 unknown_u128(void) {
	const uint64_t high = unknown_u64();
	return (unsigned __int128)high << 64 | unknown_u64();
}

void cuttle_misuse(const char *what) {
	(void)what;
	CLAIM(!"a REQUIRE fails");
	ASSUME(false);
}

#endif
