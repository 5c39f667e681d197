// SPDX-License-Identifier: Apache-2.0
// chain.h: the ledger's file, an SQLite table of entries that only grows.
//
// No text passes through; an entry may hold keyed names of units.
// Each entry has a hash: SHA-256 of its canonical JSON. That JSON holds the hash of the entry
// before it, and in the first entry the hash of the file's own random key. Triggers refuse to
// change or delete an entry, and to insert one out of turn. Every page is sealed (io/disk/pages.h).
// Write-ahead log with synchronous=FULL: a commit is durable when it returns.
//
// To add an entry: chain_begin, chain_walk, chain_append, chain_end. Errors of every call: LEDGER:
// the file cannot be opened or written, is busy for 30 s without a change, is damaged or was
// edited. NOMEM.
#ifndef CUTTLE_IO_LEDGER_CHAIN_H
#define CUTTLE_IO_LEDGER_CHAIN_H

#include "io/disk/hash.h"
#include "io/records/units.h"

enum { CHAIN_KEY = 32 }; /* bytes of the file's key */

struct chain;
struct chain_entry {
	int64_t number;       /* 1, 2, 3 ... without a gap */
	int64_t time;         /* seconds since 1970; 0 = not told */
	const char *kind;     /* what happened: io/ledger/ledger.h lists the kinds */
	const char *dataset;  /* name of the data set */
	const char *run;      /* name of the run, or "" */
	const char *command;  /* a SHA-256 in hex, or "" */
	const char *unit_key; /* of a data set: the field that names units, or "" */
	unsigned order;       /* > 0: `rho` is the Renyi loss at this order, not rho of zCDP */
	bool decimal;         /* `rho` stands for a decimal number (io/records/units.h) */
	double rho;           /* these three: io/ledger/ledger.h says of each kind what they are */
	double epsilon;
	double delta;
	/* Who is charged how much (io/records/units.h). Where charges.delta > 0, `rho` is an
	 * epsilon, too, and `delta` is the same as there. */
	struct charges charges;
	const char *charges_sha256; /* SHA-256 of the charges' bytes, in hex */
	const char *previous;       /* the hash of the entry before, in hex */
	const char *hash;           /* this entry's hash, in hex */
};

/* Makes the file, with mode 0600, if there is none or an unfinished one. Else it checks that the
 * file is a chain. */
enum cuttle_status chain_create(const char *path, struct cuttle_error *error);
enum cuttle_status chain_open(const char *path, struct chain **chain, struct cuttle_error *error);
/* Rolls back changes that were not committed, and sets the handle to NULL. The handle may be NULL
 * already. */
void chain_close(struct chain **chain);
/* The file's key, [CHAIN_KEY], valid until chain_close. */
const unsigned char *chain_key(const struct chain *chain);

/* Begins a transaction. Until its end no other process can write to the file. */
enum cuttle_status chain_begin(struct chain *chain, struct cuttle_error *error);
/* Ends it. With status OK it commits; else it rolls back and returns that status. */
enum cuttle_status chain_end(struct chain *chain, enum cuttle_status status,
                             struct cuttle_error *error);

/* Checks every entry and passes each to `each` (may be NULL), in order. A nonzero answer of `each`
 * ends the walk and is returned, with *error as `each` left it. An entry's strings and bytes are
 * valid during that call only. */
enum cuttle_status chain_walk(struct chain *chain,
                              enum cuttle_status (*each)(void *user,
                                                         const struct chain_entry *entry),
                              void *user, struct cuttle_error *error);
/* Appends an entry and writes its hash to `hash`. It must follow a walk to the end in the same
 * transaction. The entry's number, previous, hash and charges_sha256 are ignored and made here. */
enum cuttle_status chain_append(struct chain *chain, const struct chain_entry *entry,
                                char hash[HASH_TEXT], struct cuttle_error *error);

/* Returns the entry as one line of canonical JSON with a newline: keys sorted, no spaces, real
 * numbers as strings of 17 digits. With an order, "loss" stands for "rho", and the members
 * "measure"
 * ("rdp") and "order" are added. With charges of epsilon it is "loss", too, and "measure" is
 * "epsilon". A decimal number adds the member "decimal". *size counts the newline. The caller frees
 * it. Without its hash it is exactly the text that the hash is taken of. NULL: out of memory. */
char *chain_json(const struct chain_entry *entry, bool with_hash, size_t *size);

/* Copies the chain as it is now to the file at `path`, which must be there and empty. Other
 * processes may go on writing meanwhile: what they commit later is not in the copy. */
enum cuttle_status chain_copy(struct chain *chain, const char *path, struct cuttle_error *error);

/* Checks the file itself: every page and index, the schema with its triggers, the length. */
enum cuttle_status chain_check(struct chain *chain, struct cuttle_error *error);

#endif
