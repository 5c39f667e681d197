// SPDX-License-Identifier: Apache-2.0
// cgroup.h: the control groups that limit this process, its own and all above it.
// No private data.
#ifndef CUTTLE_ENGINE_CGROUP_H
#define CUTTLE_ENGINE_CGROUP_H

/* Calls visit(user, folder) for each group's folder, from the process's own group up to the root:
 *
 *     version 2, process in "/a/b"    /sys/fs/cgroup/a/b, /sys/fs/cgroup/a, /sys/fs/cgroup
 *     version 1, "memory" in "/a"     /sys/fs/cgroup/memory/a, /sys/fs/cgroup/memory
 *
 * Of version 1, where each controller has a tree of its own, it is the tree of this controller:
 * "memory" or "cpu". A tree that several controllers share comes under both of its names, so a
 * folder may not be there, and one may come twice:
 *
 *     version 1, "cpuacct,cpu" in "/a"    /sys/fs/cgroup/cpu/a, /sys/fs/cgroup/cpu,
 *                                         /sys/fs/cgroup/cpuacct,cpu/a, /sys/fs/cgroup/cpuacct,cpu
 *
 * Calls it for none when the system does not say. */
void cgroup_each(const char *controller, void (*visit)(void *user, const char *folder), void *user);

#endif
