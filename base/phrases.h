// SPDX-License-Identifier: Apache-2.0
// phrases.h: finds many phrases in a text at once, at the boundaries of words.
//
// Bytes are compared: who wants case ignored folds phrases and text first.
// Private texts pass through. What is kept are pointers into the caller's bytes and hashes of
// pieces; phrases_free wipes them.
// Example: with the phrases "Anna" and "Anna May", the text "Anna May, Annabel" has Anna at 0..4
// and Anna May at 0..8, and nothing in Annabel. Time and memory grow with the bytes of all phrases
// and of the text, not with their product.
#ifndef CUTTLE_BASE_PHRASES_H
#define CUTTLE_BASE_PHRASES_H

#include <stdbool.h>
#include <stddef.h>

struct phrases;

/* NULL: out of memory. */
struct phrases *phrases_make(void);
void phrases_free(struct phrases *phrases);
/* Adds text[size], below 4 GiB with all others. `name` is the caller's number for it. The bytes
 * must stay until phrases_free. An empty phrase is ignored; of two equal ones the first counts.
 * False: out of memory; the set is then only good for phrases_free. */
bool phrases_add(struct phrases *phrases, const char *text, size_t size, size_t name);
/* Call it once, after the last phrase. False: out of memory. */
bool phrases_seal(struct phrases *phrases);
/* Calls found for each place where phrases end: for the longest of them. It begins at `start` and
 * ends before `end`, in bytes of the text. */
void phrases_scan(const struct phrases *phrases, const char *text, size_t size,
                  void (*found)(void *user, size_t start, size_t end, size_t name), void *user);

#endif
