// SPDX-License-Identifier: Apache-2.0
// Each source of a limit lowers one number: /proc/meminfo, the files of each control group, and
// getrlimit(2). A source that cannot be read lowers nothing.
#include "engine/machine/memory.h"

#include "engine/machine/cgroup.h"
#include "engine/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Sums the numbers behind one or two names, in a file with a name and a number on each line.
 * `other` may be NULL. False when a name is missing. */
static bool sum_named(const char *path, const char *one, const char *other, uint64_t *sum) {
	char line[256], name[64];
	int found = !other; // names, of two; a NULL counts as found
	FILE *file = fopen(path, "re");
	if (!file) return false;
	*sum = 0;
	while (fgets(line, sizeof line, file)) {
		uint64_t number;
		if (sscanf(line, "%63s %" SCNu64, name, &number) != 2) continue;
		if (strcmp(name, one) != 0 && (!other || strcmp(name, other) != 0)) continue;
		*sum += number;
		found++;
	}
	(void)fclose(file);
	return found == 2;
}

/* Reads the number at the start of a file. False when there is none, as in "max". */
static bool read_number(const char *folder, const char *name, uint64_t *number) {
	char path[640];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "re");
	if (!file) return false;
	const bool read = fscanf(file, "%" SCNu64, number) == 1;
	(void)fclose(file);
	return read;
}

struct memory_limits {
	uint64_t least; /* bytes: the lowest limit so far */
	uint64_t swap;  /* bytes of free swap */
};

static void lower_limit(struct memory_limits *limits, uint64_t bytes) {
	if (bytes < limits->least) limits->least = bytes;
}

/* Names of a group's files and of lines in its memory.stat. */
struct group_names {
	const char *most;
	const char *used;
	const char *active; /* pages of files that were used lately */
	const char *inactive;
	bool swap; /* the limit counts swapped pages, too */
};
static const struct group_names GROUP_NAMES[] = {
    {"memory.max", "memory.current", "active_file", "inactive_file", false},
    // Version 1. Its memory.stat has the groups below in the names that begin with total.
    {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_active_file", "total_inactive_file",
     false},
    {"memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes", "total_active_file",
     "total_inactive_file", true},
};

/* A group's use counts the pages of files it has read. The system takes those back when memory is
 * short, so they count as free here. */
static void lower_to_group(void *user, const char *folder) {
	struct memory_limits *limits = user;
	char path[640];
	uint64_t most, used, files;
	(void)snprintf(path, sizeof path, "%s/memory.stat", folder);
	for (size_t i = 0; i < sizeof GROUP_NAMES / sizeof *GROUP_NAMES; i++) {
		const struct group_names *names = &GROUP_NAMES[i];
		if (!read_number(folder, names->most, &most) ||
		    !read_number(folder, names->used, &used))
			continue;
		if (!sum_named(path, names->active, names->inactive, &files)) files = 0;
		used = used > files ? used - files : 0;
		lower_limit(limits,
		            (most > used ? most - used : 0) + (names->swap ? 0 : limits->swap));
	}
}

size_t memory_available(void) {
	struct memory_limits limits = {.least = SIZE_MAX};
	uint64_t kib, pages;
	struct rlimit address;
	if (sum_named("/proc/meminfo", "MemAvailable:", "SwapFree:", &kib))
		lower_limit(&limits, kib << 10);
	if (sum_named("/proc/meminfo", "SwapFree:", NULL, &kib)) limits.swap = kib << 10;
	cgroup_each("memory", lower_to_group, &limits);
	if (!getrlimit(RLIMIT_AS, &address) && address.rlim_cur != RLIM_INFINITY &&
	    read_number("/proc/self", "statm", &pages)) {
		const uint64_t mapped = pages * (uint64_t)sysconf(_SC_PAGESIZE);
		lower_limit(&limits, address.rlim_cur > mapped ? address.rlim_cur - mapped : 0);
	}
	return (size_t)limits.least;
}

enum cuttle_status memory_check(size_t bytes, const char *what, const char *advice,
                                struct cuttle_error *error) {
	const size_t available = memory_available();
	if (bytes <= available) return CUTTLE_OK;
	return status_fail(
	    error, CUTTLE_NOMEM,
	    "out of memory: %s needs %zu MiB, and the system has %zu MiB available%s", what,
	    (bytes >> 20) + 1, available >> 20, advice);
}
