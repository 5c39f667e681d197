// SPDX-License-Identifier: Apache-2.0
// How an arena grows: its pages are moved to a larger mapping, never copied. A copy would leave
// private text behind in memory that nobody wipes. The first mapping is what is asked for, and at
// least 64 KiB; it is doubled until the data fit.
#include "io/disk/arena.h"

#include "base/misuse.h"
#include <sodium.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

bool arena_reserve(struct arena *arena, size_t more) {
	const size_t least = (size_t)1 << 16;
	size_t needed;
	if (__builtin_add_overflow(arena->used, more, &needed) || needed > SIZE_MAX / 4)
		return false;
	if (needed <= arena->capacity) return true;
	const size_t first = needed < least ? least : (needed + least - 1) / least * least;
	size_t capacity = arena->capacity ? arena->capacity : first;
	while (capacity < needed) capacity *= 2;
	void *bytes = arena->bytes ? mremap(arena->bytes, arena->capacity, capacity, MREMAP_MAYMOVE)
	                           : mmap(NULL, capacity, PROT_READ | PROT_WRITE,
	                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bytes == MAP_FAILED) return false;
	(void)madvise(bytes, capacity, MADV_DONTDUMP);
	arena->bytes = bytes;
	arena->capacity = capacity;
	return true;
}

void arena_grew(struct arena *arena, size_t size) {
	REQUIRE(size <= arena->capacity - arena->used);
	arena->used += size;
	if (arena->used > arena->high) arena->high = arena->used;
}

bool arena_append(struct arena *arena, const void *bytes, size_t size) {
	if (!arena_reserve(arena, size)) return false;
	if (size) memcpy(arena->bytes + arena->used, bytes, size);
	arena_grew(arena, size);
	return true;
}

void arena_free(struct arena *arena) {
	if (arena->bytes) {
		sodium_memzero(arena->bytes, arena->high);
		(void)munmap(arena->bytes, arena->capacity);
	}
	*arena = (struct arena){0};
}
