// SPDX-License-Identifier: Apache-2.0
// quote.h: what a run would promise and cost, as JSON, before it draws: --dry-run --json of
// generate and sanitize. A server of jobs reads it. No private data. Of sanitize it counts
// documents and marked groups, which are public.
#ifndef CUTTLE_TOOLS_COMMON_QUOTE_H
#define CUTTLE_TOOLS_COMMON_QUOTE_H

#include "io/ledger/ledger.h"
#include "tools/common/verbs.h"

// clang-format off
#define QUOTE_OPTION(structure) \
	{.name = "json", OPTION(structure, json), \
	 .help = "dry-run: print one JSON object instead, what the receipt would say and what a " \
	         "ledger would be charged; nothing is measured"}
// clang-format on
#define QUOTE_ALONE "--json is for --dry-run"

/* Prints the receipt of what is not yet drawn, with `needed` records and what a ledger is charged,
 * as one JSON object. Takes receipt, which may be NULL. Prints on failure. Returns the exit code.
 */
int quote_print(const struct verb *verb, json_t *receipt, uint64_t needed,
                const struct ledger_request *price);

#endif
