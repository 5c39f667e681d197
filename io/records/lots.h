// SPDX-License-Identifier: Apache-2.0
// lots.h: the secret lots of a run: which batch each record is in, and the key that says so.
//
// The key is as private as the records: with it the guarantee is only that of a batch
// (dp/PRIVACY.md, step 39). A lot is a function of the key, the record's cluster, its number and
// how many batches there are, never of a text:
//
//     lot = BLAKE2b-128(key, "cuttle lot" then the cluster in 4 bytes, the number in 8) mod batches
//
// all of them little-endian. A null record has a lot like any other. The file OUT.lots holds the
// key from before the first token until the output is in place. So a run that was stopped goes on
// with its own lots:
//
//     cuttle-lots 1 FINGERPRINT 00000000000000001500 KEY      the middle one is the records' number
//
// New lots in the middle of a run would put a record into two batches.
#ifndef CUTTLE_IO_RECORDS_LOTS_H
#define CUTTLE_IO_RECORDS_LOTS_H

#include "io/disk/hash.h"

enum {
	LOTS_KEY = 32,          /* bytes of a key */
	LOTS_CHECK = 2 * 16 + 1 /* bytes of a key's check as text, with the NUL */
};
/* The ending of OUT that the file's path has. */
#define LOTS_BESIDE ".lots"

/* The batch of a record, 0 .. batches - 1. */
uint64_t lots_batch(const unsigned char key[LOTS_KEY], uint32_t cluster, uint64_t record,
                    uint64_t batches);

/* The same of an owner: everybody whose records carry this value has one lot. */
uint64_t lots_of_owner(const unsigned char key[LOTS_KEY], const char *value, size_t size,
                       uint64_t batches);

/* What stands at the path of the file. */
enum lots_standing {
	LOTS_NONE,   /* nothing, or the beginning of a file: a kill stopped its writer */
	LOTS_STAND,  /* lots of a run */
	LOTS_FOREIGN /* something else, which is left alone */
};

struct lots {
	unsigned char key[LOTS_KEY]; /* of the run's lots */
	uint64_t records;            /* of the input */
	/* Of the file, as lots_look found it: */
	enum lots_standing standing;
	bool torn; /* there is the beginning of a file */
	char fingerprint[HASH_TEXT];
	uint64_t had;                 /* its number of records */
	unsigned char kept[LOTS_KEY]; /* its key */
};

/* Draws a new key, before the records are read. seed NULL: from the system. Else NOT PRIVATE: the
 * key follows from *seed. INTERNAL: libsodium cannot begin. */
enum cuttle_status lots_begin(struct lots *lots, const uint64_t *seed, struct cuttle_error *error);

/* Reads the file at `path`. Call it while holding the journal's lock. */
void lots_look(struct lots *lots, const char *path);
/* The check of the file's key, for the journal: BLAKE2b-128(key, "check") as 32 hex digits. It is
 * 32 zeros where no lots of that command stand. */
void lots_check_kept(const struct lots *lots, const char *fingerprint, char check[LOTS_CHECK]);
/* The same of the run's key. */
void lots_check(const struct lots *lots, char check[LOTS_CHECK]);
/* The run goes on with the file's key. */
void lots_continue(struct lots *lots);
/* Writes the run's key to a new file with mode 0600 and makes it durable. Lots that stood there are
 * removed. Returns 0 or the errno. */
int lots_keep(struct lots *lots, const char *path, const char *fingerprint);
/* Overwrites and removes the file, if lots or the beginning of such a file stand there. Returns 0
 * or the errno. */
int lots_remove(struct lots *lots, const char *path);

/* Wipes the keys in memory. */
void lots_close(struct lots *lots);

#endif
