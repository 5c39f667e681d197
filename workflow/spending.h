// SPDX-License-Identifier: Apache-2.0
// spending.h: charges a run in the ledger: before a token is drawn, and only once.
//
// Called in the order of the functions below. It knows no mechanism: whoever runs one says what it
// costs, as a struct ledger_request. Owners of records pass through that request, on their way to
// the ledger.
//
// A run has a random name. It stands in OUT.run until the output is in place, so the same command
// finds it. The reservation of that name is used again, and the run not charged twice, on two
// conditions. It charges exactly what this run would be charged now. Nothing was drawn under it, or
// what was drawn is in the journal. The ledger first learns that a run draws, with the journal's
// first line. Whenever a run begins or goes on, it keeps how far the journal has come behind the
// first token that is then drawn, before anybody sees that one. It does so whenever a run stops in
// order, too. So where the ledger knows the first line alone, nobody has seen a token: a journal of
// that line goes on. One that does not begin as the ledger has it was put back from before. It
// would draw texts twice for one charge: it is refused. Else (no name, no journal, another command,
// other owners, a released name) the run is charged in full. The finished output's hash closes the
// reservation: one charge pays for one output. Standard output cannot be continued, so each run
// there is new.
#ifndef CUTTLE_WORKFLOW_SPENDING_H
#define CUTTLE_WORKFLOW_SPENDING_H

#include "io/ledger/ledger.h"
#include "io/receipts/receipt.h"

/* What it keeps beside OUT, as endings: the run's name, and the name that stood there, while a run
 * is charged in its place. */
#define SPENDING_BESIDE ".run", ".run.before"

struct spending_request {
	/* path; NULL = nobody counts: of the calls below only spending_reserve does something. */
	const char *ledger;
	const char *dataset;  /* its name in the ledger */
	const char *unit_key; /* field that says whose a record is; NULL = none */
	const char *output;   /* path of OUT; "-" = standard output */
	/* What somebody approved, "COMMAND:LOSS": the fingerprint, and the most that one unit may
	 * be charged. Another run is refused before it is charged, or goes on for its charge. NULL
	 * = nobody was asked. */
	const char *approved;
};
/* Begins the message of that refusal. */
#define SPENDING_OTHER "not what was approved"
/* Begins the message where a journal was put back from before. */
#define SPENDING_OLDER "the journal is older than what was drawn under its charge"
/* Whether a text has that form. */
bool spending_approval(const char *text, char command[HASH_TEXT], double *loss);

/* The journal of a run. */
struct spending_journal {
	void *user;
	const char *ending; /* of OUT, that its path has: ".journal" */
	bool empty;         /* it holds its first line, and no token or count */
	/* As journal_mark. */
	int (*mark)(void *user, uint64_t most, struct journal_mark *mark);
};

struct spending {
	const char *path; /* of the ledger; NULL = nobody counts */
	struct ledger_dataset dataset;
	char run[LEDGER_RUN];     /* the run's name, 32 hex digits */
	char *name_file;          /* path of OUT.run; NULL for standard output */
	char *name_before;        /* path of OUT.run.before: OUT.run as it was, while it changes */
	char *name_part;          /* path of its scratch file; NULL until the run is charged */
	bool drawn;               /* the ledger knows that a token was drawn */
	bool goes_on;             /* the ledger does not know yet how far it has come */
	struct journal_mark told; /* how far the ledger knows the journal; 0 bytes = not at all */
	const char *approved;     /* the request's */
};

/* Finds the data set. Call it before the references are read. The request's ledger must outlive
 * *spending. Call spending_close in any case. USAGE: the data set counts other units than the run.
 * NOMEM, or as ledger_open and ledger_look. */
enum cuttle_status spending_open(const struct spending_request *request, struct spending *spending,
                                 struct cuttle_error *error);
/* Charges the run, or finds its charge. Call it before any forward pass. `charge` says what is
 * charged; its data set and run are set here. `resumed` is the journal where it is this run's from
 * before, else NULL.
 * OUT.run is written by way of OUT.run`scratch` (output_scratch), where nothing stands after it.
 * Sets *charged to what the receipt shows of it. BUDGET: the ledger refuses. USAGE: nobody
 * counts, and OUT.run stands: the run would go on, and its charge stay open. A file that is
 * no run's name stands at OUT.run; the run is not what was approved. PARTIAL: OUT.run cannot be
 * written, or the journal not be read. LEDGER: the journal is older than the ledger says, or
 * another. Else as ledger_open, ledger_match, ledger_reserve and ledger_draw. */
enum cuttle_status spending_reserve(struct spending *spending, const struct ledger_request *charge,
                                    const struct spending_journal *resumed, const char *scratch,
                                    struct receipt_ledger *charged, struct cuttle_error *error);
/* Tells the ledger that the run draws, and what its journal is. Call it before counts are drawn,
 * and for each token, before the token is kept; only the first call writes. PARTIAL: the journal
 * cannot be read. Else as ledger_open and ledger_draw. */
enum cuttle_status spending_draw(struct spending *spending, const struct spending_journal *journal,
                                 struct cuttle_error *error);
/* Tells the ledger how far the run has come. Call it behind counts and each token, once they are in
 * the journal and before they may be seen; only the first call writes. So files from before it are
 * refused, even where the run is killed now. Errors as spending_draw. */
enum cuttle_status spending_go_on(struct spending *spending, const struct spending_journal *journal,
                                  struct cuttle_error *error);
/* Tells the ledger how far a run has come that has drawn and stops now. Where that fails it stops
 * all the same. */
void spending_stop(struct spending *spending, const struct spending_journal *journal);
/* Closes the charge with the output's hash. Call it when the output is whole and not yet in place.
 * BUDGET: this charge has paid for another output. Else as ledger_open and ledger_finish. */
enum cuttle_status spending_finish(struct spending *spending, const char output_sha256[HASH_TEXT],
                                   struct cuttle_error *error);
/* Removes OUT.run. Call it when what was paid is in place, and before another process may begin
 * there. An output with a journal has it removed (output_publish). */
void spending_done(struct spending *spending);
void spending_close(struct spending *spending);

#endif
