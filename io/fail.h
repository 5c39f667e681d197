// SPDX-License-Identifier: Apache-2.0
// How io/ reports expected failures: a status, and one line in the caller's struct cuttle_error.
#ifndef CUTTLE_IO_FAIL_H
#define CUTTLE_IO_FAIL_H

#include "engine/cuttle.h"

/* Writes the line (cut to the buffer at a character's edge, control characters replaced by '?') and returns status. error may be NULL.
 * Never pass it anything that depends on the content of a private file; the number of its records is the one exception. */
enum cuttle_status io_fail(struct cuttle_error *error, enum cuttle_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
