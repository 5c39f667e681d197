// SPDX-License-Identifier: Apache-2.0
// How the engine reports expected failures: a status, and one line in the caller's struct cuttle_error.
#ifndef CUTTLE_ENGINE_STATUS_H
#define CUTTLE_ENGINE_STATUS_H

#include "engine/cuttle.h"

/* Writes the line (cut to the buffer, control characters and bytes above 0x7e replaced by '?') and returns status. error may be NULL.
 * Never pass it anything that depends on a private text. */
enum cuttle_status status_fail(struct cuttle_error *error, enum cuttle_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
