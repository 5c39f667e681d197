// SPDX-License-Identifier: Apache-2.0
// Growing memory for private text: pages of its own, left out of core dumps, wiped before they go back.
#ifndef CUTTLE_IO_ARENA_H
#define CUTTLE_IO_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/* Zero-initialise. bytes moves when the arena grows, so keep offsets, not pointers, until it is full. */
struct arena {
	char *bytes;
	size_t used, capacity;
	size_t high; /* most bytes ever used: what must be wiped */
};

/* Room for `more` bytes after `used`. False: out of memory, nothing changed. */
bool arena_reserve(struct arena *arena, size_t more);
/* Appends a copy. False: out of memory, nothing changed. */
bool arena_append(struct arena *arena, const void *bytes, size_t size);
/* Says that `size` reserved bytes after `used` have been written. */
void arena_grew(struct arena *arena, size_t size);
/* Wipes and unmaps; the arena is empty and usable again. */
void arena_free(struct arena *arena);

#endif
