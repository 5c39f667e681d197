// SPDX-License-Identifier: Apache-2.0
// bias.h: the file of a learnt bias, with what its receipt says of it.
//
// No private data: a bias has a guarantee, and may be published with its receipt. Nothing is taken
// from a receipt that does not hold, nor from another file than the one it is of.
//
//     status = bias_open(&bias, "notes.bias", "notes.bias.receipt.json", &error);
//     if (!status) status = bias_fits(&bias, model_sha256, width, &error);
//     ... bias.vector[bias.receipt->width] for cuttle_bias_use ...
//     bias_close(&bias);
//
// The file is one line of JSON, of at most 60 bytes a number:
//     {"cuttle_bias":1,"records":2500,"share":0.95,"tokens":38.2,"clip":5.1,
//      "answer":[-310,...],"bias":[0.00123,...]}
// `answer` is the noisy sum (dp/learn.h); `bias` follows from it and from public things alone. With
// declared categories a line of each follows, which also has its heading: "genre: sea". The answer
// of the first line is then the sum of theirs.
#ifndef CUTTLE_IO_RECEIPTS_BIAS_H
#define CUTTLE_IO_RECEIPTS_BIAS_H

#include "io/receipts/learn_receipt.h"

/* What a line of the file says of a bias. */
struct bias_numbers {
	const char *heading;   /* of its category; NULL = of all records */
	size_t records;        /* that were asked, null ones too */
	double share;          /* of the answer that is no noise */
	double tokens;         /* of a public text, the mean */
	double clip;           /* length of a record's vector that counts whole */
	const int64_t *answer; /* [width] */
	const double *vector;  /* [width] what is added to the state before the head */
};

/* The line of a bias. NULL: out of memory. */
json_t *bias_line(const struct bias_numbers *numbers, size_t width);

struct bias {
	struct evidence evidence; /* of the receipt; it was checked */
	const struct learn_receipt *receipt;
	char sha256[HASH_TEXT];         /* of the file */
	char receipt_sha256[HASH_TEXT]; /* of the receipt */
	double share;                   /* of all records */
	double *vector;  /* [1 + receipt->categories][receipt->width], of all records first */
	char **headings; /* [receipt->categories] */
};

/* The vector of a category: that with this heading. Where there is none, or heading is NULL, that
 * of all records. */
const double *bias_of(const struct bias *bias, const char *heading);

/* Reads the receipt and checks it, compares the file with its hash, then reads the file. Call
 * bias_close in any case; both paths must outlive *bias. USAGE: the receipt is NULL, as
 * common_receipt_beside has it for standard input. INPUT: a file cannot be read, the receipt is not
 * one of cuttle learn, or the file is no bias. LEDGER: the receipt does not agree with itself, or
 * is another file's. NOMEM. */
enum cuttle_status bias_open(struct bias *bias, const char *path, const char *receipt,
                             struct cuttle_error *error);
/* Compares a file, whose hash is the receipt's, with what the receipt says of it: width, categories
 * and records. INPUT: the file cannot be read, or is no bias. LEDGER: it says something else, so
 * the receipt was changed. NOMEM. */
enum cuttle_status bias_compare(const char *path, const struct evidence *evidence,
                                struct cuttle_error *error);
/* INPUT: it was learnt with another model than the one of this hash and width. Anybody may have
 * written the receipt, so its width is asked, too. */
enum cuttle_status bias_fits(const struct bias *bias, const char *model_sha256, size_t width,
                             struct cuttle_error *error);
/* How receipts of cuttle learn name the public prompt of a template (cuttle_plan_template). What a
 * run shows its references behind has no say in a bias. */
void bias_prompt(const char *template, char sha256[HASH_TEXT]);
/* Whether it was learnt behind the public prompt of this template. Behind another one it works less
 * well: a user is told. */
bool bias_behind(const struct bias *bias, const char *template);
#define BIAS_OTHER_PROMPT                                                                          \
	"the bias was learnt behind another public prompt. It works best with the --kind, "        \
	"--public-examples and --template that cuttle learn had"
/* What the receipt of a run with this bias says of it. */
struct receipt_bias bias_told(const struct bias *bias);
void bias_close(struct bias *bias);

#endif
