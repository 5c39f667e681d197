// SPDX-License-Identifier: Apache-2.0
// To the kernel, a physical core with two hardware threads is two CPUs; we count it once. Four such
// cores under a quota of 2.5 cores' time give three workers.
#include "engine/machine/cores.h"

#include "base/processors.h"
#include "engine/machine/cgroup.h"

#include <stdio.h>

/* The lowest CPU number on the physical core of this CPU; the CPU itself when nothing is known. */
static int read_first_sibling(int cpu) {
	char path[96];
	int first = cpu;
	(void)snprintf(path, sizeof path,
	               "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
	FILE *file = fopen(path, "re");
	if (!file) return cpu;
	if (fscanf(file, "%d", &first) != 1) first = cpu;
	(void)fclose(file);
	return first;
}

static unsigned count_physical_cores(void) {
	struct processors mask;
	if (!processors_allowed(&mask)) return 1;
	unsigned count = 0;
	for (int cpu = 0; cpu < PROCESSORS_MOST; cpu++) {
		if (!processors_have(&mask, cpu)) continue;
		// A core counts by its first CPU. Where the mask leaves that one out, its other
		// CPUs count instead.
		const int first = read_first_sibling(cpu);
		count += first == cpu || !processors_have(&mask, first);
	}
	return count ? count : 1;
}

/* Reads up to two numbers at the start of a file. Returns how many there are. */
static int read_numbers(const char *folder, const char *name, double *one, double *two) {
	char path[640];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "re");
	if (!file) return 0;
	const int read = fscanf(file, "%lf %lf", one, two);
	(void)fclose(file);
	return read < 0 ? 0 : read;
}

/* Lowers *least (an unsigned; 0 = no limit yet) to the cores' worth of time that the group allows,
 * rounded up. "250000 100000" in cpu.max, in microseconds, allows 2.5 cores and gives 3. Version 1
 * has the two in a file each. */
static void lower_to_quota(void *least, const char *folder) {
	double quota = 0, period = 0, none;
	// "max 100000" says that there is no limit, and so does -1 of version 1.
	if (read_numbers(folder, "cpu.max", &quota, &period) != 2 &&
	    (read_numbers(folder, "cpu.cfs_quota_us", &quota, &none) != 1 ||
	     read_numbers(folder, "cpu.cfs_period_us", &period, &none) != 1))
		return;
	if (!(quota > 0 && period > 0 && quota / period < 4096)) return;
	const unsigned cores = (unsigned)(quota / period + 0.999);
	unsigned *lowest = least;
	if (cores && (!*lowest || cores < *lowest)) *lowest = cores;
}

unsigned cores_available(void) {
	const unsigned cores = count_physical_cores();
	unsigned limit = 0;
	cgroup_each("cpu", lower_to_quota, &limit);
	return limit && limit < cores ? limit : cores;
}
