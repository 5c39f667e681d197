// SPDX-License-Identifier: Apache-2.0
// How paths.h checks: it looks each path up once, then compares all pairs.
//
// A "target" is one path with what the file system says of it. An option has a target for its path,
// for `also`, and for each ending in `beside`: -o z of generate has z, z.journal and others.
#include "io/disk/paths.h"

#include "base/parts.h"
#include "io/disk/fail.h"
#include "io/disk/file.h"
#include "io/disk/formats.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	/* endings in a struct path_use */
	BESIDE = sizeof((struct path_use *)0)->beside / sizeof(char *),
	NAMES = BESIDE + 2 /* targets of one option at most: endings, `path` and `also` */
};

struct path_target {
	const struct path_use *use;
	char *path;
	const char *name;   /* the path's last part; NULL: the path is a stream, or ends as a folder
	                       does: in "/", "." or ".." */
	struct stat file;   /* the file that the path leads to */
	struct stat folder; /* the folder that `name` is in */
	bool stands;        /* something stands there, so `file` is known */
	bool in_folder;     /* the folder is there, so `folder` is known */
};

static bool is_stream(const struct path_use *use) {
	return (use->role == PATH_STREAM || use->role == PATH_OUTPUT) && !strcmp(use->path, "-");
}

static bool is_written(const struct path_use *use) {
	return use->role >= PATH_LEDGER;
}

static bool has_scratch(const struct path_use *use) {
	return use->role >= PATH_OUTPUT && !is_stream(use);
}

/* ---- one path -------------------------------------------------------------------------------- */

/* Fills in everything but `use`. Takes `path`. */
static enum cuttle_status look_up_target(struct path_target *target, char *path,
                                         struct cuttle_error *error) {
	target->path = path;
	if (!path) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	if (is_stream(target->use)) {
		target->stands =
		    !fstat(is_written(target->use) ? STDOUT_FILENO : STDIN_FILENO, &target->file);
		return CUTTLE_OK;
	}
	const char *slash = strrchr(path, '/');
	char *folder = file_folder(path);
	if (!folder) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	target->name = slash ? slash + 1 : path;
	if (!*target->name || !strcmp(target->name, ".") || !strcmp(target->name, ".."))
		target->name = NULL;
	target->stands = !stat(path, &target->file);
	target->in_folder = !stat(folder, &target->folder);
	free(folder);
	return CUTTLE_OK;
}

static enum cuttle_status check_input(const struct path_target *target,
                                      struct cuttle_error *error) {
	static const enum cuttle_status statuses[] = {
	    [PATH_STREAM] = CUTTLE_INPUT, [PATH_FILE] = CUTTLE_INPUT,
	    [PATH_MODEL] = CUTTLE_MODEL,  [PATH_FOLDER] = CUTTLE_MODEL,
	    [PATH_RUN] = CUTTLE_USAGE,    [PATH_LEDGER] = CUTTLE_LEDGER};
	const struct path_use *use = target->use;
	const mode_t mode = target->file.st_mode;
	if (!target->stands || is_stream(use)) return CUTTLE_OK;
	const enum cuttle_status status = statuses[use->role];
	if (use->role == PATH_FOLDER || use->role == PATH_RUN)
		return S_ISDIR(mode) ? CUTTLE_OK
		                     : io_fail(error, status, "%s %.160s is not a folder",
		                               use->option, target->path);
	if (S_ISREG(mode)) return CUTTLE_OK;
	if (S_ISDIR(mode))
		return io_fail(error, status, "%s %.160s is a folder: name a file", use->option,
		               target->path);
	if (use->role != PATH_STREAM)
		return io_fail(error, status,
		               "%s %.160s is a pipe or a device: it must be a regular file",
		               use->option, target->path);
	if (S_ISFIFO(mode) || S_ISCHR(mode)) return CUTTLE_OK;
	return io_fail(error, status,
	               "%s %.160s is a device: name a file, or pipe the records in and write -",
	               use->option, target->path);
}

static enum cuttle_status check_output(const struct path_target *target,
                                       struct cuttle_error *error) {
	const struct path_use *use = target->use;
	if (is_stream(use)) return CUTTLE_OK;
	if (use->role >= PATH_RECORD && !strcmp(target->path, "-"))
		return io_fail(error, CUTTLE_USAGE, "%s: must be a file, not standard output",
		               use->option);
	if (target->stands && !S_ISREG(target->file.st_mode))
		return io_fail(error, CUTTLE_USAGE, "%s %.160s is not a regular file%s",
		               use->option, target->path,
		               use->role == PATH_OUTPUT ? "; for standard output write -"
		                                        : ": name a new one");
	char *folder = file_folder(target->path);
	if (!folder) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	enum cuttle_status status = CUTTLE_OK;
	if (!target->in_folder || !S_ISDIR(target->folder.st_mode) || !target->name)
		status = io_fail(error, CUTTLE_USAGE,
		                 "%s %.120s: there is no folder %.120s; make it first", use->option,
		                 use->path, folder);
	else if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
		status =
		    io_fail(error, CUTTLE_USAGE, "%s %.120s: cannot write in the folder %.120s: %s",
		            use->option, use->path, folder, strerror(errno));
	free(folder);
	return status;
}

/* Adds the target of one path of `use` and checks it. Takes `path`; paths_check frees it, also when
 * it is wrong. */
