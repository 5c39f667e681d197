// SPDX-License-Identifier: Apache-2.0
// ledger.h: how much privacy each data set has spent, and the limit that no run may exceed.
//
// Owners of records pass through (a text only where it is the owner). Names of data sets, keys and
// runs are public. A run's way:
//
//     ledger_name_run(name);                                  a new random name
//     ledger_reserve(ledger, &request, false, &run, error);   BUDGET: over the limit
//     ledger_draw(ledger, dataset, name, mark, error);          before its first token may be seen
//     ledger_finish(ledger, dataset, name, sha256, error);    before its output is put in place
//
// Every call reads and checks the whole chain of entries. Errors of every call: LEDGER: the file
// cannot be opened or written, is busy for 30 s without a change, is damaged or was edited. NOMEM.
#ifndef CUTTLE_IO_LEDGER_LEDGER_H
#define CUTTLE_IO_LEDGER_LEDGER_H

#include "io/ledger/chain.h"
#include "io/output/journal.h"

/* Why the ledger stands in io/ and not in dp/: it needs SQLite and libsodium, while the core builds
 * with libc alone. No line of it draws a token.
 *
 * What is counted. The ledger counts rho of zCDP for each unit (io/records/units.h). Or it counts
 * Renyi losses, see "measure" below. There may be any number of runs in any order. Each may be
 * chosen after seeing the outputs of the others. Even so a limit on the sum is a privacy filter
 * (Feldman & Zrnic 2021, zCDP; dp/PRIVACY.md, step 19). A run is charged the rho of all T tokens of
 * its texts, however soon they end. Spent is rounded up, and the rest is rounded down. Limits and
 * charges that somebody typed in decimal add up exactly: ten times 0.1 fit in 1.
 *
 * (epsilon, delta) are shown for orientation, by the formula of Canonne, Kamath and Steinke. A
 * limit given as (epsilon, delta) becomes the largest rho that gives this (epsilon, delta). The
 * exact accountant's epsilon is smaller, but it holds for one run alone. So it is not counted here.
 * A run whose clip was found by it costs more rho than its epsilon suggests.
 *
 * The measure. The data set says it once, when it is made. There are two:
 *
 * LEDGER_RHO       rho of zCDP. This is the default.
 * LEDGER_RDP       Renyi losses at one order (dp/rdp.h), for mechanisms that rho does not describe:
 *                  a bound at one order implies no zCDP. Every number of such a data set that is
 *                  called rho here is a Renyi loss at its order: limit, charge, spent and left.
 *                  Losses at one order add up, and a limit on their sum is a filter at that order,
 *                  by the same theorem. There is no rule for several records of one owner in one
 *                  batch. So by key, a batch has one record: g records of one owner cost g times
 *                  the loss of one.
 *
 * A request says what it is charged in. In another measure, or at another order, it is refused.
 *
 * LEDGER_EPSILON   A run may also be charged its epsilon at a delta, where it is a mixture that has
 *                  no useful rho: a run with lots. A data set of lines that counts rho takes such
 *                  charges instead of rho, from its first run on. Those of one data set are of one
 *                  kind. None is read as the other, and a charge of the other kind is refused. Then
 *                  a line is within the limit while its epsilons add up to at most the limit's, and
 *                  its deltas to at most the limit's (dp/PRIVACY.md, step 39). No rule adds both
 *                  kinds up, where it depends on earlier outputs which comes next.
 *
 * What a unit is. The data set says so once, when it is made. There are two kinds:
 *
 * unit_key ""      A unit is a line of the file. This is the default. It is exactly the guarantee
 *                  "replace one record by null", and nothing is told about any record. A run of N
 *                  texts reads and is charged for lines 0 to N*B-1. With categories, which are
 *                  public, it is charged for all lines up to the last it reads. So its cost, and
 *                  whether it is refused, depend on public things alone. Lines must keep their
 *                  places. New lines go behind the others. A text never reaches the ledger.
 *
 * unit_key FIELD   A unit is everybody with the same value of FIELD. FIELD may be the text field:
 *                  then equal texts are one unit. g records of one value in a batch cost g^2 rho: 3
 *                  records cost 9 rho. So a charge, a refusal and `spent` tell how often values
 *                  repeat, though not whose. Naming a key declares that pattern public. A run with
 * a limit charges each value it reads the same (`once`). The ledger does not keep a value. It keeps
 * BLAKE2b-128 of the value under the file's random key. The key stands in the same file, so whoever
 * holds the file can test a guess of a value; to others the names mean nothing. A record without a
 * value is nobody's. No run may read it (io/records/places.h nulls it), and it is not charged. The
 * number 7 and the string "7" are one value. Older versions charged them as two. So a charge now
 * goes to both names, and a unit charged under either stays charged. Only old charges of both are
 * not added up: 0.1 of 7 and 0.2 of "7" count as 0.2.
 *
 * What is written: io/ledger/chain.h. Two losses cannot be seen in the file itself. Somebody may
 * put an older copy back. Or its last entries may be lost after a crash, if the write-ahead log was
 * thrown away. Against both, keep a hash elsewhere (each receipt holds one) and let ledger_verify
 * look for it.
 *
 * The life of a run, and the calls that change it:
 *
 *     ledger_reserve -> reserved   nothing is drawn yet; stays so after a crash
 *     ledger_draw    -> drawn      before its first token may be seen; it can never be released.
 *                                  Again whenever it goes on or stops, with how far it has come
 *     ledger_finish  -> closed     with the hash of its output
 *     ledger_release -> released   from reserved only
 *
 * One charge pays for one output: a closed run draws no more, and takes no output with another
 * hash. */

