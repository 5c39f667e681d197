// SPDX-License-Identifier: Apache-2.0
// evidence.h: a receipt of any system that was read back, and is checked. Each system has a struct
// receipt_kind: its members in one table (io/receipts/members.h), its sentence, and what its
// numbers follow from. All receipts are written, hashed, read and made anew by the functions here.
// A receipt is public: no private data is here.
//
//     status = attest_open(path, &attested, error);
//     if (!status) status = evidence_read(&EVOLVE_KIND, &attested, &evidence, error);
//     if (!status) status = evidence_check(&evidence, NULL, error);
//     const struct evolve_receipt *receipt = evidence.receipt;
//     evidence_free(&evidence);
#ifndef CUTTLE_IO_RECEIPTS_EVIDENCE_H
#define CUTTLE_IO_RECEIPTS_EVIDENCE_H

#include "io/receipts/attest.h"
#include "io/receipts/members.h"

enum { EVIDENCE_SENTENCE = 4096 }; /* bytes of the longest sentence, with its NUL */

struct receipt_kind {
	const char *system;    /* whose it is, as its verb: "cuttle evolve" */
	const char *mechanism; /* the member of this name; NULL = there is none */
	const struct member *members;
	size_t count;   /* of members */
	size_t size;    /* bytes of the system's struct */
	size_t room;    /* bytes to read it into: the struct, and behind it what it points to */
	size_t wording; /* where in the struct its enum receipt_wording stands */
	/* The guarantee in plain words. */
	void (*sentence)(const void *receipt, char sentence[EVIDENCE_SENTENCE]);
	/* What the member "note" says, or NULL: it is private, and has none. */
	const char *(*note)(const void *receipt);
	/* Changes what else but its wording is different in a fingerprint. NULL = nothing is. */
	void (*blank)(void *receipt);
	/* Checks what was read, by its own numbers, and calls evidence_find_wording once it has all
	 * that the sentence says. Returns what is wrong, or NULL. */
	const char *(*check)(const struct attested *attested, void *receipt);
};

/* The receipt without key and signature; receipt_seal makes its bytes. NULL: out of memory. */
json_t *evidence_json(const struct receipt_kind *kind, const void *receipt, const char *fingerprint,
                      const char *output_sha256);
/* The fingerprint: SHA-256 of the receipt without what a run brings, and of members[count], which
 * the receipt lacks. Takes their values. False: out of memory. */
bool evidence_fingerprint(const struct receipt_kind *kind, const void *receipt,
                          const struct jsonout_member *members, size_t count,
                          char fingerprint[HASH_TEXT]);

/* Sets the receipt's wording to the one in which its sentence is the claimed one; today's where it
 * is in none, which the receipt that is made anew then shows. */
void evidence_find_wording(const struct receipt_kind *kind, const struct attested *attested,
                           void *receipt);

struct evidence {
	const struct receipt_kind *kind;
	struct attested attested;
	/* The kind's struct with all members, but the model's name and the signer; owned. */
	void *receipt;
};

/* Reads what was opened into *evidence, which takes it over. Call evidence_free after it, also
 * after a failure. INPUT: it is not a receipt of this kind. LEDGER: its bytes are not canonical
 * (io/receipts/receipt.h). NOMEM. */
enum cuttle_status evidence_read(const struct receipt_kind *kind, struct attested *attested,
                                 struct evidence *evidence, struct cuttle_error *error);

/* Checks that the receipt agrees with itself and with its signature. `key` is the public key that
 * must have signed it; NULL accepts any key and no signature. The call takes the signature out of
 * the document, so call it once.
 * LEDGER: something does not agree; the message says what, and names the member where it can. */
enum cuttle_status evidence_check(struct evidence *evidence, const char *key,
                                  struct cuttle_error *error);

void evidence_free(struct evidence *evidence);

/* The field of the receipt that has the member of this name, as its row says; NULL = the kind has
 * no such row. */
const void *evidence_field(const struct evidence *evidence, const char *name);
/* Whether a check computed the member again: it is no word of whoever wrote the receipt. */
bool evidence_follows(const struct evidence *evidence, const char *name);

/* Whether two accounts are the same: both unknown (NaN), or attest_confirm. */
bool evidence_confirm(double claimed, double follows);

#endif
