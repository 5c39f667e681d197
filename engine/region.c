// SPDX-License-Identifier: Apache-2.0
#include "engine/region.h"

#include "base/misuse.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

bool region_map(struct region *region, size_t size, bool secret) {
	*region = (struct region){0};
	void *base = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED) return false;
	// Both are advice: a kernel without huge pages, or without the dump flag, is no error.
	madvise(base, size, MADV_HUGEPAGE);
	if (secret) madvise(base, size, MADV_DONTDUMP);
	*region = (struct region){base, size ? size : 1, 0};
	return true;
}

void region_unmap(struct region *region, bool secret) {
	if (!region->base) return;
	// Dropping the pages wipes them without touching those that never were resident.
	if (secret && madvise(region->base, region->size, MADV_DONTNEED)) explicit_bzero(region->base, region->used);
	munmap(region->base, region->size);
	*region = (struct region){0};
}

void *region_carve(struct region *region, size_t bytes) {
	REQUIRE(bytes <= SIZE_MAX - 63);
	const size_t rounded = (bytes + 63) / 64 * 64;
	REQUIRE(rounded <= region->size - region->used);
	void *carved = region->base + region->used;
	region->used += rounded;
	return carved;
}

bool region_add(size_t *total, size_t count, size_t bytes) {
	size_t product;
	if (__builtin_mul_overflow(count, bytes, &product) || product > SIZE_MAX / 2 - 63) return false;
	return !__builtin_add_overflow(*total, (product + 63) / 64 * 64, total) && *total <= SIZE_MAX / 2;
}
