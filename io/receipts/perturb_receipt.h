// SPDX-License-Identifier: Apache-2.0
// perturb_receipt.h: the receipt of a run of cuttle perturb. It is to io/receipts/receipt.h what
// words are to InvisibleInk: the same canonical bytes, signature and rules, and other members.
//
// It says nothing about a text, nor about how one turned out. Example: method rank at epsilon 6, 50
// words a record, padded: epsilon_word 6, epsilon_text 300. Of a baseline both are null, and
// private is false.
#ifndef CUTTLE_IO_RECEIPTS_PERTURB_RECEIPT_H
#define CUTTLE_IO_RECEIPTS_PERTURB_RECEIPT_H

#include "engine/cuttle/perturb_budget.h"
#include "io/receipts/evidence.h"

/* What each line of a baseline says. */
#define WORD_NOTE "NO GUARANTEE"

/* Names of enum cuttle_word_method, and of enum cuttle_rank_table. */
enum { WORD_METHODS = CUTTLE_CUSTEXT_PLUS + 1, WORD_TABLES = CUTTLE_ENVELOPE + 1 };
extern const char *const WORD_METHOD_NAMES[WORD_METHODS];
extern const char *const WORD_TABLE_NAMES[WORD_TABLES];

/* What the oldest receipts say. A word cannot become none, as their number is public. */
#define WORD_OLDEST_ADJACENCY "one word of a record becomes any other word, or none"

struct perturb_receipt {
	struct cuttle_perturb_params params;       /* without its lists of words, and the seed */
	struct cuttle_perturb_guarantee guarantee; /* that of the params */
	uint32_t record_words;                     /* N, most words of a record; 0 = all of it */
	bool pad;               /* each record has exactly N places, the last of them null */
	bool keep_punctuation;  /* punctuation and line breaks are public, and stay */
	bool keep_numbers;      /* which places are numbers is public */
	size_t records;         /* lines of the input, each of which gave one line */
	size_t vector;          /* d, floats of a word's vector */
	const char *isa;        /* the kernels' instruction set */
	const char *id_field;   /* its ids are public, and stand in the lines; NULL = none do */
	const char *unit_key;   /* the field that the ledger counts by; NULL = lines */
	const char *model_name; /* of whose tokens unknown words are made; NULL = of none */
	uint64_t model_bytes;   /* of its file */
	char model_sha256[HASH_TEXT];
	char words_sha256[HASH_TEXT];      /* of the words file */
	char sensitive_sha256[HASH_TEXT];  /* of that list's file; "" = none */
	char stop_words_sha256[HASH_TEXT]; /* likewise */
	/* No field from here on is in the fingerprint. */
	char date[RECEIPT_DATE];      /* UTC */
	const char *dataset;          /* the owner's name of the input; NULL = none */
	struct receipt_ledger ledger; /* its rho is the most that one unit is charged */
	const struct signature_key *signer;
	enum receipt_wording wording; /* of its adjacency, too */
};

/* With the receipt's parameters these are the fingerprint (struct receipt_command). */
struct perturb_command {
	const char *input;
	const char *text_field;
	const char *input_format;
	const char *delimiter;  /* NULL = as the ending says */
	uint64_t insecure_seed; /* UINT64_MAX when there is none */
};

/* Whether the guarantee hides how many words a record has, so that a ledger may count the run. */
bool perturb_receipt_counts(const struct perturb_receipt *receipt);
/* rho of one record. The receipt must be one that counts. */
double perturb_receipt_charge(const struct perturb_receipt *receipt);

/* Its members, and how it is written and read back (io/receipts/evidence.h). */
extern const struct receipt_kind PERTURB_KIND;

/* SHA-256 of all parameters, never of the input's content or its number of records. False: out of
 * memory. */
bool perturb_receipt_fingerprint(const struct perturb_receipt *receipt,
                                 const struct perturb_command *command,
                                 char fingerprint[HASH_TEXT]);
/* The receipt without key and signature; receipt_seal makes its bytes. NULL: out of memory. */
json_t *perturb_receipt_json(const struct perturb_receipt *receipt, const char *fingerprint,
                             const char *output_sha256);

enum { WORD_SENTENCE = 1024 };
/* The guarantee in plain words, and what was declared public. */
void perturb_receipt_sentence(const struct perturb_receipt *receipt, char sentence[WORD_SENTENCE]);

#endif
