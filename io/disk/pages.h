// SPDX-License-Identifier: Apache-2.0
// pages.h: SQLite files in which every page carries its own checksum.
//
// The ledger's pages pass through, which hold no text (io/ledger/chain.h). A changed byte makes the
// read of its page fail, even where no data stands. A page has 4,096 bytes:
//   bytes    0 .. 4079  SQLite's content
//   bytes 4080 .. 4095  BLAKE2b-128 of the page's offset in the file and of that content
// SQLite leaves these 16 bytes to whoever asks for them (SQLITE_FCNTL_RESERVE_BYTES). The checksum
// is no secret: it detects damage and edits by other programs, not a forger who knows it. Only
// the database file has it; SQLite's write-ahead log has checksums of its own.
#ifndef CUTTLE_IO_DISK_PAGES_H
#define CUTTLE_IO_DISK_PAGES_H

#include <sqlite3.h>

enum {
	PAGES_SIZE = 4096,  /* bytes in a page */
	PAGES_RESERVED = 16 /* bytes of its checksum, the last ones */
};

/* The name of the file layer, for sqlite3_open_v2. The caller gives a new file PAGES_SIZE and
 * PAGES_RESERVED before its first write. NULL: SQLite has no default layer, or no memory. */
const char *pages_layer(void);

#endif
