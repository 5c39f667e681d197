// SPDX-License-Identifier: Apache-2.0
// params.h: takes over a public struct that begins with struct_size, whatever version of the header
// the caller was compiled with.
// No private data. Sizes of 40 and 48 bytes as an example: a caller with the older header gives 40;
// 40 bytes are copied over our 48 bytes of defaults, and the last 8 stay default.
#ifndef CUTTLE_ENGINE_PARAMS_H
#define CUTTLE_ENGINE_PARAMS_H

#include "engine/cuttle/status.h"

/* Copies the struct `given` over *taken. `given` begins with its size_t struct_size. *taken has
 * `size` bytes and holds the defaults; afterwards its own struct_size is `size`. `what` names the
 * struct in the message. USAGE: struct_size was never set, or the struct is larger than *taken. */
enum cuttle_status params_take(void *taken, size_t size, const void *given, const char *what,
                               struct cuttle_error *error);

#endif
