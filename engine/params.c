// SPDX-License-Identifier: Apache-2.0
// The struct's size is read by memcpy, for the caller's type is not known here. A size smaller than
// its own field is one that was never set. A larger struct comes from a newer header: its last
// fields would be ignored without a word, so it is refused.
#include "engine/params.h"

#include "engine/status.h"

#include <string.h>

enum cuttle_status params_take(void *taken, size_t size, const void *given, const char *what,
                               struct cuttle_error *error) {
	size_t given_size;
	memcpy(&given_size, given, sizeof given_size);
	if (given_size < sizeof given_size)
		return status_fail(
		    error, CUTTLE_USAGE,
		    "%s: struct_size is not set; begin with the struct's default function", what);
	if (given_size > size)
		return status_fail(error, CUTTLE_USAGE,
		                   "%s: %zu bytes, and this library (version " CUTTLE_VERSION
		                   ") knows %zu: it is older than the header; "
		                   "link the newer library",
		                   what, given_size, size);
	memcpy(taken, given, given_size);
	memcpy(taken, &size, sizeof size);
	return CUTTLE_OK;
}
