// SPDX-License-Identifier: Apache-2.0
// A line of /proc/self/cgroup names the process's own group: "0::/a/b" of version 2, and of version
// 1 "4:cpu,cpuacct:/a/b". Cutting that path at its last slash, again and again, gives the groups
// above it. A container may see its group as the root: then only the last folder is there.
//
// Version 1 has one tree for "cpu,cpuacct". CentOS 7 lists it as "cpuacct,cpu", and its folder is
// "cpu,cpuacct" all the same; "cpu" is a link to it. So the controller's own name comes first, then
// the list as it stands. Where both are there, the second lowers no limit any further.
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

/* Calls visit for a folder, such as "/sys/fs/cgroup/cpu/a/b", and for each one above it, down to a
 * path of `root` bytes: here 18, "/sys/fs/cgroup/cpu". */
static void visit_upwards(char *folder, size_t root, void (*visit)(void *user, const char *folder),
                          void *user) {
	for (char *end = folder + strlen(folder); end && end >= folder + root;
	     end = strrchr(folder, '/')) {
		*end = 0;
		visit(user, folder);
	}
}

void cgroup_each(const char *controller, void (*visit)(void *user, const char *folder),
                 void *user) {
	char line[512], folder[sizeof line + sizeof ROOT];
	FILE *file = fopen("/proc/self/cgroup", "re");
	if (!file) return;
	while (fgets(line, sizeof line, file)) {
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
		if (!path || path[1] != '/') continue;
		line[strcspn(line, "\n")] = 0;
		list++;
		if (list == path) {
			(void)snprintf(folder, sizeof folder, ROOT "%s", path + 1);
			visit_upwards(folder, strlen(ROOT), visit, user);
			continue;
		}
		if (!lists_controller(list, controller)) continue;
		*path++ = 0;
		(void)snprintf(folder, sizeof folder, ROOT "/%s%s", controller, path);
		visit_upwards(folder, strlen(ROOT "/") + strlen(controller), visit, user);
		if (!strcmp(list, controller)) continue;
		(void)snprintf(folder, sizeof folder, ROOT "/%s%s", list, path);
		visit_upwards(folder, strlen(ROOT "/") + strlen(list), visit, user);
	}
	(void)fclose(file);
}
