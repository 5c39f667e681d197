// SPDX-License-Identifier: Apache-2.0
// fail.h: reports an expected failure: a status, and one line in the caller's struct cuttle_error.
//
// Private data must not pass through: a message may be seen by anybody. Return its result at once:
//
//     return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", path, strerror(errno));
#ifndef CUTTLE_IO_DISK_FAIL_H
#define CUTTLE_IO_DISK_FAIL_H

#include "engine/cuttle/status.h"

/* Writes the line to *error and returns `status`. error may be NULL. A line that is too long is
 * cut, never inside a character. A control character becomes '?'. Never pass it anything that
 * depends on the content of a private file. The one exception is the number of its records. */
enum cuttle_status io_fail(struct cuttle_error *error, enum cuttle_status status,
                           const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
