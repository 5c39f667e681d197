// SPDX-License-Identifier: Apache-2.0
// Ed25519 signatures (RFC 8032, through libsodium) with a key that lives in a file: who wrote a receipt.
//
// SECRET, mode 0600, has one line: "cuttle-secret-key " and the 64 hex digits of the seed. SECRET.pub has the 64 hex digits of the public
// key, which is what others are given.
#ifndef CUTTLE_IO_SIGNATURE_H
#define CUTTLE_IO_SIGNATURE_H

#include "engine/cuttle.h"

enum { SIGNATURE_PUBLIC = 65, SIGNATURE_TEXT = 129 }; /* hex digits and the NUL */

/* A secret key, in pages of its own: not dumped, locked where the system allows it, wiped when closed. */
struct signature_key;

/* Makes both files. USAGE: one stands already, or cannot be created. INTERNAL: cannot be written; then neither is left. */
enum cuttle_status signature_make(const char *path, char public_key[SIGNATURE_PUBLIC], struct cuttle_error *error);
/* USAGE: others may read the file. INPUT: it cannot be read, or is no secret key. NOMEM. */
enum cuttle_status signature_open(const char *path, struct signature_key **key, struct cuttle_error *error);
/* Nulls the handle. NULL handles are fine. */
void signature_close(struct signature_key **key);

const char *signature_public(const struct signature_key *key);
void signature_sign(const struct signature_key *key, const void *bytes, size_t size, char signature[SIGNATURE_TEXT]);
/* Whether it is the key's signature of the bytes; false also where either is no such text. */
bool signature_right(const char *public_key, const char *signature, const void *bytes, size_t size);

/* A public key as people give it: 64 lower-case hex digits, or a file whose first line has them. INPUT: neither. */
enum cuttle_status signature_read_public(const char *given, char public_key[SIGNATURE_PUBLIC], struct cuttle_error *error);

#endif
