// SPDX-License-Identifier: Apache-2.0
// See shard.h. The file of a taker is written under a scratch name, synced, and then linked to its
// own. link fails where something stands, on a network's disk too, and never shows half a file.
#include "io/output/shard.h"

#include "io/disk/fail.h"
#include "io/disk/file.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How the file begins: tokens may have been seen; none has. Older versions know the first alone. */
static const char TAKEN[] = "cuttle-taken 1 ", UNSEEN[] = "cuttle-taken 2 ";
enum { MOST_OWNER = 256 }; /* bytes of the file */

char *shard_path(const char *folder, struct shard_number number, const char *ending) {
	char *path;
	return asprintf(&path, "%s/shard-%05" PRIu64 "-of-%05" PRIu64 "%s", folder, number.index,
	                number.count, ending) < 0
	           ? NULL
	           : path;
}

bool shard_inside(const char *folder, const char *path) {
	char *where = path && strcmp(path, "-") ? file_folder(path) : NULL;
	const bool inside = where && file_same(where, folder);
	free(where);
	return inside;
}

/* ---- who has taken it ------------------------------------------------------------------------ */

static bool is_line(const char *form, const char *owner, const char *text, size_t size) {
	char line[MOST_OWNER];
	const int wanted = snprintf(line, sizeof line, "%s%s\n", form, owner);
	return (size_t)wanted == size && !memcmp(text, line, size);
}

enum shard_taker shard_look(const char *path, const char *owner) {
	char *text = NULL;
	size_t size;
	if (access(path, F_OK) != 0 && errno == ENOENT) return SHARD_NOBODY;
	if (file_regular(path, NULL) || file_read(path, MOST_OWNER, &text, &size, NULL))
		return SHARD_ANOTHER;
	const enum shard_taker taker = is_line(TAKEN, owner, text, size)    ? SHARD_OURS
	                               : is_line(UNSEEN, owner, text, size) ? SHARD_BEGUN
	                                                                    : SHARD_ANOTHER;
	free(text);
	return taker;
}

int shard_take(const char *path, const char *owner) {
	char line[MOST_OWNER], *part;
	const int size = snprintf(line, sizeof line, "%s%s\n", UNSEEN, owner);
	const int file = file_scratch(path, FILE_PART, 0666, &part);
	int problem = file < 0 ? errno : file_write(file, line, (size_t)size);
	if (!problem && fsync(file) != 0) problem = errno;
	if (file >= 0 && close(file) != 0 && !problem) problem = errno;
	if (!problem && link(part, path) != 0) problem = errno;
	if (part) (void)unlink(part);
	free(part);
	return problem ? problem : file_sync_folder(path);
}

int shard_begin(const char *path, const char *owner) {
	char line[MOST_OWNER];
	const int size = snprintf(line, sizeof line, "%s%s\n", TAKEN, owner);
	return file_replace(path, line, (size_t)size);
}

/* ---- which one this process writes ----------------------------------------------------------- */

/* What a launcher says. */
struct launcher {
	const char *name;
	const char *index, *count; /* variables */
	const char *least, *step; /* of an array: of its smallest index, and between two; or NULL */
	bool outer;               /* it starts what other launchers run in */
};

static const struct launcher LAUNCHERS[] = {
    {"OpenMPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, NULL, false},
    {"PMI", "PMI_RANK", "PMI_SIZE", NULL, NULL, false},
    {"the Slurm step", "SLURM_PROCID", "SLURM_NTASKS", NULL, NULL, false},
    {"the Slurm array", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
     "SLURM_ARRAY_TASK_STEP", true},
    {"Kubernetes", "JOB_COMPLETION_INDEX", NULL, NULL, NULL, true},
};
enum { LAUNCHER_COUNT = sizeof LAUNCHERS / sizeof *LAUNCHERS };

/* Reads digits alone, up to `end`. */
static bool read_whole(const char *text, char end, uint64_t *value, const char **rest) {
	char *after;
	if (*text < '0' || *text > '9') return false;
	errno = 0;
	*value = strtoull(text, &after, 10);
	*rest = after;
	return !errno && *after == end;
}

/* Reads a variable; one that a launcher does not have is `none`. */
static bool read_variable(const char *name, uint64_t none, uint64_t *value) {
	const char *text = name ? getenv(name) : NULL, *rest;
	*value = none;
	return !text || read_whole(text, 0, value, &rest);
}

/* Reads what a launcher says. *number has count 0 where it did not start this process. */
static enum cuttle_status ask_launcher(const struct launcher *launcher, uint64_t shards,
                                       struct shard_number *number, struct cuttle_error *error) {
	uint64_t least, step;
	*number = (struct shard_number){0};
	if (!getenv(launcher->index)) return CUTTLE_OK;
	bool right = read_variable(launcher->index, 0, &number->index) &&
	             read_variable(launcher->least, 0, &least) &&
	             read_variable(launcher->step, 1, &step) &&
	             read_variable(launcher->count, launcher->count ? 0 : shards, &number->count);
	right = right && step && number->index >= least && !((number->index - least) % step);
	if (right && !launcher->count && !shards)
		return io_fail(error, CUTTLE_USAGE,
		               "--shard auto: %s says JOB_COMPLETION_INDEX and not how many "
		               "there are: set CUTTLE_SHARDS",
		               launcher->name);
	if (right) number->index = (number->index - least) / step;
	if (!right || number->index >= number->count)
		return io_fail(error, CUTTLE_USAGE,
		               "--shard auto: %s says something else than a number below its "
		               "count in %s: give --shard I/N",
		               launcher->name, launcher->index);
	return CUTTLE_OK;
}

static enum cuttle_status read_launchers(uint64_t shards, struct shard_number *number,
                                         struct cuttle_error *error) {
	const struct launcher *found = NULL;
	*number = (struct shard_number){0};
	for (size_t i = 0; i < LAUNCHER_COUNT; i++) {
		struct shard_number said;
		const enum cuttle_status status = ask_launcher(&LAUNCHERS[i], shards, &said, error);
		if (status) return status;
		if (said.count < 2) continue;
		if (found && LAUNCHERS[i].outer)
			return io_fail(error, CUTTLE_USAGE,
			               "--shard auto: %s and %s both start several processes: "
			               "give --shard I/N",
			               found->name, LAUNCHERS[i].name);
		if (found) continue;
		found = &LAUNCHERS[i];
		*number = said;
	}
	return found ? CUTTLE_OK
	             : io_fail(error, CUTTLE_USAGE,
	                       "--shard auto: no launcher says which of several processes this "
	                       "is: give --shard I/N");
}

enum cuttle_status shard_read(const char *text, uint64_t shards, struct shard_number *number,
                              struct cuttle_error *error) {
	const char *rest;
	enum cuttle_status status = CUTTLE_OK;
	if (!strcmp(text, "auto")) status = read_launchers(shards, number, error);
	else if (!read_whole(text, '/', &number->index, &rest) ||
	         !read_whole(rest + 1, 0, &number->count, &rest) || number->index >= number->count)
		status = io_fail(error, CUTTLE_USAGE,
		                 "--shard: give I/N, as in 0/8 for the first of eight, or auto");
	if (!status && number->count > SHARDS_MOST)
		status = io_fail(error, CUTTLE_USAGE, "--shard: a run has at most %d shards",
		                 SHARDS_MOST);
	if (!status && shards && number->count != shards)
		status = io_fail(error, CUTTLE_USAGE,
		                 "--shard says %" PRIu64 " shards, and --shards (CUTTLE_SHARDS) "
		                 "%" PRIu64,
		                 number->count, shards);
	return status;
}
