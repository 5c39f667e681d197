// SPDX-License-Identifier: Apache-2.0
// A line of /proc/self/cgroup names the process's own group: "0::/a/b" of version 2, and of version
// 1 "4:cpu,cpuacct:/a/b". Cutting that path at its last slash, again and again, gives the groups
// above it. A container may see its group as the root: then only the last folder is there.
#include "engine/machine/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define ROOT "/sys/fs/cgroup"

/* Whether a list such as "cpu,cpuacct", which ends at a colon, has the name. */
static bool lists_controller(const char *list, const char *name) {
	const size_t size = strlen(name);
	while (*list != ':') {
		const size_t item = strcspn(list, ",:");
		if (item == size && !strncmp(list, name, size)) return true;
		list += item + (list[item] == ',');
	}
	return false;
}

void cgroup_each(const char *controller, void (*visit)(void *user, const char *folder),
                 void *user) {
	char line[512], folder[sizeof line + sizeof ROOT];
	FILE *file = fopen("/proc/self/cgroup", "re");
	if (!file) return;
	while (fgets(line, sizeof line, file)) {
		const char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
		if (!path || path[1] != '/') continue;
		line[strcspn(line, "\n")] = 0;
		list++;
		if (list == path) {
			(void)snprintf(folder, sizeof folder, ROOT "%s", path + 1);
		} else if (lists_controller(list, controller)) {
			(void)snprintf(folder, sizeof folder, ROOT "/%.*s%s", (int)(path - list),
			               list, path + 1);
		} else continue;
		const size_t root = strlen(ROOT) + (list == path ? 0 : 1 + (size_t)(path - list));
		for (char *end = folder + strlen(folder); end && end >= folder + root;
		     end = strrchr(folder, '/')) {
			*end = 0;
			visit(user, folder);
		}
	}
	(void)fclose(file);
}
