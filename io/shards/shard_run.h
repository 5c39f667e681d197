// SPDX-License-Identifier: Apache-2.0
// shard_run.h: run.json, which says what all shards of a run have in common, and the receipt of one
// shard, which names it.
//
// All of it is public: parameters, hashes, digests under keys that stand elsewhere
// (io/shards/shard_texts.h). run.json has the run's receipt as it will be, but for its output. So a
// shard takes from it what follows from the records as a whole, and reads neither them nor the
// ledger. Both documents are canonical, and may be signed (io/receipts/receipt.h).
#ifndef CUTTLE_IO_SHARDS_SHARD_RUN_H
#define CUTTLE_IO_SHARDS_SHARD_RUN_H

#include "io/receipts/attest.h"
#include "io/ledger/ledger.h"
#include "io/output/output.h"
#include "io/output/shard.h"

/* The name of the document in the run's folder. */
#define SHARD_RUN "run.json"

/* What run.json says beside the receipt. */
struct shard_terms {
	char run[LEDGER_RUN];     /* the run's random name; in the ledger that of its charge */
	uint64_t shards;          /* N */
	uint64_t batches;         /* of the whole run */
	uint64_t places;          /* of a batch, with lots as many as it may have */
	uint64_t records;         /* of the input, where lots counted them */
	struct cuttle_lots *lots; /* [lot_count] the caller's, or the run's */
	size_t lot_count;         /* 0 = no lots */
	enum cuttle_accountant accountant; /* that the plan was made with */
	enum output_format format;         /* of the merged output */
	bool lines_of_batches;             /* its lines name their batches */
	const char *const *fields;         /* [field_count] of the categories, in order */
	size_t field_count;
	char (*digests)[HASH_TEXT]; /* [shards] of their references */
};

/* run.json as it was read. */
struct shard_run {
	struct attested attested;
	struct shard_terms terms;
	const char *field_names[CATEGORY_FIELDS];
	const json_t *receipt;        /* of the run */
	char fingerprint[HASH_TEXT];  /* of the run's command */
	struct receipt_ledger ledger; /* its entry is "" = nobody counted */
	const char *dataset;          /* NULL = none */
	const char *model_sha256, *template_sha256;
	bool private_output;
};

/* A shard that was drawn again. Strings are "" where there is none. */
struct shard_redraw {
	uint64_t shard;
	const char *run;   /* its charge's name in the ledger */
	const char *entry; /* its entry there, 64 hex digits */
	const char *word;  /* instead, on whose word nobody had seen what was drawn before */
};

/* The document, to be sealed by receipt_seal. NULL: out of memory. */
json_t *shard_run_json(const struct shard_terms *terms, const struct receipt *receipt,
                       const char *fingerprint);
/* The document that was read, with one redraw more; without key and signature. */
json_t *shard_run_again(const struct shard_run *run, const struct shard_redraw *redraw);

/* Whether the file at path is the run.json of a run of this fingerprint, by what it says. */
bool shard_run_stands(const char *path, const char *fingerprint);
/* Reads run.json in a folder. `key` as in attest_signature. LEDGER: it is not there, is none, or
 * its signature does not hold. NOMEM. Call shard_run_close in any case. */
enum cuttle_status shard_run_read(const char *folder, const char *key, struct shard_run *run,
                                  struct cuttle_error *error);
void shard_run_close(struct shard_run *run);
/* How many redraws there are; shard_run_redraw gives one. */
size_t shard_run_redraws(const struct shard_run *run);
struct shard_redraw shard_run_redraw(const struct shard_run *run, size_t index);

/* The fingerprint of a shard's command: a hash of the run's, its name, the shard's number, and how
 * often it was drawn again. So a journal of an attempt before, or of another shard, is another
 * command's. */
void shard_run_command(const struct shard_run *run, uint64_t index, char fingerprint[HASH_TEXT]);
/* A shard's receipt, to be sealed. NULL: out of memory. */
json_t *shard_run_part(const struct shard_run *run, uint64_t index, const char *isa,
                       const char *output_sha256);
/* Reads the receipt of a shard and compares it with the one made anew. isa has room for 64 bytes.
 * LEDGER: it is another's, was changed, or its signature does not hold. NOMEM. */
enum cuttle_status shard_run_check(const struct shard_run *run, uint64_t index, const char *path,
                                   const char *key, char isa[64], char output_sha256[HASH_TEXT],
                                   struct cuttle_error *error);

#endif
