// SPDX-License-Identifier: Apache-2.0
// Stands for health.c where cuttle is built without libcurl (make CURL=0): it asks nobody.
#include "serve/http/health.h"

#include "io/disk/fail.h"

enum cuttle_status health_ask(const char *address, bool tls, struct cuttle_error *error) {
	(void)address;
	(void)tls;
	return io_fail(error, CUTTLE_USAGE,
	               "this cuttle was built without libcurl: install libcurl4-openssl-dev and "
	               "build it anew, or ask /health yourself");
}
