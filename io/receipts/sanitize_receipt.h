// SPDX-License-Identifier: Apache-2.0
// sanitize_receipt.h: the receipt of a run of cuttle sanitize. It is to io/receipts/receipt.h what
// DP-Fusion is to InvisibleInk: the same canonical bytes, signature and rules, and other members.
//
// It says nothing about the contents of marks, nor about how a text turned out. How many groups are
// marked in how many documents is public.
//
// What a document costs follows from the number m of its groups that have a mark, and from the
// caps. costs[m - 1] is for documents with m such groups. Example: two groups, m = 1 and m = 2
// occur. The receipt has a cost of either group for both, and one of all groups together for both.
#ifndef CUTTLE_IO_RECEIPTS_SANITIZE_RECEIPT_H
#define CUTTLE_IO_RECEIPTS_SANITIZE_RECEIPT_H

#include "engine/cuttle/rewrite.h"
#include "io/documents/groups.h"
#include "io/receipts/receipt.h"

/* Who chose by their content which words are marked, as bits. The choice is seen in the public
 * part, and no cost covers it: so no ceiling of guessing is stated then. */
enum { REWRITE_BY_TAGGER = 1, REWRITE_BY_SWEEP = 2, REWRITE_CHOICES = 4 };
/* [bits] in words, as the member "marks_chosen" has them. Without a bit the spans are as given, and
 * there is no such member. */
extern const char *const REWRITE_CHOSEN[REWRITE_CHOICES];

/* What documents cost in which m groups have a mark. */
struct sanitize_costs {
	/* [group] what its marks cost where it has any. With CUTTLE_MIX_ALL and m above 1 loss and
	 * epsilon are NaN. */
	struct cuttle_rewrite_cost of[GROUPS_MOST];

	/* Of all groups together: no m groups cost more. It is that of the m largest caps. */
	struct cuttle_rewrite_cost all;
};

struct sanitize_receipt {
	struct cuttle_rewrite_guarantee guarantee;
	const struct groups *groups;
	struct sanitize_costs costs[GROUPS_MOST]; /* [m - 1] */
	size_t documents;
	size_t marked[GROUPS_MOST + 1]; /* [m] documents in which m groups have a mark */
	struct cuttle_model_info model;
	char model_sha256[HASH_TEXT];
	char template_sha256[HASH_TEXT];
	char grammar_sha256[HASH_TEXT], schema_sha256[HASH_TEXT]; /* as in struct receipt */
	const char *isa;                                          /* the kernels' instruction set */
	const char *placeholder;                                  /* in place of a blank mark */
	const char *tagger;        /* who found the spans, in words */
	const char *form;          /* one of SPANS_FORMAT_NAMES */
	const char *offsets;       /* one of SPANS_OFFSETS_NAMES */
	bool sweep;                /* contents were looked for elsewhere, too */
	unsigned chosen;           /* REWRITE_BY_...; 0 with a sweep: an older cuttle wrote it */
	const char *unit_key;      /* the field that the ledger counts by; NULL = lines */
	struct cuttle_stops stops; /* as in struct receipt */
	/* No field from here on is in the fingerprint. */
	char date[RECEIPT_DATE];      /* UTC */
	const char *dataset;          /* the owner's name of the input; NULL = none */
	struct receipt_ledger ledger; /* its rho is a Renyi loss at the guarantee's alpha */
	const struct signature_key *signer;
	enum receipt_wording wording;
};

/* With the receipt's parameters these are the fingerprint (struct receipt_command). */
struct sanitize_command {
	const char *input, *text_field, *id_field, *spans_field, *leave_identifier;
	uint64_t insecure_seed; /* UINT64_MAX when the output is private */
};

/* Fills `costs` from the caps: caps[m - 1][group] is the cap of a group among m that have a mark.
 * USAGE: a parameter is out of range. */
enum cuttle_status sanitize_receipt_cost(struct sanitize_receipt *receipt,
                                         const double caps[GROUPS_MOST][GROUPS_MOST],
                                         struct cuttle_error *error);
/* What a document is charged, at most: T times the loss of all groups, rounded up. 0 where no
 * document has a mark. */
double sanitize_receipt_charge(const struct sanitize_receipt *receipt);
/* Sets *one to the most that one group costs in any document, with CUTTLE_MIX_ALL all marks, and
 * *all to what all groups cost together. */
void sanitize_receipt_worst(const struct sanitize_receipt *receipt, struct cuttle_rewrite_cost *one,
                            struct cuttle_rewrite_cost *all);

/* Its members, and how it is written and read back (io/receipts/evidence.h). */
extern const struct receipt_kind SANITIZE_KIND;

/* SHA-256 of all parameters, never of the input's content or marks. False: out of memory. */
bool sanitize_receipt_fingerprint(const struct sanitize_receipt *receipt,
                                  const struct sanitize_command *command,
                                  char fingerprint[HASH_TEXT]);
/* The receipt without key and signature; receipt_seal makes its bytes. NULL: out of memory. */
json_t *sanitize_receipt_json(const struct sanitize_receipt *receipt, const char *fingerprint,
                              const char *output_sha256);

enum { REWRITE_SENTENCE = 4096 };
/* The guarantee in plain words. epsilon and delta are rounded up. */
void sanitize_receipt_sentence(const struct sanitize_receipt *receipt,
                               char sentence[REWRITE_SENTENCE]);

#endif
