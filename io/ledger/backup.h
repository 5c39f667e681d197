// SPDX-License-Identifier: Apache-2.0
// backup.h: a copy of a ledger that others may be writing to.
//
// No text passes through; a ledger may hold keyed names of units (io/ledger/chain.h). The copy has
// all entries of one moment. A copy of the file by cp alone may lack what stands in the log beside
// it, or be of two moments.
#ifndef CUTTLE_IO_LEDGER_BACKUP_H
#define CUTTLE_IO_LEDGER_BACKUP_H

#include "engine/cuttle/status.h"
#include "io/disk/hash.h"

/* Copies the ledger at `path` to a new file, with mode 0600, and checks the copy as ledger_verify
 * does. It is put in place whole or not at all. *entries and head are as there.
 * USAGE: a file is there already, or none can be made. LEDGER: the ledger cannot be read, or is
 * damaged. INTERNAL: the copy cannot be written. NOMEM. */
enum cuttle_status backup_ledger(const char *path, const char *copy, uint64_t *entries,
                                 char head[HASH_TEXT], struct cuttle_error *error);

#endif
