// SPDX-License-Identifier: Apache-2.0
// binding.h: the key that binds an unfinished output to the input it was begun with.
//
// Private data goes into the digest. A stopped run may go on only with the same records: with
// others the theorem does not hold (dp/PRIVACY.md, "One run, one input"). So the journal's first
// line holds a digest of all that was read. The run goes on only if the digest comes out the same
// again.
//
// Whoever has the journal could test a guess of the records against a plain digest. So the digest
// is keyed. The key is 32 random bytes in a file of its own beside the journal. The file has mode
// 0600 and is removed together with the journal.
#ifndef CUTTLE_IO_OUTPUT_BINDING_H
#define CUTTLE_IO_OUTPUT_BINDING_H

#include "io/disk/hash.h"

enum { BINDING_KEY = 32 }; /* bytes of a key */

struct binding {
	char *path; /* of the key's file; owned */
	unsigned char key[BINDING_KEY];
	bool stands; /* the file holds this key; false: the key is new and only in memory */
	bool torn;   /* the file holds only the beginning of a key: a kill stopped the writer */
};

/* Reads the key from the file at path. Without a file, or with a torn one, it makes a new key in
 * memory. Call it while holding the journal's lock. The path is copied. Call binding_close after
 * it, also after a failure.
 * USAGE: at path stands something that is not such a key; it is left alone. INTERNAL: libsodium
 * cannot begin. NOMEM. */
enum cuttle_status binding_open(const char *path, struct binding *binding,
                                struct cuttle_error *error);

/* Writes a new key to its file and syncs it. A key that stands already is synced: who wrote it may
 * have been killed before that. Returns 0 or the errno. */
int binding_keep(struct binding *binding);

/* Removes the key's file if the key, or the beginning of one, stands in it. */
void binding_remove(struct binding *binding);

/* Wipes the key in memory. The file stays. */
void binding_close(struct binding *binding);

/* A digest under the key, BLAKE2b-256. The caller adds one piece after the other. Each piece goes
 * in with its length: the pieces "ab", "c" and the pieces "a", "bc" have different digests. */
struct binding_digest {
	crypto_generichash_state state;
};
void binding_digest_begin(struct binding_digest *digest, const unsigned char key[BINDING_KEY]);
/* Adds one piece. A NULL piece differs from an empty one. */
void binding_digest_add(struct binding_digest *digest, const void *bytes, size_t size);
/* Writes the digest as 64 hex digits and a NUL. */
void binding_digest_end(struct binding_digest *digest, char text[HASH_TEXT]);

#endif
