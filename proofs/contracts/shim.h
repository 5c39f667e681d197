// SPDX-License-Identifier: Apache-2.0
// shim.h: what Frama-C is told before each file: "finite" is a word, a REQUIRE is a condition to be
// shown, and 128 bits are not looked into.
#ifndef CUTTLE_PROOFS_SHIM_H
#define CUTTLE_PROOFS_SHIM_H

#include <stddef.h>
#include <stdint.h>

/* The real numbers of WP know no infinity, so what is finite stays a word that nothing else
 * decides. */
/*@ axiomatic Finite { predicate finite(float x); } */
/*@ assigns \nothing;
    ensures \result == 0 || \result == 1;
    ensures \result == 1 <==> finite(x); */
int framac_isfinite(float x);
#define __builtin_isfinite framac_isfinite

#define __int128 long /* so that it parses; contracts speak of value() alone */
void explicit_bzero(void *data, size_t size);

#define CUTTLE_BASE_MISUSE_H
/*@ requires \false;
    assigns \nothing;
    ensures \false; */
_Noreturn void cuttle_misuse(const char *what);
#define REQUIRE(condition) ((condition) ? (void)0 : cuttle_misuse(#condition))

#endif
