// SPDX-License-Identifier: Apache-2.0
// receipt.h: the receipt of a run, a JSON document of all that its guarantee depends on.
//
// It says nothing about the references and names no machine. Every member is a choice or an input
// of the run, or follows from these. So cuttle receipt verify can compute the latter again.
//
// The same run gives the same bytes, but for the date. The date is a day: that on which the command
// that finished the output began, taken before it reads a reference. The day of its end would tell
// how long the references took.
//
// A receipt may name its entry in a ledger. The entries of a ledger name each other.
#ifndef CUTTLE_IO_RECEIPTS_RECEIPT_H
#define CUTTLE_IO_RECEIPTS_RECEIPT_H

#include "engine/cuttle/guarantee.h"
#include "engine/cuttle/histogram.h"
#include "engine/cuttle/lots.h"
#include "engine/cuttle/model.h"
#include "engine/cuttle/stop.h"
#include "io/records/categories.h"
#include "io/text/filters.h"
#include "io/disk/hash.h"
#include "io/disk/jsonout.h"
#include "io/disk/signature.h"
#include <jansson.h>

enum {
	/* The number in the member "receipt". It rises when a member of all receipts is new, goes,
	 * or gets other words. A member that an option brings, as "gain" or "filters", does not
	 * raise it: receipts without the option are as before. */
	RECEIPT_FORMAT = 2,
	/* The rule by which batches follow from noisy counts, in the member "histogram". It rises
	 * when dp/seats.h is changed, so that no run goes on by another rule: its records would be
	 * in other batches. By rule 1, which has no number there, counts were always rounded up. */
	RECEIPT_SEATS = 2,
	RECEIPT_DATE = sizeof "2026-01-31" /* bytes, with the NUL */
};

/* The first version that wrote RECEIPT_FORMAT. It stands for the version in fingerprints, so that a
 * later one of the same format goes on with what an older one began. It rises with the format. */
#define RECEIPT_SINCE "0.1.0"

/* How the sentence of a receipt is worded. Receipts in earlier words must go on to verify. So a new
 * wording comes beside those that stand, and none of these changes. A fingerprint always has the
 * oldest words, so that other ones make no other command. */
enum receipt_wording {
	RECEIPT_NOW,
	RECEIPT_FORMER, /* 0.2.0, before its sentences had one thought each */
	RECEIPT_OLDEST  /* 0.1.0 */
};

/* The charge in the ledger, when there was one. */
struct receipt_ledger {
	char entry[HASH_TEXT]; /* "" = the run charged no ledger */
	double rho;            /* the most it charged one unit */
	double delta;          /* > 0: `rho` is an epsilon at this delta (io/ledger/ledger.h) */
};

/* Whom the guarantee is for. */
struct receipt_unit {
	/* The field of the unit: all records with one value of it are one unit. NULL = each record
	 * is one. */
	const char *key;
	/* true: of one unit the run reads at most one record per text, in at most `weight` texts
	 * (io/records/places.h). */
	bool limited;
	uint64_t weight; /* the cost of a unit, in rho of one text; at least 1 */
};

/* A learnt bias that was added to the model, and what its own receipt promises. */
struct receipt_bias {
	char sha256[HASH_TEXT];         /* of its file; "" = there was none */
	char receipt_sha256[HASH_TEXT]; /* of its receipt */
	bool from_public;               /* it promises nothing, and costs nothing */
	double epsilon, delta, rho;     /* 0 where it is from public records */
};

