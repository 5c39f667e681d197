// SPDX-License-Identifier: Apache-2.0
// http_clock.c: the clock of deadlines, which no change of the date moves. No private data.
#include "serve/http/http_exchange.h"

#include <time.h>

double http_now(void) {
	struct timespec now;
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
