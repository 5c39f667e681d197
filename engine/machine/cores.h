// SPDX-License-Identifier: Apache-2.0
// cores.h: how many workers are worth starting. No private data.
// The answer is the number of physical cores that the affinity mask allows. Where the CPU quota of
// the control groups is less, it is that quota, rounded up to whole cores.
#ifndef CUTTLE_ENGINE_CORES_H
#define CUTTLE_ENGINE_CORES_H

/* At least 1. Reads sched_getaffinity(2), the kernel's topology files, and the quota of the
 * control groups: cpu.max, or of version 1 cpu.cfs_quota_us. A file that is not there sets no
 * limit. */
unsigned cores_available(void);

#endif
