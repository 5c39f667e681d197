// SPDX-License-Identifier: Apache-2.0
// A thin layer over SQLite's own files: whole pages of the database file are sealed when written and checked when read.
#include "io/pages.h"

#include <endian.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const char NAME[] = "cuttle-pages";

/* The file of the layer below follows in memory. */
struct paged {
	sqlite3_file base;
};

static sqlite3_file *below(sqlite3_file *file) {
	return (sqlite3_file *)(void *)((struct paged *)(void *)file + 1);
}

static void checksum(const unsigned char page[PAGES_SIZE], sqlite3_int64 offset, unsigned char sum[PAGES_RESERVED]) {
	crypto_generichash_state state;
	uint64_t place = htole64((uint64_t)offset);
	(void)crypto_generichash_init(&state, NULL, 0, PAGES_RESERVED);
	(void)crypto_generichash_update(&state, (const unsigned char *)&place, sizeof place);
	(void)crypto_generichash_update(&state, page, PAGES_SIZE - PAGES_RESERVED);
	(void)crypto_generichash_final(&state, sum, PAGES_RESERVED);
}

static bool whole_page(int amount, sqlite3_int64 offset) {
	return amount == PAGES_SIZE && offset % PAGES_SIZE == 0;
}

static int read_page(sqlite3_file *file, void *bytes, int amount, sqlite3_int64 offset) {
	unsigned char sum[PAGES_RESERVED];
	// Less than a page is the header, read to learn the size of a page. More or elsewhere: the header lies about that size.
	if (amount >= 512 && !whole_page(amount, offset)) return SQLITE_CORRUPT;
	int code = below(file)->pMethods->xRead(below(file), bytes, amount, offset);
	if (code != SQLITE_OK || amount != PAGES_SIZE) return code;
	checksum(bytes, offset, sum);
	return memcmp(sum, (unsigned char *)bytes + PAGES_SIZE - PAGES_RESERVED, sizeof sum) ? SQLITE_CORRUPT : SQLITE_OK;
}

static int write_page(sqlite3_file *file, const void *bytes, int amount, sqlite3_int64 offset) {
	unsigned char page[PAGES_SIZE];
	if (!whole_page(amount, offset)) return SQLITE_IOERR_WRITE;
	memcpy(page, bytes, sizeof page);
	checksum(page, offset, page + PAGES_SIZE - PAGES_RESERVED);
	return below(file)->pMethods->xWrite(below(file), page, amount, offset);
}

#define FORWARD(type, name, method, parameters, arguments)                                                                                 \
	static type name parameters {                                                                                                      \
		return below(file)->pMethods->method arguments;                                                                            \
	}
FORWARD(int, close_file, xClose, (sqlite3_file * file), (below(file)))
FORWARD(int, truncate_file, xTruncate, (sqlite3_file * file, sqlite3_int64 size), (below(file), size))
FORWARD(int, sync_file, xSync, (sqlite3_file * file, int flags), (below(file), flags))
FORWARD(int, file_size, xFileSize, (sqlite3_file * file, sqlite3_int64 *size), (below(file), size))
FORWARD(int, lock_file, xLock, (sqlite3_file * file, int lock), (below(file), lock))
FORWARD(int, unlock_file, xUnlock, (sqlite3_file * file, int lock), (below(file), lock))
FORWARD(int, check_lock, xCheckReservedLock, (sqlite3_file * file, int *held), (below(file), held))
FORWARD(int, control, xFileControl, (sqlite3_file * file, int operation, void *argument), (below(file), operation, argument))
FORWARD(int, sector_size, xSectorSize, (sqlite3_file * file), (below(file)))
FORWARD(int, characteristics, xDeviceCharacteristics, (sqlite3_file * file), (below(file)))
FORWARD(int, shared_map, xShmMap, (sqlite3_file * file, int page, int size, int extend, void volatile **memory),
        (below(file), page, size, extend, memory))
FORWARD(int, shared_lock, xShmLock, (sqlite3_file * file, int offset, int count, int flags), (below(file), offset, count, flags))
FORWARD(void, shared_barrier, xShmBarrier, (sqlite3_file * file), (below(file)))
FORWARD(int, shared_unmap, xShmUnmap, (sqlite3_file * file, int remove), (below(file), remove))

/* Version 2: shared memory for the write-ahead log, but no memory-mapped pages, which would go unchecked. */
static const sqlite3_io_methods METHODS = {
    2,       close_file,  read_page,       write_page, truncate_file, sync_file,      file_size,    lock_file, unlock_file, check_lock,
    control, sector_size, characteristics, shared_map, shared_lock,   shared_barrier, shared_unmap, NULL,      NULL};

static int open_file(sqlite3_vfs *layer, const char *name, sqlite3_file *file, int flags, int *flags_out) {
	sqlite3_vfs *plain = sqlite3_vfs_find(NULL);
	(void)layer;
	file->pMethods = NULL;
	if (!plain) return SQLITE_ERROR;
	if (!(flags & SQLITE_OPEN_MAIN_DB)) return plain->xOpen(plain, name, file, flags, flags_out);
	int code = plain->xOpen(plain, name, below(file), flags, flags_out);
	if (code == SQLITE_OK) file->pMethods = &METHODS;
	return code;
}

const char *pages_layer(void) {
	// SQLite keeps its list of layers in the layers themselves, so this one must outlive every use and be writable: SQLite's state, not
	// ours.
	static sqlite3_vfs layer;
	sqlite3_vfs *plain = sqlite3_vfs_find(NULL); // also initialises SQLite, mutexes included
	if (!plain) return NULL;
	sqlite3_mutex *mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1);
	int code = SQLITE_OK;
	sqlite3_mutex_enter(mutex);
	if (!sqlite3_vfs_find(NAME)) {
		layer = *plain;
		layer.pNext = NULL;
		layer.szOsFile = plain->szOsFile + (int)sizeof(struct paged);
		layer.zName = NAME;
		layer.xOpen = open_file;
		code = sqlite3_vfs_register(&layer, 0);
	}
	sqlite3_mutex_leave(mutex);
	return code == SQLITE_OK ? NAME : NULL;
}
