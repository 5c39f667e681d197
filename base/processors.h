// SPDX-License-Identifier: Apache-2.0
// processors.h: sets of processors, on machines of any size.
//
// No private data.
// A processor is what the kernel numbers as one: a core with two hardware threads is two of them.
// The system's cpu_set_t has room for 1,024 of them. On a machine that may have more, the kernel
// does not fill so small a set. A struct processors has room for as many as Linux can have.
#ifndef CUTTLE_BASE_PROCESSORS_H
#define CUTTLE_BASE_PROCESSORS_H

#include <sched.h>
#include <stdbool.h>

enum { PROCESSORS_MOST = 8192 }; /* Linux is built for at most so many, on any architecture */

/* All zeros is the empty set. As cpu_set_t: give a system call `set->sets` and sizeof *set. */
struct processors {
	cpu_set_t sets[PROCESSORS_MOST / CPU_SETSIZE]; /* 0 to 1023, then 1024 to 2047 ... */
};

/* Sets *set to the processors that the calling thread may run on. False: the system does not say,
 * and the set is empty. */
bool processors_allowed(struct processors *set);
/* Whether the processor is in the set. No set holds a number out of range, such as -1. */
bool processors_have(const struct processors *set, int processor);
/* processor is from 0 to PROCESSORS_MOST - 1. */
void processors_add(struct processors *set, int processor);
/* A number that is not in the set is fine. */
void processors_remove(struct processors *set, int processor);
/* How many are in the set. */
unsigned processors_count(const struct processors *set);

#endif
