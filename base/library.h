// SPDX-License-Identifier: Apache-2.0
// library.h: loads a library when it is first needed, so that a process without need has none of
// it. No private data.
#ifndef CUTTLE_BASE_LIBRARY_H
#define CUTTLE_BASE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

struct library_function {
	const char *name;
	void *place; /* of the pointer to the function */
};

/* Loads `library`, such as "libcurl.so.4", and finds all functions. It is never closed: a thread of
 * its own may outlive what is asked of it. False: it cannot be loaded, or lacks a function; some
 * pointers may be set then. */
bool library_load(const char *library, const struct library_function *functions, size_t count);

#endif
