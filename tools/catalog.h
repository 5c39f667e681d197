// SPDX-License-Identifier: Apache-2.0
// catalog.h: all verbs and their options as one JSON document, from the same tables as the help.
// cuttle help --json prints it. python/make_verbs.py makes a function of each verb from it. No
// private data: it tells tables that are compiled in.
// Example: {"version":"0.2.0","verbs":[{"name":"merge","options":[{"name":"output","letter":"o",
// "kind":"text","argument":"FILE",...}],...}],"exit_codes":[{"code":0,"meaning":"done"},...]}
#ifndef CUTTLE_TOOLS_CATALOG_H
#define CUTTLE_TOOLS_CATALOG_H

#include "tools/manual.h"
#include <jansson.h>

/* What a table does not say is null: a number without bounds has "least" and "most" null. The
 * caller owns the result. NULL: out of memory. */
json_t *catalog_json(const struct manual *manual);

#endif