enum {
	LEDGER_NAME = 129, /* bytes for the name of a data set or a key: 128 and a NUL */
	LEDGER_RUN = 33    /* bytes for the name of a run: 32 hex digits and a NUL */
};

/* Endings of the files that SQLite keeps beside a ledger while it is in use. */
#define LEDGER_BESIDE "-wal", "-shm", "-journal"

/* What a data set counts. */
enum ledger_measure {
	LEDGER_RHO,    /* rho of zCDP */
	LEDGER_RDP,    /* Renyi losses at one order */
	LEDGER_EPSILON /* of a request alone: epsilon at a delta */
};

enum {
	LEDGER_ORDER_LEAST = 2, /* orders of Renyi losses */
	LEDGER_ORDER_MOST = 16
};

struct ledger;
struct ledger_dataset {
	char name[LEDGER_NAME];      /* 1 to 128 bytes of UTF-8 without control characters */
	char unit_key[LEDGER_NAME];  /* the field that names units; "" = units are lines */
	double rho;                  /* the limit: the most that may be charged to one unit */
	bool decimal;                /* the limit was typed in decimal, and rho stands for that
	                              * number (units_read); else rho is the limit itself */
	double epsilon;              /* the same limit as (epsilon, delta) */
	double delta;                /* in (0, 1) */
	enum ledger_measure measure; /* what rho is */
	unsigned order;              /* of LEDGER_RDP: 2 to 16; 0 for LEDGER_RHO */
};

/* Makes the file, with mode 0600, if there is none or an empty one. Else it checks that the file is
 * a ledger. INTERNAL: libsodium cannot begin. */
enum cuttle_status ledger_create(const char *path, struct cuttle_error *error);
/* INTERNAL: libsodium cannot begin. */
enum cuttle_status ledger_open(const char *path, struct ledger **ledger,
                               struct cuttle_error *error);
/* Closes the file and sets the handle to NULL. The handle may be NULL already. */
void ledger_close(struct ledger **ledger);

/* Adds a data set. If its rho is NaN, rho is computed from epsilon and delta, rounded down. Else
 * epsilon is computed from rho and delta. USAGE: the data set exists; the name or the key is not as
 * above; a limit is not positive and finite; delta is not in (0, 1); the order is none; epsilon is
 * below that of every Renyi loss at this order. */
enum cuttle_status ledger_add(struct ledger *ledger, struct ledger_dataset *dataset,
                              struct cuttle_error *error);

