// SPDX-License-Identifier: Apache-2.0
// What a process does before it reads private text: no core dumps, no debugger of another user, libraries' heap wiped when freed.
#ifndef CUTTLE_IO_SECRECY_H
#define CUTTLE_IO_SECRECY_H

#include "engine/cuttle.h"

/* Call once, at the start of a process that will read private text and before any other function of io/. */
void secrecy_begin(void);

/* Grows heap and stack to what reading a record can need at most, once and for all: from then on how much memory the process holds, and so
 * whether a later allocation fails, does not depend on what private texts say. Call it after the public files are read and before the
 * references are. NOMEM. */
enum cuttle_status secrecy_room(struct cuttle_error *error);

/* How many bytes jansson may allocate from now on, freed ones included; SIZE_MAX = any number. Means nothing without secrecy_begin. */
void secrecy_json(size_t most);

/* malloc's free and realloc that wipe the block they give up. The realloc grows by doubling, so that byte-wise growers stay linear. */
void secrecy_free(void *block);
void *secrecy_realloc(void *block, size_t size);

#endif
