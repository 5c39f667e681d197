// SPDX-License-Identifier: Apache-2.0
#include "engine/cores.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

/* The lowest CPU number that shares this CPU's core, the CPU itself when nothing is known. */
static int first_sibling(int cpu) {
	char path[96];
	int first = cpu;
	(void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
	FILE *file = fopen(path, "re");
	if (!file) return cpu;
	if (fscanf(file, "%d", &first) != 1) first = cpu;
	(void)fclose(file);
	return first;
}

static unsigned physical_cores(void) {
	cpu_set_t mask;
	if (sched_getaffinity(0, sizeof mask, &mask)) return 1;
	unsigned count = 0;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &mask)) continue;
		// A sibling counts where the first thread of its core is outside the mask.
		const int first = first_sibling(cpu);
		count += first == cpu || first < 0 || first >= CPU_SETSIZE || !CPU_ISSET(first, &mask);
	}
	return count ? count : 1;
}

/* Cores' worth of time the file allows, rounded up; 0 = no limit. */
static unsigned quota_in(const char *path) {
	double quota, period;
	FILE *file = fopen(path, "re");
	if (!file) return 0;
	const int read = fscanf(file, "%lf %lf", &quota, &period); // "max 100000" is no limit and no number
	(void)fclose(file);
	return read == 2 && quota > 0 && period > 0 && quota / period < 4096 ? (unsigned)(quota / period + 0.999) : 0;
}

static unsigned quota(void) {
	char line[512], path[640];
	unsigned least = quota_in("/sys/fs/cgroup/cpu.max");
	FILE *file = fopen("/proc/self/cgroup", "re");
	if (!file) return least;
	while (fgets(line, sizeof line, file)) {
		if (strncmp(line, "0::/", 4) != 0) continue;
		line[strcspn(line, "\n")] = 0;
		(void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", line + 3);
		const unsigned own = quota_in(path);
		if (own && (!least || own < least)) least = own;
	}
	(void)fclose(file);
	return least;
}

unsigned cores_available(void) {
	const unsigned cores = physical_cores(), limit = quota();
	return limit && limit < cores ? limit : cores;
}
