// SPDX-License-Identifier: Apache-2.0
// The one place where a caller's bug ends the process. base/ is the floor of the house: every room may include it.
#ifndef CUTTLE_BASE_MISUSE_H
#define CUTTLE_BASE_MISUSE_H

/* Aborts with one line naming the broken precondition. Never returns. Tests may set a hook, called first, that leaves by longjmp. */
_Noreturn void cuttle_misuse(const char *what);

/* Test hook; NULL restores the plain abort. */
void cuttle_misuse_hook(void (*hook)(const char *what));

/* States a precondition. It depends on shapes and counts alone, never on private values. */
#define REQUIRE(condition) ((condition) ? (void)0 : cuttle_misuse(#condition))

#endif
