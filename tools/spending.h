// SPDX-License-Identifier: Apache-2.0
// What a generate run has to do with the ledger: reserve before anything is drawn, say so before anything drawn is seen, and not pay twice.
//
// A run has a random name, kept beside its output in OUT.run until the output is in place. The same command finds it there: a reservation
// of that name which has drawn nothing, or whose tokens are in the journal, is this run's, and is not charged again. In every other case
// (no name, no journal, another command, released) the run is charged in full. Standard output cannot be continued: each time is a new run.
#ifndef CUTTLE_TOOLS_SPENDING_H
#define CUTTLE_TOOLS_SPENDING_H

#include "io/ledger.h"
#include "tools/references.h"

struct spending {
	const char *path; /* the ledger's; NULL = nobody counts */
	struct ledger_dataset dataset;
	char run[LEDGER_RUN];
	char *name_file; /* NULL for standard output */
	bool drawn;
};

/* Before the references are read: finds the data set. A run that is not private is not counted. USAGE: the data set counts other units than
 * the run. spending_close in any case. */
enum cuttle_status spending_open(const struct generate_values *values, const struct setup *setup, struct spending *spending,
                                 struct cuttle_error *error);
/* Before any forward pass. `resumed`: the journal has tokens. Writes the entry into the receipt. BUDGET: refused. */
enum cuttle_status spending_reserve(struct spending *spending, struct setup *setup, const struct references *references, bool resumed,
                                    struct cuttle_error *error);
/* Before a fresh token may be seen; the first one counts. */
enum cuttle_status spending_draw(struct spending *spending, struct cuttle_error *error);
/* The output is in place. */
void spending_done(struct spending *spending);
void spending_close(struct spending *spending);

#endif