struct receipt {
	struct cuttle_guarantee guarantee; /* for a whole unit, whatever the bias cost */
	struct receipt_bias bias;
	struct receipt_unit unit;
	const struct categories *categories; /* NULL = none */
	/* [lot_count] of each category, or of the whole input; lot_count 0 = no lots. */
	const struct cuttle_lots *lots;
	size_t lot_count;
	/* Private categories; NULL = none. The counts and what follows from them are NULL before
	 * they are drawn, as in the fingerprint. Then `texts` is how many these give. */
	const struct cuttle_histogram *histogram;
	const char *clusters_sha256; /* of the clusters file; NULL = categories, or none */
	const int64_t *counts_of_clusters;
	const struct cuttle_lots *seats;
	struct cuttle_model_info model;
	char model_sha256[HASH_TEXT], template_sha256[HASH_TEXT];
	/* Of the file that says which texts there are: at most one of them is not "". */
	char grammar_sha256[HASH_TEXT], schema_sha256[HASH_TEXT];
	size_t texts;              /* of the run; with a token bank, its batches */
	const char *isa;           /* the kernels' instruction set */
	bool trace;                /* private diagnostics were written beside the output */
	struct filters filters;    /* what is done with a text once it is drawn */
	struct cuttle_stops stops; /* where texts end; not given = as the form says */
	/* Of two rounds how many examples a prompt shows; half of them, rounded down, may be texts
	 * of the first round. 0 = one round. */
	uint32_t places_of_rounds;
	/* No field from here on is in the fingerprint. A run may be continued on another day. One
	 * that began without ledger, name or signature may be continued with them. */
	char date[RECEIPT_DATE]; /* UTC */
	const char *dataset;     /* the owner's name of the input; NULL = none */
	struct receipt_ledger ledger;
	struct filter_counts counts;        /* what became of the texts */
	const struct signature_key *signer; /* NULL = not signed */
	enum receipt_wording wording;
};

/* With the receipt's parameters these are the fingerprint. Two commands with one fingerprint are
 * the same command. */
struct receipt_command {
	const char *input, *text_field;
	const char *input_format, *output_format;
	uint64_t insecure_seed; /* UINT64_MAX when the output is private */
};

/* The fingerprint of a command: SHA-256 of its receipt without all that a run brings, and of the
 * members that the receipt lacks. Takes root and the values of members[count]; each may be NULL.
 * False: out of memory. */
bool receipt_hash_command(json_t *root, const struct jsonout_member *members, size_t count,
                          char fingerprint[HASH_TEXT]);
/* The instruction set as fingerprints have it. All but OpenBLAS give the same bits. So a run that
 * moves to another machine is still the same command. */
const char *receipt_command_isa(const char *isa);
/* The names of enum cuttle_kv_type. */
extern const char *const RECEIPT_KV_TYPES[2];

/* How a receipt of cuttle generate is written and read back (io/receipts/evidence.h). */
extern const struct receipt_kind GENERATE_KIND;

/* SHA-256 of all parameters, never of the input's content. False: out of memory. */
bool receipt_fingerprint(const struct receipt *receipt, const struct receipt_command *command,
                         char fingerprint[HASH_TEXT]);

/* The receipt without key and signature. NULL: out of memory. */
json_t *receipt_json(const struct receipt *receipt, const char *fingerprint,
                     const char *output_sha256);
/* A document in its canonical bytes, to be freed; *size is their number. Takes root, which may be
 * NULL. NULL: out of memory.
 *
 * Canonical: one object in UTF-8, with its keys in byte order and each key once. One member a line,
 * two spaces a level, no white space but these, ": ", "\n" and the newline at the end. Real numbers
 * have 17 digits. (jansson's dump with JSON_SORT_KEYS, JSON_INDENT(2).) So a document has only one
 * such text.
 *
 * The signature is of these bytes without the line of the signature itself:
 *   grep -v '^  "signature": ' out.receipt.json
 * The signature is never the last member, so the rest stays valid JSON. */
char *receipt_canonical(json_t *root, size_t *size);

/* The same for a receipt, which gets the signer's key and signature; NULL = it is not signed. */
char *receipt_seal(json_t *root, const struct signature_key *signer, size_t *size);
/* Adds what filters did, as the member "filters". Without any there is no such member, as in the
 * receipts before there were. Takes the object; NULL: out of memory. */
json_t *receipt_add_filters(json_t *object, const struct filters *filters,
                            const struct filter_counts *counts);
/* Adds the member "ledger": null, or the entry and the charge. That is epsilon and delta where
 * delta is above 0, else a number by its measure, "rho" or "loss". Takes the object. */
json_t *receipt_add_charge(json_t *object, const struct receipt_ledger *ledger,
                           const char *measure);
/* Adds a member for each saving that is on, and none for one that is off. Takes the object. */
json_t *receipt_add_savings(json_t *object, const struct cuttle_savings *savings);
/* Adds the stops as the member "stop", a list; without it texts end as the form says, as in the
 * receipts before there was one. Takes the object. */