struct ledger_standing {
	struct ledger_dataset dataset;
	double spent; /* rho of the unit that is charged most, rounded up */
	double left;  /* rho up to the limit, rounded down */
	/* Runs are charged epsilon. Then `spent` is 0, and these two are the epsilon of the line
	 * that is charged most, and what is left of it. */
	bool in_epsilon;
	double epsilon_spent;
	double epsilon_left;
	uint64_t runs; /* how many are reserved, drawn or closed */
};
/* USAGE: there is no such data set. */
enum cuttle_status ledger_look(struct ledger *ledger, const char *dataset,
                               struct ledger_standing *standing, struct cuttle_error *error);

/* epsilon of rho at the data set's delta (Canonne, Kamath and Steinke 2020), rounded up or down. It
 * is 0 for rho = 0, and the limit's epsilon for the limit's rho. Out of range it is +infinity. */
double ledger_epsilon(const struct ledger_dataset *dataset, double rho, bool up);

/* Prints what is counted at this order; 0 is for LEDGER_RHO. Brief: "rho" or "rdp 2". Else: "rho of
 * zCDP" or "Renyi losses at order 2". */
enum { LEDGER_MEASURE = 40 }; /* bytes for either, with the NUL */
void ledger_print_measure(unsigned order, bool brief, char text[LEDGER_MEASURE]);

enum ledger_state {
	LEDGER_UNKNOWN, /* the data set has no such run */
	LEDGER_RESERVED,
	LEDGER_DRAWN,
	LEDGER_CLOSED,
	LEDGER_RELEASED
};
struct ledger_run {
	enum ledger_state state;
	char command[HASH_TEXT];  /* hash of the command that was charged, or "" */
	char entry[HASH_TEXT];    /* hash of the reservation's entry */
	char output[HASH_TEXT];   /* SHA-256 of the output of a closed run, else "" */
	double rho;               /* the most it charges one unit */
	struct journal_mark mark; /* the last one that ledger_draw was given */
};
/* Looks a run up. Its state is UNKNOWN if the data set does not have it. USAGE: there is no such
 * data set. */
enum cuttle_status ledger_find(struct ledger *ledger, const char *dataset, const char *run,
                               struct ledger_run *found, struct cuttle_error *error);

/* Makes the name of a new run: 32 random hex digits. */
void ledger_name_run(char run[LEDGER_RUN]);

struct ledger_request {
	const char *dataset;
	const char *run;     /* LEDGER_RUN - 1 hex digits; the data set has no run of that name */
	const char *command; /* what is run: a SHA-256 in hex, or "" */
	double rho;          /* of one text, hence of one batch; positive and finite. Of
	                        LEDGER_EPSILON: epsilon of the whole run, for each line */
	bool decimal; /* rho was typed in decimal, and stands for that number (units_read). Not
	                 where `unit` is given, and not of LEDGER_EPSILON. */
	double delta; /* of LEDGER_EPSILON: in (0, 1) */
	enum ledger_measure measure; /* what rho is: the data set's measure */
	unsigned order;              /* of LEDGER_RDP: the data set's order; 0 for LEDGER_RHO */
	bool drawn;                  /* true: drawn at once, so it can never be released */
	/* Who is charged. In a data set of lines: the lines first to first + count - 1, rho each.
	 * In a data set of keys, without `unit`: everybody, rho each. With `unit`: record i, from
	 * `first` on, is in batch i / batch. unit says whose record i is. Each owner is charged g^2
	 * rho for g records in a batch; with `once` rho for all. Of LEDGER_RDP a batch has one
	 * record there. */
	uint64_t first; /* number of the first record */
	uint64_t count; /* of records, at least 1 */
	uint64_t batch; /* records in a batch, B; at least 1 where unit is given */
	bool once;      /* rho is for all records of an owner together */
	/* rho of one record, as older versions charged it, without `once`; 0 = as now. Only
	 * ledger_match looks at it. */
	double older;
	void *user; /* passed to unit */
	/* Gives the owner of a record, as records_id writes it. False: the record is nobody's and
	 * is not read. */
	bool (*unit)(void *user, uint64_t index, const char **value, size_t *size);
};
/* Charges the request and syncs the file; on failure nothing is charged. It fills *found with the
 * new entry and the most that it charges one unit. With `dry` it only says whether it would charge.
 * BUDGET: it would exceed the limit; the message says what was asked, is spent and is left. USAGE:
 * there is no such data set; it has a run of that name; rho is not positive and finite; there are
 * no records; the data set has another measure or order, and the message says which; it counts
 * owners, and epsilon is charged; it has charges of the other kind; it counts Renyi losses by key,
 * and a batch has several records.
 */
