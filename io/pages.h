// SPDX-License-Identifier: Apache-2.0
// SQLite files whose every page carries its own checksum: a changed byte is an error of the read that meets it, also in unused space.
//
// The checksum, BLAKE2b-128 of the page's number and content, stands in the last 16 bytes of each page, which SQLite leaves to whoever asks
// for them (SQLITE_FCNTL_RESERVE_BYTES). It is no secret: it finds damage and edits by other programs, not a forger who knows it. Only the
// database file has it; the write-ahead log has SQLite's own.
#ifndef CUTTLE_IO_PAGES_H
#define CUTTLE_IO_PAGES_H

#include <sqlite3.h>

enum { PAGES_SIZE = 4096, PAGES_RESERVED = 16 };

/* The name of the file layer, for sqlite3_open_v2; a new file must get PAGES_SIZE and PAGES_RESERVED before its first write. NULL: SQLite
 * has no default layer, or no memory. */
const char *pages_layer(void);

#endif
