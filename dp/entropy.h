// SPDX-License-Identifier: Apache-2.0
// Where random bits come from: the operating system, or nothing. No user-space generator, no fallback.
#ifndef CUTTLE_DP_ENTROPY_H
#define CUTTLE_DP_ENTROPY_H

#include <stddef.h>
#include "dp/status.h"

/* A source of uniform, independent bits. fill writes `size` bytes and returns DP_OK, or returns DP_NO_ENTROPY and then nothing it wrote is
 * used. The privacy theorem assumes that the bits are uniform and independent of the data and of every earlier bit; any source but
 * dp_random_system() makes the output a function of the data for whoever knows the source. */
struct dp_random {
	enum dp_status (*fill)(void *user, void *bytes, size_t size);
	void *user;
};

/* getrandom(2) of the kernel's own generator: interrupted and short reads are continued, any other failure is DP_NO_ENTROPY.
 * Source: design note privacy.md 1.5. */
struct dp_random dp_random_system(void);

#endif
