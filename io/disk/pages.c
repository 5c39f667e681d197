// SPDX-License-Identifier: Apache-2.0
// A thin layer over SQLite's own file layer. A page of the database file gets its checksum when it
// is written; the checksum is compared when the page is read. All other calls and all other files
// go to SQLite's layer as they are.
#include "io/disk/pages.h"

#include <endian.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { HEADER = 100 }; /* bytes of SQLite's header, at the beginning of the first page */
static const char NAME[] = "cuttle-pages";

/* SQLite allocates szOsFile bytes for a file. They hold this struct, and right behind it the file
 * of SQLite's own layer, which does the work. */
struct paged_file {
	sqlite3_file base;
};

/* The file of SQLite's own layer. */
static sqlite3_file *file_below(sqlite3_file *file) {
	return (sqlite3_file *)(void *)((struct paged_file *)(void *)file + 1);
}

/* The checksum of a page that stands at `offset` in the file. */
static void sum_page(const unsigned char page[PAGES_SIZE], sqlite3_int64 offset,
                     unsigned char sum[PAGES_RESERVED]) {
	crypto_generichash_state state;
	uint64_t place = htole64((uint64_t)offset);
	(void)crypto_generichash_init(&state, NULL, 0, PAGES_RESERVED);
	(void)crypto_generichash_update(&state, (const unsigned char *)&place, sizeof place);
	(void)crypto_generichash_update(&state, page, PAGES_SIZE - PAGES_RESERVED);
	(void)crypto_generichash_final(&state, sum, PAGES_RESERVED);
}

/* From 3.45 on SQLite reads the beginning of a page alone where a value goes over several pages.
 * The whole page is checked all the same. */
static int read_page(sqlite3_file *file, void *bytes, int amount, sqlite3_int64 offset) {
	unsigned char page[PAGES_SIZE] = {0}, sum[PAGES_RESERVED];
	sqlite3_file *const below = file_below(file);
	// Of the header, where SQLite learns the size of a page.
	if (offset + amount <= HEADER) return below->pMethods->xRead(below, bytes, amount, offset);
	// The header states a wrong size.
	if (amount > PAGES_SIZE || offset % PAGES_SIZE) return SQLITE_CORRUPT;
	const int code = below->pMethods->xRead(below, page, PAGES_SIZE, offset);
	memcpy(bytes, page, (size_t)amount);
	if (code != SQLITE_OK) return code;
	sum_page(page, offset, sum);
	return memcmp(sum, page + PAGES_SIZE - PAGES_RESERVED, sizeof sum) ? SQLITE_CORRUPT
	                                                                   : SQLITE_OK;
}

static int write_page(sqlite3_file *file, const void *bytes, int amount, sqlite3_int64 offset) {
	unsigned char page[PAGES_SIZE];
	if (amount != PAGES_SIZE || offset % PAGES_SIZE) return SQLITE_IOERR_WRITE;
	memcpy(page, bytes, sizeof page);
	sum_page(page, offset, page + PAGES_SIZE - PAGES_RESERVED);
	return file_below(file)->pMethods->xWrite(file_below(file), page, amount, offset);
}

#define FORWARD(type, name, method, parameters, arguments)                                         \
	static type name parameters {                                                              \
		return file_below(file)->pMethods->method arguments;                               \
	}
FORWARD(int, close_file, xClose, (sqlite3_file * file), (file_below(file)))
FORWARD(int, truncate_file, xTruncate, (sqlite3_file * file, sqlite3_int64 size),
        (file_below(file), size))
FORWARD(int, sync_file, xSync, (sqlite3_file * file, int flags), (file_below(file), flags))
FORWARD(int, get_file_size, xFileSize, (sqlite3_file * file, sqlite3_int64 *size),
        (file_below(file), size))
FORWARD(int, lock_file, xLock, (sqlite3_file * file, int lock), (file_below(file), lock))
FORWARD(int, unlock_file, xUnlock, (sqlite3_file * file, int lock), (file_below(file), lock))
FORWARD(int, check_lock, xCheckReservedLock, (sqlite3_file * file, int *held),
        (file_below(file), held))
FORWARD(int, control_file, xFileControl, (sqlite3_file * file, int operation, void *argument),
        (file_below(file), operation, argument))
FORWARD(int, get_sector_size, xSectorSize, (sqlite3_file * file), (file_below(file)))
FORWARD(int, get_characteristics, xDeviceCharacteristics, (sqlite3_file * file), (file_below(file)))
FORWARD(int, map_shared, xShmMap,
        (sqlite3_file * file, int page, int size, int extend, void volatile **memory),
        (file_below(file), page, size, extend, memory))
FORWARD(int, lock_shared, xShmLock, (sqlite3_file * file, int offset, int count, int flags),
        (file_below(file), offset, count, flags))
FORWARD(void, bar_shared, xShmBarrier, (sqlite3_file * file), (file_below(file)))
FORWARD(int, unmap_shared, xShmUnmap, (sqlite3_file * file, int remove), (file_below(file), remove))

/* Version 2 has the shared memory that the write-ahead log needs. Version 3 would also have
 * memory-mapped pages, which nobody would check. */
static const sqlite3_io_methods METHODS = {2,
                                           close_file,
                                           read_page,
                                           write_page,
                                           truncate_file,
                                           sync_file,
                                           get_file_size,
                                           lock_file,
                                           unlock_file,
                                           check_lock,
                                           control_file,
                                           get_sector_size,
                                           get_characteristics,
                                           map_shared,
                                           lock_shared,
                                           bar_shared,
                                           unmap_shared,
                                           NULL,
                                           NULL};

static int open_paged_file(sqlite3_vfs *layer, const char *name, sqlite3_file *file, int flags,
                           int *flags_out) {
	sqlite3_vfs *plain = sqlite3_vfs_find(NULL);
	(void)layer;
	file->pMethods = NULL;
	if (!plain) return SQLITE_ERROR;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return plain->xOpen(plain, name, file, flags, flags_out);
	int code = plain->xOpen(plain, name, file_below(file), flags, flags_out);
	if (code == SQLITE_OK) file->pMethods = &METHODS;
	return code;
}

const char *pages_layer(void) {
	// SQLite links its layers through their pNext. So this one must be writable and outlive
	// every use: it is SQLite's state, not ours.
	static sqlite3_vfs layer;
	// This call also initialises SQLite and its mutexes.
	sqlite3_vfs *plain = sqlite3_vfs_find(NULL);
	if (!plain) return NULL;
	sqlite3_mutex *mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1);
	int code = SQLITE_OK;
	sqlite3_mutex_enter(mutex);
	if (!sqlite3_vfs_find(NAME)) {
		layer = *plain;
		layer.pNext = NULL;
		layer.szOsFile = plain->szOsFile + (int)sizeof(struct paged_file);
		layer.zName = NAME;
		layer.xOpen = open_paged_file;
		code = sqlite3_vfs_register(&layer, 0);
	}
	sqlite3_mutex_leave(mutex);
	return code == SQLITE_OK ? NAME : NULL;
}
