// SPDX-License-Identifier: Apache-2.0
// How files are put in place: see file.h. Reads and writes go on after a signal (EINTR), and after
// the system took only a part.
#include "io/disk/file.h"

#include "io/disk/fail.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum cuttle_status file_read(const char *path, size_t most, char **text, size_t *size,
                             struct cuttle_error *error) {
	*text = NULL;
	*size = 0;
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	if (!file) return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", path, strerror(errno));
	// A buffer in between would keep what is read, and keys are read here. Standard input keeps
	// its own: others may have read of it already.
	if (file != stdin) (void)setvbuf(file, NULL, _IONBF, 0);
	// Of a regular file no more memory is taken than it has bytes. Files of the system say 0.
	struct stat about;
	if (fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0 &&
	    (uint64_t)about.st_size < most)
		most = (size_t)about.st_size;
	char *bytes = malloc(most + 1);
	size_t used = bytes ? fread(bytes, 1, most + 1, file) : 0;
	int problem = ferror(file) ? errno : 0;
	if (file != stdin) (void)fclose(file);
	if (bytes && !problem && used <= most) {
		bytes[used] = 0;
		*text = bytes;
		*size = used;
		return CUTTLE_OK;
	}
	bool no_memory = !bytes;
	free(bytes);
	path = file_shown(path);
	if (no_memory) return io_fail(error, CUTTLE_NOMEM, "out of memory while reading %s", path);
	if (problem)
		return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", path, strerror(problem));
	return io_fail(error, CUTTLE_INPUT, "%s is longer than %zu bytes", path, most);
}

enum cuttle_status file_read_at(int file, const char *path, uint64_t at, void *bytes, size_t size,
                                struct cuttle_error *error) {
	char *to = bytes;
	while (size) {
		ssize_t got = at > INT64_MAX ? 0 : pread(file, to, size, (off_t)at);
		if (got < 0 && errno == EINTR) continue;
		if (got < 0)
			return io_fail(error, CUTTLE_MODEL, "cannot read %s: %s", path,
			               strerror(errno));
		if (!got) return io_fail(error, CUTTLE_MODEL, "%s shrank while being read", path);
		to += got;
		at += (uint64_t)got;
		size -= (size_t)got;
	}
	return CUTTLE_OK;
}

/* Whether an access list lets this user reach the file, and no other user or group but its owner.
 * So systemd hands a service its credentials. Where there is a list, the mode shows as the group's
 * what any of them may do. */
static bool is_listed_alone(int file) {
	enum { ENTRIES = 8 };
	struct {
		struct posix_acl_xattr_header head;
		struct posix_acl_xattr_entry entries[ENTRIES];
	} list;
	const ssize_t size = fgetxattr(file, "system.posix_acl_access", &list, sizeof list);
	if (size < (ssize_t)sizeof list.head) return false;
	const size_t count = ((size_t)size - sizeof list.head) / sizeof *list.entries;
	for (size_t i = 0; i < count; i++) {
		const struct posix_acl_xattr_entry *const entry = &list.entries[i];
		const uint16_t tag = le16toh(entry->e_tag);
		const bool own = tag == ACL_USER && le32toh(entry->e_id) == geteuid();
		if (entry->e_perm && !own && tag != ACL_USER_OBJ && tag != ACL_MASK) return false;
	}
	return true;
}

/* Why an open file may hold no secret key; NULL: it may. Whoever can write it can put a key of
 * theirs into it. */
static const char *find_secret_fault(int file, const struct stat *state) {
	if (!S_ISREG(state->st_mode)) return "a key must be in a regular file";
	if (state->st_uid != geteuid() && state->st_uid != 0)
		return "this key is another user's file; chown it first";
	if (state->st_mode & 077 && !is_listed_alone(file))
		return "others may reach this key; chmod 600 it first";
	return NULL;
}

