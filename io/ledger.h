// SPDX-License-Identifier: Apache-2.0
// The ledger: how much privacy each data set has spent, in a file that only grows, and that refuses what would go over the limit.
//
// It stands in io/ and not in dp/, because it needs SQLite and libsodium while the core builds with libc alone; no line of it draws a
// token.
//
// What is counted. rho of zCDP, per unit (io/units.h), for any number of runs in any order, each decided after seeing the others' output:
// a limit on the sum is a privacy filter (Feldman & Zrnic 2021, zCDP; design note privacy.md 2.4b). A run is charged rho of all T tokens of
// its texts, however soon they end. (epsilon, delta) are shown for orientation: the largest rho whose (epsilon, delta) by Canonne, Kamath
// and Steinke is the one asked for is the limit. Spent is rounded up, what is left down. The exact accountant's smaller epsilon is that of
// one run alone, so it is not counted here: a run whose clip was found by it costs more rho than its epsilon suggests.
//
// What a unit is, and what may be seen. The data set says so once, when it is made:
//   unit_key ""     a unit is a line of the file. A run of N texts reads lines 0 .. N*B-1 (with categories, which are public, it is charged
//                   for all up to the last it reads), so what it costs, and whether it is refused, is a function of public things alone.
//                   A text never reaches the ledger. Lines must keep their places; new ones go behind.
//                   This is the default: it is exactly the guarantee "replace one record by null", and nothing is told about any record.
//   unit_key FIELD  a unit is everybody with the same value there (the text field itself is allowed: equal texts are then one unit). g
//                   records of one value in a batch cost g^2 rho. Now a charge, a refusal and `spent` tell how often values repeat, though
//                   not whose: naming a key declares that pattern public. The file keeps BLAKE2b-128 of the value under a random key of its
//                   own: names without meaning to others, but the key stands in the file, so whoever holds the file can test a guess.
//                   A record without a value is nobody's: no run may read it, and it is not charged (io/places.h nulls it).
//
// What is written: io/chain.h. Every call reads and checks the whole chain. What no file can show by itself is an older copy of it put
// back, or its last entries lost with a write-ahead log that was thrown away after a crash: keep a hash elsewhere (each receipt holds one)
// and let ledger_verify look for it.
//
// A run's life: reserved (nothing drawn) -> drawn, from before its first token may be seen; or reserved -> released. A reservation stands
// after a crash. Drawn is for ever.
//
// Errors of every call: LEDGER: cannot be opened, busy for 10 s, cannot be written, damaged, or edited. NOMEM. Data set names, keys and
// runs are public.
#ifndef CUTTLE_IO_LEDGER_H
#define CUTTLE_IO_LEDGER_H

#include "io/chain.h"

enum { LEDGER_NAME = 129, LEDGER_RUN = 33 };

struct ledger;
struct ledger_dataset {
	char name[LEDGER_NAME];     /* 1..128 bytes of UTF-8 without control characters */
	char unit_key[LEDGER_NAME]; /* "" = lines */
	double rho, epsilon, delta; /* the limit */
};

/* Makes the file (mode 0600) when there is none or an empty one; else checks that it is a ledger. */
enum cuttle_status ledger_create(const char *path, struct cuttle_error *error);
enum cuttle_status ledger_open(const char *path, struct ledger **ledger, struct cuttle_error *error);
/* Nulls the handle. NULL handles are fine. */
void ledger_close(struct ledger **ledger);

/* Adds a data set; fills in epsilon from rho, or rho (rounded down) where it is NaN. USAGE: it exists; a bad name; a limit that is not
 * positive and finite; delta not in (0, 1). */
enum cuttle_status ledger_add(struct ledger *ledger, struct ledger_dataset *dataset, struct cuttle_error *error);

struct ledger_standing {
	struct ledger_dataset dataset;
	double spent, left; /* rho, rounded up and down */
	uint64_t runs;      /* reserved or drawn */
};
/* USAGE: no such data set. */
enum cuttle_status ledger_look(struct ledger *ledger, const char *dataset, struct ledger_standing *standing, struct cuttle_error *error);

/* epsilon of rho at the data set's delta (CKS20), rounded up or down; 0 for 0; the limit's for the whole limit; +infinity where it is out
 * of range. */
double ledger_epsilon(const struct ledger_dataset *dataset, double rho, bool up);

enum ledger_state { LEDGER_UNKNOWN, LEDGER_RESERVED, LEDGER_DRAWN, LEDGER_RELEASED };
struct ledger_run {
	enum ledger_state state;
	char command[HASH_TEXT];
	char entry[HASH_TEXT]; /* hash of the reservation's entry */
	double rho;            /* the most it charges one unit */
};
/* UNKNOWN for a run that the data set does not have. USAGE: no such data set. */
enum cuttle_status ledger_find(struct ledger *ledger, const char *dataset, const char *run, struct ledger_run *found,
                               struct cuttle_error *error);

/* The name of a new run: random. */
void ledger_name_run(char run[LEDGER_RUN]);

struct ledger_request {
	const char *dataset;
	const char *run;     /* LEDGER_RUN - 1 hex digits, new to the ledger */
	const char *command; /* what was run: SHA-256, or "" */
	double rho;          /* of one text, hence of one batch */
	bool drawn;          /* whether it can be released: false, until ledger_draw */
	/* Data set of lines: the first record and how many. Data set of keys: if unit is NULL everybody is charged rho, else each record's
	 * batch is index / batch, and unit says whose record it is; false: nobody's, it is not read. */
	uint64_t first, count, batch;
	void *user;
	bool (*unit)(void *user, uint64_t index, const char **value, size_t *size);
};
/* Charges, durably, or changes nothing. found: the entry, and what it charges at most. BUDGET: over the limit; the message has what was
 * asked, spent and left. USAGE: no such data set, the run's name is taken, rho not positive and finite, no records. `dry`: only says
 * whether. */
enum cuttle_status ledger_reserve(struct ledger *ledger, const struct ledger_request *request, bool dry, struct ledger_run *found,
                                  struct cuttle_error *error);
/* Before the run's first token may be seen. Does nothing for one drawn already. BUDGET: it has no reservation, or it was released. */
enum cuttle_status ledger_draw(struct ledger *ledger, const char *dataset, const char *run, struct cuttle_error *error);
/* Gives a reservation back. USAGE: there is none, or the run has drawn: what was drawn cannot be taken back. */
enum cuttle_status ledger_release(struct ledger *ledger, const char *dataset, const char *run, struct cuttle_error *error);

/* Shows the data set's entries (NULL: all) in order; a nonzero answer of `each` ends it and is returned. Kinds: "dataset" (rho, epsilon and
 * delta are the limit), "reserve" (rho is the most it charges one unit), "draw" (with no time: it would tell how long the references took
 * to read), "release". USAGE: no such data set. */
enum cuttle_status ledger_walk(struct ledger *ledger, const char *dataset,
                               enum cuttle_status (*each)(void *user, const struct chain_entry *entry), void *user,
                               struct cuttle_error *error);

/* Everything: chain_check, the chain, the sense of its entries, each sum within its limit, and, when hash is not NULL, that an entry has
 * it. *entries = how many there are, head = the hash of the last ("" of none). */
enum cuttle_status ledger_verify(struct ledger *ledger, const char *hash, uint64_t *entries, char head[HASH_TEXT],
                                 struct cuttle_error *error);

#endif
