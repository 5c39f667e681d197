// SPDX-License-Identifier: Apache-2.0
// sample_receipt.h: the receipt of a run of cuttle generate -B 0. No private data.
//
// Such texts are drawn from the public prompt and a learnt bias. That is post-processing of the
// bias (dp/PRIVACY.md, step 56): they have its guarantee, and cost nothing. So the receipt names
// the bias and its receipt by their hashes, and repeats what that promises. Canonical bytes and
// signature are as in io/receipts/receipt.h; io/receipts/evidence.h writes it and reads it back.
#ifndef CUTTLE_IO_RECEIPTS_SAMPLE_RECEIPT_H
#define CUTTLE_IO_RECEIPTS_SAMPLE_RECEIPT_H

#include "io/receipts/learn_receipt.h"
#include "io/records/categories.h"

struct sample_receipt {
	struct receipt_bias bias;
	const char *unit_key; /* of the bias; NULL = lines */
	uint32_t categories;  /* that the bias has; 0 = none */
	const char *dataset;  /* of the bias; NULL = none */
	bool private_output;  /* the bias's */
	double temperature;   /* of the public law */
	uint32_t top_k;
	uint32_t tokens;  /* T, of a text at most */
	uint32_t context; /* longest prompt and text, in tokens */
	size_t texts;     /* N */
	uint64_t seed;    /* of the texts; UINT64_MAX = drawn later */
	const char *isa;
	struct cuttle_model_info model;
	char model_sha256[HASH_TEXT];
	char template_sha256[HASH_TEXT];                          /* of the public prompts */
	char grammar_sha256[HASH_TEXT], schema_sha256[HASH_TEXT]; /* as in struct receipt */
	struct cuttle_stops stops;                                /* as in struct receipt */
	struct filters filters;
	struct filter_counts counts; /* not in the fingerprint, nor is the date */
	char date[RECEIPT_DATE];
	enum receipt_wording wording;
};

enum { SAMPLE_SENTENCE = LEARN_SENTENCE + 512 };
/* The guarantee in plain words. */
void sample_sentence(const struct sample_receipt *receipt, char sentence[SAMPLE_SENTENCE]);
/* SHA-256 of all that is chosen, how many texts each category has as well. `categories` may be
 * empty. False: out of memory. */
bool sample_fingerprint(const struct sample_receipt *receipt, const char *output_format,
                        const struct categories *categories, char fingerprint[HASH_TEXT]);
/* Its members, and how it is written and read back (io/receipts/evidence.h). */
extern const struct receipt_kind SAMPLE_KIND;

#endif