static enum cuttle_status add_target(struct path_target *targets, size_t *count,
                                     const struct path_use *use, char *path,
                                     struct cuttle_error *error) {
	struct path_target *target = &targets[(*count)++];
	target->use = use;
	enum cuttle_status status = look_up_target(target, path, error);
	if (status) return status;
	return use->role >= PATH_OUTPUT ? check_output(target, error) : check_input(target, error);
}

/* Parts of a model that are read beside the one that is given. */
static unsigned count_later_parts(const struct path_use *use) {
	unsigned number, count;
	if (use->role != PATH_MODEL || !parts_named(use->path, &number, &count)) return 0;
	return number > 1 || count > PARTS_MOST ? 0 : count - 1;
}

/* Adds all targets of `use`. */
static enum cuttle_status add_use(struct path_target *targets, size_t *count,
                                  const struct path_use *use, struct cuttle_error *error) {
	if (!*use->path)
		return io_fail(error, CUTTLE_USAGE, "%s: the path is empty; name a file",
		               use->option);
	enum cuttle_status status = add_target(targets, count, use, strdup(use->path), error);
	if (is_stream(use)) return status;
	if (!status && use->also)
		status = add_target(targets, count, use, strdup(use->also), error);
	const unsigned later = count_later_parts(use);
	for (unsigned i = 0; !status && i < later; i++)
		status = add_target(targets, count, use, parts_name(use->path, 2 + i), error);
	for (size_t i = 0; !status && i < BESIDE && use->beside[i]; i++)
		status =
		    add_target(targets, count, use, file_name(use->path, use->beside[i]), error);
	return status;
}

/* ---- two paths ------------------------------------------------------------------------------- */

static bool is_one_file(const struct stat *one, const struct stat *other) {
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

static bool share_folder(const struct path_target *one, const struct path_target *other) {
	return one->name && other->name && one->in_folder && other->in_folder &&
	       is_one_file(&one->folder, &other->folder);
}

static bool are_same(const struct path_target *one, const struct path_target *other) {
	// Two options may share a terminal or /dev/null: only a regular file has content to lose.
	if (one->stands && other->stands && S_ISREG(one->file.st_mode) &&
	    is_one_file(&one->file, &other->file))
		return true;
	return share_folder(one, other) && !strcmp(one->name, other->name);
}

/* Whether `other` has the name of a scratch file of `written`. Those of z are z.part, z.tmp, and
 * either with a dash and more: z.part-1f0c. */
static bool is_scratch(const struct path_target *written, const struct path_target *other) {
	static const char *const endings[] = {FILE_PART, FILE_TMP};
	if (!has_scratch(written->use) || !share_folder(written, other)) return false;
	const size_t length = strlen(written->name);
	if (strncmp(other->name, written->name, length) != 0) return false;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		const size_t size = strlen(endings[i]);
		if (strncmp(other->name + length, endings[i], size) != 0) continue;
		const char next = other->name[length + size];
		if (!next || next == '-') return true;
	}
	return false;
}

/* Whether writing `written` could change `other`. */
static bool would_overwrite(const struct path_target *written, const struct path_target *other) {
	return is_written(written->use) && (are_same(written, other) || is_scratch(written, other));
}

static enum cuttle_status compare_targets(const struct path_target *one,
                                          const struct path_target *other,
                                          struct cuttle_error *error) {
	if (one->use == other->use) return CUTTLE_OK;
	if (is_stream(one->use) && is_stream(other->use) &&
	    is_written(one->use) == is_written(other->use))
		return io_fail(error, CUTTLE_USAGE, "%s and %s: only one of them can be -",
		               one->use->option, other->use->option);
	const bool second = would_overwrite(other, one);
	if (!second && !would_overwrite(one, other)) return CUTTLE_OK;
	const struct path_target *written = second ? other : one, *hit = second ? one : other;
	return io_fail(error, CUTTLE_USAGE,
	               "%s %.100s would overwrite %.100s, which %s %s: choose another name",
	               written->use->option, written->use->path,
	               is_stream(hit->use)
	                   ? is_written(hit->use) ? "standard output" : file_shown("-")
	                   : hit->path,
	               hit->use->option, is_written(hit->use) ? "writes" : "reads");
}

enum cuttle_status paths_check(const struct path_use *uses, size_t count,
                               struct cuttle_error *error) {
	size_t room = count * NAMES + 1;
	for (size_t i = 0; i < count; i++) room += uses[i].path ? count_later_parts(&uses[i]) : 0;
	struct path_target *targets = calloc(room, sizeof *targets);
	if (!targets) return io_fail(error, CUTTLE_NOMEM, "out of memory");
	size_t known = 0;
	enum cuttle_status status = CUTTLE_OK;
	for (size_t i = 0; !status && i < count; i++)
		if (uses[i].path) status = add_use(targets, &known, &uses[i], error);
	for (size_t i = 0; !status && i < known; i++)
		for (size_t j = 0; !status && j < i; j++)
			status = compare_targets(&targets[j], &targets[i], error);
	for (size_t i = 0; !status && i < count; i++)
		if (uses[i].path && uses[i].role >= PATH_OUTPUT && uses[i].role != PATH_COPY)
			status = formats_check_output(uses[i].option, uses[i].path, error);
	for (size_t i = 0; i < known; i++) free(targets[i].path);
	free(targets);
	return status;
}
