// SPDX-License-Identifier: Apache-2.0
// region.h: one large piece of memory that its owner maps once and carves into arrays.
// Private numbers pass through: contexts, keys and values, logits. Their regions are `secret`: left
// out of core dumps, wiped at the end.
//     size_t total = 0;
//     region_add(&total, 1000, 4) && region_map(&region, total, true);     // 4,032 bytes
//     float *array = region_carve(&region, 1000 * 4);
//     region_unmap(&region, true);
// The memory is zero at first. Every array begins at a multiple of 64 bytes. The system gives only
// the pages that are touched.
#ifndef CUTTLE_ENGINE_REGION_H
#define CUTTLE_ENGINE_REGION_H

#include "engine/cuttle/status.h"

struct region {
	unsigned char *base; /* NULL = empty */
	size_t size;         /* bytes mapped */
	size_t used;         /* bytes carved so far, from base on */
};

/* Maps size bytes. `secret` memory is left out of core dumps where the kernel can do that. False:
 * no memory; the region is then empty. */
bool region_map(struct region *region, size_t size, bool secret);

/* Keeps every page of it that is touched from being swapped out. USAGE: the system refuses; the
 * message says how much was asked. */
enum cuttle_status region_lock(const struct region *region, struct cuttle_error *error);

/* Unmaps the region and makes it empty. When it is secret, wipes all that was carved before. An
 * empty region is fine. */
void region_unmap(struct region *region, bool secret);

/* Returns the next bytes and moves on by that many, rounded up to a multiple of 64: by 128 for 100.
 * Asking for more than is left is a caller bug. Owners first size their region with region_add. */
void *region_carve(struct region *region, size_t bytes);

/* Adds count * bytes, rounded up to a multiple of 64, to *total. False when a sum or product is too
 * large for memory (above SIZE_MAX / 2); *total is then useless, and the caller must stop adding.
 * Callers chain these calls with &&. */
bool region_add(size_t *total, size_t count, size_t bytes);

#endif
