// SPDX-License-Identifier: Apache-2.0
// status.h: how the engine reports an expected failure: a status, and one line of text in the
// caller's struct cuttle_error. For example:
//     return status_fail(error, CUTTLE_MODEL, "token %zu has no text", i);
// No private data: nothing that depends on a private text may be passed here.
#ifndef CUTTLE_ENGINE_STATUS_H
#define CUTTLE_ENGINE_STATUS_H

#include "engine/cuttle/status.h"

/* Writes the line and returns `status`. The line is cut to the buffer; control characters and bytes
 * above 0x7e become '?'. error may be NULL: then it only returns. */
enum cuttle_status status_fail(struct cuttle_error *error, enum cuttle_status status,
                               const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
