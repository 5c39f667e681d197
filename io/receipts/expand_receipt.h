// SPDX-License-Identifier: Apache-2.0
// expand_receipt.h: the receipt of a run of cuttle expand. No private data.
//
// An expansion is post-processing (dp/PRIVACY.md, step 43): it has the guarantee of the output
// whose texts it shows as examples, the parent, and costs nothing. So its receipt names the
// parent's receipt by its hash, and repeats for whom and how much the parent promised. Canonical
// bytes and signature are as in io/receipts/receipt.h; io/receipts/evidence.h writes it and reads
// it back, and expand_parent looks at the parent.
#ifndef CUTTLE_IO_RECEIPTS_EXPAND_RECEIPT_H
#define CUTTLE_IO_RECEIPTS_EXPAND_RECEIPT_H

#include "io/receipts/evidence.h"

enum { EXPAND_SENTENCE = RECEIPT_SENTENCE + 512 };

struct expand_receipt {
	/* Has the parent's members that are repeated: accountant, adjacency, delta, epsilon, rho,
	 * private, unit and what belongs to it. Of the parent's receipt, or of an expansion's. */
	const json_t *promised;
	const char *parent_sentence; /* the parent's guarantee in words */
	char parent_receipt[HASH_TEXT];
	char parent_output[HASH_TEXT];
	char parent_command[HASH_TEXT];
	bool private_output;      /* the parent's */
	struct receipt_bias bias; /* that was added for these texts */

	/* The public law: the parent's, but for T. Its prompts have examples of their own. */
	double temperature;
	double gain;
	uint32_t batch;
	uint32_t top_k;
	uint32_t fraction_bits;
	uint32_t clip_fixed;

	uint32_t tokens;   /* T, of a text at most */
	uint32_t context;  /* longest prompt and text, in tokens */
	uint32_t examples; /* E, parents of a text */
	size_t texts;      /* N */
	uint64_t seed;     /* UINT64_MAX = in the fingerprint, where it was not chosen */
	const char *isa;
	struct cuttle_model_info model;
	char model_sha256[HASH_TEXT];
	char template_sha256[HASH_TEXT]; /* of the words around the examples */
	char grammar_sha256[HASH_TEXT], schema_sha256[HASH_TEXT]; /* as in struct receipt */
	struct cuttle_stops stops;                                /* as in struct receipt */
	struct filters filters;
	struct filter_counts counts; /* not in the fingerprint, nor is the date */
	char date[RECEIPT_DATE];
	enum receipt_wording wording; /* of its own sentence: the parent's stands as it is */
};

/* The guarantee in plain words. */
void expand_sentence(const struct expand_receipt *receipt, char sentence[EXPAND_SENTENCE]);
/* SHA-256 of all that is chosen, with the path of the input. False: out of memory. */
bool expand_fingerprint(const struct expand_receipt *receipt, const char *input,
                        const char *output_format, char fingerprint[HASH_TEXT]);
/* Its members, and how it is written and read back (io/receipts/evidence.h). */
extern const struct receipt_kind EXPAND_KIND;

/* Sets what the parent and its own bias promise together, as its sentence says. False: it had none,
 * or one that costs nothing. */
bool expand_parent_joint(const struct expand_receipt *receipt, struct receipt_joint *joint);

/* Checks the parent's receipt, at path, as evidence_check, and that it is this expansion's and
 * promised what is repeated. INPUT: it cannot be read. LEDGER: it does not hold, or is another one.
 */
enum cuttle_status expand_parent(const struct evidence *evidence, const char *path,
                                 struct cuttle_error *error);

#endif
