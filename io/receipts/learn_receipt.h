// SPDX-License-Identifier: Apache-2.0
// learn_receipt.h: the receipt of a run of cuttle learn.
//
// It says nothing about the records but how many lines there are. Its guarantee follows from the
// variance of the noise (dp/PRIVACY.md, step 55), and is that of everything made of the bias: any
// number of texts, on any machine. Canonical bytes and signature are as in io/receipts/receipt.h;
// io/receipts/evidence.h writes it and reads it back, io/receipts/bias.h the bias beside it.
#ifndef CUTTLE_IO_RECEIPTS_LEARN_RECEIPT_H
#define CUTTLE_IO_RECEIPTS_LEARN_RECEIPT_H

#include "engine/cuttle/votes.h"
#include "io/receipts/evidence.h"

struct learn_receipt {
	/* The records are public, as whoever ran the command says: there is no noise, and nothing
	 * is promised. Then delta, epsilon, rho and the variance are 0. */
	bool from_public;
	struct cuttle_query asked; /* the one answer, and its noise */
	double delta;
	double epsilon; /* learn_settle sets both */
	double rho;
	size_t records;   /* lines of the input; not in the fingerprint */
	uint32_t texts;   /* public ones that the model wrote, to compare with */
	uint32_t tokens;  /* of a record that are read, at most */
	uint32_t context; /* longest prompt and record, in tokens */
	uint64_t width;   /* numbers of the bias */
	/* Declared, public ones: there is a bias of each, and one of all; 0 = that one alone. */
	uint32_t categories;
	bool private_output;
	const char *isa;
	struct cuttle_model_info model;
	char model_sha256[HASH_TEXT];
	char template_sha256[HASH_TEXT]; /* of the public prompt: bias_prompt */
	char schema_sha256[HASH_TEXT];   /* that records are objects of; "" = they are texts */
	const char *unit_key;            /* field that says whose a record is; NULL = lines */
	/* No field from here on is in the fingerprint. */
	char date[RECEIPT_DATE];
	const char *dataset; /* NULL = none */
	struct receipt_ledger ledger;
	uint32_t order; /* of the Renyi losses that the ledger counts; 0 = it counts others */
	enum receipt_wording wording;
};

/* Sets rho and epsilon from noise and delta; not of public records. USAGE: as cuttle_queries_cost.
 */
enum cuttle_status learn_settle(struct learn_receipt *receipt, struct cuttle_error *error);

enum { LEARN_SENTENCE = 1024 + RECEIPT_SENTENCE / 2 };
/* The guarantee in plain words. */
void learn_sentence(const struct learn_receipt *receipt, char sentence[LEARN_SENTENCE]);
/* Whom it protects, and from what: the members "unit" and "adjacency" of its receipt and of those
 * of texts made of it alone. key: NULL = lines. NULL: out of memory. */
json_t *learn_owner(const char *key);
json_t *learn_null(const char *key, uint32_t categories);
/* SHA-256 of all that is chosen: never of the input's content or its number of records. categories:
 * the declared ones, NULL = none. seed is that of --insecure-seed, UINT64_MAX = none. False: out of
 * memory. */
bool learn_fingerprint(const struct learn_receipt *receipt, const char *input,
                       const char *text_field, const struct categories *categories,
                       uint64_t insecure_seed, char fingerprint[HASH_TEXT]);
/* Its members, and how it is written and read back (io/receipts/evidence.h). */
extern const struct receipt_kind LEARN_KIND;

#endif
