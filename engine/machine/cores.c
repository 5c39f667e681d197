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

/* Lowers *least (an unsigned; 0 = no limit yet) to the cores' worth of time that the group allows,
 * rounded up. "250000 100000" in cpu.max, in microseconds, allows 2.5 cores and gives 3. */
static void lower_to_quota(void *least, const char *folder) {
	char path[640];
	double quota, period;
	(void)snprintf(path, sizeof path, "%s/cpu.max", folder);
	FILE *file = fopen(path, "re");
	if (!file) return;
	// "max 100000" says that there is no limit; "max" is no number.
	const int read = fscanf(file, "%lf %lf", &quota, &period);
	(void)fclose(file);
	if (read != 2 || !(quota > 0 && period > 0 && quota / period < 4096)) return;
	const unsigned cores = (unsigned)(quota / period + 0.999);
	unsigned *lowest = least;
	if (cores && (!*lowest || cores < *lowest)) *lowest = cores;
}

unsigned cores_available(void) {
	const unsigned cores = count_physical_cores();
	unsigned limit = 0;
	cgroup_each(lower_to_quota, &limit);
	return limit && limit < cores ? limit : cores;
}
