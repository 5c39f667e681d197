// SPDX-License-Identifier: Apache-2.0
// jsonout.h: makes and writes JSON documents with jansson.
//
// Generated texts pass through. It adds what jansson leaves to its callers: text that may not be
// UTF-8, numbers that are not finite, and the newline at the end. A function that takes a value
// owns it from then on, even if it fails. A NULL value means "could not be made" and makes the
// result NULL. So callers check only the last result:
//
//     const struct jsonout_member member = {"rho", jsonout_real(0.5)};
//     json_t *root = jsonout_extend(json_object(), &member, 1);
//     char *text = jsonout_dump(root, JSON_COMPACT, &size);      {"rho":0.5} and a newline
#ifndef CUTTLE_IO_DISK_JSONOUT_H
#define CUTTLE_IO_DISK_JSONOUT_H

#include "io/disk/file.h"
#include <jansson.h>

/* These three make a value, which the caller owns. NULL: out of memory. */
/* A string of text[size]. Each byte that is not UTF-8 becomes U+FFFD. */
json_t *jsonout_text(const char *text, size_t size);
/* A number, or null if the value is not finite. */
json_t *jsonout_real(double value);
/* A list of values[count]. */
json_t *jsonout_integers(const int32_t *values, size_t count);
/* Rounds up to a multiple of 1 / parts, for a sentence: 0.31 with 10 parts is 0.4. Never below the
 * value, even where value * parts rounds down. */
double jsonout_round_up(double value, double parts);

struct jsonout_member {
	const char *key; /* UTF-8; copied */
	json_t *value;   /* NULL = could not be made */
};
/* Sets the members in the object and returns it. A new key goes behind the others; the value of an
 * existing key is replaced. Takes the object and all values; each may be NULL. NULL: one of them
 * was NULL, or out of memory. */
json_t *jsonout_extend(json_t *object, const struct jsonout_member *members, size_t count);

/* Returns the document as text with a newline. The caller frees it; *size counts the newline. There
 * is no NUL. Reals have 17 digits, so they read back exactly, unless `flags`, which are jansson's,
 * say otherwise. Takes root, which may be NULL. NULL: root was NULL, or out of memory. */
char *jsonout_dump(json_t *root, size_t flags, size_t *size);
/* Writes that text to a sink. Takes root. NOMEM, or an error of sink_write. */
enum cuttle_status jsonout_write(struct sink *sink, json_t *root, size_t flags,
                                 struct cuttle_error *error);

#endif
