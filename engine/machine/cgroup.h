// SPDX-License-Identifier: Apache-2.0
// cgroup.h: the control groups (version 2) that limit this process, its own and all above it.
// Called by cores and memory, which read a limit from each group's folder. No private data.
#ifndef CUTTLE_ENGINE_CGROUP_H
#define CUTTLE_ENGINE_CGROUP_H

/* Calls visit(user, folder) for each group's folder, from the process's own group up to the root.
 * A process in "/a/b" gives "/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a" and "/sys/fs/cgroup". Calls it
 * for none when the system does not say. */
void cgroup_each(void (*visit)(void *user, const char *folder), void *user);

#endif
