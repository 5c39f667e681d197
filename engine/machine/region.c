// SPDX-License-Identifier: Apache-2.0
// A region is an anonymous mapping. Its pages become resident (get memory) when they are touched.
// Most of a region is never touched, so locking and wiping take care not to touch it.
#include "engine/machine/region.h"

#include "base/misuse.h"
#include "engine/status.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool region_map(struct region *region, size_t size, bool secret) {
	*region = (struct region){0};
	void *base = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED) return false;
	// Both are advice: a kernel without huge pages, or without the dump flag, is no error.
	madvise(base, size, MADV_HUGEPAGE);
	if (secret) madvise(base, size, MADV_DONTDUMP);
	*region = (struct region){base, size ? size : 1, 0};
	return true;
}

enum cuttle_status region_lock(const struct region *region, struct cuttle_error *error) {
	// MLOCK_ONFAULT locks a page when it is touched. Most of a context's room never is, and
	// must not become resident by locking.
	if (!mlock2(region->base, region->size, MLOCK_ONFAULT)) return CUTTLE_OK;
	return status_fail(error, CUTTLE_USAGE,
	                   "--mlock: the system does not lock %zu MiB more: %s. Raise the limit "
	                   "(ulimit -l), or make it less with a smaller --ctx-size or --parallel",
	                   (region->size >> 20) + 1, strerror(errno));
}

/* Wipes the carved pages that are resident. A page that was never touched holds nothing, and wiping
 * would make it resident. */
static void wipe_resident(const struct region *region) {
	enum { PAGES = 256 }; // pages that one mincore looks at
	unsigned char resident[PAGES];
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (size_t at = 0; at < region->used; at += PAGES * page) {
		const size_t size =
		    region->size - at < PAGES * page ? region->size - at : PAGES * page;
		// Without an answer, all pages are wiped.
		if (mincore(region->base + at, size, resident))
			memset(resident, 1, sizeof resident);
		for (size_t i = 0; i * page < size; i++)
			if (resident[i] & 1)
				explicit_bzero(region->base + at + i * page,
				               size - i * page < page ? size - i * page : page);
	}
}

void region_unmap(struct region *region, bool secret) {
	if (!region->base) return;
	if (secret) wipe_resident(region);
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
	if (__builtin_mul_overflow(count, bytes, &product) || product > SIZE_MAX / 2 - 63)
		return false;
	return !__builtin_add_overflow(*total, (product + 63) / 64 * 64, total) &&
	       *total <= SIZE_MAX / 2;
}