enum cuttle_status file_open_secret(const char *path, int *file, struct cuttle_error *error) {
	struct stat state;
	*file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*file < 0)
		return io_fail(error, CUTTLE_INPUT, "cannot read %s: %s", path, strerror(errno));
	const char *const fault =
	    fstat(*file, &state) != 0 ? strerror(errno) : find_secret_fault(*file, &state);
	if (!fault) return CUTTLE_OK;
	(void)close(*file);
	*file = -1;
	return io_fail(error, CUTTLE_USAGE, "%s: %s", path, fault);
}

enum cuttle_status file_read_secret(const char *path, size_t most, char **text, size_t *size,
                                    struct cuttle_error *error) {
	struct stat state;
	int file;
	*text = NULL;
	*size = 0;
	const enum cuttle_status status = file_open_secret(path, &file, error);
	if (status) return status;
	int problem = fstat(file, &state) ? errno : 0;
	const bool large = !problem && (uint64_t)state.st_size > most;
	if (!problem && !large) problem = file_read_open(file, text, size);
	(void)close(file);
	if (large) return io_fail(error, CUTTLE_INPUT, "%s is longer than %zu bytes", path, most);
	if (problem)
		return io_fail(error, problem == ENOMEM ? CUTTLE_NOMEM : CUTTLE_INPUT,
		               "cannot read %s: %s", path, strerror(problem));
	(*text)[*size] = 0;
	return CUTTLE_OK;
}

/* Between the open and the lock its owner may have finished and unlinked the file. Then the lock is
 * on a file without a name. So it tries again with the file that has the name now. */
int file_lock(const char *path, int *file) {
	for (;;) {
		struct stat held, named;
		*file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		if (*file < 0) return errno;
		int problem = flock(*file, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
		if (!problem && fstat(*file, &held) != 0) problem = errno;
		if (!problem && !S_ISREG(held.st_mode)) problem = EINVAL;
		if (!problem && !stat(path, &named) && held.st_ino == named.st_ino &&
		    held.st_dev == named.st_dev)
			return 0;
		(void)close(*file);
		*file = -1;
		if (problem) return problem;
	}
}

int file_read_open(int file, char **bytes, size_t *size) {
	struct stat state;
	*bytes = NULL;
	if (fstat(file, &state) != 0) return errno;
	*size = (size_t)state.st_size;
	char *read = malloc(*size + 1);
	if (!read) return ENOMEM;
	for (size_t at = 0; at < *size;) {
		ssize_t got = pread(file, read + at, *size - at, (off_t)at);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0) {
			const int problem = got ? errno : EIO;
			free(read);
			return problem;
		}
		at += (size_t)got;
	}
	*bytes = read;
	return 0;
}

int file_write(int file, const void *bytes, size_t size) {
	const char *at = bytes;
	while (size) {
		ssize_t done = write(file, at, size);
		if (done < 0 && errno == EINTR) continue;
		if (done < 0) return errno;
		at += done;
		size -= (size_t)done;
	}
	return 0;
}

enum cuttle_status file_own_folder(const char *path, bool *made, struct cuttle_error *error) {
	struct stat state;
	*made = mkdir(path, 0700) == 0;
	if (!*made && errno != EEXIST)
		return io_fail(error, CUTTLE_USAGE, "cannot make the folder %s: %s", path,
		               strerror(errno));
	if (stat(path, &state) != 0 || !S_ISDIR(state.st_mode) || state.st_uid != geteuid())
		return io_fail(error, CUTTLE_USAGE, "%s is not a folder of this user", path);
	if (state.st_mode & 077)
		return io_fail(error, CUTTLE_USAGE,
		               "%s: others may look into it: chmod 700 it, or name a folder that "
		               "is not there yet",
		               path);
	return CUTTLE_OK;
}

