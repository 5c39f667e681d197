// SPDX-License-Identifier: Apache-2.0
// evolve_receipt.h: the receipt of a run of cuttle evolve.
//
// It says nothing about the records but what noisy votes say. Its guarantee follows from the number
// of generations and the variance of a vote's noise (dp/PRIVACY.md, step 49); all texts are drawn
// from public prompts. Canonical bytes and signature are as in io/receipts/receipt.h;
// io/receipts/evidence.h writes it and reads it back.
#ifndef CUTTLE_IO_RECEIPTS_EVOLVE_RECEIPT_H
#define CUTTLE_IO_RECEIPTS_EVOLVE_RECEIPT_H

#include "engine/cuttle/votes.h"
#include "io/receipts/evidence.h"

struct evolve_receipt {
	struct cuttle_query votes; /* its times are G, its square K */
	double delta;
	double epsilon; /* of the votes: evolve_settle sets both */
	double rho;
	uint32_t variations; /* L, candidates of a text that was kept */
	uint32_t threshold;  /* H: a noisy count counts for what it is above it */
	size_t texts;        /* N */
	size_t records;      /* lines of the input; not in the fingerprint */
	bool private_output;
	double temperature; /* of the public law */
	uint32_t top_k;
	uint32_t tokens;  /* T, of a text at most */
	uint32_t context; /* longest prompt and text, in tokens */
	uint64_t seed;    /* of the public texts; UINT64_MAX = drawn later */
	const char *isa;
	struct cuttle_model_info model;
	char model_sha256[HASH_TEXT];
	char template_sha256[HASH_TEXT];                          /* of the words of both prompts */
	char grammar_sha256[HASH_TEXT], schema_sha256[HASH_TEXT]; /* as in struct receipt */
	const char *unit_key;      /* the field that the ledger counts by; NULL = lines */
	struct cuttle_stops stops; /* as in struct receipt */
	/* No field from here on is in the fingerprint. */
	char date[RECEIPT_DATE];
	const char *dataset; /* NULL = none */
	struct receipt_ledger ledger;
	enum receipt_wording wording;
};

/* Sets rho and epsilon from the votes and delta. USAGE: as cuttle_queries_cost. */
enum cuttle_status evolve_settle(struct evolve_receipt *receipt, struct cuttle_error *error);

enum { EVOLVE_SENTENCE = 1024 };
/* The guarantee in plain words. */
void evolve_sentence(const struct evolve_receipt *receipt, char sentence[EVOLVE_SENTENCE]);
/* SHA-256 of all that is chosen: never of the input's content or its number of records. seed is
 * that of --insecure-seed, UINT64_MAX = none. False: out of memory. */
bool evolve_fingerprint(const struct evolve_receipt *receipt, const char *input,
                        const char *text_field, uint64_t insecure_seed,
                        char fingerprint[HASH_TEXT]);
/* Its members, and how it is written and read back (io/receipts/evidence.h). */
extern const struct receipt_kind EVOLVE_KIND;

#endif
