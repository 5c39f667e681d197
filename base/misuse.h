// SPDX-License-Identifier: Apache-2.0
// misuse.h: REQUIRE, the one place where a caller's bug ends the process.
//
// Every folder may include base/, and most use REQUIRE. No private data passes through: the message
// is the text of the condition.
// Example: REQUIRE(n >= 1) with n 0 prints "cuttle: caller bug: n >= 1" and aborts.
#ifndef CUTTLE_BASE_MISUSE_H
#define CUTTLE_BASE_MISUSE_H

/* Aborts with one line that names the broken precondition. Never returns. */
_Noreturn void cuttle_misuse(const char *what);

/* For tests: sets a function that cuttle_misuse calls first. It may leave by longjmp. NULL restores
 * the plain abort. */
void cuttle_misuse_hook(void (*hook)(const char *what));

/* States a precondition. It may depend on shapes and counts, never on private values. */
#define REQUIRE(condition) ((condition) ? (void)0 : cuttle_misuse(#condition))

#endif