char *file_folder(const char *path) {
	const char *slash = strrchr(path, '/');
	if (!slash) return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

int file_sync_folder(const char *path) {
	char *folder = file_folder(path);
	if (!folder) return ENOMEM;
	int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int problem = file < 0 ? errno : 0;
	// EINVAL: this file system cannot sync a folder. There is no way to make the rename more
	// durable, so it is no failure.
	if (file >= 0 && fsync(file) != 0 && errno != EINVAL) problem = errno;
	if (file >= 0) (void)close(file);
	free(folder);
	return problem;
}

int file_sync(const char *path) {
	const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int problem = file < 0 ? errno : 0;
	if (file >= 0 && fsync(file) != 0) problem = errno;
	if (file >= 0) (void)close(file);
	return problem ? problem : file_sync_folder(path);
}

char *file_name(const char *path, const char *ending) {
	char *name;
	return asprintf(&name, "%s%s", path, ending) < 0 ? NULL : name;
}

char *file_scratch_name(const char *path, const char *ending) {
	unsigned char random[8];
	char tag[2 * sizeof random + 1], *name;
	randombytes_buf(random, sizeof random);
	(void)sodium_bin2hex(tag, sizeof tag, random, sizeof random);
	return asprintf(&name, "%s%s-%s", path, ending, tag) < 0 ? NULL : name;
}

/* Opens a new file of that name. -1: for the reason in errno, which is ENOMEM without a name. */
static int open_scratch(const char *name, mode_t mode) {
	if (name) return open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	errno = ENOMEM;
	return -1;
}

int file_scratch(const char *path, const char *ending, mode_t mode, char **name) {
	*name = file_scratch_name(path, ending);
	const int file = open_scratch(*name, mode);
	if (file >= 0) return file;
	const int problem = errno;
	free(*name);
	*name = NULL;
	errno = problem;
	return -1;
}

/* Writes the open scratch file, which it closes, and renames it to path. `file` is -1 when the
 * scratch file could not be opened, for the reason in errno. */
static int replace_from_scratch(int file, const char *part, const char *path, const void *bytes,
                                size_t size) {
	int problem = file < 0 ? errno : file_write(file, bytes, size);
	if (!problem && fsync(file) != 0) problem = errno;
	if (file >= 0 && close(file) != 0 && !problem) problem = errno;
	if (!problem && rename(part, path) != 0) problem = errno;
	if (problem && part) (void)unlink(part);
	return problem ? problem : file_sync_folder(path);
}

int file_replace(const char *path, const void *bytes, size_t size) {
	char *part;
	const int file = file_scratch(path, FILE_TMP, 0666, &part);
	const int problem = replace_from_scratch(file, part, path, bytes, size);
	free(part);
	return problem;
}

int file_replace_by(const char *part, const char *path, const void *bytes, size_t size) {
	(void)unlink(part);
	const int file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	return replace_from_scratch(file, part, path, bytes, size);
}

bool file_ends_in(const char *path, const char *ending) {
	size_t size = strlen(path), length = strlen(ending);
	return size > length && !strcasecmp(path + size - length, ending);
}

bool file_same(const char *one, const char *other) {
	struct stat a, b;
	return !stat(one, &a) && !stat(other, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

enum cuttle_status file_regular(const char *path, struct cuttle_error *error) {
	struct stat state;
	if (stat(path, &state) != 0 || S_ISREG(state.st_mode)) return CUTTLE_OK;
	return io_fail(error, CUTTLE_USAGE, "%s is not a regular file; for standard output write -",
	               path);
}

const char *file_shown(const char *path) {
	return strcmp(path, "-") ? path : "standard input";
}

/* Name of the scratch file of the sink that was opened last; NULL if that is closed. It is global
 * because a signal handler gets no argument that could name the sink. */
static const char *volatile open_part;

/* The name under which this process has an open file. */
static void name_descriptor(int file, char name[static 32]) {
	(void)snprintf(name, 32, "/proc/self/fd/%d", file);
}

/* Opens a file without a name in the folder of path. -1: it cannot be made, or not be named later.
 */
static int open_unnamed(const char *path) {
	char *folder = file_folder(path), name[32];
	int file = folder ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
	free(folder);
	if (file < 0) return -1;
	name_descriptor(file, name);
	if (!access(name, F_OK)) return file;
	(void)close(file);
	return -1;
}

static enum cuttle_status open_sink_file(struct sink *sink, const char *path, bool private,
                                         struct cuttle_error *error) {
	*sink = (struct sink){.file = STDOUT_FILENO, .path = "standard output"};
	if (!path || !strcmp(path, "-")) return CUTTLE_OK;
	sink->path = path;
	enum cuttle_status status = file_regular(path, error);
	if (status) return status;
	sink->file = private ? open_unnamed(path) : -1;
	sink->unnamed = sink->file >= 0;
	if (!sink->unnamed) {
		sink->part = file_scratch_name(path, FILE_PART);
		// The name is told before the file exists: a signal between the two would leave it.
		open_part = sink->part;
		sink->file = open_scratch(sink->part, private ? 0600 : 0666);
	}
	if (sink->file >= 0 && (!private || !fchmod(sink->file, 0600))) return CUTTLE_OK;
	const int problem = errno;
	if (sink->file >= 0) {
		(void)sink_close(sink, CUTTLE_USAGE, NULL);
	} else {
		open_part = NULL;
		free(sink->part);
	}
	if (problem == ENOMEM) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	return io_fail(error, CUTTLE_USAGE, "cannot create a file beside %s: %s", path,
	               strerror(problem));
}

enum cuttle_status sink_open(struct sink *sink, const char *path, struct cuttle_error *error) {
	return open_sink_file(sink, path, false, error);
}

enum cuttle_status sink_open_private(struct sink *sink, const char *path,
                                     struct cuttle_error *error) {
	return open_sink_file(sink, path, true, error);
}

void sink_abandon(void) {
	const char *part = open_part;
	if (part) (void)unlink(part);
}

enum cuttle_status sink_write(struct sink *sink, const void *bytes, size_t size,
                              struct cuttle_error *error) {
	int problem = file_write(sink->file, bytes, size);
	return problem ? io_fail(error, CUTTLE_INTERNAL, "cannot write %s: %s", sink->path,
	                         strerror(problem))
	               : CUTTLE_OK;
}

/* Links the open scratch file, which has no name, to `name`. Returns 0 or the errno. */
static int link_sink_file(const struct sink *sink, const char *name) {
	char descriptor[32];
	name_descriptor(sink->file, descriptor);
	return linkat(AT_FDCWD, descriptor, AT_FDCWD, name, AT_SYMLINK_FOLLOW) ? errno : 0;
}

/* Gives the open file the name from which it is renamed, or its own where that must be free: then
 * it never has another. Returns 0 or the errno. */
static int name_sink_file(struct sink *sink) {
	if (sink->fresh) return link_sink_file(sink, sink->path);
	sink->part = file_scratch_name(sink->path, FILE_PART);
	if (!sink->part) return ENOMEM;
	open_part = sink->part;
	return link_sink_file(sink, sink->part);
}

/* Gives a scratch file that has a name its own. Returns 0 or the errno: EEXIST where the sink is
 * fresh and a file stands there. A file system without links has to trust that none came since it
 * was looked for. */
static int place_sink_file(const struct sink *sink) {
	if (!sink->part) return 0;
	if (sink->fresh && !link(sink->part, sink->path)) return unlink(sink->part) ? errno : 0;
	if (sink->fresh && errno == EEXIST) return EEXIST;
	return rename(sink->part, sink->path) ? errno : 0;
}

enum cuttle_status sink_close(struct sink *sink, enum cuttle_status status,
                              struct cuttle_error *error) {
	if (!sink->part && !sink->unnamed) return status;
	int problem = !status && fsync(sink->file) != 0 ? errno : 0;
	if (sink->unnamed && !status && !problem) problem = name_sink_file(sink);
	if (close(sink->file) != 0 && !problem) problem = errno;
	if (!status && !problem) problem = place_sink_file(sink);
	if ((status || problem) && sink->part) (void)unlink(sink->part);
	open_part = NULL;
	free(sink->part);
	if (!status && problem)
		return io_fail(error, CUTTLE_INTERNAL, "cannot write %s: %s", sink->path,
		               strerror(problem));
	return status;
}
