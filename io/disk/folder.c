// SPDX-License-Identifier: Apache-2.0
// How folder.h writes a folder, and removes what a killed process left of one.
//
// Whoever writes holds a lock on the scratch folder, which ends with the process. So a scratch
// folder that can be locked is nobody's any more. Example, of evidence/: the scratch folder
// evidence.part-0123456789abcdef.
#include "io/disk/folder.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
enum { SCRATCH_DIGITS = 16 }; /* hex digits behind FILE_PART and '-' */

char *folder_name(const char *path) {
	size_t size = strlen(path);
	while (size > 1 && path[size - 1] == '/') size--;
	return strndup(path, size);
}

static const char *last_part(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* Whether an open folder, which this closes, has no entry. */
static bool is_empty_folder(int folder) {
	DIR *list = fdopendir(folder);
	const struct dirent *entry;
	bool empty = list != NULL;
	if (!list) {
		(void)close(folder);
		return false;
	}
	while (empty && (entry = readdir(list)))
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	(void)closedir(list);
	return empty;
}

static enum cuttle_status check_new_folder(const char *path, struct cuttle_error *error) {
	const char *name = last_part(path);
	struct stat state;
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return io_fail(error, CUTTLE_USAGE, "%s: name a folder that is not there yet",
		               path);
	if (lstat(path, &state) != 0) return CUTTLE_OK;
	const int folder = open(path, FOLDER_FLAGS);
	if (folder >= 0 && is_empty_folder(folder)) return CUTTLE_OK;
	return io_fail(error, CUTTLE_USAGE,
	               "%s is there already, and is no empty folder: name another", path);
}

enum cuttle_status folder_check(const char *path, struct cuttle_error *error) {
	char *trimmed = folder_name(path);
	const enum cuttle_status status = trimmed ? check_new_folder(trimmed, error)
	                                          : io_fail(error, CUTTLE_NOMEM, "out of memory");
	free(trimmed);
	return status;
}

/* ---- removing -------------------------------------------------------------------------------- */

/* Removes the files of the folder `name` in `parent`, those of the folders in it down to `depth`,
 * and itself. What is no file of this kind stays, and so does its folder. */
static void remove_folder_at(int parent, const char *name, int depth) {
	const int folder = openat(parent, name, FOLDER_FLAGS);
	DIR *list = folder < 0 ? NULL : fdopendir(folder);
	const struct dirent *entry;
	if (!list) {
		if (folder >= 0) (void)close(folder);
		return;
	}
	while ((entry = readdir(list))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
		if (unlinkat(folder, entry->d_name, 0) != 0 && depth > 0)
			remove_folder_at(folder, entry->d_name, depth - 1);
	}
	(void)closedir(list);
	(void)unlinkat(parent, name, AT_REMOVEDIR);
}

/* Whether a name is that of a scratch folder of `base`. */
static bool is_scratch_of(const char *name, const char *base) {
	const size_t size = strlen(base), ending = strlen(FILE_PART "-");
	return !strncmp(name, base, size) && !strncmp(name + size, FILE_PART "-", ending) &&
	       strlen(name + size + ending) == SCRATCH_DIGITS &&
	       strspn(name + size + ending, "0123456789abcdef") == SCRATCH_DIGITS;
}

/* Removes scratch folders that nobody writes any more. */
static void sweep_scratch_folders(const char *path) {
	char *parent = file_folder(path);
	DIR *list = parent ? opendir(parent) : NULL;
	const struct dirent *entry;
	while (list && (entry = readdir(list))) {
		if (!is_scratch_of(entry->d_name, last_part(path))) continue;
		const int folder = openat(dirfd(list), entry->d_name, FOLDER_FLAGS);
		struct stat state;
		if (folder >= 0 && !fstat(folder, &state) && state.st_uid == geteuid() &&
		    !flock(folder, LOCK_EX | LOCK_NB))
			remove_folder_at(dirfd(list), entry->d_name, 1);
		if (folder >= 0) (void)close(folder);
	}
	if (list) (void)closedir(list);
	free(parent);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Makes the folder in which the file is to stand, if it is not the folder itself, and syncs
 * nothing. Returns 0 or the errno. */
static int make_folder_of(int folder, const char *name, mode_t mode) {
	const char *slash = strchr(name, '/');
	if (!slash) return 0;
	char *inner = strndup(name, (size_t)(slash - name));
	int problem = !inner ? ENOMEM : mkdirat(folder, inner, mode) ? errno : 0;
	free(inner);
	return problem == EEXIST ? 0 : problem;
}

/* Syncs the folder in which the file stands. Returns 0 or the errno. */
static int sync_folder_of(int folder, const char *name) {
	const char *slash = strchr(name, '/');
	if (!slash) return 0;
	char *inner = strndup(name, (size_t)(slash - name));
	const int file = inner ? openat(folder, inner, FOLDER_FLAGS) : -1;
	int problem = file < 0 ? inner ? errno : ENOMEM : 0;
	if (!problem && fsync(file) != 0 && errno != EINVAL) problem = errno;
	if (file >= 0) (void)close(file);
	free(inner);
	return problem;
}

/* Writes one file. Returns 0 or the errno. */
static int write_file_in(int folder, const struct folder_file *file, bool owner_alone) {
	int problem = make_folder_of(folder, file->name, owner_alone ? 0700 : 0777);
	if (problem) return problem;
	const int open =
	    openat(folder, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	           owner_alone ? 0600 : 0666);
	if (open < 0) return errno;
	problem = file_write(open, file->bytes, file->size);
	if (!problem && fsync(open) != 0) problem = errno;
	if (close(open) != 0 && !problem) problem = errno;
	return problem ? problem : sync_folder_of(folder, file->name);
}

/* Fills the scratch folder `part` and renames it to path. Returns 0 or the errno. */
static int fill_folder(const char *part, const char *path, const struct folder_file *files,
                       size_t count, bool owner_alone) {
	const int folder = open(part, FOLDER_FLAGS);
	int problem = folder < 0 ? errno : 0;
	if (!problem && flock(folder, LOCK_EX | LOCK_NB) != 0) problem = errno;
	for (size_t i = 0; i < count && !problem; i++)
		problem = write_file_in(folder, &files[i], owner_alone);
	if (!problem && fsync(folder) != 0 && errno != EINVAL) problem = errno;
	// An empty folder that stands there is replaced; one with files is not.
	if (!problem && rename(part, path) != 0) problem = errno;
	if (problem) remove_folder_at(AT_FDCWD, part, 1);
	else problem = file_sync_folder(path);
	if (folder >= 0) (void)close(folder);
	return problem;
}

/* Sets *before to the signals that were held back, and holds those back, too, that end a command.
 */
static void hold_ends(sigset_t *before) {
	sigset_t ends;
	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &ends, before);
}

enum cuttle_status folder_write(const char *path, const struct folder_file *files, size_t count,
                                bool owner_alone, struct cuttle_error *error) {
	char *trimmed = folder_name(path),
	     *part = trimmed ? file_scratch_name(trimmed, FILE_PART) : NULL;
	struct stat state;
	sigset_t before;
	enum cuttle_status status =
	    part ? check_new_folder(trimmed, error) : io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (!status) {
		sweep_scratch_folders(trimmed);
		hold_ends(&before);
		// An empty folder that few may look into stays so when it is replaced.
		const mode_t mode = (owner_alone ? 0700 : 0777) &
		                    (!lstat(trimmed, &state) ? state.st_mode | 0700 : 0777);
		if (mkdir(part, mode) != 0)
			status = io_fail(error, CUTTLE_USAGE, "cannot make the folder %s: %s",
			                 trimmed, strerror(errno));
		const int problem =
		    status ? 0 : fill_folder(part, trimmed, files, count, owner_alone);
		if (problem)
			status = io_fail(error, CUTTLE_INTERNAL, "cannot write the folder %s: %s",
			                 trimmed, strerror(problem));
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
	}
	free(trimmed);
	free(part);
	return status;
}