json_t *receipt_add_stops(json_t *object, const struct cuttle_stops *stops);
/* What every text and receipt of a seeded run says. */
#define RECEIPT_NOT_PRIVATE                                                                        \
	"NOT PRIVATE: drawn from a chosen seed, so the texts are a function of the references; "   \
	"there "                                                                                   \
	"is no guarantee"

/* The two hashes of a receipt in a file, or "" where the file, the member or memory is missing.
 * Returns whether the file exists. */
bool receipt_read(const char *path, char fingerprint[HASH_TEXT], char output_sha256[HASH_TEXT]);

/* The epsilon of the accountant that was asked for. */
double receipt_epsilon(const struct cuttle_guarantee *guarantee);

/* The guarantee, which was for a unit of weight 1, becomes that for a unit of this weight, whose
 * records cost rho together. Above 1 it is by zCDP: the unit may have several records in one text.
 * USAGE: out of range. */
enum cuttle_status receipt_weigh(struct receipt *receipt, uint64_t weight, double rho,
                                 struct cuttle_error *error);

enum { RECEIPT_SENTENCE = 1280 };
/* An epsilon above this promises little, and what a sentence says of it. */
#define RECEIPT_WEAK 10
#define RECEIPT_LITTLE " An epsilon this large promises little."

enum { RECEIPT_FACTOR = 64 };
/* e^epsilon in words, rounded up: "e^1.5 = 4.49"; without the number where it is beyond use. The
 * epsilon is printed as it is: the caller rounds it. */
void receipt_print_factor(double epsilon, char text[RECEIPT_FACTOR]);

/* What a guarantee is of, for receipt_promise. */
struct receipt_promise {
	const char *scope;     /* "for all 14 texts together" */
	const char *otherwise; /* "without any one record" */
	double epsilon, delta;
};
/* The first sentences of a guarantee, the same in all systems: at most e^epsilon times, plus delta,
 * and the other way round. epsilon is rounded up to a ten thousandth, delta to six digits. */
void receipt_promise(const struct receipt_promise *promise, char *sentence, size_t room);
/* The same of texts, and what an event is, and what even odds become. */
void receipt_promise_texts(const struct receipt_promise *promise, char *sentence, size_t room);

/* What a guarantee counts on with lots, for receipt_tell_lots. */
struct receipt_lots {
	bool histogram;         /* the categories are private */
	const char *unit_key;   /* told beside a histogram alone; NULL = records */
	uint64_t used, batches; /* beside a histogram the most of one category */
	double epsilon, delta;  /* against who knows the batch; epsilon is rounded up already */
};
#define RECEIPT_LOTS " This counts on lots nobody saw: "
/* The sentence of it, which begins with RECEIPT_LOTS. No wording has another one. delta is rounded
 * up. */
void receipt_tell_lots(const struct receipt_lots *lots, char *sentence, size_t room);

/* What a run and its bias promise together, to whoever has records in both (dp/PRIVACY.md, step
 * 56): the smaller of two sums. rho adds up where it describes the run; epsilon and delta always
 * do. Rounded up. The run's alone where no bias was learnt from private records. */
struct receipt_joint {
	double epsilon, delta;
};
struct receipt_joint bias_joint_promise(const struct receipt *receipt);
#define RECEIPT_BIAS " A bias was added to the model"
/* The sentence of a bias, which begins with RECEIPT_BIAS. epsilon is rounded up already. */
void receipt_tell_bias(bool from_public, const struct receipt_joint *joint, char *sentence,
                       size_t room);

/* Adds the member "bias": what is copied of its receipt, and of `joint` (NULL: nothing) what both
 * promise together. Without a bias there is no such member, as in the receipts before there were
 * any. Takes the object. NULL: out of memory. */
json_t *receipt_add_bias(json_t *object, const struct receipt_bias *bias,
                         const struct receipt_joint *joint);

/* The guarantee in plain sentences, for one value of unit_key (NULL: for one record). epsilon,
 * e^epsilon and delta are rounded up. With lots another sentence says what it counts on. It reads
 * guarantee, texts, lots and wording of the receipt. */
void receipt_sentence(const struct receipt *receipt, const char *unit_key,
                      char sentence[RECEIPT_SENTENCE]);

#endif
