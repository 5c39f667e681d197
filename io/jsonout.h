// SPDX-License-Identifier: Apache-2.0
// JSON documents out: what jansson leaves to its callers, which is text that may not be UTF-8, numbers that are none, and the last newline.
#ifndef CUTTLE_IO_JSONOUT_H
#define CUTTLE_IO_JSONOUT_H

#include "io/file.h"
#include <jansson.h>

/* Values. NULL: out of memory. */
json_t *jsonout_text(const char *text, size_t size); /* bytes that are not UTF-8 become U+FFFD, one each */
json_t *jsonout_real(double value);                  /* null when not finite */
json_t *jsonout_integers(const int32_t *values, size_t count);

struct jsonout_member {
	const char *key;
	json_t *value;
};
/* The object with the members behind its own. Takes all of them, each of which may be NULL for one that could not be made. NULL: one was,
 * or out of memory. */
json_t *jsonout_extend(json_t *object, const struct jsonout_member *members, size_t count);

/* The document and a newline, to be freed; *size counts both. Reals have 17 digits: they read back exactly. Takes root, which may be NULL
 * for one that could not be made. NULL: out of memory. */
char *jsonout_dump(json_t *root, size_t flags, size_t *size);
/* The same into a sink. NOMEM, or as sink_write. */
enum cuttle_status jsonout_write(struct sink *sink, json_t *root, size_t flags, struct cuttle_error *error);

#endif
