// SPDX-License-Identifier: Apache-2.0
// The file under the ledger: an SQLite table of entries that only grows, each with the hash of the one before.
//
// Triggers forbid to change or delete an entry and to insert one out of turn; each entry has the SHA-256 of its canonical JSON, in which
// its predecessor's hash stands; every page is sealed (io/pages.h). WAL with synchronous FULL: a commit is durable when it returns. The
// file has a random key of its own, bound into the chain as what stands before the first entry.
//
// Errors of every call: LEDGER: cannot be opened, busy for 10 s, cannot be written, damaged, or edited. NOMEM.
#ifndef CUTTLE_IO_CHAIN_H
#define CUTTLE_IO_CHAIN_H

#include "io/hash.h"
#include "io/units.h"

enum { CHAIN_KEY = 32 };

struct chain;
struct chain_entry {
	int64_t number, time; /* from 1; seconds since 1970 */
	const char *kind, *dataset, *run, *command, *unit_key;
	double rho, epsilon, delta;
	struct charges charges;
	const char *charges_sha256, *previous, *hash; /* hex */
};

/* Makes the file, mode 0600, when there is none or an unfinished one; else checks that it is a chain. */
enum cuttle_status chain_create(const char *path, struct cuttle_error *error);
enum cuttle_status chain_open(const char *path, struct chain **chain, struct cuttle_error *error);
/* Rolls back what was not committed. Nulls the handle. NULL handles are fine. */
void chain_close(struct chain **chain);
const unsigned char *chain_key(const struct chain *chain);

/* Alone until the end of the transaction. */
enum cuttle_status chain_begin(struct chain *chain, struct cuttle_error *error);
/* After OK commits, else rolls back and returns that status. */
enum cuttle_status chain_end(struct chain *chain, enum cuttle_status status, struct cuttle_error *error);

/* Checks all entries and shows them in order; a nonzero answer of `each` ends it and is returned, with *error as `each` left it. An entry's
 * strings and bytes are valid during the call. */
enum cuttle_status chain_walk(struct chain *chain, enum cuttle_status (*each)(void *user, const struct chain_entry *entry), void *user,
                              struct cuttle_error *error);
/* Behind the last entry of a walk in the same transaction. Number, hashes and charges_sha256 are made here. */
enum cuttle_status chain_append(struct chain *chain, const struct chain_entry *entry, char hash[HASH_TEXT], struct cuttle_error *error);

/* The entry as one line of canonical JSON (sorted, compact, real numbers as strings of 17 digits) with a newline, to be freed: without
 * hash, exactly what the hash is of. NULL: out of memory. */
char *chain_json(const struct chain_entry *entry, bool with_hash, size_t *size);

/* The file itself: each page and index, the schema with its triggers, the length. */
enum cuttle_status chain_check(struct chain *chain, struct cuttle_error *error);

#endif
