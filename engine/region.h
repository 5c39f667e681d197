// SPDX-License-Identifier: Apache-2.0
// Large memory, mapped once and carved by the owner: zeroed, 64-byte aligned, resident only where touched.
#ifndef CUTTLE_ENGINE_REGION_H
#define CUTTLE_ENGINE_REGION_H

#include "engine/cuttle.h"

struct region {
	unsigned char *base;
	size_t size, used;
};

/* Maps size bytes. `secret` memory (private texts, keys and values, logits) is left out of core dumps. False: no memory; region is empty.
 */
bool region_map(struct region *region, size_t size, bool secret);

/* Keeps what is touched of it from being swapped out. USAGE: the system refuses; the message says how much was asked. */
enum cuttle_status region_lock(const struct region *region, struct cuttle_error *error);

/* Wipes (when it is secret, all that was carved) and unmaps; an empty region is fine. */
void region_unmap(struct region *region, bool secret);

/* The next bytes, rounded up to 64. Asking for more than is left is a caller bug: owners size their region first, with region_add. */
void *region_carve(struct region *region, size_t bytes);

/* total += count * bytes rounded up to 64; false on overflow, and then forever false when chained with &&. */
bool region_add(size_t *total, size_t count, size_t bytes);

#endif
