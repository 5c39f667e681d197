// SPDX-License-Identifier: Apache-2.0
// budgets.h: what the ledger says to a server's users: what is left of a data set's budget, whether
// a job fits, the entries.
//
// Each call opens the ledger, does one thing and closes it, as runs do. It charges nothing: the
// command charges its own run, before its first token (workflow/spending.h).
// No private data; of a data set that counts by key the numbers tell how often values repeat
// (io/ledger/ledger.h).
#ifndef CUTTLE_SERVE_JOBS_BUDGETS_H
#define CUTTLE_SERVE_JOBS_BUDGETS_H

#include "io/ledger/ledger.h"
#include <jansson.h>

/* What a run is charged, as cuttle generate --dry-run --json says. */
struct budgets_charge {
	enum ledger_measure measure;
	unsigned order; /* of LEDGER_RDP */
	double loss;    /* rho, Renyi loss or epsilon of one record */
	double delta;   /* of LEDGER_EPSILON */
	uint64_t lines; /* records that are charged, from the first on; 0 counts as 1 */
};
/* Reads the member "charge" of what the command said. False: it is none. */
bool budgets_read(const json_t *quote, struct budgets_charge *charge);
/* Adds a charge to a sum of the same measure; the larger number of lines. */
void budgets_add(struct budgets_charge *sum, const struct budgets_charge *charge);

/* Whether a data set could be charged this now. BUDGET: it would exceed its limit, and the message
 * says by how much. USAGE: there is no such data set, or it does not take such charges; or it
 * counts by another key than unit_key ("" = lines). LEDGER, NOMEM. */
enum cuttle_status budgets_fit(const char *ledger, const char *dataset, const char *unit_key,
                               const struct budgets_charge *charge, struct cuttle_error *error);
/* Whether the run has a charge that stands. LEDGER, NOMEM, USAGE. */
enum cuttle_status budgets_charged(const char *ledger, const char *dataset, const char *run,
                                   bool *charged, struct cuttle_error *error);

/* One data set, or a list of all where `dataset` is NULL. The caller owns *document. USAGE: there
 * is no such data set. LEDGER, NOMEM. */
enum cuttle_status budgets_show(const char *ledger, const char *dataset, json_t **document,
                                struct cuttle_error *error);
/* What is left for one more run, in the charge's measure; NaN where it cannot be said. */
double budgets_remaining(const char *ledger, const char *dataset,
                         const struct budgets_charge *charge);
/* The entries of a data set, as cuttle ledger export has them. */
enum cuttle_status budgets_entries(const char *ledger, const char *dataset, json_t **document,
                                   struct cuttle_error *error);
/* Checks file and chain: {"ok":true,"entries":12,"head":".."}, or {"ok":false,"message":".."}. The
 * hash must be there; NULL = none is asked for. NOMEM, or LEDGER where the file cannot be opened.
 */
enum cuttle_status budgets_verify(const char *ledger, const char *head, json_t **document,
                                  struct cuttle_error *error);

#endif
