// SPDX-License-Identifier: Apache-2.0
// arena.h: one block of memory that grows, for private text.
//
// Private data is kept here. Therefore the block has memory pages of its own, which stay out of
// core dumps. They are wiped before the system gets them back.
//
//     struct arena arena = {0};
//     if (!arena_append(&arena, "abc", 3)) ...          arena.used is 3
//     arena_free(&arena);
//
// The block may move when it grows: keep offsets into it, not pointers, until it is full.
#ifndef CUTTLE_IO_DISK_ARENA_H
#define CUTTLE_IO_DISK_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/* Begin with all members zero. */
struct arena {
	char *bytes;     /* NULL until something is reserved */
	size_t used;     /* bytes that hold data; a caller may lower it */
	size_t capacity; /* bytes that are mapped */
	size_t high;     /* the most bytes ever used: arena_free wipes so many */
};

/* Makes room for `more` bytes after `used`. False: out of memory, nothing changed. */
bool arena_reserve(struct arena *arena, size_t more);
/* Appends a copy of bytes[size]. False: out of memory, nothing changed. */
bool arena_append(struct arena *arena, const void *bytes, size_t size);
/* Raises `used` after the caller itself wrote `size` bytes into the reserved room. */
void arena_grew(struct arena *arena, size_t size);
/* Wipes the bytes and unmaps them. The arena is then empty and usable again. */
void arena_free(struct arena *arena);

#endif
