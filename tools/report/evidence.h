// SPDX-License-Identifier: Apache-2.0
// evidence.h: writes a folder of evidence, as cuttle report --evidence does.
//
// With PRIVATE numbers each page is stamped, and the folder is for its owner alone.
#ifndef CUTTLE_TOOLS_REPORT_EVIDENCE_H
#define CUTTLE_TOOLS_REPORT_EVIDENCE_H

#include "workflow/report/dossier.h"

/* Makes all files, then puts the folder in place. LEDGER: a receipt was changed meanwhile. USAGE,
 * INTERNAL: as folder_write. NOMEM. */
enum cuttle_status evidence_write(const char *path, const struct dossier *dossier,
                                  struct cuttle_error *error);

#endif
