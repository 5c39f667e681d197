// SPDX-License-Identifier: Apache-2.0
// attest.h: what all receipts have in common when they are read back, whatever mechanism they are
// of.
//
// A receipt is public: no private data is here. io/receipts/evidence.h has the order of a check.
#ifndef CUTTLE_IO_RECEIPTS_ATTEST_H
#define CUTTLE_IO_RECEIPTS_ATTEST_H

#include "io/receipts/members.h"
#include "io/receipts/receipt.h"

struct attested {
	const char *path;           /* for messages; the caller's string */
	char *bytes;                /* of the file */
	size_t size;                /* of bytes */
	json_t *root;               /* the document; the strings below point into it */
	const char *sentence;       /* the guarantee in words: member "guarantee" */
	const char *command_sha256; /* hex */
	const char *output_sha256;  /* hex */
	const char *public_key;     /* NULL = not signed */
	const char *signature;      /* NULL = not signed */
	const char *stops[CUTTLE_STOPS];
};

/* Reads the document at path; "-" is standard input. Call attest_close in any case. INPUT: the file
 * cannot be read, another version of cuttle wrote it, or it is of a token prior, which this one
 * does not know. NOMEM. What is no JSON has a NULL root. */
enum cuttle_status attest_open(const char *path, struct attested *attested,
                               struct cuttle_error *error);
void attest_close(struct attested *attested);
/* Whether its member "mechanism" is this name. */
bool attest_mechanism(const struct attested *attested, const char *name);
/* Gets sentence, hashes, key and signature. False: one is missing. */
bool attest_words(struct attested *attested);
/* INPUT: `members` is false, since a member is missing or wrong. LEDGER: its bytes are not
 * canonical (io/receipts/receipt.h). */
enum cuttle_status attest_refuse(const struct attested *attested, bool members,
                                 struct cuttle_error *error);

/* Each gets a member of an object. False: it is missing, or of the wrong type or range. */
bool attest_count(const json_t *root, const char *key, uint64_t most, uint64_t *value);
bool attest_number(const json_t *root, const char *key, uint32_t *value);
/* Above 0 and finite. */
bool attest_real(const json_t *root, const char *key, double *value);
bool attest_flag(const json_t *root, const char *key, bool *value);
bool attest_text(const json_t *root, const char *key, const char **text);
/* A string, or null as NULL. */
bool attest_name(const json_t *root, const char *key, const char **text);
bool attest_hash(const json_t *root, const char *key, char hash[HASH_TEXT]);
bool attest_date(const json_t *root, char date[RECEIPT_DATE]);
/* The member "ledger", which is null or has an entry and a number of this measure. */
bool attest_charge(const json_t *root, const char *measure, struct receipt_ledger *ledger);
/* The ways to spend better. A receipt names only those that are on. */
bool attest_savings(const json_t *root, struct cuttle_savings *savings);
/* Where texts end: `stops` of the receipt point into *attested, which must not move. */
bool attest_stops(struct attested *attested, struct cuttle_stops *stops);
/* What filters did; without the member nothing is set. How many were kept is checked by the receipt
 * that is made anew. */
/* Whether texts are of a grammar or of a schema, and not of both. As a row's `take`. */
bool attest_form(struct attested *attested, void *receipt);
bool attest_filters(const json_t *root, struct filters *filters, struct filter_counts *counts);

/* The learnt bias that was added; without the member nothing is set. */
bool attest_bias(const json_t *root, struct receipt_bias *bias);
/* What is wrong with what is copied of a bias's receipt, or NULL: its epsilon must follow from its
 * rho and delta, as cuttle learn had it. */
const char *attest_bias_fault(const struct receipt_bias *bias);

/* Whether a claimed number is the one that follows from the rest. It must not be smaller, but
 * for rounding (1e-12). It may be larger by one part in a million: a still larger one belongs to
 * other parameters. Two things may rightly make it larger, but far less: the mechanism's own
 * margin, and the rounding of the receipt's digits. The margin is 1e-9 of a step's loss, which
 * enters rho squared. */
bool attest_confirm(double claimed, double follows);
/* The end of a check. LEDGER: there is a `problem`, or the document is not `again`. That was made
 * anew from what was read. NULL = there was no memory for that, or a problem. Those of
 * members[count] that are given follow from no others, so they are copied first. Takes `again`.
 * Example: a model's name is given, rho is not. */
enum cuttle_status attest_conclude(const struct attested *attested, const char *problem,
                                   json_t *again, const struct member *members, size_t count,
                                   struct cuttle_error *error);
/* What is wrong with the signature, or NULL. `key` is the public key that must have signed; NULL
 * accepts any key and no signature. Takes the signature out of the document, as the rest is what
 * was signed: call it once. */
const char *attest_signature(const struct attested *attested, const char *key);

#endif
