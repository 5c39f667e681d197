// SPDX-License-Identifier: Apache-2.0
// entropy.h: where random bits come from. They come from the operating system, or there are none:
// cuttle has no generator of its own and no fallback.
//
// The bits are private. engine/run/plan/seeded.h and the tests bring other sources, whose output is
// not private.
#ifndef CUTTLE_DP_ENTROPY_H
#define CUTTLE_DP_ENTROPY_H

#include <stddef.h>
#include "dp/status.h"

/* A source of uniform, independent bits. The privacy theorem assumes that the bits are uniform, and
 * independent of the data and of every earlier bit. Any source but dp_random_system() makes the
 * output a function of the data for whoever knows the source. */
struct dp_random {
	/* Writes `size` bytes and returns DP_OK. Or returns DP_NO_ENTROPY; what it wrote is then
	 * not used. */
	enum dp_status (*fill)(void *user, void *bytes, size_t size);
	void *user; /* passed to fill */
};

/* getrandom(2), the kernel's own generator. Interrupted and short reads are continued. Any other
 * failure is DP_NO_ENTROPY. Source: dp/PRIVACY.md, step 7. */
struct dp_random dp_random_system(void);

#endif
