// SPDX-License-Identifier: Apache-2.0
// folder.h: puts a new folder of files in place, whole or not at all.
//
// Private data may pass through. All files are written into a folder beside it, under a scratch
// name, and synced; one rename puts that in place. So nobody sees half a folder.
//
//     const struct folder_file files[] = {{"a.md", text, size}, {"sub/b.json", other, length}};
//     status = folder_check(path, error);
//     if (!status) status = folder_write(path, files, 2, false, error);
#ifndef CUTTLE_IO_DISK_FOLDER_H
#define CUTTLE_IO_DISK_FOLDER_H

#include "engine/cuttle/status.h"

struct folder_file {
	const char *name;  /* in the folder, or in one folder in it: "sub/b.json" */
	const char *bytes; /* [size] */
	size_t size;
};

/* path without slashes at its end, as paths are compared. The caller frees it. NULL: out of memory.
 */
char *folder_name(const char *path);

/* USAGE: at path stands something other than an empty folder, or it names no folder that can be
 * new, as "." does. NOMEM. */
enum cuttle_status folder_check(const char *path, struct cuttle_error *error);

/* Writes the folder. With `owner_alone` nobody else may look into it, whatever the umask. Who may
 * not look into an empty folder that stood there may not look into this one. Signals that end the
 * process wait until it is in place or gone again. A process that is killed leaves the scratch
 * folder behind, and the next call for this path removes it.
 * USAGE: as for folder_check, or the folder cannot be made there. INTERNAL: a file cannot be
 * written. NOMEM. */
enum cuttle_status folder_write(const char *path, const struct folder_file *files, size_t count,
                                bool owner_alone, struct cuttle_error *error);

#endif