enum cuttle_status ledger_reserve(struct ledger *ledger, const struct ledger_request *request,
                                  bool dry, struct ledger_run *found, struct cuttle_error *error);
/* Looks up the request's run, as ledger_find does. *same: the run's entry has the request's
 * command, and charges exactly what the request would be charged now, or by an older version. Only
 * then may the entry pay for the request. USAGE: as for ledger_reserve. */
enum cuttle_status ledger_match(struct ledger *ledger, const struct ledger_request *request,
                                struct ledger_run *found, bool *same, struct cuttle_error *error);
/* Marks a reserved run as drawn. Call it before the run's first token may be seen. `mark` says how
 * far its journal has come, which is durable: at first its first line; NULL = it keeps none.
 * `before` is the mark that the caller went on from; its bytes are 0 where there was none. NULL,
 * without `mark`: whoever has drawn. It does nothing if the run is drawn already and its last mark
 * is both of them, or neither is given. LEDGER: the last mark is not `before`, or the run is drawn
 * and `mark` is NULL, so another has drawn from this charge meanwhile. BUDGET: the run has no
 * reservation, was released, or is closed. USAGE: there is no such data set. */
enum cuttle_status ledger_draw(struct ledger *ledger, const char *dataset, const char *run,
                               const struct journal_mark *before, const struct journal_mark *mark,
                               struct cuttle_error *error);
/* Closes a drawn run with the SHA-256 of its output. Call it before the output is put in place. It
 * does nothing if the run was closed with the same hash. BUDGET: the run was closed with another
 * output, or has drawn nothing. USAGE: there is no such data set. */
enum cuttle_status ledger_finish(struct ledger *ledger, const char *dataset, const char *run,
                                 const char output[HASH_TEXT], struct cuttle_error *error);
/* Gives a reservation back. USAGE: there is no such data set or reservation, or the run has drawn:
 * what was drawn cannot be taken back. */
enum cuttle_status ledger_release(struct ledger *ledger, const char *dataset, const char *run,
                                  struct cuttle_error *error);

/* Passes the entries of the data set (NULL: of all data sets) to `each`, in order. A nonzero answer
 * of `each` ends the walk and is returned. The kinds of entries:
 *   "dataset"   rho, epsilon and delta are its limit; order is 0 for LEDGER_RHO
 *   "reserve"   rho is the most it charges one unit; order as above; command is the request's
 *   "draw"      time is 0: it would tell how long the references took to read. command is how far
 *               the run's journal had come, as its length and its SHA-256: "1234 5f3c...", or ""
 *   "close"     time is 0, for the same reason; command is the SHA-256 of the output
 *   "release"
 * USAGE: there is no such data set. */
enum cuttle_status ledger_walk(struct ledger *ledger, const char *dataset,
                               enum cuttle_status (*each)(void *user,
                                                          const struct chain_entry *entry),
                               void *user, struct cuttle_error *error);

/* Checks the file (chain_check) and every hash. Checks that each entry can follow the ones
 * before it, and that no data set is over its limit. If `hash` is not NULL, an entry must have it.
 * *entries is how many entries there are. `head` is the hash of the last one, "" for none. */
enum cuttle_status ledger_verify(struct ledger *ledger, const char *hash, uint64_t *entries,
                                 char head[HASH_TEXT], struct cuttle_error *error);

#endif
