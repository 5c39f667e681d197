// SPDX-License-Identifier: Apache-2.0
// The line "0::/a/b" of /proc/self/cgroup names the process's own group. Cutting that path at its
// last slash, again and again, gives the groups above it.
#include "engine/machine/cgroup.h"

#include <stdio.h>
#include <string.h>

#define ROOT "/sys/fs/cgroup"

void cgroup_each(void (*visit)(void *user, const char *folder), void *user) {
	char line[512], folder[sizeof line + sizeof ROOT];
	FILE *file = fopen("/proc/self/cgroup", "re");
	if (!file) return;
	while (fgets(line, sizeof line, file)) {
		if (strncmp(line, "0::/", 4) != 0) continue;
		line[strcspn(line, "\n")] = 0;
		(void)snprintf(folder, sizeof folder, ROOT "%s", line + 3);
		for (char *end = folder + strlen(folder); end && end >= folder + strlen(ROOT);
		     end = strrchr(folder, '/')) {
			*end = 0;
			visit(user, folder);
		}
	}
	(void)fclose(file);
}
