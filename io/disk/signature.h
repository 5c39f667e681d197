// SPDX-License-Identifier: Apache-2.0
// signature.h: Ed25519 signatures that show who wrote a receipt (RFC 8032, through libsodium).
//
// No private text; the secret key stays in protected memory. cuttle ledger key makes a key, which
// is two files:
//   SECRET      mode 0600, one line: "cuttle-secret-key " and the 64 hex digits of the seed
//   SECRET.pub  the 64 hex digits of the public key; the owner gives it to others
#ifndef CUTTLE_IO_DISK_SIGNATURE_H
#define CUTTLE_IO_DISK_SIGNATURE_H

#include "engine/cuttle/status.h"

/* Ending of the public key's file, which stands beside the secret one. */
#define SIGNATURE_BESIDE ".pub"

enum {
	SIGNATURE_PUBLIC = 65, /* bytes of a public key as text: 64 hex digits and the NUL */
	SIGNATURE_TEXT = 129   /* bytes of a signature as text: 128 hex digits and the NUL */
};

/* A secret key, in memory pages of its own. They are not dumped, are locked where the system allows
 * it, and are wiped when closed. */
struct signature_key;

/* Makes both files. USAGE: one stands already, or cannot be created. INTERNAL: one cannot be
 * written. NOMEM. On failure none that it made is left. */
enum cuttle_status signature_make(const char *path, char public_key[SIGNATURE_PUBLIC],
                                  struct cuttle_error *error);
/* USAGE: the file is not this user's alone (file_open_secret). INPUT: it cannot be read, or is no
 * secret key. NOMEM. */
enum cuttle_status signature_open(const char *path, struct signature_key **key,
                                  struct cuttle_error *error);
/* Nulls the handle. NULL handles are fine. */
void signature_close(struct signature_key **key);

const char *signature_public(const struct signature_key *key);
void signature_sign(const struct signature_key *key, const void *bytes, size_t size,
                    char signature[SIGNATURE_TEXT]);
/* Whether the signature is by the key and of these bytes. False also when the key is not 64, or the
 * signature not 128, lower-case hex digits. */
bool signature_right(const char *public_key, const char *signature, const void *bytes, size_t size);

/* Reads a public key as people give it: 64 lower-case hex digits, or a file whose first line has
 * them. INPUT: neither. NOMEM. */
enum cuttle_status signature_read_public(const char *given, char public_key[SIGNATURE_PUBLIC],
                                         struct cuttle_error *error);

#endif
