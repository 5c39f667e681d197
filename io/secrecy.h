// SPDX-License-Identifier: Apache-2.0
// What a process does before it reads private text: no core dumps, no debugger of another user, libraries' heap wiped when freed.
#ifndef CUTTLE_IO_SECRECY_H
#define CUTTLE_IO_SECRECY_H

#include <stddef.h>

/* Call once, at the start of a process that will read private text and before any other function of io/. */
void secrecy_begin(void);

/* malloc's free and realloc that wipe the block they give up. The realloc grows by doubling, so that byte-wise growers stay linear. */
void secrecy_free(void *block);
void *secrecy_realloc(void *block, size_t size);

#endif
