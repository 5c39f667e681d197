// SPDX-License-Identifier: Apache-2.0
// The receipt: everything the guarantee of an output depends on, as canonical JSON. No date and no machine name, so that the same run gives
// the same bytes; nothing about the references. It names its entry in the ledger, and the ledger's entries name each other.
//
// Canonical: one object in UTF-8, keys in byte order and each once, one member a line, two spaces a level, ": " and "," and "\n" as the
// only white space, real numbers in 17 digits, a newline at the end (jansson's dump with JSON_SORT_KEYS, JSON_INDENT(2)). There is one such
// text of a document. The signature is of these bytes without the line of the signature itself, which is never the last member:
//   grep -v '^  "signature": ' out.receipt.json
#ifndef CUTTLE_IO_RECEIPT_H
#define CUTTLE_IO_RECEIPT_H

#include "io/categories.h"
#include "io/hash.h"
#include "io/signature.h"
#include <jansson.h>

/* The charge in the ledger, when there was one. */
struct receipt_ledger {
	char dataset[129], unit_key[129];
	char entry[HASH_TEXT]; /* "" = nobody counted */
	double rho;            /* the most it charged one unit */
};

/* Whom the guarantee is for. */
struct receipt_unit {
	const char *key; /* everybody with one value of this field; NULL = one record */
	bool limited;    /* one record per text, in at most `weight` texts, is all that is read of one unit (io/places.h) */
	uint64_t weight; /* what a unit costs, in rho of one text; at least 1 */
};

struct receipt {
	struct cuttle_guarantee guarantee; /* for a whole unit */
	struct receipt_unit unit;
	const struct categories *categories; /* NULL = none */
	struct cuttle_model_info model;
	char model_sha256[HASH_TEXT], template_sha256[HASH_TEXT];
	size_t texts;
	const char *isa;
	bool trace;                         /* private diagnostics were written beside the output */
	struct receipt_ledger ledger;       /* this and what follows: no part of the fingerprint */
	const struct signature_key *signer; /* NULL = not signed */
};

/* What else makes two commands the same command; with the receipt's parameters it is the fingerprint. */
struct receipt_command {
	const char *input, *text_field;
	const char *input_format, *output_format;
	uint64_t insecure_seed; /* UINT64_MAX when the output is private */
};

/* SHA-256 of all parameters, and never of the input's content. False: out of memory. */
bool receipt_fingerprint(const struct receipt *receipt, const struct receipt_command *command, char fingerprint[HASH_TEXT]);

/* A document in its canonical bytes, to be freed; *size is their number. Takes root, which may be NULL. NULL: out of memory. */
char *receipt_canonical(json_t *root, size_t *size);

/* The receipt, to be freed; *size is its length. NULL: out of memory. */
char *receipt_dump(const struct receipt *receipt, const char *fingerprint, const char *output_sha256, size_t *size);

/* The two hashes of a receipt in a file, "" where the file or the field is missing. Returns whether the file exists. NOMEM reads as "". */
bool receipt_read(const char *path, char fingerprint[HASH_TEXT], char output_sha256[HASH_TEXT]);

/* Of the accountant that was asked for. */
double receipt_epsilon(const struct cuttle_guarantee *guarantee);

/* Makes the guarantee of one text that of a unit of this weight, by zCDP where several of its records may stand in one text. USAGE: out of
 * range. */
enum cuttle_status receipt_weigh(struct receipt *receipt, uint64_t weight, struct cuttle_error *error);

enum { RECEIPT_SENTENCE = 1024 };
/* The guarantee in one plain sentence, for one value of unit_key (NULL: one record). Numbers are rounded up. */
void receipt_sentence(const struct cuttle_guarantee *guarantee, size_t texts, const char *unit_key, char sentence[RECEIPT_SENTENCE]);

#endif
