// SPDX-License-Identifier: Apache-2.0
// Tests engine/machine's cgroup.c, memory.c and cores.c in an invented /sys/fs/cgroup. It fails if
// a limit on memory or processor time is overlooked: of either version, of the process's own group
// or of one above it, where a container sees its group as the root, or where a list of controllers
// is not in the order of its folder's name.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char invented[] = "/tmp/cuttle-groups-XXXXXX";

/* Where an invented file stands for one of the system's; the caller's buffer. */
static const char *place_of(const char *path, char place[1024]) {
	(void)snprintf(place, 1024, "%s%s", invented, path);
	return place;
}

/* The sources themselves are included, with one function replaced: these files are invented. */
static FILE *invented_open(const char *path, const char *mode) {
	char place[1024];
	const char *const ours[] = {"/proc/self/cgroup", "/proc/meminfo", "/sys/fs/cgroup/"};
	for (int i = 0; i < 3; i++)
		if (!strncmp(path, ours[i], strlen(ours[i])))
			return fopen(place_of(path, place), mode);
	return fopen(path, mode);
}
#define fopen invented_open
#include "engine/machine/cgroup.c"
#include "engine/machine/cores.c"
#include "engine/machine/memory.c"
#undef fopen

enum { MIB = 1 << 20 };

/* Writes an invented file, and makes the folders above it. */
static void invent(const char *path, const char *text) {
	char place[1024];
	(void)place_of(path, place);
	for (char *at = place + strlen(invented) + 1; (at = strchr(at, '/')); at++) {
		*at = 0;
		(void)mkdir(place, 0700);
		*at = '/';
	}
	files_put(place, text, strlen(text));
}

static int begin(void **state) {
	(void)state;
	(void)strcpy(invented + sizeof invented - 7, "XXXXXX");
	if (!mkdtemp(invented)) return 1;
	invent("/proc/meminfo", "MemAvailable: 8388608 kB\nSwapFree: 0 kB\n");
	return 0;
}

static int end(void **state) {
	char line[128];
	(void)state;
	(void)snprintf(line, sizeof line, "rm -rf %s", invented);
	return system(line);
}

static unsigned quota(void) {
	unsigned least = 0;
	cgroup_each("cpu", lower_to_quota, &least);
	return least;
}

static void without_groups_the_system_alone_counts(void **state) {
	(void)state;
	assert_int_equal(memory_available() / MIB, 8192);
	assert_int_equal(quota(), 0);
	invent("/proc/self/cgroup", "nonsense\n0:\n:\n1:memory:relative\n");
	assert_int_equal(memory_available() / MIB, 8192);
}

static void version_two_counts(void **state) {
	(void)state;
	invent("/proc/self/cgroup", "0::/a/b\n");
	invent("/sys/fs/cgroup/a/b/memory.max", "max\n");
	invent("/sys/fs/cgroup/a/b/memory.current", "1048576\n");
	invent("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	assert_int_equal(memory_available() / MIB, 8192);
	assert_int_equal(quota(), 0);
	invent("/sys/fs/cgroup/a/memory.max", "536870912\n");
	invent("/sys/fs/cgroup/a/memory.current", "268435456\n");
	invent("/sys/fs/cgroup/a/memory.stat", "active_file 1048576\ninactive_file 2097152\n");
	invent("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
	assert_int_equal(memory_available() / MIB, 512 - 256 + 3);
	assert_int_equal(quota(), 3);
}

static void version_one_counts(void **state) {
	(void)state;
	invent("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/m/n\n3:cpu,cpuacct:/c\n0::/\n");
	invent("/sys/fs/cgroup/memory/m/n/memory.limit_in_bytes", "9223372036854771712\n");
	invent("/sys/fs/cgroup/memory/m/n/memory.usage_in_bytes", "1048576\n");
	invent("/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "-1\n");
	invent("/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000\n");
	assert_int_equal(memory_available() / MIB, 8192);
	assert_int_equal(quota(), 0);
	invent("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "268435456\n");
	invent("/sys/fs/cgroup/memory/m/memory.usage_in_bytes", "134217728\n");
	invent("/sys/fs/cgroup/memory/m/memory.stat",
	       "active_file 9\ninactive_file 9\ntotal_active_file 1048576\n"
	       "total_inactive_file 1048576\n");
	invent("/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "150000\n");
	assert_int_equal(memory_available() / MIB, 256 - 128 + 2);
	assert_int_equal(quota(), 2);
	// Free swap counts beside the limit, but not beside one that swap counts towards.
	invent("/proc/meminfo", "MemAvailable: 8388608 kB\nSwapFree: 1048576 kB\n");
	assert_int_equal(memory_available() / MIB, 1024 + 130);
	invent("/sys/fs/cgroup/memory/m/memory.memsw.limit_in_bytes", "536870912\n");
	invent("/sys/fs/cgroup/memory/m/memory.memsw.usage_in_bytes", "134217728\n");
	assert_int_equal(memory_available() / MIB, 512 - 128 + 2);
}

/* A container of version 1 is told the path that its host sees, and has its own group as the root.
 * Another controller's name that begins alike is none. */
static void a_container_counts(void **state) {
	(void)state;
	invent("/proc/self/cgroup",
	       "4:memory:/docker/0123\n3:cpuset,cpuacct:/x\n2:cpu:/docker/01\n");
	invent("/sys/fs/cgroup/memory/memory.limit_in_bytes", "67108864\n");
	invent("/sys/fs/cgroup/memory/memory.usage_in_bytes", "134217728\n");
	invent("/sys/fs/cgroup/cpuset,cpuacct/cpu.cfs_quota_us", "100000\n");
	invent("/sys/fs/cgroup/cpuset,cpuacct/cpu.cfs_period_us", "100000\n");
	invent("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
	invent("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	assert_int_equal(memory_available(), 0); // more is in use than allowed
	assert_int_equal(quota(), 4);
}

/* CentOS 7 lists "cpuacct,cpu", has the folder "cpu,cpuacct", and links to it as "cpu". */
static void a_list_in_another_order_counts(void **state) {
	char link[1024];
	(void)state;
	invent("/proc/self/cgroup", "4:cpuacct,cpu:/c/d\n");
	invent("/sys/fs/cgroup/cpu,cpuacct/c/d/cpu.cfs_quota_us", "-1\n");
	invent("/sys/fs/cgroup/cpu,cpuacct/c/d/cpu.cfs_period_us", "100000\n");
	invent("/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_quota_us", "250000\n");
	invent("/sys/fs/cgroup/cpu,cpuacct/c/cpu.cfs_period_us", "100000\n");
	assert_int_equal(symlink("cpu,cpuacct", place_of("/sys/fs/cgroup/cpu", link)), 0);
	assert_int_equal(quota(), 3);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
	const struct CMUnitTest tests[] = {
	    CASE(without_groups_the_system_alone_counts),
	    CASE(version_two_counts),
	    CASE(version_one_counts),
	    CASE(a_container_counts),
	    CASE(a_list_in_another_order_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
