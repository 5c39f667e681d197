// SPDX-License-Identifier: Apache-2.0
// entropy.c: see entropy.h. Each call asks the kernel anew; nothing is kept between calls.
#include "dp/entropy.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/types.h>

static enum dp_status fill_from_system(void *user, void *bytes, size_t size) {
	(void)user;
	unsigned char *next = bytes;
	while (size > 0) {
		ssize_t got = getrandom(next, size, 0);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0 || (size_t)got > size) return DP_NO_ENTROPY;
		next += got;
		size -= (size_t)got;
	}
	return DP_OK;
}

struct dp_random dp_random_system(void) {
	return (struct dp_random){fill_from_system, NULL};
}
