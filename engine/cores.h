// SPDX-License-Identifier: Apache-2.0
// How many workers are worth starting: physical cores of the affinity mask, within the CPU quota of the cgroup.
#ifndef CUTTLE_ENGINE_CORES_H
#define CUTTLE_ENGINE_CORES_H

/* At least 1. Reads sched_getaffinity(2), the kernel's topology files and cgroup v2's cpu.max; what is not there is no limit. */
unsigned cores_available(void);

#endif
